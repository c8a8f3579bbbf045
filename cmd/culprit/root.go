package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results/report"
)

const (
	groupRun   = "run"
	groupLook  = "look"
	groupStudy = "study"
	groupSelf  = "self"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "culprit <command>",
		Short: "Name the stage of a retrieval-augmented generation pipeline that broke",
		Long: `Culprit runs labelled queries through a retrieval-augmented generation pipeline in four ways:
A production, B gold context, C retrieval only, D one controlled change. It names the stage
that broke, with the evidence, and leaves one bundle per case.`,
		Example: `  culprit run experiments/examples/travel-policy
  culprit explain long-haul-cabin
  culprit init --documents docs/`,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run:"}, &cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupStudy, Title: "Study:"}, &cobra.Group{ID: groupSelf, Title: "Culprit itself:"},
	)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w\nSee: %s --help", err, c.CommandPath())
	})
	root.AddCommand(a.initCommand(), a.checkCommand(), a.planCommand(), a.runCommand(), a.explainCommand(), a.reportCommand(), a.sweepCommand(), a.schemaCommand(), a.versionCommand(), exitCodesTopic(), environmentTopic())
	root.SetHelpCommandGroupID(groupSelf)
	root.SetCompletionCommandGroupID(groupSelf)
	return root
}

// arguments turns cobra's complaint about arguments into a usage error that names the command's help.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage("%w\nUsage: %s", err, c.UseLine())
		}
		return nil
	}
}

// loading are the flags of every command that reads an experiment.
type loading struct {
	profile string
	set     []string
	outside bool
	cases   []string
}

func (l *loading) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.profile, "profile", "", "merge the named `profile` of the experiment over it")
	c.Flags().StringArrayVar(&l.set, "set", nil, "override one value, as `path=value`; may be given several times")
	c.Flags().BoolVar(&l.outside, "allow-outside", false, "let the experiment read files outside of its own folder")
}

func (l *loading) caseFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&l.cases, "case", nil, "only the case with this `id`; may be given several times")
}

// load reads an experiment; its warnings go to standard error.
func (a *app) load(path string, l loading) (*experiments.Loaded, error) {
	loaded, err := experiments.Load(path, experiments.Options{Schemas: a.registry.Schemas(), Profile: l.profile, Set: l.set, AllowOutside: l.outside})
	var problems experiments.Problems
	switch {
	case errors.As(err, &problems):
		a.showProblems(problems)
		return nil, &exitError{code: exitUsage, err: fmt.Errorf("%s in %q. Nothing was run", plural(countErrors(problems), "problem"), path)}
	case err != nil:
		return nil, &exitError{code: exitUsage, err: err}
	}
	a.showProblems(loaded.Warnings)
	if len(l.cases) > 0 {
		if err := keep(loaded, l.cases); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// keep drops every case that was not asked for.
func keep(loaded *experiments.Loaded, ids []string) error {
	var kept []experiments.LoadedCase
	for _, id := range ids {
		found := false
		for _, c := range loaded.Cases {
			if c.Case.ID == id {
				kept, found = append(kept, c), true
			}
		}
		if !found {
			return usage("no case %q in %q: see culprit plan %s", id, loaded.Path, loaded.Path)
		}
	}
	loaded.Cases = kept
	return nil
}

func countErrors(problems experiments.Problems) int {
	n := 0
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}

func (a *app) showProblems(problems experiments.Problems) {
	for _, p := range problems {
		mark := ""
		if p.Warning {
			mark = "warning: "
		}
		line := p.String()
		if at := p.File; at != "" && mark != "" {
			line = strings.Replace(line, ": ", ": "+mark, 1)
		}
		fmt.Fprintln(a.err, report.Safe(line))
	}
}

func (a *app) complain(err error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(a.err, "culprit:", report.Safe(line))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
