package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

func itoa(n int) string { return strconv.Itoa(n) }

func noEnv(string) (string, bool) { return "", false }

// runIn runs the program within the test.
func runIn(args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, noEnv, stdio{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestRunWritesToWhatItIsGiven(t *testing.T) {
	code, out, err := runIn("version")
	if code != exitDone || !strings.HasPrefix(out, "notifyd ") || err != "" {
		t.Errorf("code %d, out %q, err %q", code, out, err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "--json"}} {
		var e bytes.Buffer
		code := run(context.Background(), args, noEnv, stdio{out: brokenPipe{}, err: &e})
		if code != exitFailed || !strings.Contains(e.String(), "cannot write the output: broken pipe") {
			t.Errorf("%v: code %d, err %q", args, code, e.String())
		}
	}
}

func TestExitCodes(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	command := &cobra.Command{Use: "notifyd"}
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		said string
	}{
		{"done", context.Background(), nil, exitDone, ""},
		{"done after a signal", ended, nil, exitDone, ""},
		{"failed", context.Background(), errors.New("no luck"), exitFailed, "notifyd: no luck\n"},
		{"usage", context.Background(), exitWith(exitUsage, "what?"), exitUsage, "notifyd: what?\nSee: notifyd --help\n"},
		{"told already", context.Background(), &exitError{code: exitConfig}, exitConfig, ""},
		{"interrupted", ended, context.Canceled, exitInterrupted, "notifyd: interrupted\n"},
		{"interrupted, and says what", ended, exitWith(exitUnreachable, "no server"), exitUnreachable, "notifyd: no server\n"},
	} {
		var e bytes.Buffer
		a := &app{stdio: stdio{err: &e}, env: noEnv, now: time.Now}
		if code := a.end(c.ctx, command, c.err); code != c.code || e.String() != c.said {
			t.Errorf("%s: code %d, want %d; said %q, want %q", c.name, code, c.code, e.String(), c.said)
		}
	}
}

func TestToolchain(t *testing.T) {
	for built, ok := range map[string]bool{
		"go1.26.6": true, "go1.26.8": true, "go1.27": true, "go1.27rc1": true, "devel go1.28-abcdef": true,
		"go1.26.5": false, "go1.26": false, "go1.25.9": false,
	} {
		if err := checkToolchain(built); (err == nil) != ok {
			t.Errorf("%s: %v", built, err)
		}
	}
	if code, _, err := runIn("version"); code != exitDone {
		t.Errorf("this toolchain is refused: %s", err)
	}
}

func TestColourIsForTerminalsAlone(t *testing.T) {
	a := &app{env: noEnv}
	if a.colour(&bytes.Buffer{}) {
		t.Error("a buffer is taken for a terminal")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if a.colour(file) {
		t.Error("a file is taken for a terminal")
	}
	// Any terminal will do: a pseudo terminal's master end is one.
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("a pseudo terminal is needed: %v", err)
	}
	defer tty.Close()
	for name, want := range map[string]bool{"": true, "NO_COLOR=1": false, "NO_COLOR=": true, "TERM=dumb": false, "TERM=xterm": true} {
		a.env = func(key string) (string, bool) {
			if k, v, set := strings.Cut(name, "="); set && k == key {
				return v, true
			}
			return "", false
		}
		if got := a.colour(tty); got != want {
			t.Errorf("with %q: %v", name, got)
		}
	}
}

// fake is a provider that somebody else wrote.
type fake struct{ id string }

func (f *fake) Parse(provider.Request) (order.Notification, error) {
	return order.Notification{}, provider.ErrUnavailable
}
func (f *fake) Ack(provider.Request, error) provider.Answer { return provider.Answer{} }
func (f *fake) Reload() (bool, error)                       { return false, nil }
func (f *fake) Identity() string                            { return "number " + f.id }
func (f *fake) Keys() []provider.KeyInfo {
	return []provider.KeyInfo{{ID: "K" + f.id, Kind: "certificate", NotAfter: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, {ID: "endless", Kind: "public key"}}
}

type fakeOptions struct {
	Number string `yaml:"number"`
	File   string `yaml:"file"`
}

func newFake(o fakeOptions, env provider.Env) (*fake, error) {
	if o.Number == "" {
		return nil, provider.Problems{{Field: "number", Text: "is missing"}, {Field: "file", Text: "is silly"}}
	}
	if o.File != "" {
		if _, err := env.ReadFile(o.File); err != nil {
			return nil, err
		}
	}
	return &fake{o.Number}, nil
}

func loadFakes(t *testing.T, text string) (*config.Config, map[string]account, *config.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n.yaml")
	if err := os.WriteFile(path, []byte("admin: {token: t}\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, report := config.Load(path, noEnv)
	if c == nil || !report.OK() {
		t.Fatal(report.Errors)
	}
	return c, loadAccounts(c, map[string]builder{"fake": builds(newFake, nil, nil)}, report), report
}

func wantFindings(t *testing.T, got config.Findings, want ...string) {
	t.Helper()
	var lines []string
	for _, f := range got {
		lines = append(lines, strings.ReplaceAll(f.String(), filepath.Dir(f.File)+"/", ""))
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// A further provider costs one row in the table of builders.
func TestLoadAccountsOfAnyProvider(t *testing.T) {
	_, accounts, report := loadFakes(t, `accounts:
  - {name: a, provider: fake, number: 17, file: n.yaml}
  - {name: b, provider: fake, number: 18}
`)
	if !report.OK() || len(accounts) != 2 || accounts["a"].Provider.Identity() != "number 17" || accounts["b"].Merchant != "default" {
		t.Errorf("%v %v", report.Errors, accounts)
	}
	_, _, report = loadFakes(t, `accounts:
  - {name: a, provider: fake, number: 17}
  - {name: b, provider: fake, number: 17}
  - {name: c, provider: fake, file: x}
  - {name: d, provider: fake, number: 0x19, nummer: 1}
  - {name: e, provider: fake, number: 20, file: absent}
  - {name: f, provider: fakes}
  - {name: g, provider: cash}
`)
	wantFindings(t, report.Errors,
		`n.yaml:4:5: accounts[1]: number 17 stands in two accounts, "a" and "b": keep one`,
		"n.yaml:5:5: accounts[2].number: is missing",
		"n.yaml:5:37: accounts[2].file: is silly",
		"n.yaml:6:39: accounts[3].number: unquoted, this is a number and may lose digits or change: quote it",
		`n.yaml:6:45: accounts[3]: unknown option "nummer": did you mean "number"?`,
		"n.yaml:6:5: accounts[3].file: is silly",
		"n.yaml:7:5: accounts[4]: open absent: no such file or directory",
		`n.yaml:8:25: accounts[5].provider: unknown provider "fakes": did you mean "fake"?`,
		`n.yaml:9:25: accounts[6].provider: unknown provider "cash": known are fake`,
	)
}

func TestKeysThatEnd(t *testing.T) {
	end := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		now  time.Time
		want []string
	}{
		{end.Add(-31 * 24 * time.Hour), nil},
		{end.Add(-30 * 24 * time.Hour), []string{"n.yaml:2:13: accounts[0]: certificate K1 ends on 2026-03-01"}},
		{end.Add(time.Second), []string{"n.yaml:2:13: accounts[0]: certificate K1 ended on 2026-03-01"}},
	} {
		conf, accounts, report := loadFakes(t, "accounts: [ {name: a, provider: fake, number: 1}]\n")
		adviseKeys(accounts, conf, report, c.now)
		wantFindings(t, report.Warnings, c.want...)
	}
}
