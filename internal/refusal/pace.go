package refusal

import "time"

// The pace at which refusals of one account and one code are kept: a handful at
// once, so that the first of anything is seen whole, and then a few a second.
const (
	paceBurst     = 5
	pacePerSecond = 2
)

// pace is how much of each code an account may have kept now. It has a row for
// each configured account and each code of the closed list, at most.
type pace map[paceKey]allowance

type paceKey struct{ account, code string }

type allowance struct {
	left float64
	at   time.Time
}

// take uses up one, if there is one.
func (p pace) take(account, code string, now time.Time) bool {
	key := paceKey{account, code}
	a, known := p[key]
	if !known {
		a.left = paceBurst
	}
	if passed := now.Sub(a.at); known && passed > 0 {
		a.left = min(paceBurst, a.left+passed.Seconds()*pacePerSecond)
	}
	a.at = now
	ok := a.left >= 1
	if ok {
		a.left--
	}
	p[key] = a
	return ok
}
