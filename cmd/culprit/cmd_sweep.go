package main

import (
	"context"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type sweepOptions struct {
	loading
	path    string
	k       []int
	budgets []string
}

func (a *app) sweepCommand() *cobra.Command {
	o := sweepOptions{path: "."}
	c := &cobra.Command{
		Use:     "sweep [experiment]",
		GroupID: groupStudy,
		Short:   "Judge cases again at other cutoffs and budgets",
		Long: `Run cases at every pair of cutoff k and context budget and show how the verdict moves: a
larger k may only push the break from the search into the assembly. Searches that several points
share are made once. Nothing is written. The experiment is by default that of the current folder.

Without --k and --budget, steps up from the experiment's own values are taken.`,
		Example: `  culprit sweep experiments/examples/travel-policy --case long-haul-cabin
  culprit sweep staging.yaml --case leave-policy-014 --k 5,10,20 --budget "1500 tokens,3000 tokens"`,
		Args: between(0, 1, "at most one experiment"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.path = args[0]
			}
			return a.sweep(c.Context(), o)
		},
	}
	o.flags(c)
	a.caseFlag(c, &o.loading)
	c.Flags().IntSliceVar(&o.k, "k", nil, "cutoffs, as a `list`: 5,10,20")
	c.Flags().StringSliceVar(&o.budgets, "budget", nil, "budgets, as a `list`: 50,80 or \"1500 tokens,3000 tokens\"")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.sweep/v1)")
	return c
}

// sweep is the record of culprit sweep --json.
type sweep struct {
	Schema string              `json:"schema"`
	Name   string              `json:"name"`
	Exit   int                 `json:"exit"`
	K      int                 `json:"k"`      // of the experiment itself
	Budget matrix.Budget       `json:"budget"` // of the experiment itself
	Points []runner.SweepPoint `json:"points"`
}

func (a *app) sweep(ctx context.Context, o sweepOptions) error {
	loaded, err := a.load(o.path, o.loading) //nolint:contextcheck // local files are read without one
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
	ctx, stop := signal.NotifyContext(ctx, interruptSignals()...) // there is nothing to keep, so the first one cancels
	defer stop()
	progress := a.progress()
	points, err := runner.Sweep(ctx, loaded, runner.Options{Registry: a.registry, CacheDir: cache, Progress: progress.runner()}, grid)
	progress.clear()
	if ctx.Err() != nil {
		return stopped{"cancelled; a sweep keeps nothing", context.Canceled}
	}
	if err != nil {
		return err
	}
	own := loaded.Experiment.Pipeline
	s := sweep{Schema: "culprit.sweep/v1", Name: loaded.Experiment.Name, K: own.Search.K, Budget: own.Assemble.Budget, Points: points}
	for i := range points {
		if points[i].Evaluation.Outcome == verdict.Environment {
			s.Exit = exitEnvironment
		}
	}
	if a.json {
		if err := a.writeJSON(s); err != nil {
			return err
		}
	} else {
		a.showSweep(&loaded.Experiment, &s, grid)
	}
	return finished(s.Exit)
}

// newGrid reads the flags; what is not given are steps up from the experiment's own values.
func newGrid(l *experiments.Loaded, ks []int, budgets []string) (runner.Grid, error) {
	own := l.Experiment.Pipeline
	grid := runner.Grid{K: slices.Clone(ks)}
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
	add := func(b matrix.Budget) {
		if !slices.Contains(grid.Budgets, b) {
			grid.Budgets = append(grid.Budgets, b)
		}
	}
	unit := own.Assemble.Budget.Unit
	for _, b := range budgets {
		budget, err := matrix.ParseBudget(b)
		if err != nil && unit != "" {
			budget, err = matrix.ParseBudget(b + " " + unit)
		}
		if err != nil {
			return grid, usage("--budget: %w", err)
		}
		add(budget)
	}
	if len(budgets) == 0 {
		add(own.Assemble.Budget)
		for _, percent := range []int{160, 300, 800} {
			if n := own.Assemble.Budget.N; n > 0 {
				add(matrix.Budget{N: n * percent / 100, Unit: unit})
			}
		}
	}
	return grid, nil
}

// showSweep lists, for each case and budget, which cutoffs get which verdict.
func (a *app) showSweep(e *matrix.Experiment, s *sweep, grid runner.Grid) {
	for _, text := range report.Wrap(fmt.Sprintf("%s · k and budget vary; constant: search %s, overflow %s, order %s, generator %s, prompt, settings, cases",
		s.Name, e.Pipeline.Search.Mode, e.Pipeline.Assemble.Overflow, e.Pipeline.Assemble.Order, e.Backends.Generator.Adapter), a.width()) {
		line(a.out, text)
	}
	rows := sweepRows(s, grid)
	var budgetWidth, kWidth, nameWidth int
	for _, r := range rows {
		budgetWidth, kWidth, nameWidth = max(budgetWidth, len(r.budget)), max(kWidth, len(r.k)), max(nameWidth, report.Columns(r.verdict))
	}
	kWidth = min(kWidth, 24)
	id := ""
	for _, r := range rows {
		if r.id != id {
			id = r.id
			line(a.out, "")
			line(a.out, "  "+id)
		}
		mark := ""
		if r.own {
			mark = fmt.Sprintf("◀ the experiment: k %d", s.K)
		}
		line(a.out, strings.TrimRight(fmt.Sprintf("    %s   k %s   %s   %s", padded(r.budget, budgetWidth), padded(r.k, kWidth), padded(r.verdict, nameWidth), mark), " "))
	}
	line(a.out, "")
	if !slices.ContainsFunc(rows, func(r sweepRow) bool { return r.own }) {
		linef(a.out, "  the experiment itself, k %d and budget %s, is not among the points", s.K, s.Budget)
	}
	line(a.out, "  Nothing was written.")
}

// sweepRow is the verdict that one budget gets at some cutoffs.
type sweepRow struct {
	id, budget, k, verdict string
	own                    bool // the experiment's own point is among them
}

// sweepRows puts the cutoffs together that get the same verdict at a budget. Points come by case, budget and cutoff.
func sweepRows(s *sweep, grid runner.Grid) []sweepRow {
	var rows []sweepRow
	per := len(grid.K)
	for from := 0; from+per <= len(s.Points); from += per {
		first := len(rows)
		for _, point := range s.Points[from : from+per] {
			name, k := verdictName(&point.Evaluation), strconv.Itoa(point.K)
			own := point.K == s.K && point.Budget == s.Budget
			if at := slices.IndexFunc(rows[first:], func(r sweepRow) bool { return r.verdict == name }); at >= 0 {
				r := &rows[first+at]
				r.k, r.own = r.k+" "+k, r.own || own
				continue
			}
			row := sweepRow{id: point.Case, k: k, verdict: name, own: own}
			if len(rows) == first {
				row.budget = budgetName(point.Budget)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func budgetName(b matrix.Budget) string {
	if b.N == 0 {
		return "no budget"
	}
	return b.String()
}

// verdictName is a verdict in a word or two.
func verdictName(e *verdict.Evaluation) string {
	switch {
	case len(e.Defects) > 0:
		name := e.Defects[0].Name()
		if n := len(e.Defects) - 1; n > 0 {
			name += fmt.Sprintf(" and %d more", n)
		}
		return "✗ " + name
	case e.Outcome == verdict.Pass && e.Qualifier != "":
		return "✓ " + e.Qualifier
	case e.Outcome == verdict.Pass:
		return "✓ pass"
	}
	return "? " + string(e.Outcome)
}
