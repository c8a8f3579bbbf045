package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

func (a *app) sweepCommand() *cobra.Command {
	var o struct {
		loading
		k       []int
		budgets []string
		json    bool
	}
	c := &cobra.Command{
		Use:     "sweep [experiment]",
		GroupID: groupStudy,
		Short:   "Judge cases again at other cutoffs and budgets",
		Long: `Run cases at every pair of cutoff k and context budget and show how the verdict moves: a
larger k may only push the break from the search into the assembly. Searches that several points
share are made once. Nothing is written.

Without --k and --budget, steps up from the experiment's own values are taken.`,
		Example: `  culprit sweep experiments/examples/travel-policy --case long-haul-cabin
  culprit sweep staging.yaml --case leave-policy-014 --k 5,10,20 --budget "1500 tokens,3000 tokens"`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			loaded, err := a.load(path, o.loading)
			if err != nil {
				return err
			}
			grid, err := newGrid(loaded, o.k, o.budgets)
			if err != nil {
				return err
			}
			cache, err := a.cacheDir()
			if err != nil {
				return err
			}
			progress := a.progress()
			points, err := runner.Sweep(c.Context(), loaded, runner.Options{Registry: a.registry, CacheDir: cache, Progress: progress.runner()}, grid)
			progress.clear()
			if err != nil {
				return backendError(err)
			}
			if o.json {
				return a.writeJSON(struct {
					Schema string              `json:"schema"`
					Points []runner.SweepPoint `json:"points"`
				}{"culprit.sweep/v1", points})
			}
			return a.showSweep(points, grid)
		},
	}
	o.flags(c)
	o.caseFlag(c)
	c.Flags().IntSliceVar(&o.k, "k", nil, "cutoffs, as a `list`: 5,10,20")
	c.Flags().StringSliceVar(&o.budgets, "budget", nil, "budgets, as a `list`: 50,80 or \"1500 tokens,3000 tokens\"")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object (culprit.sweep/v1)")
	return c
}

// newGrid reads the flags; what is not given are steps up from the experiment's own values.
func newGrid(l *experiments.Loaded, ks []int, budgets []string) (runner.Grid, error) {
	own := l.Experiment.Pipeline
	grid := runner.Grid{K: ks}
	if len(ks) == 0 {
		grid.K = []int{own.Search.K, own.Search.K + 1, 2 * own.Search.K, 7 * own.Search.K}
	}
	for _, k := range grid.K {
		if k < 1 {
			return grid, usage("--k: %d is not a cutoff: it starts at 1", k)
		}
	}
	slices.Sort(grid.K)
	grid.K = slices.Compact(grid.K)
	unit := own.Assemble.Budget.Unit
	for _, b := range budgets {
		budget, err := matrix.ParseBudget(b)
		if err != nil && unit != "" {
			budget, err = matrix.ParseBudget(b + " " + unit)
		}
		if err != nil {
			return grid, usage("--budget: %w", err)
		}
		grid.Budgets = append(grid.Budgets, budget)
	}
	if len(budgets) == 0 {
		grid.Budgets = []matrix.Budget{own.Assemble.Budget}
		for _, percent := range []int{160, 300, 800} {
			if n := own.Assemble.Budget.N; n > 0 {
				grid.Budgets = append(grid.Budgets, matrix.Budget{N: n * percent / 100, Unit: unit})
			}
		}
	}
	return grid, nil
}

// showSweep draws one table for each case: a row for each budget, a column for each k.
func (a *app) showSweep(points []runner.SweepPoint, grid runner.Grid) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
	per := len(grid.K) * len(grid.Budgets)
	for at := 0; at+per <= len(points); at += per {
		fmt.Fprintf(w, "%s\n  budget", report.Safe(points[at].Case))
		for _, k := range grid.K {
			fmt.Fprintf(w, "\tk=%d", k)
		}
		fmt.Fprintln(w)
		for i, budget := range grid.Budgets {
			fmt.Fprintf(w, "  %s", budget)
			for j := range grid.K {
				fmt.Fprintf(w, "\t%s", verdictName(&points[at+i*len(grid.K)+j].Evaluation))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// verdictName is a verdict in a word or two.
func verdictName(e *verdict.Evaluation) string {
	switch {
	case len(e.Defects) > 0:
		name := e.Defects[0].Name()
		if n := len(e.Defects) - 1; n > 0 {
			name += fmt.Sprintf(" +%d", n)
		}
		return "✗ " + name
	case e.Outcome == verdict.Pass && e.Qualifier != "":
		return "✓ " + e.Qualifier
	case e.Outcome == verdict.Pass:
		return "✓ pass"
	}
	return "? " + string(e.Outcome)
}
