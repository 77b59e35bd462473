package provider

import "time"

// Prober is a Provider that can word messages as its provider posts them, so that
// the way from outside can be tried without the provider.
type Prober interface {
	// Probes are one request for each form in which the provider posts to the
	// account. They prove nothing: Parse refuses each with ErrSignature. The mark,
	// letters and digits, stands in the body beside all that software on the way
	// is known to change. ReceivedAt is now.
	Probes(mark string, now time.Time) []Request
}
