package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results/report"
)

func (a *app) planCommand() *cobra.Command {
	var o struct {
		loading
		json, resolved bool
	}
	c := &cobra.Command{
		Use:     "plan <experiment>",
		GroupID: groupRun,
		Short:   "Show the cells and the most calls of a run, without making one",
		Long: `Show what a run would do: the cells of every case, what each changes, how often it is repeated
and under which condition it is run, and the most calls that this can take. No call is made.
A generator that declares itself deterministic is asked once for each cell instead.`,
		Example: `  culprit plan experiments/examples/travel-policy
  culprit plan staging.yaml --case leave-policy-014
  culprit plan staging.yaml --profile nightly --resolved`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, err := a.load(args[0], o.loading)
			if err != nil {
				return err
			}
			if o.resolved {
				return a.writeJSON(&loaded.Experiment)
			}
			plans := make([]*matrix.Plan, len(loaded.Cases))
			for i := range loaded.Cases {
				if plans[i], err = matrix.Expand(&loaded.Experiment, &loaded.Cases[i].Case, false); err != nil {
					return err
				}
			}
			if o.json {
				return a.writeJSON(planRecord(loaded, plans))
			}
			a.showPlan(loaded, plans)
			return nil
		},
	}
	o.flags(c)
	o.caseFlag(c)
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object (culprit.plans/v1)")
	c.Flags().BoolVar(&o.resolved, "resolved", false, "print the resolved experiment (includes, profile and defaults applied) as JSON")
	return c
}

// plans is the record of culprit plan --json.
type plans struct {
	Schema      string         `json:"schema"`
	Name        string         `json:"name"`
	Generations int            `json:"generations_at_most"`
	Searches    int            `json:"searches_at_most"`
	Cases       []*matrix.Plan `json:"cases"`
}

func planRecord(l *experiments.Loaded, cases []*matrix.Plan) plans {
	p := plans{Schema: "culprit.plans/v1", Name: l.Experiment.Name, Cases: cases}
	for _, c := range cases {
		p.Generations += c.Generations()
		p.Searches += len(c.Retrievals)
	}
	return p
}

func (a *app) showPlan(l *experiments.Loaded, cases []*matrix.Plan) {
	total := planRecord(l, cases)
	e := &l.Experiment
	fmt.Fprintf(a.out, "%s   %s   store %s/%s   generator %s   k %d   budget %s\n\n", report.Safe(e.Name), plural(len(cases), "case"),
		e.Backends.Store.Adapter, e.Pipeline.Search.Mode, e.Backends.Generator.Adapter, e.Pipeline.Search.K, e.Pipeline.Assemble.Budget)
	for _, p := range cases {
		fmt.Fprintf(a.out, "  %s\n", report.Safe(p.Case))
		for _, c := range p.Cells {
			fmt.Fprintf(a.out, "    %-36s × %-3d %s\n", report.Safe(string(c.Cell)), c.Repeats, report.Safe(describeCell(c)))
		}
		for _, r := range p.Retrievals {
			fmt.Fprintf(a.out, "    %-36s search %s\n", r.Cell, report.Safe(join(r.Change, r.Condition)))
		}
		fmt.Fprintln(a.out)
	}
	fmt.Fprintf(a.out, "at most %s and %s; a deterministic generator is asked once for each cell. No call was made.\n",
		plural(total.Generations, "generation"), plural(total.Searches, "search")+"es"[:2*min(1, max(0, total.Searches-1))])
}

func describeCell(c matrix.PlannedCell) string {
	out := join(c.Change, c.Condition)
	if c.Expect != "" {
		out += "   expects: " + string(c.Expect)
	}
	return out
}

func join(change, condition string) string {
	parts := slices.DeleteFunc([]string{change, condition}, func(s string) bool { return s == "" })
	return strings.Join(parts, ", if ")
}

// writeJSON prints one value as indented JSON.
func (a *app) writeJSON(v any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
