package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results/report"
)

type planOptions struct {
	loading
	path     string
	resolved bool
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:     "plan <experiment>",
		GroupID: groupRun,
		Short:   "Show the cells and the most calls of a run, without making one",
		Long: `Show what a run would do: the cells of every case, what each changes, how often it is repeated
and under which condition it is run, and the most calls that this can take. No call is made, and
no store is built. A generator that declares itself deterministic is asked once for each cell.`,
		Example: `  culprit plan experiments/examples/travel-policy
  culprit plan staging.yaml --case leave-policy-014
  culprit plan staging.yaml --profile nightly --resolved`,
		Args: between(1, 1, "one experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.path = args[0]
			return a.plan(o)
		},
	}
	o.flags(c)
	a.caseFlag(c, &o.loading)
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.plans/v1)")
	c.Flags().BoolVar(&o.resolved, "resolved", false, "print the resolved experiment (includes, profile and defaults applied) as JSON")
	return c
}

func (a *app) plan(o planOptions) error {
	loaded, err := a.load(o.path, o.loading)
	if err != nil {
		return err
	}
	if o.resolved {
		return a.writeJSON(&loaded.Experiment)
	}
	plans, err := expand(loaded)
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
	Once        int            `json:"generations_if_deterministic"`
	Searches    int            `json:"searches_at_most"`
	Cases       []*matrix.Plan `json:"cases"`
}

func expand(l *experiments.Loaded) (*plans, error) {
	p := &plans{Schema: "culprit.plans/v1", Name: l.Experiment.Name, Cases: []*matrix.Plan{}}
	for i := range l.Cases {
		c, err := matrix.Expand(&l.Experiment, &l.Cases[i].Case, false)
		if err != nil {
			return nil, err
		}
		p.Cases = append(p.Cases, c)
		p.Generations += c.Generations()
		p.Once += len(c.Cells)
		p.Searches += len(c.Retrievals)
	}
	if len(p.Cases) > 0 {
		p.Once++ // the first request is made twice, to hold the generator to its word
	}
	return p, nil
}

// manyPlans is from where on the cells are left out: a thousand cases have ten thousand.
const manyPlans = 12

func (a *app) showPlans(e *matrix.Experiment, p *plans) {
	for _, text := range report.Wrap(fmt.Sprintf("%s · %s · store %s/%s · generator %s · k %d · budget %s · repeats %d", e.Name,
		counted(len(p.Cases), "case", "cases"), e.Backends.Store.Adapter, e.Pipeline.Search.Mode, e.Backends.Generator.Adapter,
		e.Pipeline.Search.K, e.Pipeline.Assemble.Budget, e.Runs.Repeats), a.width()) {
		line(a.out, text)
	}
	line(a.out, "")
	idWidth := 0
	for _, c := range p.Cases {
		idWidth = max(idWidth, min(report.Columns(report.Safe(c.Case)), 48))
	}
	for _, c := range p.Cases {
		linef(a.out, "  %s   at most %s and %s", padded(c.Case, idWidth), counted(c.Generations(), "generation", "generations"),
			counted(len(c.Retrievals), "search", "searches"))
		if len(p.Cases) < manyPlans {
			a.showCells(c)
			line(a.out, "")
		}
	}
	if len(p.Cases) >= manyPlans {
		line(a.out, "")
		line(a.out, "  the cells of one case: culprit plan … --case ID")
	}
	line(a.out, "  total       at most "+counted(p.Generations, "generation", "generations")+" and "+counted(p.Searches, "search", "searches"))
	if p.Once < p.Generations {
		line(a.out, "              "+counted(p.Once, "generation", "generations")+" where the generator declares itself deterministic")
	}
	if most := e.Limits.Calls; most > 0 && p.Generations+p.Searches > most {
		linef(a.out, "  limit       limits.calls is %d: a run that needs more stops there", most)
	}
	line(a.out, "  No call was made.")
}

// showCells lists what is run for a case: the cell, how often, what it changes and when, and what it is expected to show.
func (a *app) showCells(p *matrix.Plan) {
	width := 0
	for _, c := range p.Cells {
		width = max(width, min(report.Columns(report.Safe(string(c.Cell))), 36))
	}
	show := func(cell matrix.CellID, times, about string) {
		head := fmt.Sprintf("    %s  %-5s  ", padded(string(cell), width), times)
		if report.Columns(report.Safe(string(cell))) > width {
			line(a.out, "    "+string(cell))
			head = strings.Repeat(" ", 4+width+2+5+2)
		}
		texts := report.Wrap(about, a.width()-4-width-2-5-2)
		for i, text := range texts {
			if i > 0 {
				head = strings.Repeat(" ", 4+width+2+5+2)
			}
			line(a.out, head+text)
		}
	}
	for _, c := range p.Cells {
		about := join(c.Change, c.Condition)
		if about == "" {
			about = "production, as it is"
		}
		if c.Expect != "" {
			about += " (expected: " + string(c.Expect) + ")"
		}
		show(c.Cell, fmt.Sprintf("× %d", c.Repeats), about)
	}
	for _, r := range p.Retrievals {
		about := join(r.Change, r.Condition)
		if about == "" {
			about = "production's search to its full depth"
		}
		show(r.Cell, "× 1", about)
	}
}

func join(change, condition string) string {
	if condition == "" {
		return change
	}
	return change + ", if " + condition
}

// padded makes a text safe and fills it up with spaces.
func padded(text string, width int) string {
	text = report.Safe(text)
	return text + strings.Repeat(" ", max(0, width-report.Columns(text)))
}
