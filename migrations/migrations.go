// Package migrations holds the schema of both databases as numbered SQL files:
// sqlite/ and postgres/ have the same numbers and names, and each pair says the
// same thing in two dialects. A schema only goes forward: there is no way down,
// and a file that was released is never changed again.
//
// It imports the standard library only; the stores run the files.
package migrations

import (
	"embed"
	"strconv"
	"strings"
)

// SQLite is the schema for SQLite, in the folder sqlite.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres is the schema for PostgreSQL, in the folder postgres.
//
//go:embed postgres/*.sql
var Postgres embed.FS

// Newest is the number of the last step, the same for both databases.
func Newest() (newest int64) {
	steps, _ := SQLite.ReadDir("sqlite") // embedded: it is there
	for _, s := range steps {
		number, _, _ := strings.Cut(s.Name(), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}
