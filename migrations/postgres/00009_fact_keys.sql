-- A fact key is the hash of what the notification says behind the beginning of
-- its first order's number: neighbours in time become neighbours in the index.
--
-- Rows that are there get what the program would give them now. A message that
-- moves no order or is a conflict as a whole has zeros; the latter is known by
-- its reason and its content. One whose reason became another, because its id
-- was used before, may be taken for an ordinary one: a repeat of it is then
-- recorded once more and told again as the conflict that it is. It moves nothing,
-- for what facts do is decided by the state of their order.

-- +goose Up
-- The table is written anew, once, and its indexes with it.
alter table notifications
    drop constraint notifications_fact_key_check,
    alter column fact_key type bytea using decode(rpad(
        case when kind in ('paying', 'paid', 'closed', 'finished', 'refund', 'refund_closed', 'refund_abnormal')
                and (content is null or reason not in ('unreadable_field', 'ambiguous_text'))
            then encode(convert_to(out_trade_no, 'UTF8'), 'hex')
            else '' end, 32, '0'), 'hex') || fact_key,
    add constraint notifications_fact_key_check check (length(fact_key) = 32);
