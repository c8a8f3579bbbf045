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
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type sweepOptions struct {
	loading
	k       cutoffs
	top     cutoffs
	budgets []string
}

func (a *app) sweepCommand() *cobra.Command {
	var o sweepOptions
	c := &cobra.Command{
		Use:     "sweep [experiment]",
		GroupID: groupStudy,
		Short:   "Judge cases again at other cutoffs and budgets",
		Long: `Run cases at every pair of cutoff k and context budget and show how the verdict moves: a
larger k may only push the break from the search into the assembly. Searches that several points
share are made once. No result is written, and what had to be paid, which is said at the end, stands
in no ledger. The experiment is by default that of the current folder.

Without --k, steps down and up from the experiment's own k are taken, without --budget steps up
from its own budget. --top sweeps what a reranker passes on. Of a service of your own only k varies,
which it is told.`,
		Example: `  culprit sweep experiments/examples/travel-policy --case long-haul-cabin
  culprit sweep staging.yaml --case leave-policy-014 --k 5,10,20 --budget "1500 tokens,3000 tokens"`,
	}
	o.reads(c, func(ctx context.Context) error { return a.sweep(ctx, o) })
	a.caseFlag(c, &o.loading)
	c.Flags().Var(&o.k, "k", "cutoffs, as a `list`: 5,10,20")
	c.Flags().Var(&o.top, "top", "what the reranker passes on, as a `list`: 3,5 (default: the experiment's own)")
	c.Flags().StringSliceVar(&o.budgets, "budget", nil, "budgets, as a `list`: 50,80 or \"1500 tokens,3000 tokens\"")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.sweep/v1)")
	return c
}

// sweep is the record of culprit sweep --json.
type sweep struct {
	Schema string              `json:"schema"`
	Name   string              `json:"name"`
	Exit   int                 `json:"exit"`
	K      int                 `json:"k"`             // of the experiment itself
	Budget matrix.Budget       `json:"budget"`        // of the experiment itself
	Top    int                 `json:"top,omitempty"` // of the experiment itself
	Points []runner.SweepPoint `json:"points"`
	Totals *results.Totals     `json:"totals"` // what was asked for, and what of it may have to be paid for
}

func (a *app) sweep(ctx context.Context, o sweepOptions) error {
	loaded, options, err := a.prepare(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	grid, err := newGrid(loaded, &o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, interruptSignals()...) // there is nothing to keep, so the first one cancels
	defer stop()
	progress := a.progress()
	options.Progress = progress.runner()
	var asked results.Totals
	options.Asked = func(t results.Totals) { asked = t }
	points, err := runner.Sweep(ctx, loaded, options, grid)
	progress.clear()
	if err != nil {
		a.warnAsked(&asked, &loaded.Experiment)
	}
	if ctx.Err() != nil {
		return stopped{"cancelled; a sweep keeps nothing", context.Canceled}
	}
	if err != nil {
		return err
	}
	own := loaded.Experiment.Pipeline
	s := sweep{Schema: "culprit.sweep/v1", Name: loaded.Experiment.Name, K: own.Search.K, Budget: own.Assemble.Budget, Points: points, Totals: &asked}
	if own.Rerank != nil {
		s.Top = own.Rerank.Top
	}
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
		a.showSweep(&loaded.Experiment, &s, len(grid.K))
		a.showAsked(&asked, &loaded.Experiment)
	}
	return finished(s.Exit)
}

