package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/store"
)

const (
	// spaceLow is when a disk wants attention: days of notifications of a large
	// shop, and room for a migration that writes a table anew.
	spaceLow = 512 << 20
	// spaceGone is when it is an emergency: the log of the database alone may
	// take that much.
	spaceGone = 64 << 20
	// maxFaults is how many damages are told: the first say it all.
	maxFaults = 5
)

var storePart = []string{StoreReach, StoreDurability, StoreSpace, StoreWritable, StoreSchema, StoreIntegrity}

func (x *examination) store(ctx context.Context) {
	if x.Store == nil {
		x.skipFrom(storePart, StoreReach, "", "the configuration does not say which store")
		return
	}
	e, err := x.Store.Examine(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !x.up:
		x.skipFrom(storePart, StoreReach, "", "%s is not there yet: notifyd serve makes it", x.StoreURL)
		return
	case errors.Is(err, fs.ErrPermission):
		x.skipFrom(storePart, StoreReach, "", "%v: run the doctor as the user that runs notifyd serve", err)
		return
	case err != nil:
		x.fail(StoreReach, "", "see that the database runs, and that store in the configuration names it", "%s cannot be looked at: %s", x.StoreURL, oneLine(err))
		x.skip(StoreDurability, "", "the store cannot be looked at")
		x.space(e) // which may be why
		x.unwritable(e)
		x.skipFrom(storePart, StoreSchema, "", "the store cannot be looked at")
		return
	}
	x.ok(StoreReach, "", "%s, %s", x.StoreURL, bytesText(uint64(e.Bytes)))
	x.durability(e)
	x.space(e)
	x.writable(e)
	x.schema(e)
	x.integrity(ctx)
}

func (x *examination) durability(e store.Examination) {
	var fine []string
	risky := 0
	for _, s := range e.Settings {
		text := fmt.Sprintf("%s is %s: %s", s.Name, s.Value, s.Risk)
		switch {
		case s.Risk == "" && s.Value != "":
			fine = append(fine, s.Name+" "+s.Value)
			continue
		case s.Risk == "":
			continue
		case s.Grave:
			x.fail(StoreDurability, "", s.Fix, "%s", text)
		default:
			x.warn(StoreDurability, "", s.Fix, "%s", text)
		}
		risky++
	}
	if risky == 0 {
		x.ok(StoreDurability, "", "what is acked is on disk: %s", strings.Join(fine, ", "))
	}
}

func (x *examination) space(e store.Examination) {
	if e.Disk == nil {
		x.skip(StoreSpace, "", "the database's disk cannot be seen from here: look at it where the database runs")
		return
	}
	free := bytesText(e.Disk.FreeBytes)
	const fix = "make room, or move the database to a larger disk; what is refused meanwhile comes again for about a day"
	switch {
	case e.Disk.FreeBytes < max(e.Disk.LeastFree, spaceGone):
		x.fail(StoreSpace, "", fix, "%s has %s free: notifications are refused below %s", e.Disk.Path, free, bytesText(e.Disk.LeastFree))
	case e.Disk.FreeBytes < spaceLow:
		x.warn(StoreSpace, "", fix, "%s has only %s free", e.Disk.Path, free)
	default:
		x.ok(StoreSpace, "", "%s has %s free", e.Disk.Path, free)
	}
}

// writable trusts the running server first: it writes every two seconds. Who
// runs the doctor may be somebody else.
func (x *examination) writable(e store.Examination) {
	mounted := e.Disk != nil && e.Disk.ReadOnly
	switch {
	case x.writes && !mounted:
		x.ok(StoreWritable, "", "the server writes to it")
	case e.ReadOnly != "":
		x.fail(StoreWritable, "", "make it writable for the user that runs notifyd serve", "%s", e.ReadOnly)
	default:
		x.ok(StoreWritable, "", "it can be written")
	}
}

// unwritable is all that can be said of a store that cannot be reached: what the
// server wrote a moment ago is no sign that it still does.
func (x *examination) unwritable(e store.Examination) {
	if e.ReadOnly == "" {
		x.skip(StoreWritable, "", "the store cannot be looked at")
		return
	}
	x.writable(e)
}

// oneLine is an error whose text has lines, as drivers list what they tried; what
// is said twice is said once.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

func (x *examination) schema(e store.Examination) {
	switch {
	case e.Schema == 0:
		x.warn(StoreSchema, "", "start notifyd serve: it makes the tables", "the database is empty")
	case e.Schema > e.Newest:
		x.fail(StoreSchema, "", "run the newer program, or restore a backup from before the upgrade",
			"the database has schema %d, this program knows %d", e.Schema, e.Newest)
	case e.Schema < e.Newest:
		x.warn(StoreSchema, "", "start this version of notifyd serve: it migrates under a lock",
			"the database has schema %d, this program %d", e.Schema, e.Newest)
	default:
		x.ok(StoreSchema, "", "schema %d, the newest", e.Schema)
	}
}

func (x *examination) integrity(ctx context.Context) {
	if x.IntegrityTime <= 0 {
		x.skip(StoreIntegrity, "", "left out by --integrity 0")
		return
	}
	bounded, cancel := context.WithTimeout(ctx, x.IntegrityTime)
	defer cancel()
	faults, err := x.Store.Integrity(bounded)
	const fix = "stop the server, keep a copy of the database as it is, and restore the latest backup; what came since then comes from the provider's bill"
	switch {
	case len(faults) > 0:
		for _, f := range faults[:min(len(faults), maxFaults)] {
			x.fail(StoreIntegrity, "", fix, "%s", f)
		}
	case bounded.Err() != nil && ctx.Err() == nil:
		x.skip(StoreIntegrity, "", "reading all of it takes longer than %s: allow more with --integrity", x.IntegrityTime)
	case err != nil:
		x.fail(StoreIntegrity, "", fix, "the database cannot be read: %v", err)
	default:
		x.ok(StoreIntegrity, "", "read, and nothing is damaged")
	}
}

// bytesText is a size for people.
func bytesText(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	div, exp := uint64(unit), 0
	for m := n / unit; m >= unit; m /= unit {
		div, exp = div*unit, exp+1
	}
	return fmt.Sprintf("%.1f %ciB", float64(n)/float64(div), "KMGTPE"[exp])
}
