package captures

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const testdata = "../../../../testdata"

// What lies in testdata is what is made, to the byte, and nothing besides.
func TestTestdataIsWhatIsMade(t *testing.T) {
	made := map[string][]byte{}
	for _, f := range Files() {
		if made[f.Path] != nil {
			t.Errorf("%s is made twice", f.Path)
		}
		made[f.Path] = f.Content
	}
	for _, folder := range Folders() {
		err := fs.WalkDir(os.DirFS(testdata), folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			got, err := os.ReadFile(filepath.Join(testdata, name))
			if err != nil {
				return err
			}
			switch want, known := made[name]; {
			case !known:
				t.Errorf("%s is not made: run make captures", name)
			case !bytes.Equal(got, want):
				t.Errorf("%s is not what is made: run make captures", name)
			}
			delete(made, name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range made {
		t.Errorf("%s is missing: run make captures", name)
	}
}

// Numbers order the captures and stand for their times, so each is given once,
// and every name says in one line what it is.
func TestCapturesHaveNumbersOfTheirOwn(t *testing.T) {
	seen := map[string]string{}
	form := regexp.MustCompile(`^\d{3}-[a-z0-9]+(-[a-z0-9]+)+\.http$`)
	for _, f := range Files() {
		name := path.Base(f.Path)
		if path.Dir(f.Path) != "captures" {
			continue
		}
		if !form.MatchString(name) {
			t.Errorf("%s is not NNN-what-it-is.http", name)
		}
		if other := seen[name[:3]]; other != "" {
			t.Errorf("%s and %s have one number", name, other)
		}
		seen[name[:3]] = name
	}
	if len(seen) < 60 {
		t.Errorf("only %d captures", len(seen))
	}
}

// Keys that everybody has must not be taken for others.
func TestKeysAreMarked(t *testing.T) {
	for _, f := range keyFiles() {
		if !strings.HasPrefix(string(f.Content), "THROW-AWAY, TEST ONLY") || bytes.Contains(f.Content, []byte("PRIVATE KEY")) {
			t.Errorf("%s is not a marked public key", f.Path)
		}
	}
}

// The loop that looks for a plus sign ends, and the capture is what it says.
func TestPlusIsLost(t *testing.T) {
	body := string(plusLost(722).Body)
	_, sign, _ := strings.Cut(body, "&sign=")
	if !strings.Contains(sign, "+") || strings.Contains(body, "%2B") {
		t.Errorf("no plus sign was lost: %s", sign)
	}
}
