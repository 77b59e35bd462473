package main_test

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Folders that say nothing about what is in them.
func TestHouseFoldersSayWhatTheyHold(t *testing.T) {
	empty := []string{"pkg", "util", "utils", "common", "models", "model", "helpers", "mocks", "misc", "lib", "shared", "types", "base"}
	for _, s := range mustSources(t) {
		for _, part := range strings.Split(s.folder(), "/") {
			if slices.Contains(empty, part) {
				t.Errorf("%s lies in a folder %q: name what it holds", s.path, part)
			}
		}
	}
}

// avoided are words that leave open what a thing does or which way it goes.
var avoided = []string{"callback", "webhook", "manager", "processor", "helper", "util", "utils"}

// A merchant's events follow Standard Webhooks, whose name is its name; a
// function of the public package is looked for under that word.
var avoidedButNeeded = []string{"StandardWebhooks", "VerifyWebhook", "ExampleVerifyWebhook"}

func TestHouseNames(t *testing.T) {
	for _, s := range mustSources(t) {
		base := strings.TrimSuffix(path.Base(s.path), ".go")
		complain := func(where, name string) {
			for _, word := range words(name) {
				if slices.Contains(avoided, word) && !slices.Contains(avoidedButNeeded, name) {
					t.Errorf("%s: the name %s contains %q, which the house does not use: see docs/architecture.md, Words", where, name, word)
				}
			}
			if strings.HasSuffix(name, "Service") {
				t.Errorf("%s: the name %s ends in Service: name what it does", where, name)
			}
		}
		complain(s.path, base)
		complain(s.path, s.tree.Name.Name)
		for _, ident := range declared(s.tree) {
			complain(line(ident), ident.Name)
		}
	}
}

// declared are the names that a file gives: of functions, types, constants,
// variables, fields and parameters.
func declared(tree *ast.File) (idents []*ast.Ident) {
	ast.Inspect(tree, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			idents = append(idents, n.Name)
		case *ast.TypeSpec:
			idents = append(idents, n.Name)
		case *ast.ValueSpec:
			idents = append(idents, n.Names...)
		case *ast.Field:
			idents = append(idents, n.Names...)
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				break
			}
			for _, left := range n.Lhs {
				if ident, ok := left.(*ast.Ident); ok {
					idents = append(idents, ident)
				}
			}
		}
		return true
	})
	return idents
}

// words splits a name at its capitals and underscores: "gotSignV2" is got, sign,
// v2; "HTTPServer" is http, server.
func words(name string) []string {
	var all []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			all = append(all, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if r == '_' || r == '-' {
			flush()
			continue
		}
		startsWord := unicode.IsUpper(r) && (i > 0 && !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if startsWord {
			flush()
		}
		word = append(word, r)
	}
	flush()
	if len(all) == 0 {
		return []string{""}
	}
	return all
}

func TestHouseWords(t *testing.T) {
	for name, want := range map[string]string{
		"gotSign": "got sign", "signType": "sign type", "HTTPServer": "http server", "MAC": "mac",
		"out_trade_no": "out trade no", "_": "", "v2Sign": "v2 sign",
	} {
		if got := strings.Join(words(name), " "); got != want {
			t.Errorf("words(%q) = %q, want %q", name, got, want)
		}
	}
}

// A package comment says what the package owns and may import.
func TestHousePackagesIntroduceThemselves(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		if len(p.GoFiles) > 0 && strings.TrimSpace(p.Doc) == "" {
			t.Errorf("%s has no package comment", p.path())
		}
	}
}

// The packages that others build on explain every name they export.
func TestHouseExportedNamesAreExplained(t *testing.T) {
	explained := []string{"internal/order", "internal/provider", "client"}
	plain := []string{"String", "GoString", "Error", "Unwrap", "Format", "MarshalText", "MarshalJSON", "UnmarshalText", "Len", "Less", "Swap"}
	for _, s := range mustSources(t) {
		if s.isTest() || !slices.Contains(explained, s.folder()) {
			continue
		}
		for _, declaration := range s.tree.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && !(d.Recv != nil && slices.Contains(plain, d.Name.Name)) {
					t.Errorf("%s: %s has no comment", line(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, ident := range unexplained(d) {
					t.Errorf("%s: %s has no comment", line(ident), ident.Name)
				}
			}
		}
	}
}

func unexplained(d *ast.GenDecl) (idents []*ast.Ident) {
	for _, spec := range d.Specs {
		switch x := spec.(type) {
		case *ast.TypeSpec:
			if x.Name.IsExported() && d.Doc == nil && x.Doc == nil {
				idents = append(idents, x.Name)
			}
		case *ast.ValueSpec:
			for _, name := range x.Names {
				if name.IsExported() && d.Doc == nil && x.Doc == nil && x.Comment == nil {
					idents = append(idents, name)
				}
			}
		}
	}
	return idents
}
