package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// manualFileMode lets everybody read what is for everybody.
const manualFileMode = 0o644

func manCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `man writes one page for each command into DIR, which is made when it is not
there: notifyd.1, notifyd-serve.1 and so on. Pages that are there are written
anew.`,
		Example: `  notifyd man ~/.local/share/man/man1
  notifyd man man && man man/notifyd-serve.1`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage),
		Args:        one("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			pages := manualOf(c.Root())
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return exitWith(exitFailed, "the folder %s cannot be made: %w", args[0], withoutPath(err))
			}
			for _, p := range pages {
				name := filepath.Join(args[0], p.file())
				if err := os.WriteFile(name, p.roff(thisBuild().Version), manualFileMode); err != nil {
					return exitWith(exitFailed, "%s cannot be written: %w", name, withoutPath(err))
				}
			}
			a.tell("%s in %s", count(len(pages), "page"), args[0])
			return nil
		},
	}
}

// manualPage is the page of one command.
type manualPage struct{ *cobra.Command }

// manualOf are the pages of a command and all below it, but the hidden ones. Help
// is none of these, though it is not among the commands that there are to cobra:
// ours explains codes.
func manualOf(c *cobra.Command) []manualPage {
	pages := []manualPage{{c}}
	for _, below := range c.Commands() {
		isHelp := !c.HasParent() && below.Name() == "help"
		if isHelp || below.IsAvailableCommand() {
			pages = append(pages, manualOf(below)...)
		}
	}
	return pages
}

func (p manualPage) name() string { return strings.ReplaceAll(p.CommandPath(), " ", "-") }
func (p manualPage) file() string { return p.name() + ".1" }

// acts says that the command does something, whether it holds others or not.
func (p manualPage) acts() bool { return p.Annotations[groupNote] == "" }

// synopsis is how it is called.
func (p manualPage) synopsis() string {
	if !p.acts() {
		return p.CommandPath() + " COMMAND"
	}
	return p.UseLine()
}

// below are the pages of the commands directly below.
func (p manualPage) below() (pages []manualPage) {
	for _, page := range manualOf(p.Command)[1:] {
		if page.Parent() == p.Command {
			pages = append(pages, page)
		}
	}
	return pages
}

// examples of a command that only holds others are the first ones of these.
func (p manualPage) examples() string {
	if p.Example != "" {
		return p.Example
	}
	var first []string
	for _, below := range p.below() {
		line, _, _ := strings.Cut(below.examples(), "\n")
		if line != "" && !strings.HasSuffix(line, `\`) {
			first = append(first, line)
		}
	}
	return strings.Join(first, "\n")
}

// exits are the codes of a command; of one that holds others, all of theirs.
func (p manualPage) exits() string {
	if noted := p.Annotations[exitNote]; noted != "" || len(p.below()) == 0 {
		return noted
	}
	var codes []string
	for _, below := range p.below() {
		codes = append(codes, strings.Fields(below.exits())...)
	}
	slices.Sort(codes)
	return strings.Join(slices.Compact(codes), " ")
}

// roff is the page in the language of man.
func (p manualPage) roff(version string) []byte {
	r := &roff{}
	r.request("TH", escaped(strings.ToUpper(p.name())), "1", "", "notifyd "+version, "notifyd")
	r.section("NAME")
	r.text(p.name() + ` \- ` + escaped(p.Short))
	r.section("SYNOPSIS")
	r.request("B", escaped(p.synopsis()))
	r.section("DESCRIPTION")
	r.paragraphs(orElse(p.Long, p.Short+"."))
	if below := p.below(); len(below) > 0 {
		r.section("COMMANDS")
		for _, b := range below {
			r.item(b.CommandPath(), b.Short+".")
		}
	}
	const columns = 72
	if own := p.NonInheritedFlags().FlagUsagesWrapped(columns); own != "" {
		r.section("OPTIONS")
		r.verbatim(own)
	}
	if inherited := p.InheritedFlags().FlagUsagesWrapped(columns); inherited != "" {
		r.section("OPTIONS OF " + strings.ToUpper(p.Parent().CommandPath()))
		r.verbatim(inherited)
	}
	r.section("EXAMPLES")
	r.verbatim(p.examples())
	r.section("EXIT STATUS")
	for _, l := range exitLines(p.exits()) {
		r.item(l[0], l[1])
	}
	r.section("ENVIRONMENT")
	r.item("NO_COLOR", "Set and not empty: no colours, on a terminal either.")
	r.item(tokenVariable, "The token of the admin API, for commands that ask a running server.")
	r.section("FILES")
	r.item(defaultConfig, "The configuration, where --config names no other.")
	r.section("SEE ALSO")
	r.text(strings.Join(p.neighbours(), ", "))
	return r.Bytes()
}

// neighbours are the pages that are near this one.
func (p manualPage) neighbours() (names []string) {
	add := func(page manualPage) {
		if page.Command != p.Command {
			names = append(names, fmt.Sprintf(`\fB%s\fR(1)`, escaped(page.name())))
		}
	}
	if p.HasParent() {
		add(manualPage{p.Root()})
		for _, beside := range (manualPage{p.Parent()}).below() {
			add(beside)
		}
	}
	for _, below := range p.below() {
		add(below)
	}
	return names
}
