package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowReader takes a text only when it is told to.
type slowReader struct {
	take  chan struct{}
	texts []string
}

func (r *slowReader) Write(p []byte) (int, error) {
	<-r.take
	r.texts = append(r.texts, string(p))
	return len(p), nil
}

func missingLines(n int) string { return fmt.Sprintf("%d missing\n", n) }

// Whoever logs does not wait for the reader, and what came meanwhile is one write.
func TestLogDoesNotWaitForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{take: make(chan struct{})}
		l := newLines(r, missingLines)
		fmt.Fprintln(l, "first")
		synctest.Wait() // the reader stands still in the first line
		for i := range 3 {
			fmt.Fprintln(l, "line", i)
		}
		close(r.take)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprintf("%q", r.texts); got != `["first\n" "line 0\nline 1\nline 2\n"]` {
			t.Errorf("written: %s", got)
		}
	})
}

// A reader that stands still costs lines, not memory, and the log says so.
func TestLogSaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{take: make(chan struct{})}
		l := newLines(r, missingLines)
		fmt.Fprintln(l, "first")
		synctest.Wait()
		line := strings.Repeat("x", 1<<20-1) + "\n"
		for range maxWaitingBytes/len(line) + 2 {
			fmt.Fprint(l, line)
		}
		close(r.take)
		synctest.Wait() // all is written before the end, which then has nothing to write
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if len(r.texts) != 3 || len(r.texts[1]) != maxWaitingBytes || r.texts[2] != "2 missing\n" {
			t.Errorf("%d writes, the last one %q", len(r.texts), r.texts[len(r.texts)-1])
		}
	})
}

func TestLogEndsThoughNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{take: make(chan struct{})}
		l := newLines(r, missingLines)
		fmt.Fprintln(l, "first")
		start := time.Now()
		if err := l.Close(); err == nil || time.Since(start) != lastLines {
			t.Errorf("Close took %v: %v", time.Since(start), err)
		}
		close(r.take)
	})
}
