package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

const (
	diffLabels = 10
	diffItems  = 8 // of a ranking
	diffPins   = 12
)

// Diff draws what became of each case between two executions: a line for each whose label is the same, and for the others, or with
// o.All for every one, what moved of pins, store, ranking and counts.
func Diff(w io.Writer, d *results.Diff, o Options) error {
	p := newPage(o, diffLabels)
	parts := []string{p.bold(fit(d.Left, maxName) + " → " + fit(d.Right, maxName)), counted(len(d.Cases), "case", "cases") + " in both"}
	for _, r := range []string{results.DiffSame, results.DiffWithinNoise, results.DiffChanged, results.DiffNotComparable} {
		if n := d.Counts[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(r, "-", " ")))
		}
	}
	p.flow("", "   ", parts)
	for _, line := range wrap("k/n passes with its interval at 95 %; p of Fisher's exact test, two-sided; items of equal score are in no order", p.width) {
		p.line(p.dim(line))
	}
	p.blank()
	widest := 0
	for i := range d.Cases {
		widest = max(widest, columns(fitID(d.Cases[i].Case, p.width/2)))
	}
	for i := range d.Cases {
		p.caseDiff(&d.Cases[i], widest, o.All || len(d.Cases) == 1)
	}
	for _, only := range []struct {
		side string
		ids  []string
	}{{d.Left, d.OnlyLeft}, {d.Right, d.OnlyRight}} {
		if len(only.ids) > 0 {
			p.labelled("only in", only.side+": "+strings.Join(only.ids, ", "))
		}
	}
	return p.flush(w)
}

func diffMark(result string) string {
	switch result {
	case results.DiffSame:
		return markPass
	case results.DiffWithinNoise:
		return markBetween
	case results.DiffChanged:
		return markFail
	default:
		return markUnknown
	}
}

func (p *page) caseDiff(d *results.CaseDiff, widest int, whole bool) {
	label := d.Left.Name()
	if now := d.Right.Name(); now != label {
		label += " → " + now
	}
	p.line("  " + p.mark(diffMark(d.Result)) + " " + p.bold(pad(fitID(d.Case, p.width/2), widest)) + "   " + fit(label, p.width))
	if d.Result == results.DiffSame && !whole {
		return
	}
	p.labelled("", d.Story)
	p.moved("pin", d.Pins, diffPins)
	p.moved("gold", d.Gold, diffPins)
	p.moved("check", d.Checks, diffPins)
	for _, r := range d.Ranking {
		p.labelled("ranking", fmt.Sprintf("%s: %s moved, of %d → %d", r.Cell, counted(len(r.Items), "item", "items"), r.Left, r.Right))
		for _, m := range r.Items[:min(diffItems, len(r.Items))] {
			p.labelled("", fmt.Sprintf("  %s: %s → %s", fit(m.Name, maxName), absent(m.Left), absent(m.Right)))
		}
	}
	for _, c := range d.Cells {
		says := fmt.Sprintf("%s: %s → %s", c.Cell, ratio(c.Left.Pass, c.Left.Scored, c.Left.Interval == nil, c.Left.Interval), ratio(c.Right.Pass, c.Right.Scored, c.Right.Interval == nil, c.Right.Interval))
		switch {
		case c.Differs == matrix.Yes:
			says += ", more than chance"
		case c.Differs == matrix.No && c.Left.Pass*c.Right.Scored != c.Right.Pass*c.Left.Scored:
			says += ", may be chance"
		}
		if c.P != "" {
			says += " (p " + c.P + ")"
		}
		if c.Withheld {
			says += "; answers are withheld"
		} else {
			says += fmt.Sprintf("; %d of %d and %d answers are the same", c.Shared, c.LeftAnswers, c.RightAnswers)
		}
		p.labelled("passes", says)
	}
	for _, c := range d.Claims {
		p.labelled("claim", fmt.Sprintf("%s, %s: %d/%d → %d/%d", c.Cell, c.Claim, c.Left.Pass, c.Left.Scored, c.Right.Pass, c.Right.Scored))
	}
	p.blank()
}

func (p *page) moved(label string, all []results.Moved, most int) {
	for _, m := range all[:min(most, len(all))] {
		p.labelled(label, fmt.Sprintf("%s: %s → %s", m.Name, fit(absent(m.Left), maxSetting), fit(absent(m.Right), maxSetting)))
		label = ""
	}
	if more := len(all) - most; more > 0 {
		p.labelled("", fmt.Sprintf("… and %d more: --json has all", more))
	}
}

func absent(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
