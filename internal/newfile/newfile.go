// Package newfile writes files that were not there before, for their owner
// alone: keys, secrets, captures.
package newfile

import (
	"errors"
	"io"
	"os"
)

// Mode is the mode of all files: what is written here may hold a secret.
const Mode = 0o600

// Write makes a file. One that is there, or is made by somebody else in this
// moment, stays as it is, and so does a link, wherever it leads: the error is an
// fs.ErrExist. A file that could not be written to its end is taken away again.
func Write(path string, text []byte) error {
	return create(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func create(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, Mode)
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
