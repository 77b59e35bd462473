//go:build hurried

package main

import (
	"time"

	"github.com/notifyd/notifyd/internal/outbox"
)

// haste is by how much the times of deliveries are divided in the program that
// the tests of crashes build: what a killed process held is due again after
// three seconds instead of sixty, and an attempt may take 750 ms.
const haste = 20

func hurry(o *outbox.Options) {
	o.Schedule = outbox.Schedule()
	for i := range o.Schedule {
		o.Schedule[i] /= haste
	}
	o.AttemptTimeout, o.Lease, o.PollEvery = outbox.AttemptTimeout/haste, outbox.Lease/haste, outbox.PollEvery/haste
	o.MaxRetryAfter = time.Second
}
