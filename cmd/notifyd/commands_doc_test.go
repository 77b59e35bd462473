package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// docs/commands.md is made from the commands; write it anew with
// go test ./cmd/notifyd -run TestCommandsDoc -update
func TestCommandsDoc(t *testing.T) {
	const path = "../../docs/commands.md"
	want := commandsDoc()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/commands.md is not what the commands are (%v): run this test with -update", err)
	}
}

func commandsDoc() []byte {
	var b bytes.Buffer
	b.WriteString(`# Commands

<!-- Made by: go test ./cmd/notifyd -run TestCommandsDoc -update -->

Data goes to stdout, everything else to stderr. Commands that show data have ` + "`--json`" + `. Colours and questions are for
terminals alone; ` + "`NO_COLOR`" + ` turns colours off. ` + "`notifyd COMMAND --help`" + ` has flags and examples, and so have the manual pages:
` + "`notifyd man DIR`" + ` writes them, and ` + "`notifyd completion SHELL`" + ` makes bash, zsh, fish and PowerShell complete all of it.

| command | what it does | exit codes |
|---|---|---|
`)
	for _, p := range manualOf(wholeTree()) {
		if p.acts() {
			use := strings.ReplaceAll(strings.TrimSuffix(p.UseLine(), " [flags]"), "|", `\|`)
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", use, p.Short, p.exits())
		}
	}
	b.WriteString("\n| exit code | means |\n|---|---|\n")
	for _, l := range exitLines("") {
		fmt.Fprintf(&b, "| %s | %s |\n", l[0], l[1])
	}
	b.WriteString(`
## A first configuration

` + "`notifyd init DIR`" + ` writes ` + "`notifyd.yaml`" + ` with comments, and beside it ` + "`secrets/`" + ` with fresh secrets (the admin token, a key for the
merchant API, an APIv3 key to set at WeChat Pay), ` + "`keys/`" + ` and ` + "`data/`" + `: folders with mode 0700, files with 0600. What exists is
never written over (exit code 1), and a failure leaves nothing behind. An account becomes part of the configuration when its
numbers and the provider's key are given, by flags or, on a terminal, by answers; until then its lines stand there as
comments. What was written passes ` + "`notifyd check`" + `.

` + "`notifyd init --test DIR`" + ` makes a set-up that works at once on one machine, without an account at a provider: throw-away keys of
a simulated provider in ` + "`simulator/`" + `, made-up merchant numbers, SQLite, listeners on 127.0.0.1. None of it may go into a
configuration of yours: whoever has the folder can make payments up.

## The story of an order

` + "`notifyd orders show NUMBER`" + ` tells in order of time which notifications came, what each of them did and why, where the order went,
which events followed and what the endpoints answered; then what comes next. ` + "`--json`" + ` has all of it, from
` + "`GET /admin/v1/orders/{out_trade_no}/story`" + `: the order as ` + "`GET /admin/v1/orders/{out_trade_no}`" + ` shows it, each notification with its facts,
the newest 200 events with their deliveries and attempts, and ` + "`next`" + `.

` + "```text\n" + string(wholeStory(sampleStory(), "", newSheet(usualColumns, false))) + "```\n")
	return b.Bytes()
}

// sampleStory is an order that was paid with a wrong amount first, whose shop
// did not answer.
func sampleStory() *httpapi.OrderStory {
	at := func(seconds float64) order.Moment {
		return order.Moment(time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second))))
	}
	text := func(s string) *string { return &s }
	number, fen, version := "T1001", int64(1000), []int64{1, 2, 3}
	bad, gateway := 502, "bad gateway"
	notification := func(id string, seconds float64, o order.Outcome, r order.Reason, copies int64) order.NotificationView {
		return order.NotificationView{NotificationLine: order.NotificationLine{ID: id, Outcome: o, Reason: r, Kind: order.KindPaid, Copies: copies, ReceivedAt: at(seconds)},
			Provider: "wechat", Account: "wechat", Facts: []order.FactView{{Merchant: "default", OutTradeNo: &number, Kind: order.KindPaid, Outcome: o, Reason: r}}}
	}
	payment := func(amount int64, role order.Role) json.RawMessage {
		b, _ := json.Marshal(order.PaymentView{AmountFen: amount, Role: role}) // texts and numbers always marshal
		return b
	}
	event := func(id string, i int, t order.EventType, seconds float64) httpapi.EventStory {
		return httpapi.EventStory{EventView: order.EventView{ID: id, Type: t, CreatedAt: at(seconds), OrderVersion: &version[i]}}
	}
	s := &httpapi.OrderStory{StoryView: order.StoryView{
		View: order.View{Merchant: "default", OutTradeNo: number, Status: order.Paid, AmountFen: &fen, ExpectedFen: &fen, PaidFen: fen, PaidAt: at(9)},
		Payments: []order.PaymentView{
			{Provider: "wechat", Account: "wechat", ProviderTxnID: "4200000001202601010000000002", AmountFen: fen, Role: order.Accepted, PaidAt: at(9)},
			{Provider: "wechat", Account: "wechat", ProviderTxnID: "4200000001202601010000000001", AmountFen: 1, Role: order.Mismatched, PaidAt: at(5)}},
		Transitions: []order.TransitionView{
			{Version: 1, To: order.Created, Kind: order.KindRegister, At: at(0)},
			{Version: 2, From: order.Created, To: order.Created, Kind: order.KindPaid, Reason: order.ReasonAmountMismatch, At: at(5.402), NotificationID: text("ntf_01KE0000000000000000000001")},
			{Version: 3, From: order.Created, To: order.Paid, Kind: order.KindPaid, At: at(9.731), NotificationID: text("ntf_01KE0000000000000000000002")}}},
		Notifications: []order.NotificationView{
			notification("ntf_01KE0000000000000000000001", 5.4, order.Conflict, order.ReasonAmountMismatch, 1),
			notification("ntf_01KE0000000000000000000002", 9.729, order.Applied, order.ReasonNone, 2)},
		Events: []httpapi.EventStory{
			event("evt_01KE0000000000000000000001", 0, order.EventCreated, 0),
			event("evt_01KE0000000000000000000002", 1, order.EventConflict, 5.402),
			event("evt_01KE0000000000000000000003", 2, order.EventPaid, 9.731)},
	}
	s.Events[1].Payment, s.Events[2].Payment = payment(1, order.Mismatched), payment(fen, order.Accepted)
	s.Events[2].Deliveries = []httpapi.DeliveryStory{{DeliveryView: httpapi.DeliveryView{Endpoint: "shop", State: outbox.Pending},
		AttemptLog: []httpapi.AttemptView{{Endpoint: "shop", Number: 1, StartedAt: at(9.74), DurationMS: 31, Status: &bad, Response: gateway}}}}
	s.Next = httpapi.NextSteps{MerchantMay: order.MayDo(order.Paid), WaitsFor: []httpapi.WaitCode{httpapi.WaitShipment, httpapi.WaitReturn}, Deliveries: []httpapi.NextDelivery{
		{EventID: s.Events[2].ID, Type: order.EventPaid, Endpoint: "shop", State: outbox.Pending, Attempts: 1, NextAt: at(14.8)}}}
	return s
}
