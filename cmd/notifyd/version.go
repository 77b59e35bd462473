package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "dev"

// build says what this binary was made of.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // "" when it was not built from a repository
	Dirty   bool   `json:"dirty"`  // it holds changes that were not committed
	Time    string `json:"time"`   // of the commit, RFC 3339; "" likewise
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	read, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := read.Main.Version; b.Version == "dev" && v != "" && v != "(devel)" {
		b.Version = v // installed by go install
	}
	for _, s := range read.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

func versionCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Show version, commit and Go release",
		Example: `  notifyd version
  notifyd version --json`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage),
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if asJSON {
				return a.printJSON(b)
			}
			commit := b.Commit
			if commit == "" {
				commit = "unknown"
			}
			if b.Dirty {
				commit += " with changes"
			}
			return a.print(fmt.Appendf(nil, "notifyd %s\ncommit %s\n%s %s/%s\n", b.Version, commit, b.Go, b.OS, b.Arch))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
