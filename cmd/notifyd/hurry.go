//go:build !hurried

package main

import "github.com/notifyd/notifyd/internal/outbox"

// hurry leaves the times of deliveries as they are: they are fixed, and no
// option changes them. See hurry_tests.go.
func hurry(*outbox.Options) {}
