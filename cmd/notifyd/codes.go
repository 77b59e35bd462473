package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/provider"
)

// codesDocument explains every code; `notifyd help codes --markdown` writes it.
const codesDocument = "docs/codes.md"

// anchorOf is where a code is explained: GitHub's anchor of its heading.
func anchorOf(code string) string { return codesDocument + "#" + strings.ReplaceAll(code, ".", "") }

// conflictFamily has the reasons for which a proven notification is a conflict. The
// other families are about refusals.
const conflictFamily = "conflict"

// codeFamily is the codes that begin with one word.
type codeFamily struct {
	title        string
	explanations []provider.Explanation
}

// codeFamilies are all codes: the edge's, those of each provider by its name, and
// the reasons of conflicts.
func codeFamilies() []codeFamily {
	known := providers()
	families := []codeFamily{{"edge", httpapi.Explanations()}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		families = append(families, codeFamily{name, known[name].explain()})
	}
	return append(families, codeFamily{conflictFamily, conflictExplanations()})
}

func allExplanations() (all []provider.Explanation) {
	for _, f := range codeFamilies() {
		all = append(all, f.explanations...)
	}
	return all
}

func explanationOf(all []provider.Explanation, code string) (provider.Explanation, bool) {
	i := slices.IndexFunc(all, func(e provider.Explanation) bool { return e.Code == code })
	if i < 0 {
		return provider.Explanation{Code: code}, false
	}
	return all[i], true
}

// allCodes is what stands for the whole list where a code is due.
const allCodes = "codes"

// explained is an explanation for machines.
type explained struct {
	Code   string             `json:"code"`
	Finer  bool               `json:"found_by_verify"` // the server's log never says it
	Means  provider.Bilingual `json:"means"`
	Fix    provider.Bilingual `json:"fix"`
	Anchor string             `json:"anchor"`
}

func explainedOf(e provider.Explanation) explained {
	return explained{e.Code, e.Finer, e.Means, e.Fix, anchorOf(e.Code)}
}

// helpCommand is the help of commands, and of reason codes.
func helpCommand(a *app) *cobra.Command {
	var asJSON, asMarkdown bool
	c := &cobra.Command{
		Use:   "help [COMMAND… | CODE | codes]",
		Short: "Help about a command, or about a reason code such as wx.unknown_serial",
		Long: `help prints the help of a command, or what a reason code means and what to do
about it, in English and Chinese. help codes lists every code: logs, metrics,
refusals, conflicts and verify use no others.`,
		Example: `  notifyd help verify
  notifyd help wx.unknown_serial
  notifyd help amount_mismatch
  notifyd help codes`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage),
		Args:        cobra.ArbitraryArgs,

		ValidArgsFunction: topicsOfHelp,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && args[0] == allCodes && asMarkdown:
				return a.print(codesMarkdown())
			case len(args) == 1 && args[0] == allCodes:
				return a.printCodes(asJSON)
			case len(args) == 1 && strings.ContainsAny(args[0], "._"): // no command has one
				return a.printCode(args[0], asJSON)
			case asJSON || asMarkdown:
				return exitWith(exitUsage, "only codes have another form than text")
			}
			return helpOf(c.Root(), args)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON (codes)")
	c.Flags().BoolVar(&asMarkdown, "markdown", false, "print "+codesDocument+" (help codes)")
	return c
}

// topicsOfHelp completes commands along their way, and codes.
func topicsOfHelp(c *cobra.Command, args []string, _ string) (topics []string, _ cobra.ShellCompDirective) {
	if at, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range at.Commands() {
			if sub.IsAvailableCommand() {
				topics = append(topics, sub.Name()+"\t"+sub.Short)
			}
		}
	}
	if len(args) == 0 {
		topics = append(topics, allCodes+"\tevery reason code")
		for _, e := range allExplanations() {
			topics = append(topics, e.Code+"\t"+e.Means.English)
		}
	}
	return topics, cobra.ShellCompDirectiveNoFileComp
}

// helpOf prints the help of a command, which is data here.
func helpOf(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return noSuchCommand(c, rest)
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	return c.Help()
}

// printCode takes a code however its letters are written: no two codes differ by
// that.
func (a *app) printCode(code string, asJSON bool) error {
	e, known := explanationOf(allExplanations(), strings.ToLower(code))
	if !known {
		var names []string
		for _, other := range allExplanations() {
			names = append(names, other.Code)
		}
		return exitWith(exitUsage, "%s", nearestOrList(code, names))
	}
	if asJSON {
		return a.printJSON(explainedOf(e))
	}
	var b strings.Builder
	b.WriteString(e.Code)
	if e.Finer {
		b.WriteString("  (found by notifyd verify; the server's log has a coarser one)")
	}
	b.WriteString("\n\n" + e.Means.English + "\n" + e.Fix.English + "\n\n" + e.Means.Chinese + "\n" + e.Fix.Chinese + "\n\n" + anchorOf(e.Code) + "\n")
	return a.print([]byte(b.String()))
}

// nearestOrList words the error for a code that is none: seventy names in a line
// help nobody.
func nearestOrList(code string, names []string) string {
	text := config.Unknown("code", code, names)
	if before, _, listed := strings.Cut(text, ": known are"); listed {
		return before + ": notifyd help codes lists them"
	}
	return text
}

func (a *app) printCodes(asJSON bool) error {
	if asJSON {
		list := []explained{}
		for _, e := range allExplanations() {
			list = append(list, explainedOf(e))
		}
		return a.printJSON(map[string]any{"codes": list})
	}
	chinese := a.speaksChinese()
	t := newTable()
	for _, e := range allExplanations() {
		means := e.Means.English
		if chinese {
			means = e.Means.Chinese
		}
		t.row("%s\t%s", e.Code, means)
	}
	return a.print(t.text())
}
