package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"
)

// printJSON writes v to stdout as indented JSON.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return a.print(b.Bytes())
}

func (a *app) print(text []byte) error {
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	return nil
}

// table gathers rows of tab-separated cells and prints them in columns.
type table struct {
	bytes.Buffer
	w *tabwriter.Writer
}

func newTable() *table {
	t := &table{}
	t.w = tabwriter.NewWriter(&t.Buffer, 0, 0, 2, ' ', 0)
	return t
}

func (t *table) row(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

func (t *table) text() []byte {
	_ = t.w.Flush() // into memory
	return t.Bytes()
}

// The zone of everything that is shown: providers and their users are there.
var beijing = time.FixedZone("", 8*60*60)
