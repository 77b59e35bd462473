-- Readiness is a real write: one row that is written again and again.

-- +goose Up
create table beat (
    one   integer not null primary key check (one = 1),
    beats integer not null
) strict;

insert into beat (one, beats) values (1, 0);
