// Package migrations holds the schema of both databases as numbered SQL files:
// sqlite/ and postgres/ have the same numbers and names, and each pair says the
// same thing in two dialects. A schema only goes forward: there is no way down,
// and a file that was released is never changed again.
//
// It imports the standard library only; the stores run the files.
package migrations

import "embed"

// SQLite is the schema for SQLite, in the folder sqlite.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres is the schema for PostgreSQL, in the folder postgres.
//
//go:embed postgres/*.sql
var Postgres embed.FS
