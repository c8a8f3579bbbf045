package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

type planOptions struct {
	loading
	resolved bool
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:     "plan [experiment]",
		GroupID: groupRun,
		Short:   "Show the cells of a run, and what it may take, without making a call",
		Long: `Show what a run would do: the cells of every case, what each changes, how often it is repeated
and under which condition it is run, and the calls, tokens and money that this takes at the most
and is expected to take. No call is made, and no store is built: how long the store's chunks are is
known where the experiment names its documents. What is not known is shown as "?", and why.

"3–20" stands for runs.repeats auto: a cell is repeated until it decides, three times at the least
and runs.max_repeats times at the most. A generator that declares itself deterministic is asked once
for each cell. Repairs are run for a case that fails alone, and are shown on one line: --json has
each of them.

The experiment is by default that of the current folder. Of several cases the cells are shown
once.`,
		Example: `  culprit plan experiments/examples/travel-policy
  culprit plan staging.yaml --case leave-policy-014
  culprit plan staging.yaml --profile nightly --resolved`,
	}
	o.reads(c, func(ctx context.Context) error { return a.plan(ctx, o) })
	o.runsFlags(c)
	a.caseFlag(c, &o.loading)
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.plans/v1)")
	c.Flags().BoolVar(&o.resolved, "resolved", false, "print the resolved experiment (includes, profile and defaults applied) as JSON")
	return c
}

func (a *app) plan(ctx context.Context, o planOptions) error {
	loaded, err := a.load(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	if o.resolved {
		return a.writeJSON(&loaded.Experiment)
	}
	plans, err := expand(ctx, loaded)
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(plans)
	}
	a.showPlans(&loaded.Experiment, plans)
	return nil
}

// plans is the record of culprit plan --json.
type plans struct {
	Schema      string         `json:"schema"`
	Name        string         `json:"name"`
	Generations int            `json:"generations_at_most"`
	Usual       int            `json:"generations_expected"`
	Once        int            `json:"generations_if_deterministic"`
	Searches    int            `json:"searches_at_most"`
	Judgements  int            `json:"judgements_at_most,omitempty"`
	Cases       []*matrix.Plan `json:"cases"`

	Spending *runner.Estimate `json:"spending"`
}

func expand(ctx context.Context, l *experiments.Loaded) (_ *plans, err error) {
	p := &plans{Schema: "culprit.plans/v1", Name: l.Experiment.Name, Cases: []*matrix.Plan{}}
	for i := range l.Cases {
		c, err := matrix.Expand(&l.Experiment, &l.Cases[i].Case, false)
		if err != nil {
			return nil, err
		}
		p.Cases = append(p.Cases, c)
		p.Generations += c.Generations()
		single := *c
		single.Cells = slices.Clone(c.Cells)
		for i := range single.Cells {
			p.Usual += l.Experiment.Runs.Usual(single.Cells[i])
			single.Cells[i].Repeats = 1
		}
		if c.Rewrite != nil {
			p.Usual++
		}
		p.Once += single.Generations()
		p.Searches += len(c.Retrievals)
		p.Judgements += c.Judgements
	}
	if len(p.Cases) > 0 {
		p.Once++ // the first request is made twice, to hold the generator to its word
	}
	if p.Spending, err = runner.EstimateRun(ctx, l, p.Cases); err != nil {
		return nil, err
	}
	return p, nil
}

func (a *app) showPlans(e *matrix.Experiment, p *plans) {
	for _, text := range report.Wrap(fmt.Sprintf("%s · %s · store %s · generator %s · k %d · budget %s · repeats %s", e.Name,
		counted(len(p.Cases), "case", "cases"), storeOf(e), generatorOf(e),
		e.Pipeline.Search.K, e.Pipeline.Assemble.Budget, e.Runs.Repeats), a.width()) {
		line(a.out, text)
	}
	line(a.out, "")
	a.showCases(p.Cases)
	line(a.out, "  total       at most "+counted(p.Generations, "generation", "generations")+" and "+counted(p.Searches, "search", "searches"))
	if p.Usual < p.Generations {
		a.wrapped("              " + counted(p.Usual, "generation", "generations") + " expected, where every cell is run and no case fails")
	}
	if p.Once < p.Generations {
		a.wrapped("              " + counted(p.Once, "generation", "generations") + " where the generator declares itself deterministic")
	}
	a.showJudge(e, p)
	a.showSpending(e, p.Spending)
	line(a.out, "  No call was made.")
}

