package figure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The marks between which a document holds the figures.
const (
	figuresBegin = "<!-- figures: made by make bench -->\n"
	figuresEnd   = "<!-- end of the figures -->"
)

// Publish writes the chart and the tables into a folder of documents.
func (b *Book) Publish(folder string) error {
	if err := os.WriteFile(filepath.Join(folder, "performance.svg"), []byte(b.Chart()), 0o644); err != nil {
		return err
	}
	name := filepath.Join(folder, "performance.md")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), figuresBegin)
	_, after, ended := strings.Cut(rest, figuresEnd)
	if !found || !ended {
		return fmt.Errorf("%s has no place for the figures: %q and %q", name, figuresBegin, figuresEnd)
	}
	return os.WriteFile(name, []byte(before+figuresBegin+"\n"+b.Markdown()+"\n"+figuresEnd+after), 0o644)
}
