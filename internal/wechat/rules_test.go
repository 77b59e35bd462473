package wechat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources are the package's files, tests left out.
func sources(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	packages, err := parser.ParseDir(set, ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return set, packages["wechat"].Files
}

// TestNoNetwork: the adapter can neither connect nor open a file, whatever a
// message names. net/http is there for the type of a header.
func TestNoNetwork(t *testing.T) {
	_, files := sources(t)
	for name, file := range files {
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if path == "os" || path == "net" || path == "io/ioutil" || strings.HasPrefix(path, "os/") || path == "net/url" || path == "syscall" {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if p, ok := s.X.(*ast.Ident); ok && p.Name == "http" && s.Sel.Name != "Header" && !strings.HasPrefix(s.Sel.Name, "Status") {
					t.Errorf("%s uses http.%s", name, s.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestT14: nothing named after a signature is compared with == or bytes.Equal.
func TestT14(t *testing.T) {
	set, files := sources(t)
	secret := regexp.MustCompile(`(?i)^(sign|signature|sig|mac|claimed|sum)$`)
	named := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return secret.MatchString(e.Name)
		case *ast.SelectorExpr:
			return secret.MatchString(e.Sel.Name)
		}
		return false
	}
	isNil := func(e ast.Expr) bool { i, ok := e.(*ast.Ident); return ok && i.Name == "nil" }
	comparisons := 0
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && (named(n.X) || named(n.Y)) && !isNil(n.Y) {
					t.Errorf("%s compares a signature in variable time", set.Position(n.Pos()))
				}
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !slices.ContainsFunc(n.Args, named) {
					return true
				}
				switch s.Sel.Name {
				case "Equal", "Compare", "EqualFold":
					t.Errorf("%s compares a signature in variable time", set.Position(n.Pos()))
				case "ConstantTimeCompare":
					comparisons++
				}
			}
			return true
		})
	}
	if comparisons != 3 {
		t.Errorf("%d comparisons in constant time, the two of v2 and the one of its examination are due", comparisons)
	}
}

// TestFinerCodesAreExplained: every code of either list has one text in both
// languages, and every finer one is found by some line.
func TestFinerCodesAreExplained(t *testing.T) {
	_, files := sources(t)
	declared := map[string]bool{} // whether it is a finer one
	var all strings.Builder
	for name := range files {
		if text, err := os.ReadFile(name); err == nil && name != "causes.go" && !strings.HasPrefix(name, "explain") {
			all.Write(text)
		}
	}
	for _, name := range []string{"codes.go", "causes.go"} {
		for _, declaration := range files[name].Decls {
			for _, spec := range constants(declaration) {
				value, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				declared[value] = name == "causes.go"
				damage := slices.Contains(slices.Collect(maps.Values(ofDamage)), value)
				if !damage && !strings.Contains(all.String(), spec.Names[0].Name) {
					t.Errorf("nothing says %s", spec.Names[0].Name)
				}
			}
		}
	}
	explained := map[string]bool{}
	for _, e := range Explanations() {
		finer, is := declared[e.Code]
		if !is || finer != e.Finer || explained[e.Code] {
			t.Errorf("%s is explained, and is no code, stands in the other list, or stands twice", e.Code)
		}
		explained[e.Code] = true
	}
	for code := range declared {
		if !explained[code] {
			t.Errorf("%s is not explained", code)
		}
	}
}

func constants(declaration ast.Decl) (specs []*ast.ValueSpec) {
	if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.CONST {
		for _, spec := range general.Specs {
			specs = append(specs, spec.(*ast.ValueSpec))
		}
	}
	return specs
}

// TestCodesAreListedAndExplained holds the constants, the list and their words together.
func TestCodesAreListedAndExplained(t *testing.T) {
	_, files := sources(t)
	var declared []string
	ast.Inspect(files["codes.go"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		declared = append(declared, value)
		if !strings.HasPrefix(value, "wx.") || !strings.HasPrefix(spec.Doc.Text(), spec.Names[0].Name+": ") {
			t.Errorf("%s has no doc comment that explains it", value)
		}
		return true
	})
	if diff := cmp.Diff(declared, Codes()); diff != "" {
		t.Errorf("declared and listed codes differ:\n%s", diff)
	}
	// Every code is one that some line really refuses with.
	var all strings.Builder
	for name := range files {
		if name != "codes.go" {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	ast.Inspect(files["codes.go"], func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && !strings.Contains(all.String(), spec.Names[0].Name) {
			t.Errorf("nothing refuses with %s", spec.Names[0].Name)
		}
		return true
	})
}
