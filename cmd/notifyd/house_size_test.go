package main_test

import (
	"go/ast"
	"strings"
	"testing"
)

// The outer bounds. What one person can hold in mind is smaller: files of 60 to
// 250 lines, functions under 60, interfaces of a few methods.
const (
	maxFileLines     = 400
	maxTestFileLines = 500 // a list of cases is read by looking one up
	maxFunctionLines = 80
	maxMethods       = 7 // an interface with more is two interfaces
	maxParameters    = 5 // with more, callers mix them up
)

// tooLarge are the argued exceptions: "path" for a file, "path:name" for a
// function or an interface.
var tooLarge = map[string]string{}

func TestHouseSizes(t *testing.T) {
	used := map[string]bool{}
	bound := func(name, what string, got, limit int) {
		if got <= limit {
			return
		}
		used[name] = true
		if tooLarge[name] == "" {
			t.Errorf("%s: %d %s, the bound is %d", name, got, what, limit)
		}
	}
	for _, s := range mustSources(t) {
		limit := maxFileLines
		if s.isTest() {
			limit = maxTestFileLines
		}
		bound(s.path, "lines", strings.Count(s.text, "\n"), limit)
		ast.Inspect(s.tree, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				name := s.path + ":" + n.Name.Name
				bound(name, "lines in a function", lines(n), maxFunctionLines)
				bound(name, "parameters", n.Type.Params.NumFields(), maxParameters)
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok {
					bound(s.path+":"+n.Name.Name, "methods", i.Methods.NumFields(), maxMethods)
				}
			}
			return true
		})
	}
	for name := range tooLarge {
		if !used[name] {
			t.Errorf("%s needs no exception any more: take it away", name)
		}
	}
}

// lines counts from a node's first to its last line.
func lines(node ast.Node) int {
	return houseFiles.Position(node.End()).Line - houseFiles.Position(node.Pos()).Line + 1
}
