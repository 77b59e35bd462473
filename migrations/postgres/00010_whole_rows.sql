-- A notification is written once and hardly ever read. With its request it is
-- often a little over 2 kB, from where PostgreSQL moves the longest columns into
-- a second table with an index of its own: a third more work for each. Up to
-- 4 kB it stays in one piece; what is larger and rare would only make each later
-- change of the row, a count of copies, dearer.

-- +goose Up
alter table notifications set (toast_tuple_target = 4000);
