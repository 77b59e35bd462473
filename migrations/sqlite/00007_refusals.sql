-- The last requests that were refused, for diagnosis. Nothing here was proven,
-- and nothing that decides reads it.

-- +goose Up
-- Ids are time-ordered, so the newest are the greatest. What a stranger sent are
-- bytes, never text to us; they stand last, out of the way of those who count.
create table refusals (
    id           text    not null primary key,
    received_at  integer not null,
    account      text    not null,  -- '' when none that is configured was named
    provider     text    not null,
    code         text    not null,
    detail       text    not null,
    status       integer not null,
    peer         text    not null,
    body_bytes   integer not null,
    body_sha256  blob    not null check (length(body_sha256) = 32),
    cut          integer not null,  -- the body is not all that was sent
    kept_bytes   integer not null,  -- of the body
    size         integer not null,  -- what the row counts towards its account's bytes
    request_line blob    not null,
    header       blob    not null,
    body         blob    not null
) strict;

create index refusals_by_account on refusals (account, code, id);
