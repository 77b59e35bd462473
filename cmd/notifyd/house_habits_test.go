package main_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// uses is the first place where a file says qualified, for instance
// "time.Sleep"; nil when it does not.
func uses(s source, qualified string) (found ast.Node) {
	name, member, _ := strings.Cut(qualified, ".")
	ast.Inspect(s.tree, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == member {
			if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == name && found == nil {
				found = node
			}
		}
		return found == nil
	})
	return found
}

// What registers itself cannot be left out, ordered or tested: everything is
// wired in cmd/notifyd.
func TestHouseNoInit(t *testing.T) {
	for _, s := range mustSources(t) {
		for _, declaration := range s.tree.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init", line(f))
			}
		}
	}
}

// A package variable that changes after start is shared by everybody who runs.
func TestHousePackageVariablesStay(t *testing.T) {
	byFolder := map[string][]source{}
	for _, s := range mustSources(t) {
		if !s.isTest() {
			byFolder[s.folder()] = append(byFolder[s.folder()], s)
		}
	}
	for _, files := range byFolder {
		variables := map[string]*ast.ValueSpec{}
		for _, s := range files {
			for _, spec := range packageVariables(s) {
				for _, name := range spec.Names {
					variables[name.Name] = spec
				}
			}
		}
		for _, s := range files {
			ast.Inspect(s.tree, func(node ast.Node) bool {
				for _, target := range targets(node) {
					ident := root(target)
					if ident == nil || ident.Name == "_" || variables[ident.Name] == nil {
						continue
					}
					// The parser resolves what the file itself declares; a
					// name that it could not resolve is the package's.
					if ident.Obj == nil || ident.Obj.Decl == variables[ident.Name] {
						t.Errorf("%s: the package variable %s is changed", line(node), ident.Name)
					}
				}
				return true
			})
		}
	}
}

func packageVariables(s source) (specs []*ast.ValueSpec) {
	for _, declaration := range s.tree.Decls {
		if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.VAR {
			for _, spec := range general.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

// targets are the expressions that a statement writes to.
func targets(node ast.Node) []ast.Expr {
	switch statement := node.(type) {
	case *ast.AssignStmt:
		if statement.Tok != token.DEFINE {
			return statement.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{statement.X}
	}
	return nil
}

// root is the x of x, x.f, x[i] and *x.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// Tests wait for events, not for time, and none is left out in silence.
func TestHouseTestsNeitherSleepNorSkip(t *testing.T) {
	for _, s := range mustSources(t) {
		if !s.forTests() {
			continue
		}
		if node := uses(s, "time.Sleep"); node != nil {
			t.Errorf("%s: time.Sleep in a test: wait for what should happen, or use testing/synctest", line(node))
		}
		if node := uses(s, "testing.Short"); node != nil {
			t.Errorf("%s: testing.Short: a test that is left out is no test", line(node))
		}
		ast.Inspect(s.tree, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if selector, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
					t.Errorf("%s: %s: make what the test needs, or fail and say what to install", line(node), selector.Sel.Name)
				}
			}
			return true
		})
	}
	skip := regexp.MustCompile(`(?m)^(\[[^\]]*\]\s*)*(skip|stop)\b`)
	err := walk(".txtar", func(path string, text []byte) error {
		if found := skip.Find(text); found != nil {
			t.Errorf("%s: %q: a script that is left out is no test", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// T14: signatures and MACs are compared in constant time. A comparison with a
// literal or a constant asks for a name or whether there is one: no secret.
func TestHouseSignaturesCompareInConstantTime(t *testing.T) {
	constants := map[string]bool{}
	for _, s := range mustSources(t) {
		for _, name := range constantNames(s) {
			constants[s.folder()+"."+name] = true
		}
	}
	for _, s := range mustSources(t) {
		isPlain := func(e ast.Expr) bool {
			if ident, ok := e.(*ast.Ident); ok {
				return ident.Name == "nil" || constants[s.folder()+"."+ident.Name]
			}
			_, literal := e.(*ast.BasicLit)
			return literal
		}
		if s.forTests() {
			continue
		}
		ast.Inspect(s.tree, func(node ast.Node) bool {
			var operands []ast.Expr
			switch e := node.(type) {
			case *ast.BinaryExpr:
				if e.Op == token.EQL || e.Op == token.NEQ {
					operands = []ast.Expr{e.X, e.Y}
				}
			case *ast.CallExpr:
				for _, function := range []string{"bytes.Equal", "bytes.Compare", "strings.EqualFold", "strings.Compare", "slices.Equal", "reflect.DeepEqual"} {
					if isCallOf(e, function) {
						operands = e.Args
					}
				}
			}
			if slices.ContainsFunc(operands, isProof) && !slices.ContainsFunc(operands, isPlain) {
				t.Errorf("%s: compares a signature: use hmac.Equal or subtle.ConstantTimeCompare", line(node))
			}
			return true
		})
	}
}

func isCallOf(call *ast.CallExpr, qualified string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	ident, ok := selector.X.(*ast.Ident)
	return ok && ident.Name+"."+selector.Sel.Name == qualified
}

// isProof says whether an expression is named like a signature: the last word
// of its name counts, so that signType is none.
func isProof(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Ident:
		words := words(x.Name)
		return slices.Contains([]string{"sign", "sig", "signature", "mac", "hmac"}, words[len(words)-1])
	case *ast.SelectorExpr:
		return isProof(x.Sel)
	case *ast.IndexExpr:
		return isProof(x.X)
	case *ast.SliceExpr:
		return isProof(x.X)
	case *ast.ParenExpr:
		return isProof(x.X)
	case *ast.CallExpr: // string(sign), sign.Bytes()
		if selector, ok := x.Fun.(*ast.SelectorExpr); ok && isProof(selector.X) {
			return true
		}
		return len(x.Args) == 1 && isProof(x.Args[0]) && !isLen(x)
	}
	return false
}

func isLen(call *ast.CallExpr) bool {
	ident, ok := call.Fun.(*ast.Ident)
	return ok && ident.Name == "len"
}

func constantNames(s source) (names []string) {
	for _, declaration := range s.tree.Decls {
		if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.CONST {
			for _, spec := range general.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// T26, T27: what the language's HTTP server learnt about slow and hostile peers
// must be in the build.
func TestHouseToolchain(t *testing.T) {
	match := regexp.MustCompile(`^go(\d+)\.(\d+)(?:\.(\d+))?`).FindStringSubmatch(runtime.Version())
	if match == nil {
		t.Fatalf("%q is no released toolchain", runtime.Version())
	}
	var version [3]int
	for i, text := range match[1:] {
		version[i], _ = strconv.Atoi(text)
	}
	if least := [3]int{1, 26, 6}; slices.Compare(version[:], least[:]) < 0 {
		t.Errorf("built with %s: Go 1.26.6 or later is needed", runtime.Version())
	}
}
