-- Readiness is a real write: one row that is written again and again.

-- +goose Up
create table beat (
    one   bigint not null primary key check (one = 1),
    beats bigint not null
-- Every write stays on the one page and touches no index.
) with (fillfactor = 10);

insert into beat (one, beats) values (1, 0);
