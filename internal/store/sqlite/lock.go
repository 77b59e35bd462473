package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxHolderBytes bounds what is read of a lock file that somebody else wrote.
const maxHolderBytes = 1024

// lock is the operating system's lock on a file beside the database. It ends
// with the process, however that ends. It is not on the database itself: closing
// any handle of that file would end SQLite's own locks on it.
type lock struct{ file *os.File }

func lockPath(path string) string { return path + ".lock" }

// acquire takes the lock at once or says who holds it.
func acquire(path, holder string) (*lock, error) {
	name := lockPath(path)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock file beside the database cannot be opened: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer func() { _ = file.Close() }()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("the lock file %s cannot be locked: %w", name, err)
		}
		return nil, heldBy(file)
	}
	// The text is for people; only the lock itself counts.
	text := fmt.Sprintf("%d\n%s\n", os.Getpid(), strings.ReplaceAll(holder, "\n", " "))
	if err := errors.Join(file.Truncate(0), writeAt(file, text)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the lock file %s cannot be written: %w", name, err)
	}
	return &lock{file}, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func heldBy(file *os.File) error {
	held := &HeldError{Path: file.Name()}
	text, err := io.ReadAll(io.LimitReader(file, maxHolderBytes))
	if err != nil {
		return held
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	held.PID, _ = strconv.Atoi(first) // 0: the holder is about to write it
	held.Holder = strings.TrimSpace(rest)
	return held
}

// release lets go. The file stays: a process that removed it would take away
// the one that another has just locked.
func (l *lock) release() error { return l.file.Close() }