// showJudge says what is asked of the judge, and how often at most: identical questions of a case are put once.
func (a *app) showJudge(e *matrix.Experiment, p *plans) {
	if e.Backends.Judge == nil || !e.Judge.Asks() {
		return
	}
	var cells, asked []string
	for _, c := range e.Judge.Cells {
		cells = append(cells, string(c))
	}
	for _, what := range []struct {
		on   bool
		name string
	}{
		{e.Judge.Claims, "claims"},
		{e.Judge.Faithfulness, "faithfulness"},
		{e.Judge.AnswerRelevancy != nil, "answer relevancy"},
		{e.Judge.ContextPrecision, "context precision"},
		{e.Judge.ContextRecall, "context recall"},
	} {
		if what.on {
			asked = append(asked, what.name)
		}
	}
	head := "  judge       "
	for _, text := range report.Wrap(fmt.Sprintf("at most %s by %s, on %s: %s", counted(p.Judgements, "judgement", "judgements"),
		e.Backends.Judge.Adapter, strings.Join(cells, " "), strings.Join(asked, ", ")), a.width()-len(head)) {
		line(a.out, head+text)
		head = strings.Repeat(" ", len(head))
	}
}

// planned is one cell or search as it is shown, and how many of the cases have it.
type planned struct {
	name   string
	times  string // how often it is run: "× 5", "3–20"
	about  string
	expect []string
	cases  int
}

func (c *planned) says() string {
	if len(c.expect) == 0 {
		return c.about
	}
	return c.about + " (expected: " + strings.Join(c.expect, " or ") + ")"
}

// plannedOf lists the cells of some cases in the order of the plan. Of several cases, what differs in its subject alone is one
// cell.
func plannedOf(plans []*matrix.Plan) []*planned {
	about := map[string]string{
		matrix.DropSpan: "one required item is left out", matrix.WithSuperseded: "one superseded item is added behind the gold",
		matrix.WithDistractor: "one other declared distractor is added behind the gold",
	}
	var out []*planned
	var repairs repairList
	for _, p := range plans {
		had := map[string]bool{}
		last := -1 // where the cell before stands: a cell that is new comes behind it
		add := func(cell matrix.CellID, c planned) {
			if together := about[cell.Variant()]; len(plans) > 1 && together != "" {
				c.name, _, _ = strings.Cut(c.name, ":")
				_, condition, _ := strings.Cut(c.about, conditional)
				c.name, c.about = c.name+":…", planned{about: together}.on(condition).about
			}
			at := slices.IndexFunc(out, func(other *planned) bool { return other.name == c.name })
			if at < 0 {
				at = last + 1
				out = slices.Insert(out, at, &c)
			}
			for _, expect := range c.expect {
				if !slices.Contains(out[at].expect, expect) {
					out[at].expect = append(out[at].expect, expect)
				}
			}
			if last = at; !had[c.name] {
				out[at].cases++
				had[c.name] = true
			}
		}
		for _, c := range p.Cells {
			if c.Condition == matrix.IfDecides {
				continue
			}
			cell := planned{name: string(c.Cell), times: timesOf(p, c), about: c.Change}
			if c.Change == "" {
				cell.about = "production, as it is"
			}
			if c.Expect != "" {
				cell.expect = []string{string(c.Expect)}
			}
			add(c.Cell, cell.on(c.Condition))
		}
		if repairs.take(p) {
			add("repairs", planned{name: "repairs", times: timesOf(p, p.Cells[len(p.Cells)-1])})
		}
		if p.Rewrite != nil {
			about := "the generator writes what C, its probes and A search for"
			if n := p.Rewrite.Searches; n > 1 {
				about += fmt.Sprintf(": at most %d searches each", n)
			}
			add("rewrite", planned{name: "rewrite", times: once, about: about})
		}
		for _, r := range p.Retrievals {
			search := planned{name: string(r.Cell), times: once, about: r.Change}
			if r.Change == "" {
				search.about = "production's search to its full depth"
			}
			add(r.Cell, search.on(r.Condition))
		}
	}
	if at := slices.IndexFunc(out, func(c *planned) bool { return c.name == "repairs" }); at >= 0 {
		out[at].about = repairs.says()
	}
	return out
}

const once = "× 1"

// timesOf is how often a cell is run: "× 5", or "3–20" where it is repeated until it decides.
func timesOf(p *matrix.Plan, c matrix.PlannedCell) string {
	if p.Auto && c.Repeats > matrix.FewestRepeats {
		return fmt.Sprintf("%d–%d", matrix.FewestRepeats, c.Repeats)
	}
	return fmt.Sprintf("× %d", c.Repeats)
}

// repairList names the repairs and the rungs of some plans.
type repairList struct{ repairs, rungs []string }

// take adds those of a plan, and reports whether it has any.
func (l *repairList) take(p *matrix.Plan) (found bool) {
	for _, c := range p.Cells {
		if c.Condition != matrix.IfDecides {
			continue
		}
		found = true
		list := &l.repairs
		if c.Cell.Run() == matrix.GoldRun {
			list = &l.rungs
		}
		if !slices.Contains(*list, c.Cell.Variant()) {
			*list = append(*list, c.Cell.Variant())
		}
	}
	return found
}

func (l *repairList) says() string {
	return fmt.Sprintf("of a case that fails, at most %d: A with %s; B with %s", matrix.MostRepairs, strings.Join(l.repairs, ", "), strings.Join(l.rungs, ", "))
}

