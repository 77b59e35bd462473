package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxWaitingBytes is what may wait for a reader of the log that stands still:
	// some ten thousand lines. What comes then is counted, not kept.
	maxWaitingBytes = 4 << 20
	// lastLines is how long the end of the program waits for such a reader.
	lastLines = time.Second
)

// lines is a log that nobody waits for: an ack must not be late because the
// reader of stderr is, or because each line is a write of its own. Whole lines
// are written in their order by one goroutine, as many at once as there are.
type lines struct {
	out  io.Writer
	lost func(lines int) string // the line that tells of lost ones

	mu      sync.Mutex
	waiting []byte
	missing int
	closed  bool

	wake  chan struct{} // holds one token while something waits
	ended chan struct{}
}

func newLines(out io.Writer, lost func(int) string) *lines {
	l := &lines{out: out, lost: lost, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.run()
	return l
}

// Write takes one or more whole lines. It never waits and never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
	case len(l.waiting)+len(p) > maxWaitingBytes:
		l.missing++
	default:
		l.waiting = append(l.waiting, p...)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (l *lines) run() {
	defer close(l.ended)
	var spare []byte
	for range l.wake {
		l.mu.Lock()
		text, missing, closed := l.waiting, l.missing, l.closed
		l.waiting, l.missing = spare[:0], 0
		l.mu.Unlock()
		if len(text) > 0 { // woken for the end alone, there is nothing to write
			_, _ = l.out.Write(text) // an error of stderr has nowhere to go
		}
		if missing > 0 {
			_, _ = io.WriteString(l.out, l.lost(missing))
		}
		if spare = text; closed {
			return
		}
	}
}

// Close writes what waits.
func (l *lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	select {
	case <-l.ended:
		return nil
	case <-time.After(lastLines):
		return fmt.Errorf("the reader of the log did not take the last lines within %v", lastLines)
	}
}
