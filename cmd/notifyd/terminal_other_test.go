//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// onTerminal needs the pseudo terminals of Linux.
func onTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("these scripts run on Linux")
}
