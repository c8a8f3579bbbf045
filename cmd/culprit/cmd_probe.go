package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type probeOptions struct {
	loading
	path string
}

func (a *app) probeCommand() *cobra.Command {
	o := probeOptions{path: "."}
	c := &cobra.Command{
		Use:     "probe [experiment]",
		GroupID: groupRun,
		Short:   "Ask the store whether the evidence is there, before any model is paid",
		Long: `Ask the live store what a run would ask of it, no reranker, and no generator unless the experiment
has it rewrite the query (pipeline.rewrite): is the evidence of every case stored (one pass over
all items, bytes compared), does the search rank it within k, were the stored vectors made by the
embedder that the queries use, does the filter hold, is the index fresh, and does it move while it
is looked at.

The store is only read. Nothing is written anywhere. The embedder is asked for the queries and
for a sample of the stored texts (checks.sample). Without a store, backends.service is asked what it
can do, and for its retrieval where it stops before the answer.

Exit codes, over the cases with risk: blocking (the default): 3, the evidence of one would not
reach the context, or corpus_hit, fresh, dimension_match, embed_behaviour_match or
filter_control_empty says no; 4, it could not be told, or the index moved. Over all cases: 5, a
search failed. The last lines name what blocks or holds.`,
		Example: `  culprit probe experiments/examples/travel-policy
  culprit probe staging.yaml --profile nightly --json
  culprit probe staging.yaml --case leave-policy-014`,
		Args: between(0, 1, "at most one experiment"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.path = args[0]
			}
			return a.probe(c.Context(), o)
		},
	}
	o.flags(c)
	a.caseFlag(c, &o.loading)
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.probe/v1)")
	return c
}

func (a *app) probe(ctx context.Context, o probeOptions) error {
	loaded, err := a.load(o.path, o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	cache, err := a.cacheDir()
	if err != nil {
		return err
	}
	progress := a.progress()
	ctx, drain, stop := interrupts(ctx, func() {
		progress.above(func() { a.warnf("interrupted: finishing the cases that are under way; interrupt again to cancel them") })
	})
	defer stop()
	probe, err := runner.Probe(ctx, loaded, runner.Options{Registry: a.registry, CacheDir: cache, Secrets: a.secrets(), Drain: drain, Progress: progress.runner()})
	progress.clear()
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
	if a.json {
		return errors.Join(a.writeJSON(probe), err)
	}
	return errors.Join(report.Probe(a.out, probe, a.drawing(defaultResults)), err)
}
