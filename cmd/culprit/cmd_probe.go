package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type probeOptions struct {
	loading
}

func (a *app) probeCommand() *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:     "probe [experiment]",
		GroupID: groupRun,
		Short:   "Ask the store whether the evidence is there, before any model is paid",
		Long: `Ask the live store what a run would ask of it, no reranker, and no generator unless the experiment
has it rewrite the query (pipeline.rewrite): is the evidence of every case stored (one pass over
all items, bytes compared), does the search rank it within k, were the stored vectors made by the
embedder that the queries use, does the filter hold, is the index fresh, and does it move while it
is looked at.

The store is only read, and no result is written. The embedder is asked for the queries and
for a sample of the stored texts (checks.sample). Without a store, backends.service is asked what it
can do, and for its retrieval where it stops before the answer. What had to be paid is said at the
end: a probe is no execution, and stands in no ledger.

Exit codes, over the cases with risk: blocking (the default): 3, the evidence of one would not
reach the context, or corpus_hit, fresh, dimension_match, embed_behaviour_match or
filter_control_empty says no; 4, it could not be told, or the index moved. Over all cases: 5, a
search failed. The last lines name what blocks or holds.`,
		Example: `  culprit probe experiments/examples/travel-policy
  culprit probe staging.yaml --profile nightly --json
  culprit probe staging.yaml --case leave-policy-014`,
	}
	o.reads(c, func(ctx context.Context) error { return a.probe(ctx, o) })
	a.caseFlag(c, &o.loading)
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.probe/v1)")
	return c
}

func (a *app) probe(ctx context.Context, o probeOptions) error {
	loaded, options, err := a.prepare(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	progress := a.progress()
	ctx, drain, stop := interrupts(ctx, func() {
		progress.above(func() { a.warnf("interrupted: finishing the cases that are under way; interrupt again to cancel them") })
	})
	defer stop()
	options.Drain, options.Progress = drain, progress.runner()
	var asked results.Totals
	options.Asked = func(t results.Totals) { asked = t }
	probe, err := runner.Probe(ctx, loaded, options)
	progress.clear()
	if ctx.Err() != nil || probe == nil {
		a.warnAsked(&asked, &loaded.Experiment)
	}
	switch {
	case ctx.Err() != nil:
		return stopped{"cancelled", context.Canceled}
	case errors.Is(err, runner.ErrDrained):
		err = stopped{"interrupted", err}
	case err == nil:
		err = finished(probe.Exit)
	}
	if probe == nil {
		return err
	}
	if err != nil {
		probe.Exit = exitCode(err)
	}
	probe.Totals = &asked
	if a.json {
		return errors.Join(a.writeJSON(probe), err)
	}
	failed := report.Probe(a.out, probe, a.drawing(defaultResults))
	a.showAsked(&asked, &loaded.Experiment)
	return errors.Join(failed, err)
}

// showAsked says what a command has asked for that is no execution.
func (a *app) showAsked(t *results.Totals, e *matrix.Experiment) {
	if says := report.Unledgered(t, e.Currency()); says != "" {
		a.wrapped("  " + says)
	}
}

// warnAsked says it of one that has nothing else to show.
func (a *app) warnAsked(t *results.Totals, e *matrix.Experiment) {
	if says := report.Unledgered(t, e.Currency()); says != "" {
		a.warnf("%s", says)
	}
}
