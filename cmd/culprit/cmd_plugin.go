package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/conformance"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/results/report"
)

// exitBlocked is also that of a run whose blocking case fails.
const exitBlocked = 3

func (a *app) pluginCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "plugin",
		GroupID: groupStudy,
		Short:   "Hold a store or a model of your own to the contract",
		Long: `A plugin is a program of your own that serves a store, an embedder, a generator or a reranker that
Culprit does not know, in any language that has gRPC. An experiment names it:

  backends:
    store: {adapter: plugin, path: ./mystore, checksum: "sha256:…", settings: {…}}

docs/plugins.md is the guide, adapters/plugin/proto/v1/plugin.proto the contract. To copy there are
a store in Go, adapters/plugin/examples/filestore, and one in Python, words_store.py in
adapters/plugin/examples/python. Then hold yours to the contract:

  culprit plugin fixture > fixture.jsonl     the items to fill a store with
  culprit plugin test ./mystore              what passes, what fails, what was expected`,
		Example: `  culprit plugin test ./filestore --settings '{"path": "{fixture}"}'
  culprit plugin test --settings settings.json python3 plugin.py`,
		Args: knownSub,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.pluginTestCommand(), a.pluginFixtureCommand())
	return c
}

// knownSub refuses what is no command of the group.
func knownSub(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return usage("unknown command %q for %q%s\nSee: %s --help", args[0], c.CommandPath(), didYouMean(args[0], names), c.CommandPath())
}

// pluginOptions are the flags of culprit plugin test.
type pluginOptions struct {
	settings, allow, role string
	env                   []string
	timeout               time.Duration
	full                  bool

	command []string
}

const allowHelp = "what the backend cannot help, as a JSON `FILE` or text: see docs/plugins.md"

func (a *app) pluginTestCommand() *cobra.Command {
	var o pluginOptions
	c := &cobra.Command{
		Use:   "test program [argument...]",
		Short: "Run the conformance suite on a plugin",
		Long: `Run the suites that every built-in adapter passes on a plugin, in each role that it plays, and print
what passes, what fails with what was expected and what came, and what was skipped and why.

A store is tested over the items of culprit plugin fixture. Either fill it with them before and let
--settings say where they are, or write {fixture} in the settings where the path of a file with
the items belongs: then it is also tested empty, changed and with many items.

The settings are those of the plugin itself, as in backends.store.settings. Flags of the plugin go
behind --. The sum that is printed pins the plugin: backends.store.checksum.

Exit codes: 0, everything passes; 2, usage, or settings that the plugin refuses; 3, something fails;
5, the plugin cannot be used at all.`,
		Example: `  culprit plugin test ./filestore --settings '{"path": "{fixture}"}'
  culprit plugin test --role embedder --env MY_API_KEY ./mymodel
  culprit plugin test --settings settings.json --allow '{"unit_vectors": true}' python3 plugin.py`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("%s takes the program that is the plugin\nUsage: %s", c.CommandPath(), c.UseLine())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.command = args
			ctx, stop := signal.NotifyContext(c.Context(), interruptSignals()...)
			defer stop()
			return a.pluginTest(ctx, o)
		},
	}
	c.Flags().StringVar(&o.settings, "settings", "{}", "the plugin's settings, as a JSON `FILE` or text")
	c.Flags().StringVar(&o.allow, "allow", "{}", allowHelp)
	c.Flags().StringVar(&o.role, "role", "", "only this `role`: store, embedder, generator or reranker")
	c.Flags().StringSliceVar(&o.env, "env", nil, "environment `variables` that the plugin gets")
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "the longest that one call, or the start, may take")
	c.Flags().BoolVar(&o.full, "full", false, "show every line of a failure")
	return c
}

func (a *app) pluginFixtureCommand() *cobra.Command {
	allow := "{}"
	c := &cobra.Command{
		Use:   "fixture",
		Short: "Print the items that a store is filled with before it is tested",
		Long: `Print about two hundred items, one JSON object a line, always the same: id, source, revision, text,
access, metadata, embed_model, collection, indexed_at, updated_at and vector (24 numbers). A field
that is absent has no value. Items with a collection belong to another collection of that name: a
store that has only one leaves them out. Numbers and booleans of metadata are such, for stores that
tell types apart. The texts are awkward on purpose: they must come back byte by byte.`,
		Example: `  culprit plugin fixture > fixture.jsonl
  culprit plugin fixture --allow '{"ids": "uuid", "cannot_hold": "\u0000"}' > fixture.jsonl`,
		Args: between(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			allowances, err := readAllowances(allow)
			if err != nil {
				return err
			}
			corpus, err := allowances.Corpus()
			if err != nil {
				return usage("--allow: %w", err)
			}
			return corpus.WriteJSONL(a.out)
		},
	}
	c.Flags().StringVar(&allow, "allow", allow, allowHelp)
	return c
}

