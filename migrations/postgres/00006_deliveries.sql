-- Deliveries: one event at one endpoint, written in the transaction of the
-- event. A merchant without endpoints has none and pays nothing.

-- +goose Up
create table deliveries (
    event_id      text collate "C" not null,
    endpoint      text collate "C" not null,
    merchant      text collate "C" not null,
    out_trade_no  text collate "C" not null,
    order_version bigint,           -- null: about no stored order
    state         text   not null,
    attempts      bigint not null,  -- that ended, since ever
    step          bigint not null,  -- that failed since the delivery was last asked for
    next_at       bigint not null,  -- when it may be claimed; while leased: when the lease ends
    lease         text,             -- who is sending it
    created_at    bigint not null,
    updated_at    bigint not null,
    primary key (event_id, endpoint),
    check (state in ('pending', 'delivered', 'exhausted'))
-- Rows leave the indexes of what is pending, and soon: what they leave behind
-- must not pile up in front of the next claim.
) with (autovacuum_vacuum_scale_factor = 0.02);

create index deliveries_due on deliveries (endpoint, next_at)
    where state = 'pending';
create index deliveries_of_order on deliveries (out_trade_no, merchant, endpoint, order_version)
    where state = 'pending' and order_version is not null;
create index deliveries_exhausted on deliveries (event_id, endpoint)
    where state = 'exhausted';

-- Attempts say what was told, when, and what the answer was. They are kept for
-- their retention time.
create table attempts (
    event_id    text collate "C" not null,
    id          text collate "C" not null,
    endpoint    text collate "C" not null,
    number      bigint not null,
    started_at  bigint not null,
    duration_us bigint not null,
    status_code bigint not null,    -- 0: no answer
    failure     text   not null,    -- why there was none
    response    bytea  not null,    -- the first bytes of the answer's body
    primary key (event_id, id)
);

create table endpoint_pauses (
    endpoint  text collate "C" not null primary key,
    reason    text    not null,
    by_hand   boolean not null,
    paused_at bigint  not null
);
