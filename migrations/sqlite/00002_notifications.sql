-- Notifications: what came, what it said and what it did.

-- +goose Up
-- Ids are time-ordered, so the newest are the greatest. The request and the
-- content are bytes: what a stranger sent is never text to us.
create table notifications (
    id           text    not null primary key,
    received_at  integer not null,
    provider     text    not null,
    account      text    not null,
    merchant     text    not null,
    out_trade_no text    not null,
    kind         text    not null,
    outcome      text    not null,
    reason       text    not null,
    results      text,             -- JSON, only when the columns before do not say it all
    fact_key     blob    not null unique check (length(fact_key) = 16),
    provider_id  text    not null,
    claim_scope  text,             -- set when this row owns (provider_id, claim_scope, provider)
    numbers      text    not null,
    copies       integer not null,
    request_line blob    not null,
    header       blob,             -- null, like body, after the retention time
    body         blob,
    content      blob
) strict;

create unique index notifications_claim on notifications (provider_id, claim_scope, provider)
    where claim_scope is not null;
create index notifications_by_order on notifications (out_trade_no, merchant)
    where out_trade_no <> '';
-- What people look for is what did not simply apply.
create index notifications_by_outcome on notifications (outcome, id)
    where outcome <> 'applied';

-- Up to which id the requests are removed; one row. An index over what is left
-- would cost every notification an entry.
create table pruning (
    one  integer not null primary key check (one = 1),
    upto text    not null
) strict;

insert into pruning (one, upto) values (1, '');

-- The further orders of a notification that speaks of several.
create table notification_orders (
    out_trade_no    text not null,
    merchant        text not null,
    notification_id text not null references notifications (id),
    primary key (out_trade_no, merchant, notification_id)
) strict, without rowid;

create index notification_orders_by_notification on notification_orders (notification_id);

-- Facts that cannot be decided yet. by_txn: the fact finds its order by the
-- transaction, its order number alone does not name one.
create table waiting (
    notification_id text    not null references notifications (id),
    idx             integer not null,
    out_trade_no    text    not null,
    merchant        text    not null,
    provider_txn_id text    not null,
    provider        text    not null,
    by_txn          integer not null,
    received_at     integer not null,
    fact            text    not null, -- JSON
    primary key (notification_id, idx)
) strict, without rowid;

create index waiting_by_order on waiting (out_trade_no, merchant);
create index waiting_by_txn on waiting (provider_txn_id, provider);
