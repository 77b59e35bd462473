-- The feed of one merchant, its sub-merchants' events included: the part of the
-- merchant's name before the slash. An event enters when it gets its place, so
-- that nothing is paid for it on the way of a notification.

-- +goose Up
create index events_of_feed on events (split_part(merchant, '/', 1), seq)
    where seq is not null;
