package mend

import (
	"context"
	"fmt"
)

// Search bounds how much is tried to explain one request, which a stranger wrote:
// a body of thousands of blanks would otherwise keep a processor busy for hours.
// It is spent by what the trials read, for that is what they cost, and is over
// when its context is.
type Search struct {
	ctx    context.Context
	trials int
	left   int
}

const (
	// searchBytes are some seconds of work. The longest search after a real
	// mistake, every order of the members of an envelope, needs a fifth of it.
	searchBytes = 512 << 20
	// trialBytes is what a trial costs besides what it reads.
	trialBytes = 256
)

// NewSearch is a search that nothing was spent of.
func NewSearch(ctx context.Context) *Search { return &Search{ctx: ctx, left: searchBytes} }

// Try says whether one more trial may be made that reads so many bytes.
func (s *Search) Try(bytes int) bool {
	if s.Over() {
		return false
	}
	s.trials++
	s.left -= bytes + trialBytes
	return true
}

// Over says whether nothing may be tried any more.
func (s *Search) Over() bool { return s.left <= 0 || s.ctx.Err() != nil }

// Unfinished says that the search was broken off; "" when it was not.
func (s *Search) Unfinished() string {
	if !s.Over() {
		return ""
	}
	return fmt.Sprintf("the search was broken off after %d trials", s.trials)
}