// newGrid reads the flags; what is not given are steps from the experiment's own values.
func newGrid(l *experiments.Loaded, o *sweepOptions) (runner.Grid, error) {
	own := l.Experiment.Pipeline
	grid := runner.Grid{K: slices.Clone([]int(o.k)), Top: slices.Clone([]int(o.top))}
	if k := own.Search.K; len(o.k) == 0 {
		grid.K = []int{1, max(k/2, 1), k, k + 1, 2 * k, 7 * k}
	}
	service := l.Experiment.Backends.Pipeline != nil // which is told k, and packs its context by a budget of its own
	switch {
	case service && len(o.budgets)+len(o.top) > 0:
		return grid, usage("--budget and --top: the service reranks and packs by itself, and is told neither: a sweep of it varies k")
	case len(o.top) > 0 && own.Rerank == nil:
		return grid, usage("--top: the experiment has no rerank, so there is no top to vary")
	}
	for flag, list := range map[string]*[]int{"--k": &grid.K, "--top": &grid.Top} {
		slices.Sort(*list)
		if *list = slices.Compact(*list); len(*list) > 0 && (*list)[0] < 1 {
			return grid, usage("%s: %d is not a cutoff: it starts at 1", flag, (*list)[0])
		}
	}
	add := func(b matrix.Budget) {
		if !slices.Contains(grid.Budgets, b) {
			grid.Budgets = append(grid.Budgets, b)
		}
	}
	unit := own.Assemble.Budget.Unit
	for _, b := range o.budgets {
		budget, err := matrix.ParseBudget(b)
		if err != nil && unit != "" {
			budget, err = matrix.ParseBudget(b + " " + unit)
		}
		if err != nil {
			return grid, usage("--budget: %w", err)
		}
		add(budget)
	}
	if len(o.budgets) == 0 {
		add(own.Assemble.Budget)
		for _, percent := range []int{160, 300, 800} {
			if n := own.Assemble.Budget.N; n > 0 && !service {
				add(matrix.Budget{N: n * percent / 100, Unit: unit})
			}
		}
	}
	return grid, nil
}

// showSweep lists, for each case and budget, which cutoffs get which verdict. Per is how many cutoffs there are.
func (a *app) showSweep(e *matrix.Experiment, s *sweep, per int) {
	for _, text := range report.Wrap(fmt.Sprintf("%s · k, top and budget vary; constant: search %s, overflow %s, order %s, generator %s, prompt, settings, cases",
		s.Name, e.Pipeline.Search.Mode, e.Pipeline.Assemble.Overflow, e.Pipeline.Assemble.Order, generatorOf(e)), a.width()) {
		switch {
		case e.Backends.Pipeline != nil:
			text = strings.Replace(text, "k, top and budget vary", "k varies", 1)
		case s.Top == 0:
			text = strings.Replace(text, "k, top and budget vary", "k and budget vary", 1)
		}
		line(a.out, text)
	}
	rows := sweepRows(s, per)
	var budgetWidth, kWidth, nameWidth int
	for _, r := range rows {
		budgetWidth, kWidth = max(budgetWidth, report.Columns(r.budget)), max(kWidth, len(r.k))
	}
	kWidth = min(kWidth, 24)
	room := a.width() - 4 - budgetWidth - 3 - len("k ") - kWidth - 3
	for i := range rows {
		r := &rows[i]
		if report.Columns(report.Safe(r.verdict)) > room {
			r.verdict = r.short
		}
		nameWidth = max(nameWidth, min(report.Columns(report.Safe(r.verdict)), room))
	}
	id := ""
	for _, r := range rows {
		if r.id != id {
			id = r.id
			line(a.out, "")
			line(a.out, "  "+id)
		}
		text := fmt.Sprintf("    %s   k %s   ", padded(r.budget, budgetWidth), padded(r.k, kWidth))
		mark := ""
		if r.own {
			mark = "◀ " + s.own()
		}
		if whole := text + padded(r.verdict, nameWidth) + "   " + mark; report.Columns(whole) <= a.width() {
			text = whole
			mark = ""
		} else if whole = text + r.verdict + "   " + mark; report.Columns(whole) <= a.width() {
			text, mark = whole, ""
		} else {
			text += r.verdict
		}
		line(a.out, strings.TrimRight(text, " "))
		if mark != "" { // too long to stand beside it
			line(a.out, "      "+mark)
		}
	}
	line(a.out, "")
	if !slices.ContainsFunc(rows, func(r sweepRow) bool { return r.own }) {
		linef(a.out, "  %s, is not among the points", s.own())
	}
	if says := s.intervals(); says != "" {
		a.wrapped("  " + says)
	}
	line(a.out, "  Nothing was written.")
}

// intervals says of what kind the intervals of the rows are.
func (s *sweep) intervals() string {
	var kinds report.Intervals
	for i := range s.Points {
		if a := production(&s.Points[i].Evaluation); a != nil {
			kinds.Add(a)
		}
	}
	return kinds.String()
}

