package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// ledger says of A's and of B's answer, of a failing one where there is one, what it does with the claims, in its own words: what must
// not be stated, near misses, and what its context does not hold. With --full, every claim is listed.
func (x *explained) ledger() {
	for _, cell := range []matrix.CellID{matrix.CellA, matrix.CellB} {
		t, f := x.toldTrial(cell)
		if t == nil {
			continue
		}
		lines := x.ledgerLines(t, f)
		if len(lines) == 0 {
			continue
		}
		x.line("  " + x.dim(fmt.Sprintf("in %s's answer", cell)))
		for _, text := range lines {
			for i, part := range wrap(text, x.width-4) {
				x.line([]string{"  · ", "    "}[min(i, 1)] + part)
			}
		}
	}
}

// toldTrial returns the first scored trial of a cell that fails, else the first scored one.
func (x *explained) toldTrial(cell matrix.CellID) (t *matrix.Trial, f *verdict.TrialFeatures) {
	for i := range x.Features.Trials {
		features := &x.Features.Trials[i]
		at := slices.IndexFunc(x.Observations.Trials, func(t matrix.Trial) bool {
			return (t.CallKey == features.CallKey || features.CallKey == "") && t.Cell == features.Cell && t.Rep == features.Rep
		})
		if features.Cell == cell && at >= 0 && x.Observations.Trials[at].Status == matrix.StatusOK && (t == nil || f.Meets && !features.Meets) {
			t, f = &x.Observations.Trials[at], features
		}
	}
	return t, f
}

func (x *explained) ledgerLines(t *matrix.Trial, f *verdict.TrialFeatures) []string {
	const most = 12
	answer := verdict.ReadAnswer(x.Experiment.Pipeline.Answer, t).Text
	quote := func(e verdict.Extent) string {
		if t.Answer.Withheld() {
			return "(withheld)"
		}
		return fmt.Sprintf("“%s”", clip(strings.Join(strings.Fields(e.In(answer)), " "), 120))
	}
	told := len(t.Packed) > 0 && !slices.ContainsFunc(t.Packed, func(p matrix.Packed) bool { return p.Text.Value == "" })
	var lines []string
	for _, c := range f.Claims {
		switch id := clip(c.ID, 40); {
		case c.Near != "" && c.At != nil:
			lines = append(lines, fmt.Sprintf("%s %s; near miss, %s: %s", id, c.State, c.Near, quote(*c.At)))
		case c.At != nil && (x.whole || c.State == verdict.ClaimViolated || len(c.Support) == 0 && told):
			lines = append(lines, fmt.Sprintf("%s %s: %s%s", id, c.State, quote(*c.At), saidBy(c.Support, told)))
		case x.whole:
			lines = append(lines, fmt.Sprintf("%s %s%s", id, c.State, saidBy(c.Support, false)))
		}
	}
	for _, e := range f.Unsupported {
		lines = append(lines, "not in its context by words and numbers: "+quote(e))
	}
	if more := len(lines) - most; more > 0 && !x.whole {
		lines = append(lines[:most], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// saidBy names the packed items that state a claim.
func saidBy(ids []string, told bool) string {
	switch {
	case len(ids) > 0:
		var names []string
		for _, id := range ids {
			names = append(names, clip(id, 40))
		}
		return ", as in " + strings.Join(names, ", ")
	case told:
		return ", in no packed item"
	}
	return ""
}

// clip cuts a text that is made safe where it is wrapped.
func clip(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}
