package newfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Lstat(path); err != nil || at.Mode() != Mode {
		t.Errorf("%v, %v", at, err)
	}
	// A link to nothing would be followed by whoever looks first and writes then.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{path, link} {
		if err := Write(taken, []byte("two")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", taken, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "one" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was followed: %v", err)
	}
}

// Half a file would be taken for a whole one.
func TestHalfAFileIsTakenAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	full := errors.New("no space left")
	err := create(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "hal")
		return errors.Join(err, full)
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}
