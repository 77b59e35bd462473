package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/notifyd/notifyd/internal/newfile"
)

// maxKeyFileBytes is far above any key, token or list of certificates: a wrong
// path is noticed, and one to a device does not fill the memory.
const maxKeyFileBytes = 64 << 10

// readAtMost reads a file of no more than limit bytes. Its error does not name
// the file: whoever asks knows it.
func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("it has more than %d bytes", limit)
	}
	return text, nil
}

// withoutPath is an error of a file without the path, which is named beside it.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// writeNew writes a file for its owner alone, and never over another.
func writeNew(path string, text []byte) error {
	err := newfile.Write(path, text)
	switch {
	case errors.Is(err, fs.ErrExist):
		return exitWith(exitFailed, "%s is there already, and nothing is written over: name another file, or remove it", path)
	case err != nil:
		return exitWith(exitFailed, "%s cannot be written: %w", path, withoutPath(err))
	}
	return nil
}
