-- Orders and the money that arrived for them.
--
-- The selective column leads every key: there are few merchants and many order
-- numbers, and a key that begins with the merchant makes the planner walk the
-- merchant's whole index. Times are microseconds since 1970 in UTC, null when
-- unknown. Identifiers compare byte for byte: collate "C".

-- +goose Up
create table orders (
    out_trade_no    text collate "C" not null,
    merchant        text collate "C" not null,
    rev             bigint  not null,
    version         bigint  not null,
    status          text    not null,
    registered      boolean not null,
    expected_fen    bigint  not null,
    currency        text    not null,
    expires_at      bigint,
    amount_verified boolean not null,
    provider        text    not null,
    account         text    not null,
    provider_txn_id text    not null,
    paid_fen        bigint  not null,
    refunded_fen    bigint  not null,
    paid_at         bigint,
    late            boolean not null,
    finished        boolean not null,
    created_at      bigint  not null,
    updated_at      bigint  not null,
    primary key (out_trade_no, merchant)
-- No update changes an indexed column: with room left on the page it stays there
-- and touches no index. Orders that are registered together are paid together, so
-- there is room for a second version of each; it is little beside what a
-- notification takes.
) with (fillfactor = 50);

create index orders_by_time on orders (created_at, out_trade_no, merchant);

-- Position 0 is the accepted payment: with the unique key the database itself
-- allows one accepted payment per order at most.
create table payments (
    provider_txn_id text collate "C" not null,
    provider        text collate "C" not null,
    out_trade_no    text collate "C" not null,
    merchant        text collate "C" not null,
    position        bigint not null,
    account         text   not null,
    amount_fen      bigint not null,
    currency        text   not null,
    refunded_fen    bigint not null,
    role            text   not null,
    paid_at         bigint,
    created_at      bigint not null,
    primary key (provider_txn_id, provider),
    unique (out_trade_no, merchant, position),
    check ((role = 'accepted') = (position = 0))
);

create table refunds (
    ref                text collate "C" not null,
    provider           text collate "C" not null,
    provider_txn_id    text   not null,
    out_trade_no       text collate "C" not null,
    merchant           text collate "C" not null,
    out_refund_no      text   not null,
    provider_refund_id text   not null,
    amount_fen         bigint not null,
    total_fen          bigint not null,
    status             text   not null,
    refunded_at        bigint,
    created_at         bigint not null,
    primary key (ref, provider)
);

create index refunds_by_order on refunds (out_trade_no, merchant);
