package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type floorOptions struct {
	loading
	of runner.FloorOptions
}

func (a *app) calibrateFloorCommand() *cobra.Command {
	var o floorOptions
	c := &cobra.Command{
		Use:   "floor [experiment]",
		Short: "Find the score below which dense or hybrid search sees no relation to the query",
		Long: `Ask the experiment's own store how its search scores the evidence of every case, and how it scores a
seeded sample of stored items that are no evidence. The floor is the score that few of the latter
reach (--share); it is printed with the share of evidence that stands below it all the same, and
how large that share may be at 95 %. Evidence below the floor of every arm is what
retrieve/vocabulary-miss means for a dense or hybrid search; without a floor the rank decides.

The store is only read, and nothing is written. The embedder is asked for the queries, within
limits.budget; no generator is, unless the experiment has it rewrite the query. What had to be paid
is said at the end, and stands in no ledger.`,
		Example: `  culprit calibrate floor staging.yaml
  culprit calibrate floor staging.yaml --sample 500 --seed 2 --json`,
	}
	o.reads(c, func(ctx context.Context) error { return a.calibrateFloor(ctx, o) })
	a.caseFlag(c, &o.loading)
	c.Flags().IntVar(&o.of.Sample, "sample", 100, "so many stored `items` are held against every query")
	c.Flags().Int64Var(&o.of.Seed, "seed", 1, "`seed` of the sample")
	c.Flags().Float64Var(&o.of.Share, "share", 0.05, "the `share` of items that are no evidence and reach the floor all the same")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+runner.FloorSchema+")")
	return c
}

func (a *app) calibrateFloor(ctx context.Context, o floorOptions) error {
	switch {
	case o.of.Sample < 1:
		return usage("--sample: %d is no number of items: it starts at 1", o.of.Sample)
	case !(o.of.Share > 0 && o.of.Share < 1):
		return usage("--share: %v is no share between 0 and 1, such as 0.05", o.of.Share)
	}
	loaded, options, err := a.prepare(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, interruptSignals()...) // there is nothing to keep, so the first one cancels
	defer stop()
	progress := a.progress()
	options.Progress = progress.runner()
	var asked results.Totals
	options.Asked = func(t results.Totals) { asked = t }
	r, err := runner.Floor(ctx, loaded, options, o.of)
	progress.clear()
	if err != nil {
		a.warnAsked(&asked, &loaded.Experiment)
	}
	switch {
	case ctx.Err() != nil:
		return stopped{"cancelled; nothing is kept", context.Canceled}
	case errors.Is(err, runner.ErrNoFloor):
		return &usageError{err}
	case err != nil:
		return err
	}
	for _, w := range r.Warnings {
		a.warnf("%s", w)
	}
	if r.Floor == nil {
		r.Exit = exitHeld
	}
	r.Totals = &asked
	if a.json {
		if err := a.writeJSON(r); err != nil {
			return err
		}
	} else {
		a.showFloor(r)
		a.showAsked(&asked, &loaded.Experiment)
	}
	return finished(r.Exit)
}

func (a *app) showFloor(r *runner.FloorReport) {
	linef(a.out, "%s · %s search · %s · %s, seed %d", r.Name, r.Search, counted(len(r.Gold), "piece of evidence", "pieces of evidence"), counted(r.Sample, "other item", "other items"), r.Seed)
	line(a.out, "")
	for _, arm := range r.Arms {
		if arm.Floor == nil {
			linef(a.out, "  %s  no floor: %s", padded(arm.Mode, 7), arm.Reason)
			continue
		}
		linef(a.out, "  %s  floor %s   %d of %d pieces of evidence below (at most %s at 95 %%)   %d of %d other pairs reach it (%s)",
			padded(arm.Mode, 7), *arm.Floor, arm.Below, len(r.Gold), share(arm.Error.Float()), arm.Reach, arm.Others, share(float64(arm.Reach)/float64(max(arm.Others, 1))))
	}
	if r.Floor != nil && len(r.Arms) > 1 {
		linef(a.out, "  below both: %d of %d (at most %s at 95 %%)", r.Below, len(r.Gold), share(r.Floor.Error.Float()))
	}
	for _, g := range r.Gold {
		if g.Below {
			linef(a.out, "    %s  %s  %s", g.Case, g.ID, ownScores(r, g))
		}
	}
	for _, left := range r.LeftOut {
		a.wrapped("  left out: " + left.Case + ": " + left.Reason)
	}
	if r.Floor == nil {
		return
	}
	line(a.out, "")
	line(a.out, "  For the experiment:")
	line(a.out, "    checks:")
	line(a.out, "      floor: "+floorYAML(r.Floor))
	const alpha = 0.05
	if r.Floor.Error.Float() > alpha {
		a.wrapped(fmt.Sprintf("  An error of at most 5 %% takes %d pieces of evidence with %d below; with a larger one than runs.alpha the label is inferred.", measure.MinimumLabels(1-alpha, r.Below, alpha), r.Below))
	}
}

// wrapped writes a text over as many lines as it takes.
func (a *app) wrapped(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for _, part := range report.Wrap(strings.TrimLeft(text, " "), a.width()-len(indent)) {
		line(a.out, indent+part)
	}
}

// share writes 0.0723 as "7.2 %".
func share(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(100*f, 'f', 1, 64), ".0") + " %"
}

func ownScores(r *runner.FloorReport, g runner.FloorGold) string {
	var parts []string
	for _, arm := range r.Arms {
		score := "no score"
		if s := g.Scores[arm.Mode]; s != nil {
			score = string(*s)
		}
		parts = append(parts, arm.Mode+" "+score)
	}
	return strings.Join(parts, "  ")
}

// floorYAML is the setting as an experiment takes it.
func floorYAML(f *matrix.Floor) string {
	var parts []string
	for _, arm := range []struct {
		name  string
		floor *matrix.Decimal
	}{{"dense", f.Dense}, {"keyword", f.Keyword}} {
		if arm.floor != nil {
			parts = append(parts, fmt.Sprintf("%s: %s", arm.name, *arm.floor))
		}
	}
	parts = append(parts, fmt.Sprintf("error: %s", f.Error), fmt.Sprintf("n: %d", f.N))
	if f.EmbedModel != "" {
		parts = append(parts, fmt.Sprintf("embed_model: %q", f.EmbedModel))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
