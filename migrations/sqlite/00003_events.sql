-- Events: one for each transition, conflict or unhandled notification. An
-- event is the record of what happened and what the merchant is told.

-- +goose Up
create table events (
    id              text    not null primary key,
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
    snapshot        text    not null,    -- JSON
    unit            integer not null,
    ordinal         integer not null     -- from 1 on
) strict;

create unique index events_of_order on events (out_trade_no, merchant, order_version)
    where order_version is not null;
create unique index events_of_notification on events (notification_id, out_trade_no, merchant)
    where order_version is null;
create unique index events_of_unit on events (unit, ordinal);

-- Units of work that wrote events, in the order in which they wrote: no row is
-- ever removed, so that numbers only rise. A unit gets its place in the feed after
-- its commit: its events then stand at base + ordinal. So a place costs an event
-- nothing, and its row is never written again.
create table units (
    unit   integer not null primary key,
    events integer not null check (events > 0),
    base   integer                       -- null: without a place
) strict;

create index units_without_base on units (unit)
    where base is null;
create unique index units_by_base on units (base)
    where base is not null;

-- The last place given in the feed; one row.
create table feed (
    one      integer not null primary key check (one = 1),
    last_seq integer not null
) strict;

insert into feed (one, last_seq) values (1, 0);
