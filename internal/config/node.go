package config

import (
	"strconv"
	"strings"
)

// kind is the shape of a node.
type kind int

const (
	isNull kind = iota // nothing, ~ or null: the option is left out
	isText
	isMapping
	isList
)

func (k kind) String() string {
	return [...]string{"nothing", "one value", "a mapping", "a list"}[k]
}

// form is what YAML takes an unquoted word for.
type form int

const (
	asText   form = iota // quoted, a block, a word, or from the environment
	asNumber             // digits in some notation
	asBool               // true or false
)

// node is a value of the file as this package reads it: aliases and merges
// resolved, variables in place, each with the place where it is written.
type node struct {
	kind         kind
	line, column int
	text         string // of isText
	form         form
	broken       bool // it was reported already
	entries      []entry
	items        []*node
}

type entry struct {
	key          string
	line, column int
	value        *node
}

func (n *node) get(key string) (entry, bool) {
	for _, e := range n.entries {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}

// place finds where the file states the option below n, or as far down the path
// as it goes. A secret that comes from a file is stated by its _file key.
func (n *node) place(path string) (line, column int) {
	if n == nil {
		return 0, 0
	}
	line, column = n.line, n.column
	for _, step := range steps(path) {
		next := (*node)(nil)
		if i, err := strconv.Atoi(step); err == nil && n.kind == isList {
			if i < len(n.items) {
				next = n.items[i]
			}
		} else if e, ok := n.stated(step); ok {
			next = e.value
			if next.kind == isNull {
				return e.line, e.column
			}
		}
		if next == nil {
			return line, column
		}
		n, line, column = next, next.line, next.column
	}
	return line, column
}

func (n *node) stated(key string) (entry, bool) {
	for _, k := range []string{key, fileKey(key, false), fileKey(key, true)} {
		if e, ok := n.get(k); ok {
			return e, true
		}
	}
	return entry{}, false
}

// steps cuts "accounts[0].public_keys[1].file" at its dots and brackets.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// fileKey is the key under which a secret's file is named: token_file,
// secret_files.
func fileKey(key string, list bool) string {
	if list {
		return strings.TrimSuffix(key, "s") + "_files"
	}
	return key + "_file"
}
