// Command generate writes the captures and throw-away keys into testdata: what
// internal/provider/forge/captures makes, and nothing else. It is run by
// `make captures`, through go generate.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/internal/provider/forge/captures"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write makes the generated folders anew: what is no longer made goes.
func write(root string) error {
	for _, folder := range captures.Folders() {
		if err := os.RemoveAll(filepath.Join(root, folder)); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	for _, f := range captures.Files() {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(f.Path)), f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