const conditional = ", if "

func (c planned) on(condition string) planned {
	if condition != "" {
		c.about += conditional + condition
	}
	return c
}

// showCases shows what is run for the cases: every cell once, and then what differs from case to case.
func (a *app) showCases(plans []*matrix.Plan) {
	if len(plans) == 0 {
		return
	}
	cells := plannedOf(plans)
	differ := slices.ContainsFunc(cells, func(c *planned) bool { return c.cases < len(plans) })
	switch first := plans[0]; {
	case len(plans) == 1:
		linef(a.out, "  %s   %s", first.Case, mostOf(first))
	case differ:
		linef(a.out, "  the cells, and how many of the %d cases have each", len(plans))
	default:
		linef(a.out, "  in each of %d cases   %s", len(plans), mostOf(first))
	}
	a.showPlanned(cells, len(plans), differ)
	line(a.out, "")
	if len(plans) > 1 {
		a.showSubjects(plans, differ)
		line(a.out, "")
	}
}

func mostOf(p *matrix.Plan) string {
	return "at most " + counted(p.Generations(), "generation", "generations") + " and " + counted(len(p.Retrievals), "search", "searches")
}

// showPlanned lists cells: which, how often, in how many cases where they differ in it, and what each changes and when.
func (a *app) showPlanned(cells []*planned, cases int, differ bool) {
	longest := min(36, max(len("D/context-reversed"), a.width()-64)) // leaves room for what the cell changes
	width, times := 0, 0
	for _, c := range cells {
		times = max(times, report.Columns(c.times)+2)
		width = max(width, min(report.Columns(report.Safe(c.name)), longest))
	}
	column := times
	if differ {
		column += len("in 999  ")
	}
	indent := strings.Repeat(" ", 4+width+2)
	for _, c := range cells {
		head := "    " + padded(c.name, width) + "  "
		if report.Columns(report.Safe(c.name)) > width {
			line(a.out, "    "+c.name)
			head = indent
		}
		often := padded(c.times, times)
		if in := fmt.Sprintf("in %d", c.cases); differ {
			if c.cases == cases {
				in = "in all"
			}
			often += in
		}
		head += padded(often, column)
		below := indent + strings.Repeat(" ", column)
		if a.width()-len(below) < 24 { // too narrow to stand beside it
			below = strings.Repeat(" ", 8)
			line(a.out, strings.TrimRight(head, " "))
			head = below
		}
		for _, text := range report.Wrap(c.says(), a.width()-len(below)) {
			line(a.out, head+text)
			head = below
		}
	}
}

// showSubjects lists the cases, each with what is its own: the number of calls where it differs, and the subjects of its cells.
func (a *app) showSubjects(cases []*matrix.Plan, differ bool) {
	const longest, calls = 48, len("999 generations, 99 searches")
	idWidth := 0
	own := make([]string, len(cases))
	for i, p := range cases {
		var subjects []string
		for _, c := range p.Cells {
			if subject := c.Cell.Subject(); subject != "" {
				subjects = append(subjects, c.Cell.Variant()+":"+subject)
			}
		}
		own[i] = strings.Join(subjects, " ")
		idWidth = max(idWidth, min(report.Columns(report.Safe(p.Case)), longest))
	}
	if !differ && strings.Join(own, "") == "" {
		var ids []string
		for _, p := range cases {
			ids = append(ids, p.Case)
		}
		for _, text := range report.Wrap(strings.Join(ids, ", "), a.width()-4) {
			line(a.out, "    "+text)
		}
		return
	}
	for i, p := range cases {
		head := "    " + padded(p.Case, idWidth) + "   "
		if differ {
			head += padded(fmt.Sprintf("%3d generations, %s", p.Generations(), counted(len(p.Retrievals), "search", "searches")), calls) + "   "
		}
		room := a.width() - report.Columns(head)
		if room < 30 || own[i] == "" { // too narrow to stand beside it
			line(a.out, strings.TrimRight(head, " "))
			head = strings.Repeat(" ", 8)
			room = a.width() - len(head)
		}
		texts := report.Wrap(own[i], room)
		for j, text := range texts {
			if j > 0 {
				head = strings.Repeat(" ", report.Columns(head))
			}
			line(a.out, head+text)
		}
	}
}

// padded makes a text safe and fills it up with spaces.
func padded(text string, width int) string {
	text = report.Safe(text)
	return text + strings.Repeat(" ", max(0, width-report.Columns(text)))
}

// storeOf names the store and how it is searched.
func storeOf(e *matrix.Experiment) string {
	if e.Backends.Store == nil {
		return "none"
	}
	return e.Backends.Store.Adapter + "/" + e.Pipeline.Search.Mode
}

// generatorOf names who answers: the generator's adapter, or the user's own service.
func generatorOf(e *matrix.Experiment) string {
	if e.Backends.Pipeline != nil {
		return "your service (" + e.Backends.Pipeline.Adapter + ")"
	}
	return e.Backends.Generator.Adapter
}
