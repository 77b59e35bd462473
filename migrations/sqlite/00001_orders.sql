-- Orders and the money that arrived for them.
--
-- The selective column leads every key: there are few merchants and many order
-- numbers. Times are microseconds since 1970 in UTC, null when unknown. Tables
-- whose rows are small and always found by their key are kept in key order.

-- +goose Up
create table orders (
    out_trade_no    text    not null,
    merchant        text    not null,
    rev             integer not null,
    version         integer not null,
    status          text    not null,
    registered      integer not null,
    expected_fen    integer not null,
    currency        text    not null,
    expires_at      integer,
    amount_verified integer not null,
    provider        text    not null,
    account         text    not null,
    provider_txn_id text    not null,
    paid_fen        integer not null,
    refunded_fen    integer not null,
    paid_at         integer,
    late            integer not null,
    finished        integer not null,
    created_at      integer not null,
    updated_at      integer not null,
    primary key (out_trade_no, merchant)
) strict, without rowid;

create index orders_by_time on orders (created_at, out_trade_no, merchant);

-- Position 0 is the accepted payment: with the unique key the database itself
-- allows one accepted payment per order at most.
create table payments (
    provider_txn_id text    not null,
    provider        text    not null,
    out_trade_no    text    not null,
    merchant        text    not null,
    position        integer not null,
    account         text    not null,
    amount_fen      integer not null,
    currency        text    not null,
    refunded_fen    integer not null,
    role            text    not null,
    paid_at         integer,
    created_at      integer not null,
    primary key (provider_txn_id, provider),
    unique (out_trade_no, merchant, position),
    check ((role = 'accepted') = (position = 0))
) strict, without rowid;

create table refunds (
    ref                text    not null,
    provider           text    not null,
    provider_txn_id    text    not null,
    out_trade_no       text    not null,
    merchant           text    not null,
    out_refund_no      text    not null,
    provider_refund_id text    not null,
    amount_fen         integer not null,
    total_fen          integer not null,
    status             text    not null,
    refunded_at        integer,
    created_at         integer not null,
    primary key (ref, provider)
) strict, without rowid;

create index refunds_by_order on refunds (out_trade_no, merchant);
