//go:build !linux

package sqlite

import "github.com/notifyd/notifyd/internal/store/row"

// checkFileSystem can tell a network share from a disk on Linux only.
func checkFileSystem(string) error { return nil }

// checkRoom can ask for free space on Linux only; elsewhere a full disk shows
// in the notifications that it refuses.
func checkRoom(string, uint64) error { return nil }

// statDisk sees the disk on Linux only.
func statDisk(string) (*row.Disk, error) { return nil, nil }
