package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// verifying is one run of the command.
type verifying struct {
	*app
	config, account, at, language string
	tries                         []string
	showText, asJSON              bool

	conf     *config.Config
	accounts map[string]account
}

func verifyCommand(a *app) *cobra.Command {
	v := &verifying{app: a}
	c := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Say why a captured request is proven, or why not",
		Long: `verify takes one capture (a raw HTTP request in a file, or on standard input) and
shows every step of its proof: protocol, time, key, the text to be verified,
signature, decryption, whose it is, what it says, and what its order would do. It
sends nothing and writes nothing.

The verdict is that of the server, by the same code. When it is "refused", the
known mistakes are tried (a body that was encoded anew, escaped, converted or
cut; a wrong, changed or foreign key) and the one that explains it is named by a
code, with what to do about it; notifyd help CODE says more.

Each request is judged at its own time of receipt, the X-Captured-At header or
--at. What its order would do is decided against the configured store, which is
only read, also beside a running server; without one, for a new order.

No key is shown, and personal fields (openid, buyer ids) are masked.`,
		Example: `  notifyd verify --config notifyd.yaml refused.http
  notifyd verify --config notifyd.yaml --try-key apiclient_key.pem refused.http
  notifyd verify --config notifyd.yaml --json - <refused.http`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitRefused, exitInterrupted),
		Args:        one("capture, or - for standard input"),
		RunE:        func(c *cobra.Command, args []string) error { return v.run(c.Context(), args[0]) },
	}
	f := c.Flags()
	f.StringVar(&v.config, "config", defaultConfig, "configuration `file` with the account and its keys")
	f.StringVar(&v.account, "account", "", "the account's `name`, when the path of the request does not say it")
	f.StringVar(&v.at, "at", "", "`time` of receipt (RFC 3339) when the capture does not say it")
	f.StringArrayVar(&v.tries, "try-key", nil, "a key or certificate `file` to try on a refused signature, for instance your own or an older one; may be repeated")
	f.BoolVar(&v.showText, "show-text", false, "print the text to be verified, personal fields masked")
	f.StringVar(&v.language, "lang", "", "language of causes and fixes: en or zh; otherwise that of the environment")
	f.BoolVar(&v.asJSON, "json", false, "print JSON")
	return c
}

func (v *verifying) run(ctx context.Context, path string) error {
	chinese, err := v.chinese()
	if err != nil {
		return err
	}
	c, err := v.read(ctx, path)
	if err != nil {
		return err
	}
	tries, err := readTries(v.tries)
	if err != nil {
		return err
	}
	conf, accounts, report := v.loadConfig(v.config)
	if !report.OK() {
		v.printFindings(report)
		return unusable(v.config, report)
	}
	v.conf, v.accounts = conf, accounts
	if err := v.place(&c); err != nil {
		return err
	}
	result := v.verify(ctx, c, tries)
	if ctx.Err() != nil { // then it is not all that there is to say
		return ctx.Err()
	}
	if !v.showText && result.Signed != nil {
		result.Signed.Text = nil
	}
	if v.asJSON {
		err = v.printJSON(result)
	} else {
		err = v.print(result.text(chinese, v.colour(v.out)))
	}
	switch {
	case err != nil:
		return err
	case result.Verdict == verdictRefused:
		return &exitError{code: exitRefused}
	}
	return nil
}

// speaksChinese says whether the environment does.
// Source: POSIX, the order in which a program looks for its language.
func (a *app) speaksChinese() bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value, _ := a.env(name); value != "" {
			return strings.HasPrefix(value, "zh")
		}
	}
	return false
}

// chinese says whether causes are worded in Chinese: as asked for, otherwise as
// the environment speaks.
func (v *verifying) chinese() (bool, error) {
	switch v.language {
	case "":
		return v.speaksChinese(), nil
	case "en", "zh":
		return v.language == "zh", nil
	}
	return false, exitWith(exitUsage, "--lang %q: en and zh are known", v.language)
}

// stdin stands for standard input where a file is due.
const stdin = "-"

// read reads a capture of the request as it came: what was cut or redacted since
// is another one, and every mistake that it looked like would be invented.
func (v *verifying) read(ctx context.Context, path string) (c captured, err error) {
	if path == stdin {
		c, err = v.readStdin(ctx)
	} else {
		c, err = readCapture(path)
	}
	if err != nil {
		return captured{}, err
	}
	if err := c.complete(); err != nil {
		return captured{}, exitWith(exitUsage, "%w", err)
	}
	return c, nil
}

func (v *verifying) readStdin(ctx context.Context) (captured, error) {
	c := captured{path: stdin}
	var err error
	if c.raw, err = v.readInput(ctx); err != nil {
		return captured{}, err
	}
	c.Captured, err = provider.ReadCapture(bytes.NewReader(c.raw))
	if err == nil {
		_, err = url.ParseRequestURI(c.Target)
	}
	if err != nil {
		return captured{}, exitWith(exitUsage, "standard input: %w", err)
	}
	return c, nil
}

// readInput reads standard input. An interrupt does not end a read, so it is left
// to itself then: the process is about to end.
func (v *verifying) readInput(ctx context.Context) ([]byte, error) {
	type input struct {
		text []byte
		err  error
	}
	done := make(chan input, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(v.in, maxCaptureFileBytes))
		done <- input{text, err}
	}()
	select {
	case in := <-done:
		return in.text, in.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func readTries(paths []string) (tries [][]byte, err error) {
	for _, path := range paths {
		content, err := readAtMost(path, maxKeyFileBytes)
		if err != nil {
			return nil, exitWith(exitUsage, "--try-key %s: %w", path, err)
		}
		if len(mend.KeysIn(content)) == 0 {
			return nil, exitWith(exitUsage, "--try-key %s: there is no RSA key in it that can be read", path)
		}
		tries = append(tries, content)
	}
	return tries, nil
}

// place finds the capture's account and time of receipt.
func (v *verifying) place(c *captured) error {
	name := c.Account()
	if v.account != "" {
		name = v.account
	}
	if _, known := v.accounts[name]; !known {
		return exitWith(exitUsage, "%s: %s; name it with --account", c.path, config.Unknown("account", name, slices.Sorted(maps.Keys(v.accounts))))
	}
	v.account = name
	if v.at != "" {
		at, err := time.Parse(time.RFC3339Nano, v.at)
		if err != nil {
			return exitWith(exitUsage, "--at %q is not a time like 2026-01-02T15:04:05+08:00", v.at)
		}
		c.At = at.UTC()
	}
	if c.At.IsZero() {
		return exitWith(exitUsage, "%s does not say when it was received (X-Captured-At): give it with --at", c.path)
	}
	c.At = c.At.Truncate(time.Microsecond)
	return nil
}

func (v *verifying) others(name string) (all []provider.Provider) {
	for _, other := range slices.Sorted(maps.Keys(v.accounts)) {
		if other != name {
			all = append(all, v.accounts[other].Provider)
		}
	}
	return all
}

// where is the name of the file of a capture, on one line.
func (c captured) where() string {
	if c.path == stdin {
		return "standard input"
	}
	return shown(fmt.Sprint(c.path))
}
