package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/provider"
)

// writtenCapture is a capture in JSON.
type writtenCapture struct {
	File        string     `json:"file"`
	OutTradeNos []string   `json:"out_trade_nos"`
	Step        int        `json:"step"`
	What        string     `json:"what"`
	Account     string     `json:"account"`
	Protocol    string     `json:"protocol"`
	Want        *shownWant `json:"want"` // null after --set and --drop
}

// toStdout as a file's name is stdout.
const toStdout = "-"

// write makes captures of all messages, instead of sending them. Copies are one
// capture.
func (s *simulate) write(ctx context.Context, p *performance) error {
	order := s.orders()
	first, err := p.story(order(0))
	if err != nil {
		return err
	}
	total := s.number * len(first)
	single := s.out == toStdout || filepath.Ext(s.out) == captureSuffix
	if single && total > 1 {
		return exitWith(exitUsage, "--out %s holds one message, and there are %d: choose one with --step, or name a folder", s.out, total)
	}
	if !single {
		if err := os.MkdirAll(s.out, 0o755); err != nil {
			return err
		}
	}
	bar := newBar(s.err, "simulate", total, isTerminal(s.err))
	written := 0
	for i := range s.number {
		steps, err := p.story(order(i))
		if err != nil {
			return err
		}
		for _, step := range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			path := s.out
			written++
			if !single {
				path = filepath.Join(s.out, fmt.Sprintf("%0*d-%s%s", max(3, len(fmt.Sprint(total))), written, p.scenario.Name, captureSuffix))
			}
			if err := s.writeOne(path, step, p.by); err != nil {
				return err
			}
			_ = bar.Add(1) // an ornament: that it cannot be drawn is no fault
		}
	}
	_ = bar.Finish()
	fmt.Fprintln(s.err, count(written, "capture"))
	return nil
}

func (s *simulate) writeOne(path string, step numberedStep, by *simulator.Simulator) error {
	var capture bytes.Buffer
	if err := step.Notification.At(s.now()).WriteCapture(&capture); err != nil {
		return err
	}
	if n := capture.Len(); n > provider.MaxCaptureBytes {
		fmt.Fprintf(s.err, "warning: the capture of message %d has %d bytes: verify and replay read at most %d of one, so send it with --to\n",
			step.number, n, provider.MaxCaptureBytes)
	}
	if path == toStdout {
		return s.print(capture.Bytes())
	}
	if err := writeNew(path, capture.Bytes()); err != nil {
		return err
	}
	if !s.asJSON {
		return s.print([]byte(path + "\n"))
	}
	v := writtenCapture{File: path, OutTradeNos: step.orders(), Step: step.number, What: step.What, Account: by.Account().Name, Protocol: string(by.Protocol())}
	if len(s.set)+len(s.drop) == 0 {
		v.Want = wantOf(step.Want)
	}
	return s.print(jsonLine(v))
}
