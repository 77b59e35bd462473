package sqlite

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/notifyd/notifyd/internal/store/row"
)

// What statfs says of disks that no test can count on having.
func TestDiskOf(t *testing.T) {
	const ext4 = 0xef53
	for name, c := range map[string]struct {
		said unix.Statfs_t
		want row.Disk
	}{
		"a disk":                {unix.Statfs_t{Type: ext4, Bsize: 4096, Bfree: 100, Bavail: 10, Flags: unix.ST_NOSUID | unix.ST_RELATIME}, row.Disk{FreeBytes: 40960}},
		"read-only":             {unix.Statfs_t{Type: ext4, Bsize: 4096, Bavail: 10, Flags: unix.ST_NOSUID | unix.ST_RDONLY}, row.Disk{FreeBytes: 40960, ReadOnly: true}},
		"full for all but root": {unix.Statfs_t{Type: ext4, Bsize: 4096, Bfree: 100}, row.Disk{}},
		"in memory":             {unix.Statfs_t{Type: unix.TMPFS_MAGIC, Bsize: 4096, Bavail: 1}, row.Disk{FreeBytes: 4096, InMemory: true}},
		"ramfs":                 {unix.Statfs_t{Type: unix.RAMFS_MAGIC}, row.Disk{InMemory: true}},
	} {
		c.want.Path = "/d"
		if got := diskOf("/d", &c.said); *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
}
