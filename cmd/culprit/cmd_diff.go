package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/index"
	"github.com/culprit-rag/culprit/results/report"
)

// Exit codes of culprit diff, which says nothing of whether anything is fine.
const (
	exitWithinNoise   = 10
	exitChanged       = 11
	exitNotComparable = 12
)

type diffOptions struct {
	results  string
	caseID   string
	how      results.Comparing
	all      bool
	markdown bool
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:     "diff [earlier later]",
		GroupID: groupLook,
		Short:   "Say what moved between two executions, and what became of the labels",
		Long: `Compare two executions case by case, or two bundles of one case: pins, then rankings and store
checks, then how often each cell passes, then the label. Each side is an execution id or the path
of a bundle; without arguments the two newest executions are compared.

Answers are compared as counts, not as texts: a rate differs only where chance does not explain it.
Cases that were changed, and verdicts of other rules or of another judge, are not comparable.

Exit codes: 0 the labels are the same, 10 some differ within noise, 11 some changed, 12 some are not
comparable; 2 usage. They say nothing of whether the cases pass.`,
		Example: `  culprit diff
  culprit diff 20261129T200000Z-k3f9qa 20261130T200000Z-8m2xvn --case leave-policy-014
  culprit diff before.bundle.zip after.bundle.zip --rejudge --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return usage("%s takes two executions or two bundles, or none for the two newest executions, and got 1 argument", c.CommandPath())
			}
			return between(0, 2, "two executions or two bundles")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return a.diff(c.Context(), args, o) },
	}
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results")
	c.Flags().StringVar(&o.caseID, "case", "", "compare this `case` alone")
	c.Flags().BoolVar(&o.how.Rejudge, "rejudge", false, "judge both again by the rules of this program, and compare that")
	c.Flags().BoolVar(&o.how.Force, "force", false, "say what became of the labels also where they are not comparable")
	c.Flags().BoolVar(&o.all, "all", false, "show what moved also of cases whose label is the same")
	c.Flags().BoolVar(&o.markdown, "markdown", false, "print Markdown, for a comment or a job summary")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+results.DiffSchema+")")
	return c
}

func (a *app) diff(ctx context.Context, args []string, o diffOptions) error {
	if a.json && o.markdown {
		return usage("--json and --markdown exclude each other")
	}
	if len(args) == 0 {
		ids, err := results.Executions(o.results)
		if err != nil {
			return err
		}
		if len(ids) < 2 {
			return usage("%s in %q: two are needed to compare: culprit run <experiment> makes another, and --results names another folder",
				counted(len(ids), "execution", "executions"), o.results)
		}
		args = []string{string(ids[1]), string(ids[0])}
	}
	left, err := o.side(ctx, args[0])
	if err != nil {
		return err
	}
	right, err := o.side(ctx, args[1])
	if err != nil {
		return err
	}
	d, err := results.DiffExecutions(left, right, o.how, a.counting("comparing cases"))
	a.clearLine()
	if err != nil {
		return err
	}
	d.Left, d.Right = args[0], args[1]
	if len(d.Cases) == 0 {
		return usage("%s and %s have no case in common: %s; %s", quote(args[0]), quote(args[1]), someOf(d.OnlyLeft), someOf(d.OnlyRight))
	}
	if err := a.showDiff(d, o); err != nil {
		return err
	}
	return finished(map[string]int{results.DiffWithinNoise: exitWithinNoise, results.DiffChanged: exitChanged, results.DiffNotComparable: exitNotComparable}[d.Result()])
}

func (a *app) showDiff(d *results.Diff, o diffOptions) error {
	if a.json {
		return a.writeJSON(d)
	}
	drawing := a.drawing(o.results)
	drawing.All = o.all
	if !o.markdown {
		return report.Diff(a.out, d, drawing)
	}
	var b bytes.Buffer
	drawing.Color = false
	if err := report.Diff(&b, d, drawing); err != nil {
		return err
	}
	_, err := fmt.Fprint(a.out, report.Fenced(b.String()))
	return err
}

func someOf(ids []string) string {
	const most = 5
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}

// side finds the bundles of one side by the ids of their cases: those of an execution, or one bundle.
func (o *diffOptions) side(ctx context.Context, arg string) (_ map[string]string, err error) {
	if id, err := results.ParseExecutionID(filepath.Base(arg)); err == nil {
		folder := o.results
		if filepath.Base(arg) != arg {
			folder = filepath.Dir(arg)
		}
		return o.execution(ctx, folder, id)
	}
	if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
		return nil, usage("%s is neither an execution id nor the path of a bundle; culprit history lists executions", quote(arg))
	}
	b, err := results.ReadBrief(arg)
	if err != nil {
		return nil, err
	}
	if o.caseID != "" && o.caseID != b.Manifest.CaseID {
		return nil, usage("--case is %q, and %s is of case %q", o.caseID, quote(arg), b.Manifest.CaseID)
	}
	return map[string]string{b.Manifest.CaseID: arg}, nil
}

func (o *diffOptions) execution(ctx context.Context, folder string, id results.ExecutionID) (_ map[string]string, err error) {
	x, err := index.Open(ctx, folder, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &usageError{err}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	entries, err := x.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	var known []string
	for _, e := range entries {
		known = append(known, e.Case)
		if o.caseID == "" || o.caseID == e.Case {
			of[e.Case] = e.Bundle
		}
	}
	switch {
	case len(entries) == 0:
		return nil, usage("execution %q in %q has no bundle; culprit history lists executions", id, folder)
	case len(of) == 0:
		return nil, usage("execution %q has no case %q%s", id, o.caseID, didYouMean(o.caseID, known))
	}
	return of, nil
}
