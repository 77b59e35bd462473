-- Requests of merchants under an idempotency key, and their answers. A key is
-- taken before its request runs; the answer is stored by the request's own
-- transaction, while the lock still holds.

-- +goose Up
create table idempotency (
    key          text    not null,
    merchant     text    not null,
    fingerprint  blob    not null check (length(fingerprint) = 32),
    status       text    not null check (status in ('processing', 'done')),
    token        text    not null,   -- of the lock, a new one for each run
    locked_until integer not null,
    status_code  integer,            -- the answer; null, like the next two, while processing
    content_type text,
    body         blob,
    created_at   integer not null,   -- when the run began that holds the lock or gave the answer
    primary key (key, merchant)
) strict;

create index idempotency_by_age on idempotency (created_at);
