package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/client/simulator"
)

func demoCommand(a *app) *cobra.Command {
	var once, asJSON bool
	var keep string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run notifyd with throw-away keys and send it signed notifications",
		Long: `demo needs no account and no server. It starts what serve starts, with a
database and throw-away keys in a temporary folder, on free ports of this
machine; sends notifications of WeChat Pay v2 and v3 and of Alipay over HTTP;
shows what each of them did and what became of the orders; and stays until
Ctrl-C, so that you can ask for yourself.`,
		Example: `  notifyd demo
  notifyd demo --once
  notifyd demo --keep try`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := newDemo(a, keep)
			if err != nil {
				return err
			}
			// Whoever reads our output may have seen enough: that is an error of
			// the write then, and no end without cleaning up.
			pipes := make(chan os.Signal, 1)
			signal.Notify(pipes, syscall.SIGPIPE)
			defer signal.Stop(pipes)
			return errors.Join(d.run(c.Context(), once, asJSON), d.clean())
		},
	}
	c.Flags().BoolVar(&once, "once", false, "end after showing, do not wait for Ctrl-C")
	c.Flags().StringVar(&keep, "keep", "", "use this `folder`, new or empty, and leave it there")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// demo is one run: a folder, and the server that lives in it.
type demo struct {
	*app
	dir  string
	kept bool
	keys *simulator.Keys
	cast cast
	log  *demoLog
}

func newDemo(a *app, keep string) (*demo, error) {
	d := &demo{app: a, dir: keep, kept: keep != ""}
	var err error
	if d.kept {
		err = useEmpty(keep)
	} else {
		d.dir, err = os.MkdirTemp("", "notifyd-demo-")
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// useEmpty makes a folder, or takes one in which nothing can be overwritten.
func useEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return exitWith(exitUsage, "%s is not empty: --keep wants a new or an empty folder", dir)
	}
	return err
}

// clean removes the folder, or says where it is.
func (d *demo) clean() error {
	if d.kept {
		d.tell("kept in %s: notifyd.yaml, secrets, simulator, data, and the log of the server", d.dir)
		return nil
	}
	return os.RemoveAll(d.dir)
}

// run is the whole demo. A signal ends it in order, at any point.
func (d *demo) run(ctx context.Context, once, asJSON bool) error {
	token, err := d.writeShop()
	if err != nil {
		return err
	}
	logFile, err := os.Create(d.path("notifyd.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	d.log = newDemoLog(logFile)
	running, end := context.WithCancel(ctx)
	defer end()
	ready, ended, err := d.serveShop(running)
	if err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case at := <-ready:
		err = d.show(ctx, newDemoShop(at, token), once, asJSON)
	}
	if err == nil && !once {
		d.tell("Running until Ctrl-C. The server's log is %s", d.path("notifyd.log"))
		select {
		case <-ctx.Done():
		case err := <-ended: // it failed by itself
			return err
		}
	}
	end()
	stopped := <-ended
	if ctx.Err() != nil {
		err = nil // asked to end, it may leave half of the story untold
	}
	return errors.Join(err, stopped)
}

// show plays the story and prints it.
func (d *demo) show(ctx context.Context, shop *demoShop, once, asJSON bool) error {
	if err := d.writeConfig(shop.public, shop.private); err != nil {
		return err
	}
	told, err := d.play(ctx, shop)
	if err != nil {
		return err
	}
	told.once = once
	if asJSON {
		return d.printJSON(told)
	}
	return d.print(told.text(d.colour(d.out)))
}

func (d *demo) path(parts ...string) string {
	return filepath.Join(append([]string{d.dir}, parts...)...)
}

// serveShop runs what serve runs, with the folder's configuration. ready gets
// the addresses, ended the result.
func (d *demo) serveShop(ctx context.Context) (ready chan demoAddresses, ended chan error, err error) {
	conf, accounts, report := d.loadConfig(d.path("notifyd.yaml"))
	if !report.OK() {
		d.printFindings(report)
		return nil, nil, exitWith(exitConfig, "the configuration of the demo cannot be used")
	}
	if d.cast, err = newCast(conf, d.keys); err != nil {
		return nil, nil, err
	}
	ready, ended = make(chan demoAddresses, 1), make(chan error, 1)
	inner := *d.app
	inner.err = readyWriter{d.err, ready}
	log := slog.New(slog.NewJSONHandler(d.log, nil))
	go func() { ended <- inner.serve(ctx, conf, accounts, log) }()
	return ready, ended, nil
}

// demoAddresses are where the two listeners are.
type demoAddresses struct{ public, private string }

// readyWriter is the server's stderr: it takes the addresses out of the ready
// line and passes on everything else.
type readyWriter struct {
	to    io.Writer
	ready chan<- demoAddresses
}

func (w readyWriter) Write(p []byte) (int, error) {
	var at demoAddresses
	if n, _ := fmt.Sscanf(strings.TrimSpace(string(p)), "notifyd ready public=%s private=%s", &at.public, &at.private); n == 2 {
		w.ready <- at
		return len(p), nil
	}
	return w.to.Write(p)
}
