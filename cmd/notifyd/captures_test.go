package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// expectation is a row of testdata/expected.tsv by the names of its columns.
type expectation map[string]string

// expectations are the rows, and which kinds of message they hold.
func expectations(t *testing.T) []expectation {
	t.Helper()
	text, err := os.ReadFile("../../testdata/expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	var rows []expectation
	for _, l := range lines[1:] {
		row, cells := expectation{}, strings.Split(l, "\t")
		if len(cells) != len(names) {
			t.Fatalf("expected.tsv: %d cells in %q", len(cells), l)
		}
		for i, name := range names {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// got is a replayed capture in the words of the table.
func (p played) got() expectation {
	row := expectation{"capture": filepath.Base(p.File), "verdict": p.Verdict, "code": unknown, "outcome": unknown, "reason": unknown}
	if p.Code != nil {
		row["code"] = *p.Code
	}
	if p.Outcome != nil {
		row["outcome"] = string(*p.Outcome)
	}
	if p.Reason != nil && *p.Reason != order.ReasonNone {
		row["reason"] = string(*p.Reason)
	}
	var merchants []string
	for _, o := range p.Orders {
		merchants = append(merchants, o.Merchant)
	}
	columns := p.columns()
	row["merchant"], row["out_trade_no"], row["status"] = joined(merchants), columns[3], columns[4]
	return row
}

func joined(cells []string) string {
	if len(cells) == 0 {
		return unknown
	}
	return strings.Join(cells, ",")
}

// capturesIn copies testdata into a folder of its own, with the store given.
func capturesIn(t *testing.T, storeURL string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "notifyd.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"sqlite:../data/testdata.db"`, strconv.Quote(storeURL), 1)
	if changed == string(text) {
		t.Fatal("testdata/notifyd.yaml names another store")
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replayAll replays every capture and reads what is said of each.
func replayAll(t *testing.T, dir string) []played {
	t.Helper()
	code, out, said := runIn("replay", "--json", "--config", filepath.Join(dir, "notifyd.yaml"), filepath.Join(dir, "captures"))
	if code != exitRefused {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	var all []played
	for line := range strings.Lines(out) {
		var p played
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, p)
	}
	return all
}

// endOf is how an order stands, in the words of the table.
func endOf(t *testing.T, db store.DB, merchants, numbers string) [4]string {
	t.Helper()
	var ends [4][]string
	for i, no := range strings.Split(numbers, ",") {
		story, err := db.Story(context.Background(), order.Key{Merchant: strings.Split(merchants, ",")[i], OutTradeNo: no})
		end := [4]string{unknown, unknown, unknown, unknown}
		if err == nil {
			end = [4]string{string(story.Status), strconv.FormatInt(story.PaidFen, 10), strconv.FormatInt(story.RefundedFen, 10), flagsOf(story.Order)}
		}
		for k := range ends {
			ends[k] = append(ends[k], end[k])
		}
	}
	return [4]string{joined(ends[0]), joined(ends[1]), joined(ends[2]), joined(ends[3])}
}

func flagsOf(o order.Order) string {
	var flags []string
	if o.Finished {
		flags = append(flags, "finished")
	}
	if o.Late {
		flags = append(flags, "late")
	}
	return joined(flags)
}

// The committed captures verify as on the first day, and end in the same orders
// on both databases; replayed once more they change nothing.
func TestCapturesBecomeWhatTheyMust(t *testing.T) {
	for name, url := range map[string]string{"sqlite": "sqlite:n.db", "postgres": pgtest.Empty(t)} {
		t.Run(name, func(t *testing.T) {
			dir := capturesIn(t, url)
			wantCaptures(t, replayAll(t, dir), "")
			if name == "sqlite" {
				url = "sqlite:" + filepath.Join(dir, "n.db")
			}
			wantEnds(t, url)
			wantCaptures(t, replayAll(t, dir), string(order.Duplicate))
			wantEnds(t, url)
		})
	}
}

// wantCaptures compares with the table; the second time every accepted capture
// is a repeat, and the orders stand as at the end.
func wantCaptures(t *testing.T, all []played, outcome string) {
	t.Helper()
	rows := expectations(t)
	if len(all) != len(rows) {
		t.Fatalf("%d captures, %d rows in expected.tsv", len(all), len(rows))
	}
	for i, row := range rows {
		want := expectation{}
		for _, column := range []string{"capture", "verdict", "code", "outcome", "reason", "merchant", "out_trade_no", "status"} {
			want[column] = row[column]
		}
		if outcome != "" && row["verdict"] == verdictAccepted {
			want["outcome"], want["reason"], want["status"] = outcome, unknown, row["end_status"]
		}
		if diff := cmp.Diff(want, all[i].got()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row["capture"], diff)
		}
	}
}

func wantEnds(t *testing.T, url string) {
	t.Helper()
	db, err := store.Open(url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, row := range expectations(t) {
		if row["out_trade_no"] == unknown {
			continue
		}
		want := [4]string{row["end_status"], row["end_paid_fen"], row["end_refunded_fen"], row["end_flags"]}
		if got := endOf(t, db, row["merchant"], row["out_trade_no"]); got != want {
			t.Errorf("%s: the order ends as %v, want %v", row["capture"], got, want)
		}
	}
}

// What makes the captures worth having: every outcome, every conflict that
// notifications alone can make, every class of refusal at both providers, and
// every case of the field that a single request can show.
func TestCapturesCoverTheKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range expectations(t) {
		for _, column := range []string{"outcome", "reason", "end_status", "end_flags", "code", "cases"} {
			for word := range strings.SplitSeq(row[column], ",") {
				seen[word] = true
			}
		}
	}
	var want []string
	for _, o := range order.Outcomes() {
		want = append(want, string(o))
	}
	for _, r := range []order.Reason{order.ReasonAmountMismatch, order.ReasonCurrencyMismatch, order.ReasonSurplusPayment,
		order.ReasonClosedAfterPaid, order.ReasonRefundExceedsPaid, order.ReasonNumberReused, order.ReasonUnreadableField, order.ReasonAmbiguousText} {
		want = append(want, string(r))
	}
	want = append(want, "paid", "refunded", "late", "finished", "wx.probe", "wx.stale", "wx.unknown_serial", "wx.foreign_mchid", "ali.plus_lost", "ali.html_escaped")
	want = append(want, strings.Fields("P01 P03 P05 P06 P07 P09 P10 P11 P14 P15 P16 P17 P19 P20 P22 P24 P25 P26 P27 P28 P29 P31 P32 P34 P35 P37 P38 P39 P44 P45")...)
	for _, word := range want {
		if !seen[word] {
			t.Errorf("no capture shows %s", word)
		}
	}
}
