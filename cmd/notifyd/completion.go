package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/redact"
)

func completionCommand(a *app) *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(a.out, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(a.out) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(a.out, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(a.out) },
	}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands in a shell",
		Long: `completion prints a script for a shell, which then completes commands, flags and
what goes with them: statuses, event types, and the names of accounts, merchants
and endpoints of the configuration.`,
		Example: `  source <(notifyd completion bash)
  notifyd completion zsh >"${fpath[1]}/_notifyd"
  notifyd completion fish >~/.config/fish/completions/notifyd.fish
  notifyd completion powershell | Out-String | Invoke-Expression`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage),
		ValidArgs:   names,
		Args:        one("shell"),
		RunE: func(c *cobra.Command, args []string) error {
			generate, known := shells[args[0]]
			if !known {
				return exitWith(exitUsage, "%q is not a shell that can be completed: there are %s", args[0], strings.Join(names, ", "))
			}
			return generate(c.Root())
		},
	}
}

// completeAll says for every command what completes its flags and arguments: by
// their names, so that a new command need not say it again.
func completeAll(a *app, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		completeAll(a, c)
		for name, values := range a.completions() {
			if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, values) // a command's own stays
			}
		}
		if c.ValidArgsFunction != nil || len(c.ValidArgs) > 0 || !c.Runnable() {
			continue
		}
		switch _, argument, _ := strings.Cut(c.Use, " "); {
		case strings.HasPrefix(argument, "FILE"):
			c.ValidArgsFunction = files("http")
		case argument == "[DIR]" || argument == "DIR":
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		case argument == "SCENARIO":
			c.ValidArgsFunction = cobra.FixedCompletions(scenarioLines(), cobra.ShellCompDirectiveNoFileComp)
		case argument == "NAME":
			c.ValidArgsFunction = a.named(endpointNames)
		default: // numbers and ids are not looked up: completion asks no server
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// completions are what goes with a flag, by its name.
func (a *app) completions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"config":     files("yaml", "yml"),
		"token-file": files(),
		"account":    a.named(accountNames),
		"merchant":   a.named(merchantNames),
		"endpoint":   a.named(endpointNames),
		"provider":   among(slices.Sorted(maps.Keys(providers()))),
		"protocol":   among(textsOf(simulator.Protocols())),
		"status":     among(textsOf(order.Statuses())),
		"outcome":    among(textsOf(order.Outcomes())),
		"kind":       among(textsOf(order.Kinds())),
		"type":       among(eventTypes()),
		"state":      among(textsOf(outbox.States())),
		"verdict":    among([]string{verdictAccepted, verdictRefused}),
		"code":       among(refusalCodes()),
		"redact":     listOf(append(textsOf(redact.Kinds()), "all")),
		"lang":       among([]string{"en", "zh"}),
	}
}

// files completes names of files; with extensions only of these.
func files(extensions ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

func among(values []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// listOf completes the last word of a list with commas.
func listOf(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (lists []string, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		for _, v := range values {
			lists = append(lists, before+v)
		}
		return lists, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// refusalCodes are the codes that a server can refuse with.
func refusalCodes() (codes []string) {
	for _, f := range codeFamilies() {
		for _, e := range f.explanations {
			if !e.Finer && f.title != conflictFamily {
				codes = append(codes, e.Code)
			}
		}
	}
	return codes
}

// named completes with names of the configuration that the command line names. A
// configuration that cannot be read has none: this is no place to complain.
func (a *app) named(names func(*config.Config) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		path := defaultConfig
		if f := c.Flag("config"); f != nil {
			path = f.Value.String()
		}
		conf, _ := config.Load(path, a.env)
		if conf == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(conf), cobra.ShellCompDirectiveNoFileComp
	}
}

func accountNames(c *config.Config) (names []string) {
	for _, a := range c.Accounts {
		names = append(names, a.Name)
	}
	return names
}

func merchantNames(c *config.Config) (names []string) {
	for _, m := range c.Merchants {
		names = append(names, m.Name)
	}
	return names
}

func endpointNames(c *config.Config) (names []string) {
	for _, m := range c.Merchants {
		for _, e := range m.Endpoints {
			names = append(names, e.Name)
		}
	}
	return names
}

// scenarioLines are the names of scenarios, each with what it is.
func scenarioLines() (lines []string) {
	for _, s := range simulator.Scenarios() {
		lines = append(lines, s.Name+"\t"+s.Line)
	}
	return lines
}

func textsOf[T ~string](of []T) (texts []string) {
	for _, v := range of {
		texts = append(texts, string(v))
	}
	return texts
}
