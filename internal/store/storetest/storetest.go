// Package storetest is the conformance suite of the stores. It runs whole on
// every database: there are no flags for what one of them cannot do.
//
// It serves tests only. It imports order, idempotency, refusal and store.
package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// Run holds a store to the whole suite. open makes a fresh, migrated and
// prepared store with Subscriptions and closes it when the test ends.
func Run(t *testing.T, open func(t *testing.T) store.DB) {
	for _, c := range slices.Concat(alone, together) {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// RunTogether runs the part of the suite in which several units of work run at
// once. open may give a store whose calls go to several instances in turn.
func RunTogether(t *testing.T, open func(t *testing.T) store.DB) {
	for _, c := range together {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

type testCase struct {
	name string
	run  func(*testing.T, store.DB)
}

var alone = []testCase{
	{"orders are read as they were written", ordersRoundTrip},
	{"payments are read as they were written", paymentsRoundTrip},
	{"refunds are read as they were written", refundsRoundTrip},
	{"notifications are read as they were written", notificationsRoundTrip},
	{"waiting facts are read as they were written", waitingRoundTrip},
	{"events are read as they were written", eventsRoundTrip},
	{"times are cut to the microsecond and read in UTC", timesRoundTrip},
	{"keys compare byte for byte", keysCompareByBytes},
	{"a text that no column can hold is refused", textsAreRefused},

	{"a unit finds what its orders name", findsByOrder},
	{"a unit finds what its transactions and refunds name", findsByTxn},
	{"a unit finds the facts that wait", findsWaiting},
	{"a unit that wants nothing finds nothing", findsNothing},
	{"who looks from outside finds what a unit does, and waits for none", findsBeside},

	{"a revision is met or the race is lost", revisionIsCompared},
	{"a lost race writes nothing", lostRaceWritesNothing},
	{"an error of decide writes nothing", refusedDecisionWritesNothing},
	{"no changes write nothing", noChangesWriteNothing},
	{"a decision that fails leaves the store usable", panicLeavesStoreUsable},
	{"a context that ends before the commit writes nothing", endedContextWritesNothing},
	{"an ended context is unavailable", endedContextIsUnavailable},
	{"an order has one accepted payment", oneAcceptedPayment},

	{"known fact keys are found", knownKeys},
	{"kept payments are found", keptPayments},
	{"copies are counted", copiesAreCounted},
	{"a resolution rewrites a notification", resolutionRewrites},

	{"idempotency keys belong to a merchant and compare byte for byte", keysAreApart},
	{"an answer is told as it was stored", answerIsKept},
	{"an answer outlives its lock", answerOutlivesItsLock},
	{"a lock that is over stores no answer and gives nothing up", lostLockIsWorthNothing},
	{"old keys are removed, the oldest first", keysArePruned},
	{"an answer is committed with its effect", sealIsCommitted},
	{"a unit sees the stories that it asks for", unitSeesStories},

	{"a story tells all of an order", storyTellsAll},
	{"what waits for an order is listed", waitingForOrder},
	{"orders are listed by filter", ordersByFilter},
	{"orders are paged without gaps or repeats", ordersArePaged},
	{"notifications are listed by filter", notificationsByFilter},
	{"notifications are paged without gaps or repeats", notificationsArePaged},

	{"events are delivered where they are subscribed to", deliveriesFollowEvents},
	{"a claimed delivery is leased", claimsAreLeased},
	{"a delivery that is given back is due", givenBackIsDue},
	{"an order's events follow one another", eventsOfAnOrderFollow},
	{"many deliveries that wait hide none that may go", manyThatWaitHideNone},
	{"what is committed late is delivered", lateDeliveriesAreClaimed},
	{"paused endpoints are left alone", pausedEndpointsAreLeftAlone},
	{"events wait a moment for their place in the feed", unsequencedEventsWait},
	{"deliveries are listed by filter", deliveriesByFilter},
	{"an event is sent again", eventIsSentAgain},
	{"deliveries are sent again by filter", deliveriesAreSentAgain},
	{"events are listed by filter", eventsByFilter},
	{"events are listed by their deliveries", eventsByDelivery},
	{"the feed is read in order, each merchant's by itself", feedIsRead},
	{"an order's events stand in the feed by version", feedKeepsOrdersInOrder},
	{"the feed is read in bounded steps", feedIsReadInSteps},
	{"an event that is committed late is never skipped", feedNeverSkipsALateEvent},

	{"captures are kept and removed", capturesArePruned},
	{"old deliveries and attempts are removed", oldDeliveriesArePruned},
	{"refused requests are read as they were kept", refusalsRoundTrip},
	{"a refused request that no column can hold is refused", refusalTextsAreRefused},
	{"refused requests are listed by filter", refusalsByFilter},
	{"a flood of one code leaves some of each", floodKeepsSomeOfEach},
	{"refused requests stay within their bounds", refusalsStayWithinBounds},
	{"old refused requests are removed", refusalsArePruned},
	{"refused requests beyond lowered bounds are removed", refusalsAreTrimmed},
	{"a prepared store can be prepared again", preparesTwice},
	{"the beat is written", beats},
	{"a sound store is found sound, and left as it was", soundStoreIsSound},
	{"arrivals are read from either end", arrivalsAreRead},
}

var together = []testCase{
	{"units on one order run one after another", unitsOnOneOrder},
	{"units on one transaction run one after another", unitsOnOneTxn},
	{"units that want the same orders in other orders all finish", unitsInRings},
	{"a registration and a fact that waits do not miss each other", registrationMeetsFact},
	{"copies of one notification are recorded once", copiesAreRecordedOnce},
	{"units of one order stand in the feed as they held it", feedFollowsTheLocks},
	{"the feed is one stream, whoever writes and gives places", feedIsOneStream},
	{"a key is taken once, until its lock is over", keyIsTakenOnce},
	{"of many who take a key at once one gets it", manyTakeOneKey},
	{"a seal without its lock undoes the whole unit", brokenSealWritesNothing},
	{"a unit that outlives its lock commits nothing", slowUnitCommitsNothing},
	{"workers share deliveries", workersShareDeliveries},
	{"whoever keeps refused requests, the bounds hold", refusalsOfInstances},
}

// start is when the tests' rows were made: microseconds that are not even.
var start = time.Date(2026, 1, 1, 4, 0, 0, 123457000, time.UTC)

const (
	merchant = "default"
	account  = "wechat"
	provider = "wechat"
)

func key(n string) order.Key { return order.Key{Merchant: merchant, OutTradeNo: n} }

func txn(n string) order.TxnKey { return order.TxnKey{Provider: provider, ProviderTxnID: n} }

func refundKey(ref string) order.RefundKey { return order.RefundKey{Provider: provider, Ref: ref} }

func factKey(n int) (k order.FactKey) {
	copy(k[:], fmt.Sprintf("fact-%027d", n))
	return k
}

// anOrder is a new row without a payment.
func anOrder(n string) order.Order {
	return order.Order{Key: key(n), Rev: 1, Version: 1, Status: order.Pending, CreatedAt: start, UpdatedAt: start}
}

func aPayment(txnID, orderNo string, position int) order.Payment {
	role := order.Accepted
	if position > 0 {
		role = order.Surplus
	}
	return order.Payment{TxnKey: txn(txnID), Order: key(orderNo), Position: position, Account: account, AmountFen: 1000,
		Currency: "CNY", Role: role, PaidAt: start, CreatedAt: start}
}

func aRefund(ref, orderNo string) order.Refund {
	return order.Refund{RefundKey: refundKey(ref), ProviderTxnID: "tx", Order: key(orderNo), OutRefundNo: "R1",
		ProviderRefundID: ref, AmountFen: 300, Status: order.RefundSuccess, RefundedAt: start, CreatedAt: start}
}

// aNotification is a row with one applied fact about an order; its id and its
// fact key follow from n.
func aNotification(n int, orderNo string) order.Row {
	return order.Row{
		ID: fmt.Sprintf("ntf_%06d", n), ReceivedAt: start.Add(time.Duration(n) * time.Second), Provider: provider, Account: account,
		Merchant: merchant, OutTradeNo: orderNo, Kind: order.KindPaid, Outcome: order.Applied, FactKey: factKey(n), Copies: 1,
		Results: []order.FactResult{{Merchant: merchant, OutTradeNo: orderNo, Kind: order.KindPaid, Outcome: order.Applied}},
		Capture: order.Capture{RequestLine: "POST /notify/wechat HTTP/1.1", Header: []byte("A: b\r\n"), Body: []byte("{}")},
	}
}

func aWaiting(n int, orderNo string) order.Waiting {
	row := aNotification(n, orderNo)
	return order.Waiting{NotificationID: row.ID, ReceivedAt: row.ReceivedAt, Fact: order.Fact{Kind: order.KindPaid, Merchant: merchant,
		OutTradeNo: orderNo, Provider: provider, Account: account, ProviderTxnID: fmt.Sprintf("tx-%d", n), AmountFen: 1000, At: start}}
}

func anEvent(id, orderNo string, version int64) order.Event {
	return order.Event{ID: id, Type: order.EventPaid, Key: key(orderNo), OrderVersion: version, From: order.Pending, To: order.Paid,
		Kind: order.KindPaid, NotificationID: "ntf_000001", CreatedAt: start, Snapshot: []byte(`{"order":null}`)}
}

// put writes changes and wants them written.
func put(t *testing.T, db store.DB, c *order.Changes) {
	t.Helper()
	if err := try(t.Context(), db, c); err != nil {
		t.Fatalf("writing: %v", err)
	}
}

func try(ctx context.Context, db store.DB, c *order.Changes) error {
	var want order.Want // a payment that changes was found before: see order.Changes
	for i := 0; c != nil && i < len(c.Payments); i++ {
		p := c.Payments[i]
		want.Txns = append(want.Txns, p.TxnKey)
	}
	return db.Transact(ctx, want, func(*order.Found) (*order.Changes, error) { return c, nil })
}

// find reads in a unit of work that writes nothing.
func find(t *testing.T, db store.DB, want order.Want) *order.Found {
	t.Helper()
	var found *order.Found
	err := db.Transact(t.Context(), want, func(f *order.Found) (*order.Changes, error) {
		found = f
		return nil, nil
	})
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return found
}

func findOrder(t *testing.T, db store.DB, k order.Key) (order.Order, bool) {
	t.Helper()
	o, ok := find(t, db, order.Want{Orders: []order.Key{k}}).Orders[k]
	return o, ok
}
