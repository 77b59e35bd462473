-- Events: one for each transition, conflict or unhandled notification. An
-- event is the record of what happened and what the merchant is told.

-- +goose Up
create table events (
    id              text collate "C" not null primary key,
    type            text   not null,
    out_trade_no    text collate "C" not null,
    merchant        text collate "C" not null,
    order_version   bigint,           -- null: about no stored order
    from_status     text   not null,
    to_status       text   not null,
    kind            text   not null,
    reason          text   not null,
    notification_id text collate "C", -- null: a merchant's command
    created_at      bigint not null,
    snapshot        text   not null,  -- JSON
    unit            bigint not null,
    ordinal         bigint not null   -- from 1 on
);

create unique index events_of_order on events (out_trade_no, merchant, order_version)
    where order_version is not null;
create unique index events_of_notification on events (notification_id, out_trade_no, merchant)
    where order_version is null;
create unique index events_of_unit on events (unit, ordinal);

-- Units of work that wrote events, in the order in which they wrote. A unit gets
-- its place in the feed after its commit: its events then stand at base + ordinal.
-- So a place costs an event nothing, and its row is never written again.
create table units (
    unit   bigint not null generated always as identity primary key,
    events bigint not null check (events > 0),
    base   bigint                     -- null: without a place
-- Rows leave the index of what waits, and soon: what they leave behind must not
-- pile up in front of the next look.
) with (autovacuum_vacuum_scale_factor = 0.02);

create index units_without_base on units (unit)
    where base is null;
create unique index units_by_base on units (base)
    where base is not null;

-- The last place given in the feed; one row.
create table feed (
    one      bigint not null primary key check (one = 1),
    last_seq bigint not null
);

insert into feed (one, last_seq) values (1, 0);

-- A unit of work sends its writes and its commit in one round trip, so the
-- database itself must stop it when a statement wrote fewer rows than it had to:
-- somebody else was first. NR001 is ours alone.
-- +goose StatementBegin
create function wrote(got bigint, want bigint) returns void language plpgsql as $$
begin
    if got <> want then
        raise exception 'wrote % rows of %', got, want using errcode = 'NR001';
    end if;
end
$$;
-- +goose StatementEnd
