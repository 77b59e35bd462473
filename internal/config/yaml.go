package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// reader turns the YAML library's tree into nodes and reports what may not be
// in a configuration file.
type reader struct {
	file    string
	is      string // what the file is, in errors: "a configuration file"
	env     func(string) (string, bool)
	report  *Report
	anchors map[string]*node
}

// read returns nil when text is not one YAML mapping; then the report says why.
func (r *reader) read(text []byte) *node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if line, column, ok := firstBadByte(text); !ok {
		r.fail(line, column, "this is not UTF-8 text")
		return nil
	}
	// Doubled keys are allowed here, because the library stops at the first one.
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err, text)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			line, column := position(doc.Body)
			r.fail(line, column, "a second YAML document starts here: "+r.is+" is one document")
			return nil
		}
		body = doc.Body
	}
	root := &node{kind: isMapping, line: 1, column: 1}
	if body != nil {
		root = r.node(body, "")
	}
	if root.kind != isMapping {
		r.fail(root.line, root.column, r.is+" is a mapping of options, with lines like NAME: VALUE")
		return nil
	}
	return root
}

func firstBadByte(text []byte) (line, column int, ok bool) {
	if utf8.Valid(text) {
		return 0, 0, true
	}
	line = 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		column++
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line, column = line+1, 0
		}
		text = text[size:]
	}
	return line, column, false
}

// syntax reports a syntax error by the library's short message: its long one
// quotes the lines around, which hold secrets.
func (r *reader) syntax(err error, text []byte) {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		r.fail(0, 0, "this is not YAML")
		return
	}
	p := y.GetToken().Position
	lines := strings.Split(string(text), "\n")
	if p.Line <= len(lines) {
		before := []rune(lines[p.Line-1])
		if p.Column >= 2 && p.Column-2 < len(before) && before[p.Column-2] == '$' {
			r.fail(p.Line, p.Column-1, "inside {…} and […] a value with a variable needs quotes: \"${NAME}\"")
			return
		}
	}
	r.fail(p.Line, p.Column, "this is not YAML: "+inPlainWords(y.GetMessage()))
}

// inPlainWords says what to do about the slips that are made most. The library
// speaks of its own insides.
func inPlainWords(message string) string {
	switch {
	case strings.HasPrefix(message, "found character '\t'"):
		return "a tab: indent with blanks"
	case message == "value is not allowed in this context":
		return "this does not belong here: look at the indentation, and for what is missing in the line before"
	case message == "non-map value is specified":
		return "NAME: VALUE is due here, with a blank after the colon"
	}
	return message
}

func (r *reader) fail(line, column int, text string) {
	r.report.Fail(Finding{File: r.file, Line: line, Column: column, Text: text})
}

// refuse reports a node that the decoder shall pass over.
func (r *reader) refuse(n *node, path, text string) *node {
	r.report.Fail(Finding{File: r.file, Line: n.line, Column: n.column, Path: path, Text: text})
	n.broken = true
	return n
}

func (r *reader) node(n ast.Node, path string) *node {
	switch x := n.(type) {
	case *ast.MappingNode:
		return r.mapping(x, x.Values, path)
	case *ast.MappingValueNode:
		return r.mapping(x, []*ast.MappingValueNode{x}, path)
	case *ast.SequenceNode:
		list := place(x, isList)
		for i, item := range x.Values {
			list.items = append(list.items, r.node(item, at(path, i)))
		}
		return list
	case *ast.AnchorNode:
		value := r.node(x.Value, path)
		r.anchors[x.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		name := x.Value.GetToken().Value
		value, ok := r.anchors[name]
		if !ok {
			return r.refuse(place(x, isNull), path, fmt.Sprintf("the alias *%s has no anchor &%s before it", name, name))
		}
		return value
	case *ast.TagNode:
		value := *r.node(x.Value, path)
		if x.Start.Value != "!!str" || value.kind != isText {
			return r.refuse(place(x, isNull), path, "a YAML tag is not understood here: write the plain value")
		}
		value.form = asText
		return &value
	}
	return r.scalar(n, path)
}

func (r *reader) mapping(n ast.Node, values []*ast.MappingValueNode, path string) *node {
	m := place(n, isMapping)
	var merged []*node
	for _, v := range values {
		line, column := position(v.Key)
		here := &node{line: line, column: column}
		if v.Key.IsMergeKey() {
			if value := r.node(v.Value, path); value.kind == isMapping {
				merged = append(merged, value)
			} else if !value.broken {
				r.refuse(here, path, "<< takes one alias of a mapping")
			}
			continue
		}
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			r.refuse(here, path, "the name of an option must be a plain word")
			continue
		}
		if first, ok := m.get(key.Value); ok {
			r.refuse(here, join(path, key.Value), fmt.Sprintf("given twice, first in line %d", first.line))
			continue
		}
		m.entries = append(m.entries, entry{key.Value, line, column, r.node(v.Value, join(path, key.Value))})
	}
	// What stands in the mapping itself wins over what is merged in.
	for _, from := range merged {
		for _, e := range from.entries {
			if _, ok := m.get(e.key); !ok {
				m.entries = append(m.entries, e)
			}
		}
	}
	return m
}

// A number in any notation that some YAML reader knows.
var numeric = regexp.MustCompile(`^[-+]?(0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))$|^\.(nan|NaN|NAN)$`)

func (r *reader) scalar(n ast.Node, path string) *node {
	s := place(n, isText)
	switch x := n.(type) {
	case nil, *ast.NullNode:
		s.kind = isNull
		return s
	case *ast.LiteralNode:
		s.text = x.Value.Value
	case *ast.StringNode:
		s.text = x.Value
		quoted := x.Token.Type == token.SingleQuoteType || x.Token.Type == token.DoubleQuoteType
		if !quoted && numeric.MatchString(s.text) {
			s.form = asNumber
		}
	case *ast.BoolNode:
		s.text, s.form = x.Token.Value, asBool
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		s.text, s.form = x.GetToken().Value, asNumber
	default:
		return r.refuse(s, path, "this kind of YAML value is not understood here")
	}
	text, problem := expand(s.text, r.env)
	if problem != "" {
		return r.refuse(s, path, problem)
	}
	s.text = text
	return s
}

func place(n ast.Node, k kind) *node {
	line, column := position(n)
	return &node{kind: k, line: line, column: column}
}

// position is where a value begins; a block mapping begins at its first key.
func position(n ast.Node) (line, column int) {
	if n == nil {
		return 0, 0
	}
	t := n.GetToken()
	switch x := n.(type) {
	case *ast.MappingNode:
		if len(x.Values) > 0 && !x.IsFlowStyle {
			t = x.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		t = x.Key.GetToken()
	}
	if t == nil || t.Position == nil {
		return 0, 0
	}
	return t.Position.Line, t.Position.Column
}
