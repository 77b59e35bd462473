package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	goversion "go/version"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/notifyd/notifyd/internal/store"
)

// stdio is what a run talks to: data goes to out, everything else to err.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every subcommand is given. Nothing of the process is read past it,
// so that a whole run fits into a test.
type app struct {
	stdio
	env func(string) (string, bool)
	now func() time.Time
	// disk asks a file system for the doctor; nil: the system's own way.
	disk     func(path string) (*store.Disk, error)
	patience time.Duration // interruptPatience when 0
}

// Exit codes. Source: section 7 of the outside contract.
const (
	exitDone        = 0
	exitFailed      = 1   // while running
	exitUsage       = 2   // the command line is wrong
	exitConfig      = 3   // the configuration is wrong
	exitUnreachable = 4   // no server, or the store cannot be used
	exitRefused     = 5   // verification refused
	exitUnhealthy   = 6   // checks failed
	exitInterrupted = 130 // by a signal, as shells count it
)

// exitError ends a run with a code of its own. Without err everything was said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith makes the error that ends a run with the code.
func exitWith(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// run is the whole program.
func run(ctx context.Context, args []string, env func(string) (string, bool), io stdio) int {
	return (&app{stdio: io, env: env, now: time.Now}).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	if err := checkToolchain(runtime.Version()); err != nil {
		return a.end(ctx, nil, err)
	}
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	// Asked before it runs: a tree of commands serves one at a time.
	called, _, unknown := root.Find(args)
	ended := make(chan int, 1)
	go func() {
		command, err := root.ExecuteContextC(ctx)
		ended <- a.end(ctx, command, err)
	}()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}
	if unknown == nil && stopsInOrder(called) {
		return <-ended
	}
	select {
	case code := <-ended:
		return code
	case <-time.After(cmp.Or(a.patience, interruptPatience)):
		fmt.Fprintln(a.err, "notifyd: interrupted, and not waiting any longer for a file or a terminal that does not answer")
		return exitInterrupted
	}
}

// interruptPatience is how long an interrupted command may take to end what it
// has begun: a notification takes four seconds at most. Reading of a pipe that
// nobody writes to ends never.
const interruptPatience = 8 * time.Second

// stopsInOrder is true of the commands that serve: how long they take to stop,
// the configuration says.
func stopsInOrder(c *cobra.Command) bool { return c.Name() == "serve" || c.Name() == "demo" }

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "notifyd",
		Short: "Receive payment notifications of WeChat Pay and Alipay",
		Long: `notifyd receives the payment notifications of WeChat Pay and Alipay, verifies
them, decides what each means for its order, and answers who asks.`,
		Version:       thisBuild().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          needsCommand,
		Annotations:   holdsOthers(),
	}
	root.SetVersionTemplate("notifyd {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUsage, err} })
	root.AddCommand(serveCommand(a), checkCommand(a), replayCommand(a), simulateCommand(a), verifyCommand(a), ordersCommand(a), notificationsCommand(a),
		eventsCommand(a), endpointsCommand(a), doctorCommand(a),
		demoCommand(a), versionCommand(a), initCommand(a),
		completionCommand(a), manCommand(a))
	help := helpCommand(a)
	root.SetHelpCommand(help)
	root.AddCommand(help)
	refuseByUsage(root)
	completeAll(a, root)
	helpWithExits(root)
	return root
}

// refuseByUsage makes the errors of all argument checks wrong usage.
func refuseByUsage(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		c.Args = usage(c.Args)
		refuseByUsage(c)
	}
}

// helpWithExits puts exit codes below the help of each command.
func helpWithExits(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		help(c, args)
		if noted := c.Annotations[exitNote]; noted != "" {
			fmt.Fprint(c.OutOrStdout(), "\n"+exitHelp(noted))
		}
	})
}

// needsCommand is what a command does that only holds others. Nothing was asked
// for, so help is no data here.
func needsCommand(c *cobra.Command, _ []string) error {
	c.SetOut(c.ErrOrStderr())
	_ = c.Help()
	return &exitError{code: exitUsage}
}

// noSuchCommand refuses what is left after the name of the program: it would
// have been a subcommand.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	c.SuggestionsMinimumDistance = 2 // letters that a slip may change
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf(": did you mean %q?", near[0])
	}
	return exitWith(exitUsage, "%s", text)
}

// one takes exactly one argument; what names it as the usage does.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name one %s; %s", what, countGiven(len(args)))
		}
		return nil
	}
}

func countGiven(n int) string {
	if n == 0 {
		return "none is given"
	}
	return fmt.Sprintf("%d are given", n)
}

// flagsOnly refuses arguments. Mostly the name of a flag was left out.
func flagsOnly(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%q is not understood: %s takes flags only", args[0], c.CommandPath())
	if c.Flag("config") != nil && (strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml")) {
		text += ". A configuration file is named with --config " + args[0]
	}
	return errors.New(text)
}

// usage makes the errors of an argument check wrong usage. A flag that has taken
// the next one for its value comes first: what is wrong then is not the arguments.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		check = flagsOnly
	}
	return func(c *cobra.Command, args []string) error {
		if err := cmp.Or(needsValue(c), check(c, args)); err != nil {
			return &exitError{exitUsage, err}
		}
		return nil
	}
}

// needsValue finds a flag whose value was left out, so that it took the next flag.
func needsValue(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		next, is := strings.CutPrefix(f.Value.String(), "--")
		if name, _, _ := strings.Cut(next, "="); is && c.Flag(name) != nil && err == nil {
			err = fmt.Errorf("--%s needs a value: --%s was taken for it", f.Name, name)
		}
	})
	return err
}

// end says what went wrong, if anything, and is the exit code.
func (a *app) end(ctx context.Context, command *cobra.Command, err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(a.err, "notifyd: %v\n", exit.err)
		}
		if exit.code == exitUsage && exit.err != nil && command != nil {
			fmt.Fprintf(a.err, "See: %s --help\n", command.CommandPath())
		}
		return exit.code
	case ctx.Err() != nil:
		fmt.Fprintln(a.err, "notifyd: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(a.err, "notifyd: %v\n", err)
	return exitFailed
}

// leastGo is the first release whose net/http has the fixes that the limits on
// slow and hostile connections rely on.
const leastGo = "go1.26.6"

// checkToolchain refuses to run what an older Go has built. A development build
// has no version to compare and is the builder's own affair.
func checkToolchain(built string) error {
	if goversion.IsValid(built) && goversion.Compare(built, leastGo) < 0 {
		return fmt.Errorf("this binary was built with %s; at least %s is needed, for its fixes in net/http", built, leastGo)
	}
	return nil
}

// colour says whether w is a terminal whose user did not ask for plain text.
// Source: https://no-color.org, and TERM=dumb by custom.
func (a *app) colour(w io.Writer) bool {
	if plain, _ := a.env("NO_COLOR"); plain != "" {
		return false
	}
	if kind, _ := a.env("TERM"); kind == "dumb" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
