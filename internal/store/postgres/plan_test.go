package postgres_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// A plan that was made while the table was empty does not outlive its growth:
// otherwise a statement that leaves its plan to the planner would read the whole
// table for each of its keys.
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
	empty := plan(true, `prepare q(text[], text[]) as select o.rev from unnest($1, $2) k(out_trade_no, merchant)
join orders o on o.out_trade_no = k.out_trade_no and o.merchant = k.merchant`)
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

// A unit of work goes from its keys to their rows, however few rows the planner
// believes a table to have: it may believe so for a second, while a burst fills it.
func TestKeysAreLookedUp(t *testing.T) {
	tables := "orders, payments, refunds, notifications, waiting"
	url := pgtest.Database(t)
	other, db := raw(t, url), open(t, url)
	exec(t, other, "vacuum analyze "+tables) // so that the planner knows that they are empty
	wantLookUps(t, db, "empty")
	for _, rows := range []string{
		`orders select 'T' || n, 'default', 1, 1, 'created', true, 1, 'CNY', null, false, '', '', '', 0, 0, null, false, false, n, n`,
		`payments select 'tx' || n, 'wechat', 'T' || n, 'default', 0, '', 1, 'CNY', 0, 'accepted', null, n`,
		`refunds select 'r' || n, 'wechat', 'tx' || n, 'T' || n, 'default', '', '', 1, 1, '', null, n`,
		`notifications select 'ntf_' || n, n, 'wechat', '', 'default', 'T' || n, '', 'applied', '', null, decode(repeat(md5(n::text), 2), 'hex'), 'EV' || n, '19', '', 1, ''`,
		`waiting select 'ntf_' || n, 0, 'T' || n, 'default', 'tx' || n, 'wechat', false, n, '{}'`,
	} {
		exec(t, other, "insert into "+rows+" from generate_series(1, 3000) n")
	}
	exec(t, other, "analyze "+tables)
	wantLookUps(t, db, "full")
}

// wantLookUps looks at the plans of a unit of work. Its questions hold no
// conditions on indexed columns but on keys.
func wantLookUps(t *testing.T, db *postgres.Store, tables string) {
	t.Helper()
	conn, err := db.Writer(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	leading := leadingColumns(t, conn.Conn())
	for _, query := range postgres.LookUps() {
		exec(t, conn.Conn(), "prepare q as "+query)
		// The plan is one for all arguments.
		nulls := strings.TrimSuffix(strings.Repeat("null, ", len(postgres.Queries()[query])), ", ")
		rows, err := conn.Query(t.Context(), "explain execute q("+nulls+")")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		exec(t, conn.Conn(), "deallocate q")
		if !looksUp(lines, leading) {
			t.Errorf("while the tables are %s, a table is read through:\n%s\n%s", tables, query, strings.Join(lines, "\n"))
		}
	}
}

// leadingColumns are the first columns of all indexes, by the names of these.
func leadingColumns(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select c.relname, pg_get_indexdef(i.indexrelid, 1, true)
from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	leading := map[string]string{}
	var index, column string
	if _, err := pgx.ForEachRow(rows, []any{&index, &column}, func() error { leading[index] = column; return nil }); err != nil {
		t.Fatal(err)
	}
	return leading
}

var (
	indexScan = regexp.MustCompile(`Index (?:Only )?Scan using (\w+)`)
	indexCond = regexp.MustCompile(`Index Cond: \(+(\w+) = `)
)

// looksUp says whether a plan reads indexes only, each of them at a key and without
// a bitmap: an index whose first column is not given is read from end to end.
func looksUp(plan []string, leading map[string]string) bool {
	looked := false
	for i, line := range plan {
		if strings.Contains(line, "Seq Scan") || strings.Contains(line, "Bitmap") || strings.Contains(line, "Join Filter") {
			return false
		}
		if scan := indexScan.FindStringSubmatch(line); scan != nil {
			cond := indexCond.FindStringSubmatch(strings.Join(plan[i+1:min(i+2, len(plan))], ""))
			if cond == nil || cond[1] != leading[scan[1]] {
				return false
			}
			looked = true
		}
	}
	return looked
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
	for _, setting := range []string{"enable_seqscan = off", "enable_bitmapscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "plan_cache_mode = force_generic_plan"} {
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
