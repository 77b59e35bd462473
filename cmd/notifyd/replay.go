package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// replay is one run of the command.
type replay struct {
	*app
	config, to, at string
	asJSON         bool
}

func replayCommand(a *app) *cobra.Command {
	r := &replay{app: a}
	c := &cobra.Command{
		Use:   "replay FILE|FOLDER…",
		Short: "Run captured requests again",
		Long: `replay runs captures (raw HTTP requests in .http files) one after another, in the
order given; a folder stands for the .http files in it, sorted by name. The
account is the last part of the path in the request line.

Without --to they go through the same steps as in serve, against the configured
store, each with the clock at its own time of receipt: the X-Captured-At header,
or --at where a capture has none. A capture in a folder that was redacted or cut
is skipped, with a word on stderr. With --to the bytes are sent as they are to a
running server, which goes by its own clock and answers no more than an HTTP
status.

One line per capture goes to stdout: file, verdict (accepted, refused,
unavailable), outcome, order number, status of the order, and why where there is
a why. It stops at the first capture that could not be committed, because the
later ones may build on it. Replaying twice changes nothing the second time.`,
		Example: `  notifyd replay --config notifyd.yaml captures/
  notifyd replay --to http://127.0.0.1:8080 refund.http`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitUnreachable, exitRefused, exitInterrupted),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("name the captures to replay, or a folder of .http files")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.Context(), args) },
	}
	c.Flags().StringVar(&r.config, "config", defaultConfig, "configuration `file`; not read with --to")
	c.Flags().StringVar(&r.to, "to", "", "send to the public listener of a running server, for instance http://127.0.0.1:8080")
	c.Flags().StringVar(&r.at, "at", "", "`time` of receipt (RFC 3339) of captures that do not say theirs")
	c.Flags().BoolVar(&r.asJSON, "json", false, "print one JSON object per capture")
	return c
}

// player runs or sends one capture.
type player interface {
	play(ctx context.Context, c captured) (played, error)
	// close makes what was played final and lets go of what is held.
	close(ctx context.Context) error
}

// run reads every capture before it plays the first: a mistake on the command
// line must not leave half of the work done.
func (r *replay) run(ctx context.Context, args []string) error {
	paths, err := capturePaths(args)
	if err != nil {
		return err
	}
	// What a folder holds besides is left out; what was named must be played.
	p, paths, err := r.player(ctx, paths, func(path string, why error) bool {
		if slices.Contains(args, path) {
			return false
		}
		fmt.Fprintf(r.err, "skipped: %v\n", why)
		return true
	})
	if err != nil {
		return err
	}
	show := newShow(r.app, paths, r.asJSON)
	err = r.playAll(ctx, p, paths, show)
	show.end()
	if lost := p.close(context.WithoutCancel(ctx)); lost != nil && err == nil {
		err = lost
	}
	return err
}

// player checks the captures, returns those to play, and opens what they are
// played on.
func (r *replay) player(ctx context.Context, paths []string, skip func(string, error) bool) (player, []string, error) {
	if r.to != "" {
		if r.at != "" {
			return nil, nil, exitWith(exitUsage, "--at has no place beside --to: a running server goes by its own clock")
		}
		s, err := newSender(r.to)
		if err != nil {
			return nil, nil, err
		}
		paths, err = checkCaptures(ctx, paths, skip, func(captured) error { return nil })
		return s, paths, err
	}
	l, err := r.newLocal()
	if err != nil {
		return nil, nil, err
	}
	if paths, err = checkCaptures(ctx, paths, skip, l.check); err != nil {
		return nil, nil, err
	}
	return l, paths, l.open(ctx)
}

func (r *replay) playAll(ctx context.Context, p player, paths []string, show *show) error {
	for i, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := readCapture(path)
		if err != nil {
			return err
		}
		result, err := p.play(ctx, c)
		if err == nil {
			err = show.add(result)
		}
		switch {
		case err != nil:
			return err
		case result.Verdict == verdictUnavailable && ctx.Err() != nil:
			return ctx.Err()
		case result.Verdict == verdictUnavailable:
			return exitWith(exitUnreachable, "stopped at %s: %s (%s not played)", path, result.why(), count(len(paths)-i-1, "further capture"))
		}
	}
	if show.refused > 0 {
		return exitWith(exitRefused, "%s refused", count(show.refused, "capture"))
	}
	return nil
}

// startTimeout bounds the wait for the store.
const startTimeout = 10 * time.Second
