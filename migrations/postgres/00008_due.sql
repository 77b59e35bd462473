-- The index of what is due serves the question what is due, and no other. Until
-- a table's statistics exist, and they lag behind, a planner takes any index of
-- what is pending for as good as the key: it then reads a whole backlog to find
-- one row. Only whoever asks by time says that times are greater than zero.

-- +goose Up
drop index deliveries_due;
create index deliveries_due on deliveries (endpoint, next_at)
    where state = 'pending' and next_at > 0;
