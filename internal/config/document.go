package config

import "reflect"

// Document is a YAML file that is no configuration, read as strictly as one.
type Document struct {
	file string
	root *node
}

// Read reads a YAML file into the struct that into points to. Keys are those of
// the yaml tags; what the file leaves out stays as it is. env looks up an
// environment variable. kind names such files in errors: "a plan".
//
// The report is never nil. The Document is nil when the file could not be read as
// YAML; it finds places for what else is wrong with the values.
func Read(path, kind string, into any, env func(string) (string, bool)) (*Document, *Report) {
	report := &Report{}
	text, dir, err := readFile(path)
	if err != nil {
		report.Fail(Finding{File: path, Text: "cannot be read: " + cause(err)})
		return nil, report
	}
	r := reader{file: path, is: kind, env: env, report: report, anchors: map[string]*node{}}
	root := r.read(text)
	if root == nil {
		return nil, report
	}
	d := decoder{file: path, dir: dir, report: report, home: func(string) string { return "" }}
	d.mapping(root, reflect.ValueOf(into).Elem(), "")
	report.Sort()
	return &Document{file: path, root: root}, report
}

// Finding makes a finding about an option, placed where the file states it, or
// as near as it comes to it.
func (d *Document) Finding(path, text string) Finding {
	line, column := d.root.place(path)
	return Finding{File: d.file, Line: line, Column: column, Path: path, Text: text}
}
