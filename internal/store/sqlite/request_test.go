package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/notifyd/notifyd/internal/store/storetest"
)

// The table is all that a replay needs: its rows in another database tell the
// same answers.
func TestRestoredRequestsAreToldAgain(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from.db"), filepath.Join(t.TempDir(), "to.db")
	was, restored := open(t, from), open(t, to)
	storetest.Restored(t, was, restored, func() {
		db := raw(t, to)
		db.SetMaxOpenConns(1) // what is attached belongs to the connection
		for _, statement := range []string{
			"attach '" + from + "' as dumped",
			"insert into idempotency select * from dumped.idempotency",
		} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
	})
}
