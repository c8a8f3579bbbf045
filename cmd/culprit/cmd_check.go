package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
)

type checkOptions struct {
	loading
	paths []string
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:     "check [path...]",
		GroupID: groupRun,
		Short:   "Check experiments and cases without running anything",
		Long: `Check every experiment at or below the paths (default: the current folder), with its cases,
prompts and documents. Every problem of every file is shown at once, as file:line:column.
Nothing is opened and nobody is asked. A variable that settings name for a key and that is not set
is a warning, as is a plugin that is still to be built. Warnings do not change the exit code.`,
		Example: `  culprit check
  culprit check experiments/examples/travel-policy --profile nightly`,
		RunE: func(_ *cobra.Command, args []string) error {
			if o.paths = args; len(args) == 0 {
				o.paths = []string{"."}
			}
			return a.check(o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.check/v1)")
	return c
}

// checked is the record of culprit check --json.
type checked struct {
	Schema      string          `json:"schema"`
	Exit        int             `json:"exit"`
	Experiments int             `json:"experiments"`
	Cases       int             `json:"cases"` // of the experiments without problems
	Files       int             `json:"files"`
	Problems    []problemRecord `json:"problems"`
}

// check shows what it finds on standard output: it is the answer here.
func (a *app) check(o checkOptions) error {
	sum := checked{Schema: "culprit.check/v1"}
	var all experiments.Problems
	var read []string
	// note keeps problems, and returns what else is wrong.
	note := func(err error) error {
		var problems experiments.Problems
		switch {
		case errors.As(err, &problems):
			sum.Exit = exitUsage
			all = append(all, problems...)
		case err != nil:
			return &usageError{err}
		}
		return nil
	}
	for _, path := range o.paths {
		files, err := experiments.Find(path)
		if err := note(err); err != nil {
			return err
		}
		for _, file := range files {
			loaded, err := experiments.Load(file, a.options(o.loading))
			if err := note(err); err != nil {
				return err
			}
			sum.Experiments++
			read = append(read, filesOf(loaded)...)
			if err == nil {
				sum.Cases += len(loaded.Cases)
				all = append(all, loaded.Warnings...)
			}
		}
	}
	slices.Sort(read)
	sum.Files = len(slices.Compact(read))
	all = merged(all)
	sum.Problems = problemRecords(all)
	if a.json {
		return errors.Join(a.writeJSON(sum), finished(sum.Exit))
	}
	showProblems(a.out, all)
	if sum.Exit != exitOK {
		line(a.out, (&brokenError{problems: all, files: sum.Files}).Error())
		return finished(sum.Exit)
	}
	found := "no problems"
	if len(all) > 0 {
		found = countProblems(all, sum.Files)
	}
	linef(a.out, "%s, %s, %s: %s", counted(sum.Experiments, "experiment", "experiments"), counted(sum.Cases, "case", "cases"),
		counted(sum.Files, "file", "files"), found)
	return nil
}
