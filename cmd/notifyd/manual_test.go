package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// wholeTree is the root with all commands.
func wholeTree() *cobra.Command {
	return rootCommand(&app{stdio: stdio{in: strings.NewReader(""), out: io.Discard, err: io.Discard}, env: noEnv, now: time.Now})
}

// Every command has a page with examples and exit codes, and every example is a
// command line that the command takes.
func TestManualHasEveryCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	code, out, said := runIn("man", dir)
	if code != exitDone || out != "" || !regexp.MustCompile(`^\d+ pages in `).MatchString(said) {
		t.Fatalf("exit code %d: %s%s", code, out, said)
	}
	section := func(page, name string) string {
		_, after, _ := strings.Cut(page, `.SH "`+name+"\"\n")
		text, _, _ := strings.Cut(after, "\n.SH ")
		return text
	}
	pages := manualOf(wholeTree())
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(dir, p.file()))
		if err != nil {
			t.Errorf("%s has no page: %v", p.CommandPath(), err)
			continue
		}
		page := string(text)
		for _, name := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO"} {
			if strings.TrimSpace(section(page, name)) == "" {
				t.Errorf("the page of %s says nothing under %s", p.CommandPath(), name)
			}
		}
		if n := strings.Count(section(page, "EXIT STATUS"), ".TP"); n < 3 {
			t.Errorf("%s: %d exit codes: note them with endsWith, 0, 1 and 2 at least", p.CommandPath(), n)
		}
		if p.acts() && p.Annotations[exitNote] == "" {
			t.Errorf("%s does not say how it ends: give it Annotations: endsWith(…)", p.CommandPath())
		}
		if p.acts() == strings.HasSuffix(strings.TrimSpace(section(page, "SYNOPSIS")), " COMMAND\"") {
			t.Errorf("the synopsis of %s: %s", p.CommandPath(), section(page, "SYNOPSIS"))
		}
		if !strings.Contains(section(page, "EXAMPLES"), strings.ReplaceAll(p.CommandPath(), "-", `\-`)) {
			t.Errorf("%s: no example calls it: give it an Example", p.CommandPath())
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) != len(pages) || len(pages) < 25 {
		t.Errorf("%d files for %d pages, %v", len(files), len(pages), err)
	}
}

// Every example names a command that there is, with flags and arguments that it
// takes.
func TestExamplesAreTaken(t *testing.T) {
	call := regexp.MustCompile(`(?:^|[(&] *|^  )notifyd ([^|<>&#)]*)`)
	for _, p := range manualOf(wholeTree()) {
		for line := range strings.Lines(strings.ReplaceAll(p.examples(), "\\\n", " ")) {
			found := call.FindStringSubmatch(strings.TrimSpace(line))
			if found == nil {
				continue // how a shell is told of it
			}
			command, rest, err := wholeTree().Find(strings.Fields(found[1]))
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err == nil {
				err = command.ValidateArgs(command.Flags().Args())
			}
			if err != nil || !command.HasParent() {
				t.Errorf("the example %q of %s: %v", strings.TrimSpace(line), p.CommandPath(), err)
			}
		}
	}
}

// What a page says is not taken for requests of roff.
func TestManualEscapes(t *testing.T) {
	r := &roff{}
	r.item(`a"b`, ".TH 'x' \\n")
	r.verbatim("'quoted\n.point")
	r.paragraphs("one\ntwo\n\n  kept\n  so")
	want := ".TP\n.B \"a\\(dqb\"\n\\&.TH 'x' \\en\n.nf\n\\&'quoted\n\\&.point\n.fi\none\ntwo\n.PP\n.nf\n  kept\n  so\n.fi\n"
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A command says codes that there are, and help shows them.
func TestHelpShowsExitCodes(t *testing.T) {
	var known []string
	for _, l := range exitLines("") {
		known = append(known, l[0])
	}
	for _, p := range manualOf(wholeTree()) {
		for code := range strings.FieldsSeq(p.Annotations[exitNote]) {
			if !slices.Contains(known, code) {
				t.Errorf("%s ends with %s, which means nothing", p.CommandPath(), code)
			}
		}
	}
	code, out, _ := runIn("orders", "show", "--help")
	if code != exitDone || !strings.HasSuffix(out, "  130  interrupted by a signal\n") || !strings.Contains(out, "\nExit codes:\n  0    done\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
