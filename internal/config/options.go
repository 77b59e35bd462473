package config

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// Option is one row of the table of options.
type Option struct {
	Path    string // "merchants[].endpoints[].url"
	Unit    string // "text", "duration", "true or false", "list of texts", …
	Default string // "" when there is none
	Needed  bool
	Secret  bool // it has a _file form as well, and is never shown
	File    string
	Doc     string
}

// Options is the table of all options of the file but those of providers.
func Options() []Option { return OptionsOf(Config{}, "") }

// OptionsOf is the table of a struct with the tags of this package; path
// stands before each of its options.
func OptionsOf(of any, path string) []Option { return table(reflect.TypeOf(of), path) }

func table(t reflect.Type, path string) []Option {
	var all []Option
	for _, f := range fields(reflect.New(t).Elem()) {
		here := join(path, f.key)
		o := Option{
			Path: here, Unit: unit(f.value.Type()), Default: f.tag.Get("default"), Needed: f.tag.Get("need") != "",
			Secret: f.secret, Doc: f.tag.Get("doc"),
		}
		if f.secret {
			o.File = join(path, fileKey(f.key, f.list))
		}
		if slices.ContainsFunc(all, func(other Option) bool { return other.File == here }) {
			continue // the _file form of a secret that stands before it
		}
		switch inner := f.value.Type(); {
		case inner.Kind() == reflect.Struct:
			all = append(all, table(inner, here)...)
		case f.list && inner.Elem().Kind() == reflect.Struct:
			all = append(append(all, o), table(inner.Elem(), here+"[]")...)
		default:
			all = append(all, o)
		}
	}
	return all
}

func unit(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "list"
	case t.Kind() == reflect.Slice:
		return "list of " + unit(t.Elem()) + "s"
	case isSecret(t):
		return "secret"
	case t.Kind() == reflect.String:
		return "text"
	}
	return "number"
}

// home is where an option of that name belongs, when there is one such place.
func home(key string) string {
	var places []string
	for _, o := range Options() {
		for _, path := range []string{o.Path, o.File} {
			if path == key || strings.HasSuffix(path, "."+key) {
				places = append(places, path)
			}
		}
	}
	if len(places) != 1 {
		return ""
	}
	return places[0]
}
