-- Events: one for each transition, conflict or unhandled notification. An
-- event is the record of what happened and what the merchant is told.

-- +goose Up
create table events (
    id              text collate "C" not null primary key,
    seq             bigint unique,    -- the place in the feed, given after the commit
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
    snapshot        text   not null   -- JSON
);

create unique index events_of_order on events (out_trade_no, merchant, order_version)
    where order_version is not null;
create unique index events_of_notification on events (notification_id, out_trade_no, merchant)
    where order_version is null;
create index events_without_seq on events (id)
    where seq is null;

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
