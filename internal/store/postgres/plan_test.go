package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// A plan that was made while the table was empty does not outlive its growth:
// otherwise each batch would read the whole table for each of its orders.
func TestPlansFollowTheTable(t *testing.T) {
	url := pgtest.Database(t)
	other := raw(t, url)
	exec(t, other, "vacuum analyze orders") // so that the planner knows that it is empty
	db := open(t, url)
	plan := func(old bool, first string) string {
		conn, err := db.Writer(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		if first != "" {
			exec(t, conn.Conn(), first)
		}
		rows, err := conn.Query(t.Context(), "explain execute q(array['T1'], array['default'])")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	empty := plan(true, "prepare q(text[], text[]) as "+postgres.FindOrders)
	exec(t, other, `insert into orders select 'T' || n, 'default', 1, 1, 'created', true, 1, 'CNY', null, false, '', '', '', 0, 0, null, false, false, n, n
from generate_series(1, 20000) n`)
	if kept := plan(false, ""); kept != empty {
		t.Fatalf("the test shows nothing: the plan followed by itself\n%s\n%s", empty, kept)
	}
	const lookUp = "Index Cond: ((out_trade_no = (k.out_trade_no)::text) AND (merchant = (k.merchant)::text))"
	if grown := plan(true, ""); grown == empty || !strings.Contains(grown, lookUp) {
		t.Errorf("the plan does not look keys up:\n%s", grown)
	}
}

// A backlog is not read to find one of its rows. While the table counts as empty
// an index of all that is pending looks as good as the key; so the one of what is
// due serves whoever asks by time, and nobody else.
func TestBacklogIsNotReadThrough(t *testing.T) {
	url := pgtest.Database(t)
	open(t, url)
	conn := raw(t, url)
	exec(t, conn, "vacuum analyze deliveries") // so that the planner knows that it is empty
	exec(t, conn, `insert into deliveries select 'evt_' || n, 'shop', 'default', 'T' || n, 1, 'pending', 0, 0, n, null, n, n
from generate_series(1, 20000) n`)
	for _, setting := range []string{"enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "plan_cache_mode = force_generic_plan"} {
		exec(t, conn, "set "+setting)
	}
	seen := 0
	for query, args := range postgres.Queries() {
		rows, err := conn.Query(t.Context(), "explain "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if strings.Contains(query, "deliveries") {
			seen++
		}
		for i, line := range lines {
			if strings.Contains(line, "using deliveries_due") && !strings.Contains(query, "next_at > 0") ||
				strings.Contains(line, "using deliveries_due on deliveries p") {
				t.Errorf("%s\n%s", query, strings.Join(lines[i:], "\n"))
			}
		}
	}
	const least = 8 // claims, ends of attempts, and what is sent again
	if seen < least {
		t.Errorf("only %d queries of deliveries were looked at", seen)
	}
}
