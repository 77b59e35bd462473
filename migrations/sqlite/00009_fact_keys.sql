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
-- SQLite changes no check, so the table is written anew, and with it the two that
-- refer to it: the old ones go first, so that no row ever points nowhere, and
-- those that refer to a table follow its new name.
create table new_notifications (
    id           text    not null primary key,
    received_at  integer not null,
    provider     text    not null,
    account      text    not null,
    merchant     text    not null,
    out_trade_no text    not null,
    kind         text    not null,
    outcome      text    not null,
    reason       text    not null,
    results      text,             -- JSON, only when the columns before do not say it all
    fact_key     blob    not null unique check (length(fact_key) = 32),
    provider_id  text    not null,
    claim_scope  text,             -- set when this row owns (provider_id, claim_scope, provider)
    numbers      text    not null,
    copies       integer not null,
    request_line blob    not null,
    header       blob,             -- null, like body, after the retention time
    body         blob,
    content      blob
) strict;

insert into new_notifications
select id, received_at, provider, account, merchant, out_trade_no, kind, outcome, reason, results,
    unhex(substr(
        case when kind in ('paying', 'paid', 'closed', 'finished', 'refund', 'refund_closed', 'refund_abnormal')
                and (content is null or reason not in ('unreadable_field', 'ambiguous_text'))
            then hex(out_trade_no)
            else '' end || hex(zeroblob(16)), 1, 32) || hex(fact_key)),
    provider_id, claim_scope, numbers, copies, request_line, header, body, content
from notifications;

create table new_notification_orders (
    out_trade_no    text not null,
    merchant        text not null,
    notification_id text not null references new_notifications (id),
    primary key (out_trade_no, merchant, notification_id)
) strict, without rowid;

insert into new_notification_orders select out_trade_no, merchant, notification_id from notification_orders;

create table new_waiting (
    notification_id text    not null references new_notifications (id),
    idx             integer not null,
    out_trade_no    text    not null,
    merchant        text    not null,
    provider_txn_id text    not null,
    provider        text    not null,
    by_txn          integer not null,
    received_at     integer not null,
    fact            text    not null, -- JSON
    primary key (notification_id, idx)
) strict, without rowid;

insert into new_waiting
select notification_id, idx, out_trade_no, merchant, provider_txn_id, provider, by_txn, received_at, fact from waiting;

drop table notification_orders;
drop table waiting;
drop table notifications;
alter table new_notifications rename to notifications;
alter table new_notification_orders rename to notification_orders;
alter table new_waiting rename to waiting;

create unique index notifications_claim on notifications (provider_id, claim_scope, provider)
    where claim_scope is not null;
create index notifications_by_order on notifications (out_trade_no, merchant)
    where out_trade_no <> '';
create index notifications_by_outcome on notifications (outcome, id)
    where outcome <> 'applied';
create index notification_orders_by_notification on notification_orders (notification_id);
create index waiting_by_order on waiting (out_trade_no, merchant);
create index waiting_by_txn on waiting (provider_txn_id, provider);
