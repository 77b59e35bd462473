-- What a careful shop keeps: the orders it expects, every notification as it
-- came, and an event for each thing that happened. A notification's key says
-- what it is about, so that a copy meets the unique constraint.
create table orders (
    out_trade_no    text        primary key,
    amount_fen      bigint      not null,
    status          text        not null,
    provider_txn_id text        not null default '',
    refunded_fen    bigint      not null default 0,
    paid_at         timestamptz,
    updated_at      timestamptz not null
);

create table notifications (
    id           bigint      generated always as identity primary key,
    provider     text        not null,
    dedup_key    text        not null,
    out_trade_no text        not null,
    header       text        not null,
    body         bytea       not null,
    received_at  timestamptz not null,
    unique (provider, dedup_key)
);

create table events (
    id              bigint      generated always as identity primary key,
    type            text        not null,
    out_trade_no    text        not null,
    notification_id bigint      not null,
    payload         text        not null,
    created_at      timestamptz not null
);

create index events_by_order on events (out_trade_no);
