package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

const defaultResults = "culprit-results"

type runOptions struct {
	loading
	results string
	all     bool
	fresh   bool
}

const allUsage = "list every case, however many pass, and every text in full"

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:     "run [experiment]",
		GroupID: groupRun,
		Short:   "Run the matrix and name the broken stage of every case",
		Long: `Run the matrix of an experiment: A production, B gold context, C retrieval only, D one change
at a time. Every case gets a verdict and a bundle with everything the verdict rests on.

The experiment is a YAML file, or a folder that holds experiment.yaml (default: the current
folder). Mistakes in it are all shown before anything is opened. The first interrupt lets the
cases that are under way finish, the second cancels them.

With runs.repeats auto, each cell is repeated until it decides at the error rate runs.alpha. What is
found in a case that fails is checked by repairing it: a defect whose repair makes the case pass is
verified, and what still stands in the way is shown behind it, as "then". Both take generations of
failing cases alone; culprit plan says how many at the most.

The letter behind a label is its grade: verified, shown or inferred. A long text ends in "…" on a
terminal; --all shows it whole, and culprit explain tells the rest.`,
		Example: `  culprit run experiments/examples/travel-policy
  culprit run staging.yaml --profile nightly --set pipeline.search.k=5
  culprit run staging.yaml --repeats 1 --no-repairs
  culprit run staging.yaml --case leave-policy-014 --json`,
	}
	o.reads(c, func(ctx context.Context) error { return a.run(ctx, o) })
	o.runsFlags(c)
	a.caseFlag(c, &o.loading)
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` for the results")
	c.Flags().BoolVar(&o.all, "all", false, allUsage)
	c.Flags().BoolVar(&o.fresh, "fresh", false, "make every call, also those that a run which was not finished has answers to")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.execution/v1) instead of the table")
	return c
}

func (a *app) run(ctx context.Context, o runOptions) error {
	return a.execute(ctx, o, runner.Resuming{})
}

// execute runs an experiment, or goes on with a run of it.
func (a *app) execute(ctx context.Context, o runOptions, resuming runner.Resuming) error {
	loaded, options, err := a.prepare(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	if resuming.Execution == "" {
		a.warnUnfinished(o.results)
	}
	options.Fresh, options.Resume = o.fresh, resuming
	if options.Invocation, err = o.invocation(); err != nil {
		return err
	}
	progress := a.progress()
	ctx, drain, stop := interrupts(ctx, func() {
		progress.above(func() { a.warnf("interrupted: finishing the cases that are under way; interrupt again to cancel them") })
	})
	defer stop()
	options.Out, options.Drain, options.Progress = o.results, drain, progress.runner()
	options.ExitCode = func(err error) int {
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return exitCode(err)
	}
	var summary *results.Summary
	err = crash.Guard(func() (err error) {
		summary, err = runner.Run(ctx, loaded, options)
		return err
	})()
	progress.clear()
	if summary == nil {
		if ctx.Err() != nil {
			err = stopped{"cancelled before the first case", context.Canceled}
		}
		return o.stuck(err)
	}
	a.warnTaken(summary)
	for _, says := range summary.Warnings {
		a.warnf("%s", says)
	}
	if err != nil {
		err = a.early(ctx, loaded, summary, o, err)
		summary.Exit = exitCode(err)
	} else {
		err = finished(summary.Exit)
	}
	return errors.Join(a.showRun(summary, o), err)
}

// showRun draws an execution. One that asked nobody for anything has nothing to draw.
func (a *app) showRun(s *results.Summary, o runOptions) error {
	switch {
	case a.json:
		return a.writeJSON(s)
	case len(s.Cases) == 0 && s.Totals.Calls+s.Totals.InDoubt == 0:
		return nil
	}
	return a.showTable(s, o.results, o.all)
}

// showTable draws the table of an execution that a folder holds.
func (a *app) showTable(s *results.Summary, folder string, all bool) error {
	drawing := a.drawing(folder)
	drawing.All = all
	return report.Run(a.out, s, drawing)
}

// early says of a run that ended before its last case what is kept, and how to go on.
func (a *app) early(ctx context.Context, l *experiments.Loaded, s *results.Summary, o runOptions, err error) error {
	switch {
	case ctx.Err() != nil:
		err = stopped{"cancelled", context.Canceled} // what its parts say of it is noise
	case errors.Is(err, runner.ErrDrained):
		err = stopped{"interrupted", err}
	}
	var left []string
	done := map[string]bool{}
	for i := range s.Cases {
		done[s.Cases[i].ID] = true
	}
	for _, id := range caseIDs(l) {
		if !done[id] {
			left = append(left, id)
		}
	}
	kept := fmt.Sprintf("%d of %s finished and kept in %s", len(s.Cases), counted(len(l.Cases), "case is", "cases are"), quote(s.Bundles))
	line := o.resumeLine(s.Execution)
	if len(left) == 0 || line == "" {
		return fmt.Errorf("%w\n%s", err, kept)
	}
	how := "go on with"
	if errors.Is(err, runner.ErrBudget) {
		limit := "limits.budget"
		for _, name := range [...]string{"calls", "tokens", "cost"} {
			if reached := "limits.budget." + name; strings.Contains(err.Error(), reached) {
				limit = reached
			}
		}
		how = "raise " + limit
		if most, err := callsOf(ctx, l, left); err == nil {
			how += fmt.Sprintf(", as what is left takes at most %s", counted(most, "call", "calls"))
		}
		how += ", and go on with"
		line += " --set " + limit + "=…"
	}
	return fmt.Errorf("%w\n%s\n%s: %s", err, kept, how, line)
}

// callsOf returns the most calls that some cases take.
func callsOf(ctx context.Context, l *experiments.Loaded, ids []string) (int, error) {
	some := *l
	some.Cases = slices.DeleteFunc(slices.Clone(l.Cases), func(c experiments.LoadedCase) bool { return !slices.Contains(ids, c.Case.ID) })
	p, err := expand(ctx, &some)
	if err != nil {
		return 0, err
	}
	return p.Spending.Worst.Calls, nil
}

// stopped is an end that the user asked for.
type stopped struct {
	says string
	error
}

func (s stopped) Error() string { return s.says }
func (s stopped) Unwrap() error { return s.error }

// warnUnfinished says once what earlier runs left in a results folder of cases that they did not finish, and by what they ended.
func (a *app) warnUnfinished(folder string) {
	left, err := results.Unfinished(folder)
	if err != nil {
		a.warnf("%v", err)
	}
	if len(left) == 0 {
		return
	}
	const killed = "were killed"
	ends := map[string]string{
		results.StoppedInterrupted: "were interrupted", results.StoppedCancelled: "were cancelled",
		results.StoppedLimit: "stopped at limits.budget", results.StoppedError: "were stopped by an error",
	}
	count, execution := map[string]int{}, filepath.Dir(left[0])
	for _, path := range left {
		of := filepath.Dir(path)
		if of != execution {
			execution = filepath.Dir(of) // of all of them
		}
		end := killed
		if s, err := results.ReadSummary(folder, results.ExecutionID(filepath.Base(of))); err == nil && ends[s.Stopped] != "" {
			end = ends[s.Stopped]
		}
		count[end]++
	}
	of := resultsFlag(folder)
	var runs []string
	for _, end := range slices.Sorted(maps.Keys(count)) {
		runs = append(runs, end)
		if len(count) > 1 {
			runs[len(runs)-1] = fmt.Sprintf("%s (%d)", end, count[end])
		}
	}
	a.warnf("%s holds %s without a verdict, of runs that %s: culprit resume%s goes on with them",
		quote(execution), counted(len(left), "case", "cases"), strings.Join(runs, ", or "), of)
}
