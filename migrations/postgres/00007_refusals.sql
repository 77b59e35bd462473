-- The last requests that were refused, for diagnosis. Nothing here was proven,
-- and nothing that decides reads it.

-- +goose Up
-- Ids are time-ordered, so the newest are the greatest. What a stranger sent are
-- bytes, never text to us.
create table refusals (
    id           text collate "C" not null primary key,
    received_at  bigint  not null,
    account      text collate "C" not null,  -- '' when none that is configured was named
    provider     text collate "C" not null,
    code         text collate "C" not null,
    detail       text    not null,
    status       bigint  not null,
    peer         text    not null,
    body_bytes   bigint  not null,
    body_sha256  bytea   not null check (length(body_sha256) = 32),
    cut          boolean not null,           -- the body is not all that was sent
    kept_bytes   bigint  not null,           -- of the body
    size         bigint  not null,           -- what the row counts towards its account's bytes
    request_line bytea   not null,
    header       bytea   not null,
    body         bytea   not null
);

-- Out of the row, the bytes are not in the way of those who count or list.
alter table refusals alter column body set storage external;

create index refusals_by_account on refusals (account, code, id);
