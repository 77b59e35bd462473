package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Counters are what the server counts.
type Counters struct {
	Syncs   int64 // of the write-ahead log to disk
	Commits int64 // transactions of one database, reads included
	Ended   int64 // those that rolled back as well
}

// Read reads the counters of a database that a system uses no longer, or not
// yet: a session adds its share when it ends, so that Read waits for that.
func (c *Cluster) Read(ctx context.Context, database string) (n Counters, err error) {
	if err := c.awaitSilence(ctx, database); err != nil {
		return n, err
	}
	var version int
	if err := c.Admin.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
		return n, err
	}
	syncs := "select wal_sync from pg_stat_wal"
	if version >= 180000 { // since then they are counted with all other I/O
		syncs = "select coalesce(sum(fsyncs), 0)::bigint from pg_stat_io where object = 'wal'"
	}
	if err := c.Admin.QueryRow(ctx, syncs).Scan(&n.Syncs); err != nil {
		return n, err
	}
	err = c.Admin.QueryRow(ctx, "select xact_commit, xact_commit + xact_rollback from pg_stat_database where datname = $1", database).Scan(&n.Commits, &n.Ended)
	return n, err
}

// awaitSilence waits until nobody is connected to a database. The end of a
// client and that of its session are two things.
func (c *Cluster) awaitSilence(ctx context.Context, database string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var sessions int
		const connected = "select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend'"
		if err := c.Admin.QueryRow(ctx, connected, database).Scan(&sessions); err != nil || sessions == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d sessions of the database %s do not end", sessions, database)
		}
	}
}

// Describe names the server and the settings on which durability and speed
// depend, as the server itself says them.
func (c *Cluster) Describe(ctx context.Context) ([]string, error) {
	var release string
	if err := c.Admin.QueryRow(ctx, "show server_version").Scan(&release); err != nil {
		return nil, err
	}
	lines := []string{"PostgreSQL " + release}
	for _, s := range append(settings, "wal_level=", "commit_delay=", "autovacuum=") {
		name, _, _ := strings.Cut(s, "=")
		var value string
		if err := c.Admin.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s = %s", name, value))
	}
	return lines, nil
}
