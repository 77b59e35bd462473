package config

import "reflect"

// options is what an account says beyond what every account says: kept until
// somebody who knows the provider asks for it.
type options struct {
	node    *node
	path    string
	decoder decoder
}

// accountKeys are the keys that Account itself reads.
var accountKeys = []string{"name", "provider", "merchant"}

// Decode fills the provider's own options, a pointer to a struct whose fields
// have yaml tags, by the same rules as the rest of the file: strict keys,
// variables, numbers as text, a _file form for every field of a text type that
// has a Reveal method. A field may have the default, check and need tags of this
// package. The error is of type Findings; warnings go to the report of Load.
func (a Account) Decode(into any) error {
	var found Report
	d := a.rest.decoder
	load := d.report
	d.report = &found
	v := reflect.ValueOf(into).Elem()
	d.defaults(v)
	d.mapping(a.rest.node, v, a.rest.path, accountKeys...)
	for _, w := range found.Warnings {
		load.Warn(w)
	}
	if len(found.Errors) > 0 {
		return found.Errors
	}
	return nil
}

// Finding makes a finding about an option of the account, for instance
// "public_keys[0].file"; "" is the account as a whole.
func (a Account) Finding(field, text string) Finding {
	line, column := a.Position(field)
	path := a.rest.path
	if field != "" {
		path = join(path, field)
	}
	return Finding{File: a.rest.decoder.file, Line: line, Column: column, Path: path, Text: text}
}

// Position is where the file states an option of the account, or else where it
// would have to be. Lines and columns count from 1.
func (a Account) Position(field string) (line, column int) { return a.rest.node.place(field) }
