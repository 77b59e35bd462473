// The rules of the house, held by tests: who may import whom, how large a piece
// may grow, how things are named, what is never written. A rule that must be
// broken gets an exception here, with its reason beside it. The rules
// themselves are explained in docs/architecture.md.
package main_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	houseModule = "github.com/notifyd/notifyd"
	houseRoot   = "../.."
)

// housePackage is what `go list -json` says of a package, as far as the rules ask.
type housePackage struct {
	ImportPath, Name, Doc              string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
	DepOnly                            bool
}

// path is the folder within the module; "" for a package of somebody else.
func (p housePackage) path() string { return ours(p.ImportPath) }

// ours is the folder within the module of an import path of ours, otherwise "".
func ours(importPath string) string {
	folder, found := strings.CutPrefix(importPath, houseModule+"/")
	if !found {
		return ""
	}
	return folder
}

// isStandard says whether an import path is of the standard library: those have
// no dot in their first element.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func listPackages(t *testing.T, args ...string) []housePackage {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	list.Dir = houseRoot
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []housePackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p housePackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("go list wrote JSON that cannot be read: %v", err)
		}
		packages = append(packages, p)
	}
}

// source is one parsed Go file.
type source struct {
	path string // from the root of the module, with slashes
	text string
	tree *ast.File
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// forTests says whether the file serves tests only, whatever its name.
func (s source) forTests() bool {
	return s.isTest() || strings.HasPrefix(s.path, "internal/provider/providertest/") ||
		strings.HasPrefix(s.path, "internal/store/storetest/") || strings.HasPrefix(s.path, "internal/store/postgres/pgtest/")
}

func (s source) folder() string { return filepath.ToSlash(filepath.Dir(s.path)) }

var (
	houseFiles = token.NewFileSet()

	// sources are the Go files of the module, those in testdata folders included.
	sources = sync.OnceValues(func() ([]source, error) {
		var all []source
		err := walk(".go", func(path string, text []byte) error {
			tree, err := parser.ParseFile(houseFiles, path, text, parser.ParseComments)
			if err != nil {
				return err
			}
			all = append(all, source{path, string(text), tree})
			return nil
		})
		return all, err
	})
)

func mustSources(t *testing.T) []source {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d Go files were found: the tests of the house look in the wrong place", len(all))
	}
	return all
}

// line is where a node stands, for people.
func line(node ast.Node) string { return houseFiles.Position(node.Pos()).String() }

// walk visits the files of the module whose names end in suffix.
func walk(suffix string, visit func(path string, text []byte) error) error {
	return filepath.WalkDir(houseRoot, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != houseRoot && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, suffix) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		path, err := filepath.Rel(houseRoot, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(path), text)
	})
}

func readHouseFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(houseRoot, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
