package outbox

import "time"

// The pace of an endpoint.
const (
	// maxInFlight is how many attempts run at an endpoint at once, on one
	// instance: what a shop's server takes without noticing.
	maxInFlight = 32
	// firstWindow is the window of an endpoint that nothing is known of.
	firstWindow = 8
	// failuresToProbe is after how many failures in a row an endpoint is taken
	// for broken, and asked with one event at a time.
	failuresToProbe = 5
	// firstProbe and lastProbe bound the pauses between probes. They are never
	// longer than the schedule's own, so a lone event keeps to its schedule.
	firstProbe = time.Second
	lastProbe  = 15 * time.Second
)

// pace is how an endpoint is asked: at most window attempts at once, and none
// before a time. A success widens the window by one, so that it doubles in the
// time of one answer; an endpoint that is slow halves it; failures in a row close
// it to a single probe. It is kept in memory: each instance finds its own.
type pace struct {
	window    int
	inFlight  int
	failures  int // in a row
	notBefore time.Time
	wellAt    time.Time // when the last success came
}

func newPace() *pace { return &pace{window: firstWindow} }

// room is how many more attempts may begin now.
func (p *pace) room(now time.Time) int {
	if now.Before(p.notBefore) {
		return 0
	}
	return max(0, p.window-p.inFlight)
}

// learn takes in what an attempt brought. A failure of one that began before the
// last success came is no news: attempts that hang end after those that do not,
// and would look like many in a row.
func (p *pace) learn(a answer, began, now time.Time) {
	if a.delivered() {
		p.failures, p.wellAt = 0, now
		p.window = min(p.window+1, maxInFlight)
		return
	}
	if !began.Before(p.wellAt) {
		p.failures++
	}
	if a.slow() {
		p.window = max(1, p.window/2)
		p.hold(now.Add(a.retryAfter))
	}
	if p.failures >= failuresToProbe {
		p.window = 1
		pause := firstProbe << min(p.failures-failuresToProbe, 10)
		p.hold(now.Add(min(pause, lastProbe)))
	}
}

func (p *pace) hold(until time.Time) {
	if until.After(p.notBefore) {
		p.notBefore = until
	}
}
