package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
)

func (a *app) checkCommand() *cobra.Command {
	var o loading
	c := &cobra.Command{
		Use:     "check [path...]",
		GroupID: groupRun,
		Short:   "Check experiments and cases without running anything",
		Long: `Check every experiment at or below the paths (default: the current folder), with its cases,
prompts and documents. Every problem of every file is shown at once, as file:line:column.
Nothing is opened and nobody is asked.`,
		Example: `  culprit check
  culprit check experiments/examples/travel-policy --profile nightly`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return a.check(args, o)
		},
	}
	o.flags(c)
	return c
}

func (a *app) check(paths []string, o loading) error {
	problems, files, cases, experimentCount := 0, 0, 0, 0
	for _, path := range paths {
		found, err := experiments.Find(path)
		if err != nil {
			return &exitError{code: exitUsage, err: err}
		}
		if len(found) == 0 {
			return usage("no experiment at or below %q: culprit init writes one", path)
		}
		for _, file := range found {
			loaded, err := experiments.Load(file, experiments.Options{Schemas: a.registry.Schemas(), Profile: o.profile, Set: o.set, AllowOutside: o.outside})
			var bad experiments.Problems
			switch {
			case errors.As(err, &bad):
				a.showProblems(bad)
				problems += countErrors(bad)
			case err != nil:
				return &exitError{code: exitUsage, err: err}
			default:
				a.showProblems(loaded.Warnings)
				files, cases = files+loaded.Files, cases+len(loaded.Cases)
			}
			experimentCount++
		}
	}
	if problems > 0 {
		return &exitError{code: exitUsage, err: fmt.Errorf("%s in %s. Nothing was run", plural(problems, "problem"), plural(experimentCount, "experiment"))}
	}
	fmt.Fprintf(a.out, "%s, %s, %s: no problems\n", plural(experimentCount, "experiment"), plural(cases, "case"), plural(files, "file"))
	return nil
}
