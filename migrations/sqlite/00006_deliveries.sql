-- Deliveries: one event at one endpoint, written in the transaction of the
-- event. A merchant without endpoints has none and pays nothing.

-- +goose Up
create table deliveries (
    event_id      text    not null,
    endpoint      text    not null,
    merchant      text    not null,
    out_trade_no  text    not null,
    order_version integer,             -- null: about no stored order
    state         text    not null,
    attempts      integer not null,    -- that ended, since ever
    step          integer not null,    -- that failed since the delivery was last asked for
    next_at       integer not null,    -- when it may be claimed; while leased: when the lease ends
    lease         text,                -- who is sending it
    created_at    integer not null,
    updated_at    integer not null,
    primary key (event_id, endpoint),
    check (state in ('pending', 'delivered', 'exhausted'))
) strict, without rowid;

create index deliveries_due on deliveries (endpoint, next_at)
    where state = 'pending';
create index deliveries_of_order on deliveries (out_trade_no, merchant, endpoint, order_version)
    where state = 'pending' and order_version is not null;
create index deliveries_exhausted on deliveries (event_id, endpoint)
    where state = 'exhausted';

-- Attempts say what was told, when, and what the answer was. They are kept for
-- their retention time.
create table attempts (
    event_id    text    not null,
    id          text    not null,
    endpoint    text    not null,
    number      integer not null,
    started_at  integer not null,
    duration_us integer not null,
    status_code integer not null,      -- 0: no answer
    failure     text    not null,      -- why there was none
    response    blob    not null,      -- the first bytes of the answer's body
    primary key (event_id, id)
) strict;

create table endpoint_pauses (
    endpoint  text    not null primary key,
    reason    text    not null,
    by_hand   integer not null,
    paused_at integer not null
) strict, without rowid;
