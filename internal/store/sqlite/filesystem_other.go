//go:build !linux

package sqlite

// checkFileSystem can tell a network share from a disk on Linux only.
func checkFileSystem(string) error { return nil }

// checkRoom can ask for free space on Linux only; elsewhere a full disk shows
// in the notifications that it refuses.
func checkRoom(string, uint64) error { return nil }
