package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/notifyd/notifyd/internal/store/row"
)

// beside opens a second handle of a prepared store's file, as another process
// that only looks.
func beside(t *testing.T, s *Store, disk func(string) (*row.Disk, error)) *Store {
	t.Helper()
	other, err := Open(s.path, Options{Disk: disk})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func grave(e row.Examination) (names []string) {
	for _, s := range e.Settings {
		if s.Grave {
			names = append(names, s.Name)
		}
	}
	return names
}

func TestExamineWhatIsNotThere(t *testing.T) {
	folder := t.TempDir()
	s, err := Open(filepath.Join(folder, "notifyd.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Examine(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Examine without a file: %v", err)
	}
	if _, err := s.Arrivals(t.Context(), row.ArrivalFilter{Newest: 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Arrivals without a file: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("looking made %v (%v)", left, err)
	}
}

// A process that looks neither takes the lock nor changes a byte, whether the
// holder runs or has ended.
func TestExamineBesideTheHolder(t *testing.T) {
	s := prepared(t)
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := beside(t, s, nil)
	e, err := other.Examine(t.Context())
	if err != nil || e.Schema != e.Newest || e.ReadOnly != "" || len(grave(e)) != 0 {
		t.Errorf("beside the holder: %+v, %v", e, err)
	}
	if faults, err := other.Integrity(t.Context()); err != nil || len(faults) != 0 {
		t.Errorf("beside the holder: %q, %v", faults, err)
	}
	if err := s.Beat(t.Context()); err != nil {
		t.Errorf("the holder was disturbed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := other.Examine(t.Context()); err != nil || e.Schema != e.Newest {
		t.Errorf("after the holder has ended: %+v, %v", e, err)
	}
	after, err := os.ReadFile(s.path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("looking changed the file (%v)", err)
	}
}

func TestExamineSeesTheDisk(t *testing.T) {
	s := prepared(t)
	for name, c := range map[string]struct {
		disk row.Disk
		want func(row.Examination) bool
	}{
		"read-only": {row.Disk{Path: "/d", FreeBytes: 1 << 40, ReadOnly: true}, func(e row.Examination) bool { return strings.Contains(e.ReadOnly, "read-only") }},
		"full":      {row.Disk{Path: "/d", FreeBytes: 1}, func(e row.Examination) bool { return e.Disk.FreeBytes < e.Disk.LeastFree && e.ReadOnly == "" }},
		"in memory": {row.Disk{Path: "/d", FreeBytes: 1 << 40, InMemory: true}, func(e row.Examination) bool {
			return e.Settings[0].Risk != "" && !e.Settings[0].Grave
		}},
	} {
		other := beside(t, s, func(string) (*row.Disk, error) { d := c.disk; return &d, nil })
		if e, err := other.Examine(t.Context()); err != nil || !c.want(e) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// The real file system's answer agrees with what the system says elsewhere.
func TestStatDisk(t *testing.T) {
	folder := t.TempDir()
	disk, err := statDisk(filepath.Join(folder, "."))
	if err != nil || disk == nil {
		t.Fatalf("%v, %v", disk, err)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		t.Fatal(err)
	}
	if total := stat.Blocks * uint64(stat.Bsize); disk.FreeBytes > total || disk.ReadOnly {
		t.Errorf("%+v of %d bytes", disk, total)
	}
	if proc, err := statDisk("/proc/self"); err != nil || proc.FreeBytes != 0 {
		t.Errorf("a file system without room: %+v, %v", proc, err)
	}
	if _, err := statDisk(filepath.Join(folder, "absent")); err == nil {
		t.Error("a path that is not there has a file system")
	}
}

func TestExamineFindsALostJournalMode(t *testing.T) {
	s := prepared(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := openRaw(t, s.path)
	var mode string
	if err := db.QueryRow("pragma journal_mode = delete").Scan(&mode); err != nil || mode != "delete" {
		t.Fatalf("%q, %v", mode, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err := beside(t, s, nil).Examine(t.Context()); err != nil || strings.Join(grave(e), " ") != "journal_mode" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestIntegrityFindsDamage(t *testing.T) {
	s := prepared(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// The first page, with the schema, stays: what lies behind it is torn.
	torn := bytes.Repeat([]byte{0xa5}, int(stat.Size())-4096)
	if _, err := file.WriteAt(torn, 4096); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if faults, err := beside(t, s, nil).Integrity(t.Context()); err != nil || len(faults) == 0 {
		t.Errorf("a torn database is said to be sound: %q, %v", faults, err)
	}
}

func TestIntegrityFindsRowsThatPointNowhere(t *testing.T) {
	s := prepared(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := openRaw(t, s.path)
	if _, err := db.Exec(`insert into notification_orders values ('T1', 'default', 'ntf_nowhere')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	faults, err := beside(t, s, nil).Integrity(t.Context())
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0], "1 rows of notification_orders") {
		t.Errorf("%q, %v", faults, err)
	}
}

// openRaw opens the file with the driver alone; the test closes it.
func openRaw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driverName, path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// On a full disk the shared memory of readers cannot be made. Nobody writes then,
// and the file can be read all the same.
func TestExamineWithoutSharedMemory(t *testing.T) {
	s := prepared(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A pipe in its place cannot be made larger, like a file on a full disk.
	if err := unix.Mkfifo(s.path+"-shm", 0o600); err != nil {
		t.Fatal(err)
	}
	other := beside(t, s, nil)
	db := openRaw(t, lookDSN(s.path))
	if err := db.QueryRow("select 1 from beat").Scan(new(int)); err == nil {
		t.Error("the pipe is no hindrance: this tests nothing")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err := other.Examine(t.Context()); err != nil || e.Schema != e.Newest || e.Schema == 0 || len(grave(e)) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	// What the log holds is part of the database: without it nothing is read.
	if err := os.WriteFile(s.path+"-wal", []byte("something"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := other.Examine(t.Context()); err == nil || e.Disk == nil {
		t.Errorf("past a log that cannot be read: %+v, %v", e, err)
	}
}
