-- A notification is written once and hardly ever read. With its request it is
-- often a little over 2 kB, from where PostgreSQL moves the longest columns into
-- a second table with an index of its own: a third more work for each. What fits
-- a page stays in one piece.

-- +goose Up
alter table notifications set (toast_tuple_target = 8160);
