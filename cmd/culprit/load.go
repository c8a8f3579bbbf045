package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// loading are the path and the flags of every command that reads an experiment.
type loading struct {
	path    string
	profile string
	set     []string
	outside bool
	cases   []string

	repeats   string
	noRepairs bool
}

// reads makes c a command about one experiment, by default that of the current folder.
func (l *loading) reads(c *cobra.Command, do func(context.Context) error) {
	c.Args = between(0, 1, "at most one experiment")
	c.RunE = func(c *cobra.Command, args []string) error {
		l.path = append(args, ".")[0]
		return do(c.Context())
	}
	l.flags(c)
}

func (l *loading) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.profile, "profile", "", "merge the named `profile` of the experiment over it")
	c.Flags().StringArrayVar(&l.set, "set", nil, "override one value, as `path=value`; may be given several times")
	c.Flags().BoolVar(&l.outside, "allow-outside", false, "let the experiment read files outside of its own folder")
}

// runsFlags are the flags of commands that run the matrix, or say what that takes.
func (l *loading) runsFlags(c *cobra.Command) {
	c.Flags().StringVar(&l.repeats, "repeats", "", "generate each cell `auto|N` times, as --set runs.repeats does: auto goes on until the cell decides")
	c.Flags().BoolVar(&l.noRepairs, "no-repairs", false, "do not check what is found by repairing it, as --set runs.repairs=false: at most four cells less of each failing case")
}

// overrides are the values that the command line sets.
func (l *loading) overrides() []string {
	out := slices.Clone(l.set)
	if l.repeats != "" {
		out = append(out, "runs.repeats="+l.repeats)
	}
	if l.noRepairs {
		out = append(out, "runs.repairs=false")
	}
	return out
}

// words are the words of a command line that reads the same experiment in the same way, its cases aside.
func (l *loading) words(command string) []string {
	words := []string{"culprit " + command, quote(l.path)}
	add := func(flag, value string) { words = append(words, flag, quote(value)) }
	if l.profile != "" {
		add("--profile", l.profile)
	}
	for _, set := range l.set {
		add("--set", set)
	}
	if l.repeats != "" {
		add("--repeats", l.repeats)
	}
	if l.noRepairs {
		words = append(words, "--no-repairs")
	}
	if l.outside {
		words = append(words, "--allow-outside")
	}
	return words
}

func (a *app) caseFlag(c *cobra.Command, l *loading) {
	c.Flags().StringArrayVar(&l.cases, "case", nil, "only the case with this `id`; may be given several times")
	err := c.RegisterFlagCompletionFunc("case", func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		loaded, err := experiments.Load(append(args, ".")[0], a.options(loading{profile: l.profile, set: l.set, outside: l.outside}))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completions(caseIDs(loaded), nil), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag was added two lines above
	}
}

// completions offers names to a shell, each with what it is. A name that a terminal would obey is not offered.
func completions(names, about []string) []cobra.Completion {
	var out []cobra.Completion
	for i, name := range names {
		if name == "" || report.Safe(name) != name || strings.HasPrefix(name, "::") {
			continue
		}
		if i < len(about) {
			name += "\t" + report.Safe(about[i])
		}
		out = append(out, name)
	}
	return out
}

func (a *app) options(l loading) experiments.Options {
	return experiments.Options{
		Schemas: a.registry.Schemas(), Profile: l.profile, Set: l.overrides(), AllowOutside: l.outside,
		Check: a.checkSettings, Env: a.secrets().Env,
	}
}

// checkSettings asks an adapter what is wrong with its settings. Nothing is opened.
func (a *app) checkSettings(role, adapter string, settings json.RawMessage, dir string) []experiments.SettingProblem {
	var out []experiments.SettingProblem
	plays := adapters.Role(role)
	if role == matrix.RoleJudge {
		plays = adapters.RoleGenerator
	}
	for _, e := range a.registry.Check(plays, adapter, adapters.Config{Settings: settings, As: role, Dir: dir}) {
		p := experiments.SettingProblem{Line: e.Line, Column: e.Column, Message: e.Error(), Warning: e.Later}
		if e.Field != "" {
			p.Path = strings.Split(e.Field, ".")
		}
		out = append(out, p)
	}
	return out
}

// secrets reads the keys of backends from the environment that the program was given, and knows all that were read so far.
func (a *app) secrets() *adapters.Secrets {
	if a.keys == nil {
		a.keys = &adapters.Secrets{Env: func(name string) (string, bool) {
			value := a.env(name)
			return value, value != ""
		}}
	}
	return a.keys
}

// load reads an experiment and tells of its warnings.
func (a *app) load(l loading) (*experiments.Loaded, error) {
	loaded, err := experiments.Load(l.path, a.options(l))
	var problems experiments.Problems
	switch {
	case errors.As(err, &problems):
		return nil, &brokenError{problems: problems, files: len(filesOf(loaded))}
	case err != nil:
		return nil, &usageError{err}
	}
	a.warn(about(loaded.Warnings, l.cases)...)
	return loaded, keep(loaded, l.cases)
}

// prepare reads an experiment, and says what it is run with.
func (a *app) prepare(l loading) (*experiments.Loaded, runner.Options, error) {
	loaded, err := a.load(l)
	if err != nil {
		return nil, runner.Options{}, err
	}
	cache, err := a.cacheDir()
	return loaded, runner.Options{Registry: a.registry, CacheDir: cache, Secrets: a.secrets()}, err
}

// about leaves out what is said of cases that were not asked for; none asked for means all.
func about(problems experiments.Problems, ids []string) experiments.Problems {
	if len(ids) == 0 {
		return problems
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p experiments.Problem) bool {
		return p.Case != "" && !slices.Contains(ids, p.Case)
	})
}

// filesOf returns what was read, also of a broken experiment.
func filesOf(l *experiments.Loaded) []string {
	if l == nil {
		return nil
	}
	return l.Files
}

// keep drops every case that was not asked for; none asked for means all.
func keep(loaded *experiments.Loaded, ids []string) error {
	known := caseIDs(loaded)
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return usage("no case %q in %q%s\nSee: culprit plan %s", id, loaded.Path, didYouMean(id, known), quote(loaded.Path))
		}
	}
	if len(ids) > 0 {
		loaded.Cases = slices.DeleteFunc(loaded.Cases, func(c experiments.LoadedCase) bool { return !slices.Contains(ids, c.Case.ID) })
	}
	return nil
}

func caseIDs(l *experiments.Loaded) []string {
	ids := make([]string, len(l.Cases))
	for i := range l.Cases {
		ids[i] = l.Cases[i].Case.ID
	}
	return ids
}

// quote makes one word of a shell's command line of a text.
func quote(word string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/:@%+=,", r))
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
