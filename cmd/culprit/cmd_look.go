package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
)

// looking are the flags of every command that reads results.
type looking struct {
	results   string
	execution string
}

func (a *app) lookingFlags(c *cobra.Command, o *looking, schema string) {
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results")
	c.Flags().StringVar(&o.execution, "execution", "", "the execution with this `id` (default: the newest)")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+schema+")")
}

func (o *looking) id() (results.ExecutionID, error) {
	if o.execution == "" {
		return "", nil
	}
	id, err := results.ParseExecutionID(o.execution)
	if err != nil {
		return "", usage("--execution: %w", err)
	}
	return id, nil
}

type explainOptions struct {
	looking
	caseID string
	full   bool
	whyNot string
}

func (a *app) explainCommand() *cobra.Command {
	var o explainOptions
	c := &cobra.Command{
		Use:     "explain <case>",
		GroupID: groupLook,
		Short:   "Show where one case broke, with the evidence",
		Long: `Show one case of the newest execution that has it: the pipeline stage by stage with the break
marked, the ranking, what was packed, what the prompt held, the answers of A, B and D side by
side, what decided the label, what to try first and what would be wasted effort.`,
		Example: `  culprit explain long-haul-cabin
  culprit explain long-haul-cabin --full
  culprit explain long-haul-cabin --why-not generate/ignored-evidence
  culprit explain long-haul-cabin --json`,
		Args:              between(1, 1, "one case, which culprit report lists"),
		ValidArgsFunction: completeCases(&o.looking),
		RunE: func(_ *cobra.Command, args []string) error {
			o.caseID = args[0]
			return a.explain(o)
		},
	}
	a.lookingFlags(c, &o.looking, "culprit.evaluation/v1")
	c.Flags().BoolVar(&o.full, "full", false, "end with whole texts: what was packed, the prompts and the answers")
	c.Flags().StringVar(&o.whyNot, "why-not", "", "say which observation ruled this `label` out (stage/label) instead")
	_ = c.RegisterFlagCompletionFunc("why-not", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) { // only fails for a flag that is not there
		return verdict.Labels(), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (a *app) explain(o explainOptions) error {
	id, err := o.id()
	if err != nil {
		return err
	}
	a.warnUnfinished(o.results)
	dir, err := results.FindCase(o.results, o.caseID, id)
	if errors.Is(err, results.ErrNotFound) {
		return o.notFound(err)
	}
	if err != nil {
		return err
	}
	bundle, err := results.Open(dir)
	if err != nil {
		return err
	}
	if o.whyNot != "" {
		return a.whyNot(o, bundle)
	}
	if a.json {
		return a.writeJSON(bundle.Evaluation)
	}
	drawing := a.drawing(o.results)
	drawing.Full = o.full
	return report.Explain(a.out, bundle, drawing)
}

func (a *app) whyNot(o explainOptions, b *results.Bundle) error {
	n, err := results.WhyNot(b, o.whyNot)
	if errors.Is(err, verdict.ErrNoLabel) {
		return usage("--why-not: no label %q%s\nSee: culprit labels", o.whyNot, didYouMean(o.whyNot, verdict.Labels()))
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(n)
	}
	return report.WhyNot(a.out, o.caseID, n, a.drawing(o.results))
}

// notFound says what could have been meant.
func (o *explainOptions) notFound(err error) error {
	summary, missing := o.summary()
	if missing != nil {
		return missing // there is nothing at all, and this says what to do
	}
	var known []string
	for i := range summary.Cases {
		known = append(known, summary.Cases[i].ID)
	}
	if meant := didYouMean(o.caseID, known); meant != "" {
		return usage("no case %q in %q%s", o.caseID, o.results, meant)
	}
	return &usageError{err} // it lists what is there
}

type reportOptions struct {
	looking
	all bool
}

func (a *app) reportCommand() *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:     "report",
		GroupID: groupLook,
		Short:   "Show the table of all cases of an execution again",
		Long: `Show the table of all cases of an execution again, as culprit run ended with it. Nothing is run.
The exit code is 0 whatever the verdicts are.`,
		Example: `  culprit report
  culprit report --execution 20261129T200000Z-k3f9qa --json`,
		Args: between(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error { return a.report(o) },
	}
	a.lookingFlags(c, &o.looking, "culprit.execution/v1")
	c.Flags().BoolVar(&o.all, "all", false, allUsage)
	return c
}

func (a *app) report(o reportOptions) error {
	a.warnUnfinished(o.results)
	summary, err := o.summary()
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(summary)
	}
	return a.showTable(summary, o.results, o.all)
}

// summary reads the execution that was asked for, or the newest that left anything.
func (o *looking) summary() (*results.Summary, error) {
	asked, err := o.id()
	if err != nil {
		return nil, err
	}
	if asked != "" {
		summary, err := results.ReadSummary(o.results, asked)
		if errors.Is(err, results.ErrNotFound) {
			err = usage("%w: culprit history lists the executions", err)
		}
		return summary, err
	}
	ids, err := results.Executions(o.results)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		summary, err := results.ReadSummary(o.results, id)
		if !errors.Is(err, results.ErrNotFound) {
			return summary, err
		}
	}
	return nil, noResults(o.results)
}

// noResults says that a folder holds no execution, and what to do.
func noResults(folder string) error {
	return usage("no results in %q: make some with culprit run <experiment>, or name their folder with --results", folder)
}

// notFound makes a usage error of a name that is not there; other errors are kept.
func notFound(err error) error {
	if errors.Is(err, results.ErrNotFound) {
		return &usageError{err}
	}
	return err
}

// completeCases offers the cases of the newest execution.
func completeCases(o *looking) func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		summary, err := o.summary()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids, about []string
		for i := range summary.Cases {
			c := &summary.Cases[i]
			ids, about = append(ids, c.ID), append(about, fmt.Sprintf("%s: %s", c.Outcome, c.Summary))
		}
		return completions(ids, about), cobra.ShellCompDirectiveNoFileComp
	}
}