// jsonOf returns the JSON that a flag gives, or the file that it names.
func jsonOf(flag, value string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return []byte(value), nil
	}
	data, err := os.ReadFile(value)
	if err != nil {
		return nil, usage("--%s: it is neither a JSON object nor a file: %w", flag, err)
	}
	return data, nil
}

func readAllowances(value string) (conformance.Allowances, error) {
	var allow conformance.Allowances
	data, err := jsonOf("allow", value)
	if err != nil {
		return allow, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&allow); err != nil {
		return allow, usage("--allow: %w: docs/plugins.md lists the keys", err)
	}
	return allow, nil
}

// pluginTest runs the suites and prints how they ended.
func (a *app) pluginTest(ctx context.Context, o pluginOptions) error {
	allow, err := readAllowances(o.allow)
	if err != nil {
		return err
	}
	settings, err := jsonOf("settings", o.settings)
	if err != nil {
		return err
	}
	if !json.Valid(settings) {
		return usage("--settings: it is no JSON")
	}
	dir, err := os.MkdirTemp("", "culprit-test-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bench := &pluginBench{app: a, options: o, allow: allow, settings: string(settings), dir: dir}
	about, err := plugin.About(ctx, bench.config(bench.settings))
	if err != nil {
		return err
	}
	roles := about.Roles
	if o.role != "" {
		if !slices.Contains(roles, adapters.Role(o.role)) {
			return usage("--role: %s serves as %s, not as %s", about.Name, listed(roles), o.role)
		}
		roles = []adapters.Role{adapters.Role(o.role)}
	}
	a.introduce(about, o.command)
	total := map[conformance.State]int{}
	for _, role := range roles {
		outcomes, err := bench.run(ctx, role)
		if ctx.Err() != nil {
			return stopped{"interrupted", context.Canceled}
		}
		if refused := (*adapters.Error)(nil); errors.As(err, &refused) && refused.Kind == adapters.KindInvalid {
			return fmt.Errorf("%w\nGive them with --settings, which is %s now", err, o.settings)
		}
		if err != nil {
			return err
		}
		a.showOutcomes(role, outcomes, total, o.full)
	}
	fmt.Fprintf(a.out, "\n%d passed, %d failed, %d skipped\n", total[conformance.Passed], total[conformance.Failed], total[conformance.Skipped])
	if total[conformance.Failed] > 0 {
		return finished(exitBlocked)
	}
	return nil
}

func listed(roles []adapters.Role) string {
	words := make([]string, len(roles))
	for i, role := range roles {
		words[i] = string(role)
	}
	return strings.Join(words, ", ")
}

// introduce says what the plugin is, and how it is pinned.
func (a *app) introduce(about plugin.Program, command []string) {
	linef(a.out, "%s %s, protocol %d, serves as %s", about.Name, about.Version, about.Protocol, listed(about.Roles))
	var scripts []string
	for _, arg := range command[1:] {
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			if sum, err := plugin.Sum(arg); err == nil {
				scripts = append(scripts, fmt.Sprintf("%q: %q", arg, sum))
			}
		}
	}
	if len(scripts) > 0 {
		fmt.Fprintf(a.out, "to pin it:  checksum: {%s}\n", report.Safe(strings.Join(scripts, ", ")))
	} else if sum, err := plugin.Sum(about.Path); err == nil {
		fmt.Fprintf(a.out, "to pin it:  checksum: %q\n", sum)
	}
}

// mostSaid bounds how many lines one failure gets without --full.
const mostSaid = 6

func (a *app) showOutcomes(role adapters.Role, outcomes []conformance.Outcome, total map[conformance.State]int, full bool) {
	fmt.Fprintf(a.out, "\n%s\n", role)
	for _, o := range outcomes {
		total[o.State]++
		said := strings.Split(strings.Join(o.Said, "\n"), "\n")
		switch o.State {
		case conformance.Passed:
			fmt.Fprintf(a.out, "  passed   %s\n", o.Name)
		case conformance.Skipped:
			fmt.Fprintf(a.out, "  skipped  %s: %s\n", o.Name, report.Safe(said[0]))
		default:
			fmt.Fprintf(a.out, "  FAILED   %s\n", o.Name)
			for i, text := range said {
				if i == mostSaid && !full {
					fmt.Fprintf(a.out, "             … %d more: --full shows them\n", len(said)-mostSaid)
					break
				}
				linef(a.out, "             %s", text)
			}
		}
	}
}
