-- Requests of merchants under an idempotency key, and their answers. A key is
-- taken before its request runs; the answer is stored by the request's own
-- transaction, while the lock still holds.

-- +goose Up
create table idempotency (
    key          text collate "C" not null,
    merchant     text collate "C" not null,
    fingerprint  bytea  not null check (length(fingerprint) = 32),
    status       text   not null check (status in ('processing', 'done')),
    token        text   not null,    -- of the lock, a new one for each run
    locked_until bigint not null,
    status_code  bigint,             -- the answer; null, like the next two, while processing
    content_type text,
    body         bytea,
    created_at   bigint not null,    -- when the run began that holds the lock or gave the answer
    primary key (key, merchant)
);

create index idempotency_by_age on idempotency (created_at);

-- The database's own clock, in microseconds: it moves during a transaction, so
-- that one which is too slow notices.
-- +goose StatementBegin
create function now_us() returns bigint language sql volatile as $$
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;
-- +goose StatementEnd

-- The last statement of a unit of work that stores its answer: without a lock
-- the unit must not commit. NR002 is ours alone, see wrote.
-- +goose StatementBegin
create function sealed(got bigint) returns void language plpgsql as $$
begin
    if got <> 1 then
        raise exception 'the lock of the request has expired' using errcode = 'NR002';
    end if;
end
$$;
-- +goose StatementEnd
