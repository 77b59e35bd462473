package sqlite

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Network file systems, by the number that statfs gives. A write-ahead log
// needs memory that its readers share and locks that hold; a network share has
// neither for certain.
var network = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.CIFS_SUPER_MAGIC: "SMB",
	unix.CODA_SUPER_MAGIC: "Coda",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CEPH_SUPER_MAGIC: "Ceph",
}

// checkRoom is order.ErrUnavailable when fewer than least bytes are free for us.
func checkRoom(path string, least uint64) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return fmt.Errorf("%w: the file system of the database cannot be asked: %w", order.ErrUnavailable, err)
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < least {
		return fmt.Errorf("%w: the disk of the database is full: %d bytes are free, %d are needed", order.ErrUnavailable, free, least)
	}
	return nil
}

// statDisk asks the file system of path.
func statDisk(path string) (*row.Disk, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return nil, fmt.Errorf("the file system of the database cannot be asked: %w", err)
	}
	return diskOf(filepath.Dir(path), &stat), nil
}

// diskOf is what statfs said of the file system on which a folder lies.
func diskOf(folder string, stat *unix.Statfs_t) *row.Disk {
	return &row.Disk{
		Path: folder, FreeBytes: stat.Bavail * uint64(stat.Bsize), ReadOnly: stat.Flags&unix.ST_RDONLY != 0,
		InMemory: stat.Type == unix.TMPFS_MAGIC || stat.Type == unix.RAMFS_MAGIC,
	}
}

func checkFileSystem(path string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return fmt.Errorf("the file system of the database cannot be asked: %w", err)
	}
	if name, found := network[int64(stat.Type)]; found {
		return fmt.Errorf("%s lies on a network file system (%s): SQLite needs a local one, or use PostgreSQL", path, name)
	}
	return nil
}
