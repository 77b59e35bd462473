package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// decoder fills structs from nodes by their tags. It goes on after a fault, so
// that one run finds all of them.
type decoder struct {
	file, dir string
	report    *Report
	// home is where an option belongs that is unknown here, "" for nowhere.
	home func(key string) string
}

func (d *decoder) fail(n *node, path, text string) bool {
	d.report.Fail(Finding{File: d.file, Line: n.line, Column: n.column, Path: path, Text: text})
	return false
}

// field is one option of a struct.
type field struct {
	key    string
	value  reflect.Value
	tag    reflect.StructTag
	secret bool
	list   bool
	// watched: the struct has a field for the secret's file as well, because its
	// owner reads the file again when it changes.
	watched bool
}

// fields lists the options of a struct; an embedded struct's count as its own.
func fields(v reflect.Value) []field {
	var all []field
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		key, flags, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		switch {
		case key == "-" || !sf.IsExported():
		case sf.Type.Kind() == reflect.Struct && (flags == "inline" || sf.Anonymous && key == ""):
			all = append(all, fields(v.Field(i))...)
		case key == "":
			panic(fmt.Sprintf("config: %s.%s has no yaml tag", v.Type(), sf.Name))
		default:
			list := sf.Type.Kind() == reflect.Slice
			secret := isSecret(sf.Type) || list && isSecret(sf.Type.Elem())
			all = append(all, field{key: key, value: v.Field(i), tag: sf.Tag, secret: secret, list: list})
		}
	}
	return all
}

func (f field) keys() []string {
	if f.secret {
		return []string{f.key, fileKey(f.key, f.list)}
	}
	return []string{f.key}
}

// defaults fills in what the tags say, in the struct and those within it.
func (d *decoder) defaults(v reflect.Value) {
	for _, f := range fields(v) {
		text, ok := f.tag.Lookup("default")
		switch {
		case ok && f.list:
			f.value.Set(reflect.ValueOf([]string{text}))
		case ok:
			if problem := scalar(&node{kind: isText, text: text}, f.value); problem != "" {
				panic("config: default of " + f.key + ": " + problem)
			}
		case f.value.Kind() == reflect.Struct:
			d.defaults(f.value)
		}
	}
}

// mapping fills the struct v. beside lists keys of the same mapping that
// somebody else reads.
func (d *decoder) mapping(n *node, v reflect.Value, path string, beside ...string) bool {
	if n.kind != isMapping {
		return d.fail(n, path, fmt.Sprintf("must be a mapping of options, not %s", n.kind))
	}
	known := slices.Clone(beside)
	all := fields(v)
	for _, f := range all {
		known = append(known, f.keys()...)
	}
	for _, f := range all {
		f.watched = f.secret && slices.ContainsFunc(all, func(g field) bool { return g.key == fileKey(f.key, f.list) })
		d.field(n, f, path)
	}
	slices.Sort(known[len(beside):])
	known = slices.Compact(known)
	if a, ok := v.Addr().Interface().(*Account); ok {
		a.rest = options{node: n, path: path, decoder: *d}
		return true
	}
	for _, e := range n.entries {
		if !slices.Contains(known, e.key) {
			d.fail(&node{line: e.line, column: e.column}, path, unknownKey(e.key, known, d.home(e.key)))
		}
	}
	return true
}

func (d *decoder) field(n *node, f field, path string) {
	e, given := n.get(f.key)
	given = given && (e.value.kind != isNull || e.value.broken)
	where, ok := &node{line: n.line, column: n.column}, true
	if given {
		where = e.value
		ok = d.value(e.value, f.value, join(path, f.key), f.tag.Get("check"))
	}
	if f.secret {
		if fe, there := n.get(fileKey(f.key, f.list)); there && fe.value.kind != isNull {
			ok = d.fromFiles(f, fe, path, given && !empty(e.value)) && ok
		}
	}
	if ok && f.tag.Get("need") != "" && (f.value.IsZero() || f.list && f.value.Len() == 0) {
		text := "is missing"
		if given {
			text = "must not be empty"
		}
		if f.secret {
			text += fmt.Sprintf(" (or use %s)", fileKey(f.key, f.list))
		}
		d.fail(where, join(path, f.key), text)
	}
}

// empty says whether a value is left blank, as templates do.
func empty(n *node) bool {
	return n.kind == isText && n.text == "" && !n.broken || n.kind == isList && len(n.items) == 0
}

func (d *decoder) value(n *node, v reflect.Value, path, check string) bool {
	if n.broken {
		return false
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.mapping(n, v, path)
	case reflect.Slice:
		return d.list(n, v, path, check)
	}
	if problem := scalar(n, v); problem != "" {
		return d.fail(n, path, problem)
	}
	return d.check(n, v, path, check)
}

func (d *decoder) list(n *node, v reflect.Value, path, check string) bool {
	if n.kind != isList {
		return d.fail(n, path, fmt.Sprintf("must be a list: put [ ] around it or a dash before each entry, not %s", n.kind))
	}
	ok := true
	items := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		if item.kind == isNull && !item.broken {
			ok = d.fail(item, at(path, i), "is empty")
			continue
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			d.defaults(items.Index(i))
		}
		ok = d.value(item, items.Index(i), at(path, i), check) && ok
	}
	v.Set(items)
	return ok
}

// check runs the named check. A blank value is as good as none: whether one is
// needed is another question.
func (d *decoder) check(n *node, v reflect.Value, path, name string) bool {
	if name == "" || v.IsZero() && v.Kind() == reflect.String {
		return true
	}
	if problem := checks[name](v); problem != "" {
		return d.fail(n, path, problem)
	}
	return true
}

// fromFiles reads the file of a secret, or the files of several.
func (d *decoder) fromFiles(f field, e entry, path string, both bool) bool {
	path = join(path, e.key)
	if both {
		return d.fail(&node{line: e.line, column: e.column}, path, fmt.Sprintf("both %s and %s are set: keep one", f.key, e.key))
	}
	var names []string
	if f.list {
		if !d.value(e.value, reflect.ValueOf(&names).Elem(), path, "") {
			return false
		}
	} else {
		names = []string{""}
		if !d.value(e.value, reflect.ValueOf(&names[0]).Elem(), path, "") {
			return false
		}
		if names[0] == "" { // blank, as in a template
			return true
		}
	}
	ok := true
	texts := reflect.MakeSlice(reflect.SliceOf(elem(f)), len(names), len(names))
	for i, name := range names {
		where, here := e.value, path
		if f.list {
			where, here = e.value.items[i], at(path, i)
		}
		text, warning, err := readSecret(absolute(d.dir, name))
		if warning != "" {
			d.report.Warn(Finding{File: d.file, Line: where.line, Column: where.column, Path: here, Text: warning})
		}
		if err != nil {
			ok = d.fail(where, here, fmt.Sprintf("%s cannot be used: %s", absolute(d.dir, name), cause(err)))
			continue
		}
		if f.watched {
			continue
		}
		texts.Index(i).SetString(text)
		ok = d.check(where, texts.Index(i), here, f.tag.Get("check")) && ok
	}
	switch {
	case !ok || f.watched:
		return ok
	case f.list:
		f.value.Set(texts)
	default:
		f.value.Set(texts.Index(0))
	}
	return true
}

func elem(f field) reflect.Type {
	if f.list {
		return f.value.Type().Elem()
	}
	return f.value.Type()
}
