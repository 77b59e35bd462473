package postgres_test

import (
	"bytes"
	"testing"

	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
	"github.com/notifyd/notifyd/internal/store/storetest"
)

// The table is all that a replay needs: a dump of its rows, as text, tells the
// same answers in another database.
func TestRestoredRequestsAreToldAgain(t *testing.T) {
	from, to := pgtest.Database(t), pgtest.Database(t)
	storetest.Restored(t, open(t, from), open(t, to), func() {
		var dump bytes.Buffer
		if _, err := raw(t, from).PgConn().CopyTo(t.Context(), &dump, "copy idempotency to stdout"); err != nil {
			t.Fatal(err)
		}
		if _, err := raw(t, to).PgConn().CopyFrom(t.Context(), &dump, "copy idempotency from stdin"); err != nil {
			t.Fatal(err)
		}
	})
}
