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
