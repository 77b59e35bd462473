-- SQLite keeps a row in one piece anyway, on further pages when it is long.

-- +goose Up
select 1;
