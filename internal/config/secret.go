package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
)

// Secret is a text that prints as a mask wherever it is printed.
type Secret string

const mask = "***"

func (s Secret) String() string               { return mask }
func (s Secret) GoString() string             { return mask }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, mask) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// Reveal is the text itself: for keys, never for people.
func (s Secret) Reveal() string { return string(s) }

// A text type that can reveal itself is a secret, whichever package declares
// it: adapters have their own, which this package must not import.
var revealer = reflect.TypeFor[interface{ Reveal() string }]()

func isSecret(t reflect.Type) bool {
	return t.Kind() == reflect.String && t.Implements(revealer)
}

const (
	// maxSecretBytes bounds a secret file; the longest secrets are keys of a few kilobytes.
	maxSecretBytes = 64 << 10
	// ownerOnly is what a secret file's mode may allow: reading and writing by its owner.
	ownerOnly fs.FileMode = 0o600
)

// readSecret reads a secret file and cuts its trailing newline. The warning is
// about the mode of the file and "" when there is nothing to say.
func readSecret(path string) (text, warning string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return "", "", err
	}
	// A pipe or a descriptor handed over by a supervisor has a mode that says nothing.
	if mode := stat.Mode(); mode.IsRegular() && mode.Perm()&^ownerOnly != 0 {
		warning = fmt.Sprintf("%s has mode %04o, so others may read the secret: chmod 600", path, mode.Perm())
	}
	raw, err := readAtMost(f, maxSecretBytes)
	if err != nil {
		return "", "", err
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if text == "" {
		return "", warning, errors.New("it is empty")
	}
	return text, warning, nil
}

func readAtMost(f *os.File, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return raw, nil
}

// cause is why a file could not be used, without its path and the verb.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
