package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type reexecOptions struct {
	runOptions
	bundle string
}

func (a *app) reexecCommand() *cobra.Command {
	var o reexecOptions
	c := &cobra.Command{
		Use:     "reexec <bundle> [experiment]",
		GroupID: groupLook,
		Short:   "Run the case of a bundle again now, and say whether it comes to the same",
		Long: `Run the case of a bundle again, exactly as it is sealed, against the backends of the experiment as
they are now, and compare: which pins are the same, differ or are not told; whether each retrieval
is identical, equivalent (but for the order of equal scores) or different; whether rates differ by
more than chance; and whether the label is the same. "reproduced" needs all of that, and no more:
that two answers have the same words is never claimed.

Addresses and keys are those of the experiment, never those of the bundle, which may be a
stranger's. What is run is an execution of its own in --results, and the newest there.

Exit codes: 0 reproduced, 11 not reproduced, 12 not comparable; 2 usage; 1, 5 and 130 as of
culprit run.`,
		Example: `  culprit reexec culprit-results/20261129T200000Z-k3f9qa/vpn.bundle.zip staging.yaml
  culprit reexec vpn.bundle.zip staging.yaml --profile nightly --json`,
		Args: between(1, 2, "a bundle and at most one experiment"),
		RunE: func(c *cobra.Command, args []string) error {
			o.bundle = args[0]
			o.path = append(args, ".")[1]
			return a.reexec(c.Context(), o)
		},
	}
	o.flags(c)
	o.runsFlags(c)
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` for the results")
	c.Flags().BoolVar(&o.all, "all", false, "list the pins and steps that are the same, too")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+results.EquivalenceSchema+")")
	return c
}

func (a *app) reexec(ctx context.Context, o reexecOptions) error {
	then, err := results.Open(o.bundle)
	if _, missing := os.Stat(o.bundle); errors.Is(missing, fs.ErrNotExist) {
		return usage("bundle %s: not found: name the file of one bundle; culprit report names the folder of an execution's", quote(o.bundle))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return usage("bundle %s: it has no manifest.json, so it is not a bundle: name the file of one bundle, such as %s",
			quote(o.bundle), quote(filepath.Join(o.bundle, "<case>.bundle.zip")))
	}
	if err != nil {
		return &usageError{err}
	}
	loaded, options, err := a.prepare(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	at := slices.IndexFunc(loaded.Cases, func(c experiments.LoadedCase) bool { return c.Case.ID == then.Case.ID })
	if at >= 0 && string(loaded.Cases[at].Source) != string(then.CaseSource) {
		a.warnf("case %q of %s is another than that of the bundle, which is run", then.Case.ID, quote(loaded.Path))
	}
	loaded.Cases = []experiments.LoadedCase{{Case: then.Case, File: o.bundle, Source: then.CaseSource}}
	progress := a.progress()
	ctx, drain, stop := interrupts(ctx, func() {
		progress.above(func() { a.warnf("interrupted: finishing the case; interrupt again to cancel it") })
	})
	defer stop()
	options.Out, options.Drain, options.Progress, options.Fresh = o.results, drain, progress.runner(), true
	summary, err := runner.Run(ctx, loaded, options)
	progress.clear()
	switch {
	case ctx.Err() != nil:
		return stopped{"cancelled", context.Canceled}
	case err != nil:
		return err
	case len(summary.Cases) == 0:
		return errors.New("the case was not finished")
	}
	for _, says := range summary.Warnings {
		a.warnf("%s", says)
	}
	now, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		return err
	}
	q, err := results.NewEquivalence(then, now)
	if err != nil {
		return err
	}
	if a.json {
		err = a.writeJSON(q)
	} else {
		drawing := a.drawing(o.results)
		drawing.All = o.all
		err = report.Equivalence(a.out, q, drawing)
	}
	if err != nil {
		return err
	}
	return finished(map[string]int{results.NotReproduced: exitChanged, results.NotComparable: exitNotComparable}[q.Verdict])
}