// production returns A where it was repeated.
func production(e *verdict.Evaluation) *verdict.CellResult {
	for i := range e.Cells {
		if c := &e.Cells[i]; c.Cell == matrix.CellA && c.Scored > 0 && !c.Exact {
			return c
		}
	}
	return nil
}

// own names the point that the experiment itself is.
func (s *sweep) own() string {
	text := fmt.Sprintf("the experiment itself: k %d", s.K)
	if s.Top > 0 {
		text += fmt.Sprintf(", top %d", s.Top)
	}
	return text + ", " + budgetName(s.Budget)
}

// sweepRow is the verdict that some budgets get at some cutoffs.
type sweepRow struct {
	id, budget, k  string
	verdict, short string // with every defect, and with one
	own            bool   // the experiment's own point is among them
}

// sweepRows puts the cutoffs together that get the same verdict at a budget, and the budgets one after the other with the same
// rows. Points come by case, budget, top and cutoff.
func sweepRows(s *sweep, per int) []sweepRow {
	var rows []sweepRow
	before := -1 // where the rows of the last budget begin
	for from := 0; from+per <= len(s.Points); from += per {
		block := s.block(s.Points[from : from+per])
		if before >= 0 && sameRows(rows[before:], block) {
			rows[before].budget = joinBudgets(rows[before].budget, block[0].budget)
			for i := range block {
				rows[before+i].own = rows[before+i].own || block[i].own
			}
			continue
		}
		before = len(rows)
		rows = append(rows, block...)
	}
	return rows
}

// block makes the rows of one case, budget and top; the first carries the budget.
func (s *sweep) block(points []runner.SweepPoint) []sweepRow {
	var rows []sweepRow
	for _, point := range points {
		name, k := verdictName(&point.Evaluation, true), strconv.Itoa(point.K)
		own := point.K == s.K && point.Budget == s.Budget && point.Top == s.Top
		if at := slices.IndexFunc(rows, func(r sweepRow) bool { return r.verdict == name }); at >= 0 {
			rows[at].k, rows[at].own = rows[at].k+" "+k, rows[at].own || own
			continue
		}
		rows = append(rows, sweepRow{id: point.Case, k: k, verdict: name, short: verdictName(&point.Evaluation, false), own: own})
	}
	rows[0].budget = budgetName(points[0].Budget)
	if s.tops() {
		rows[0].budget += fmt.Sprintf("   top %d", points[0].Top)
	}
	return rows
}

// tops reports whether the points have more than one top, or another than the experiment's own.
func (s *sweep) tops() bool {
	return slices.ContainsFunc(s.Points, func(p runner.SweepPoint) bool { return p.Top != s.Top })
}

func sameRows(a, b []sweepRow) bool {
	return slices.EqualFunc(a, b, func(a, b sweepRow) bool { return a.id == b.id && a.k == b.k && a.verdict == b.verdict })
}

// joinBudgets writes "50 words" and "80 words" as "50 80 words". Where they do not end alike, both are written in full.
func joinBudgets(a, b string) string {
	n, unit, _ := strings.Cut(b, " ")
	if numbers, ok := strings.CutSuffix(a, " "+unit); ok && !strings.Contains(unit, "top") {
		return numbers + " " + n + " " + unit
	}
	return a + ", " + b
}

func budgetName(b matrix.Budget) string {
	if b.N == 0 {
		return "no budget"
	}
	return b.String()
}

// verdictName is a verdict in a few words, with what it rests on where A was repeated.
func verdictName(e *verdict.Evaluation, every bool) string {
	counts := ""
	if c := production(e); c != nil {
		counts = " " + report.Rate(c)
	}
	switch {
	case len(e.Defects) > 0:
		names := []string{e.Defects[0].Name()}
		for _, d := range e.Defects[1:] {
			names = append(names, d.Name())
		}
		if !every && len(names) > 1 {
			names = []string{fmt.Sprintf("%s and %d more", names[0], len(names)-1)}
		}
		return "✗ " + strings.Join(names, " + ") + counts
	case e.Outcome == verdict.Pass && e.Qualifier != "":
		return "✓ " + e.Qualifier + counts
	case e.Outcome == verdict.Pass && counts != "":
		return "✓" + counts
	case e.Outcome == verdict.Pass:
		return "✓ pass"
	}
	return "? " + string(e.Outcome) + counts
}
