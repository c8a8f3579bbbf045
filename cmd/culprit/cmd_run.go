package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

const defaultResults = "culprit-results"

func (a *app) runCommand() *cobra.Command {
	var o struct {
		loading
		out  string
		json bool
	}
	c := &cobra.Command{
		Use:     "run <experiment>",
		GroupID: groupRun,
		Short:   "Run the matrix and name the broken stage of every case",
		Long: `Run the matrix of an experiment: A production, B gold context, C retrieval only, D one change
at a time. Every case gets a verdict and a bundle with everything the verdict rests on.

The experiment is a YAML file, or a folder that holds experiment.yaml. Mistakes in it are all
shown before anything is opened.`,
		Example: `  culprit run experiments/examples/travel-policy
  culprit run staging.yaml --profile nightly --set pipeline.search.k=5
  culprit run staging.yaml --case leave-policy-014 --json`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, err := a.load(args[0], o.loading)
			if err != nil {
				return err
			}
			cache, err := a.cacheDir()
			if err != nil {
				return err
			}
			progress := a.progress()
			summary, err := runner.Run(c.Context(), loaded, runner.Options{
				Registry: a.registry, Out: o.out, CacheDir: cache, Drain: a.drain, Progress: progress.runner(),
			})
			progress.clear()
			if summary == nil {
				return backendError(err)
			}
			if o.json {
				if err := a.writeJSON(summary); err != nil {
					return err
				}
			} else if err := report.Run(a.out, summary, report.Options{Color: a.colour(), Width: a.width}); err != nil {
				return err
			}
			switch {
			case errors.Is(err, runner.ErrDrained):
				return &exitError{code: exitInterrupted, err: fmt.Errorf("%w: %d of %d are finished and kept; run the others again with --case", err, len(summary.Cases), len(loaded.Cases))}
			case err != nil:
				return fmt.Errorf("%w\n%d of %d cases are finished and kept in %s", err, len(summary.Cases), len(loaded.Cases), o.out)
			case summary.Exit != exitOK:
				return &exitError{code: summary.Exit}
			}
			return nil
		},
	}
	o.flags(c)
	o.caseFlag(c)
	c.Flags().StringVar(&o.out, "out", defaultResults, "`folder` for the results")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object (culprit.execution/v1) instead of the table")
	return c
}

// backendError gives a backend that could not be opened or asked the exit code of the environment.
func backendError(err error) error {
	return &exitError{code: exitEnvironment, err: err}
}
