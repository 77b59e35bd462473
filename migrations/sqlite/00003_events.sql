-- Events: one for each transition, conflict or unhandled notification. An
-- event is the record of what happened and what the merchant is told.

-- +goose Up
create table events (
    id              text    not null primary key,
    seq             integer unique,      -- the place in the feed, given after the commit
    type            text    not null,
    out_trade_no    text    not null,
    merchant        text    not null,
    order_version   integer,             -- null: about no stored order
    from_status     text    not null,
    to_status       text    not null,
    kind            text    not null,
    reason          text    not null,
    notification_id text,                -- null: a merchant's command
    created_at      integer not null,
    snapshot        text    not null     -- JSON
) strict;

create unique index events_of_order on events (out_trade_no, merchant, order_version)
    where order_version is not null;
create unique index events_of_notification on events (notification_id, out_trade_no, merchant)
    where order_version is null;
create index events_without_seq on events (id)
    where seq is null;

-- The last place given in the feed; one row.
create table feed (
    one      integer not null primary key check (one = 1),
    last_seq integer not null
) strict;

insert into feed (one, last_seq) values (1, 0);
