package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// History draws what a results folder holds: its executions, or what one case was found to be in each of them, newest first.
func History(w io.Writer, h *results.History, o Options) error {
	p := newPage(o, runLabels)
	if h.Case != "" {
		p.pastOf(h)
	} else {
		p.executions(h)
	}
	if h.More > 0 {
		p.line("  " + p.dim(fmt.Sprintf("… and %s before: --limit 0 shows all", thousands(h.More))))
	}
	if b := h.Bill; b != nil && len(h.Executions)+h.More > 1 && b.Paid+b.InDoubt > 0 {
		says := "all executions: " + bill(b.Paid, b.InDoubt)
		if b.Unknown > 0 {
			says += "; of " + thousands(b.Unknown) + " it is not known whether there was more"
		}
		p.line("  " + says)
	}
	for _, u := range h.Unread {
		p.labelled(markEnvironment+" unread", fmt.Sprintf("%s/%s: %s", u.Execution, u.File, u.Why))
	}
	for _, says := range h.Problems {
		p.labelled(markEnvironment+" ledger", says)
	}
	return p.flush(w)
}

// pastOf draws a line for each bundle of a case, with what is another than in the execution before it.
func (p *page) pastOf(h *results.History) {
	p.tailed(p.bold(Safe(h.Case))+"   "+counted(len(h.Entries)+h.More, "execution", "executions"), "   ", "A passes k/n, with its interval at 95 %")
	p.blank()
	label, rate := 0, 0
	labels, rates := make([]string, len(h.Entries)), make([]string, len(h.Entries))
	for i := range h.Entries {
		e := &h.Entries[i]
		labels[i], rates[i] = pastLabel(e), pastRate(&e.Production)
		label, rate = max(label, columns(labels[i])), max(rate, columns(rates[i]))
	}
	for i := range h.Entries {
		e := &h.Entries[i]
		var before *results.Entry
		if i+1 < len(h.Entries) {
			before = &h.Entries[i+1]
		}
		line := fmt.Sprintf("  %s %s  %s  %s", p.mark(outcomeMark(e.Outcome)), e.Execution, pad(labels[i], label), pad(rates[i], rate))
		p.tailed(line, "  ", strings.Join(moved(e, before), ", "))
	}
}

// tailed adds a line that ends in less important text, which goes below it where it does not fit.
func (p *page) tailed(head, gap, tail string) {
	const indent = "        "
	switch {
	case tail == "":
		p.line(head)
	case p.whole || visible(head)+columns(gap)+columns(tail) <= p.width:
		p.line(head + gap + p.dim(tail))
	default:
		p.line(head)
		for _, text := range wrap(tail, p.width-columns(indent)) {
			p.line(indent + p.dim(text))
		}
	}
}

func pastLabel(e *results.Entry) string {
	if len(e.Defects) == 0 {
		return Safe(cmp.Or(outcomeLabel(e.Outcome, e.Qualifier), string(e.Outcome)))
	}
	label := strings.Join(e.Defects, " + ")
	if e.Grade != "" {
		label += " (" + string(e.Grade) + ")"
	}
	return fit(label, maxName)
}

func pastRate(c *results.Counted) string {
	if c.Scored == 0 {
		return "A –"
	}
	return "A " + ratio(c.Pass, c.Scored, c.Interval == nil, c.Interval)
}

// moved says what is another than before, so that a change of the verdict can be held against it.
func moved(e, before *results.Entry) (says []string) {
	if e.Status != results.StatusComplete {
		says = append(says, Safe(e.Status))
	}
	if e.ReenactedOf != "" {
		says = append(says, reenactedOf(e.ReenactedOf))
	}
	if before == nil {
		return says
	}
	for _, part := range []struct{ what, now, then string }{
		{"the case", e.CaseDigest, before.CaseDigest}, {"pins", e.Pins, before.Pins}, {"the rules", e.Ruleset, before.Ruleset},
	} {
		if part.now != part.then {
			says = append(says, part.what+" changed")
		}
	}
	same := e.Outcome == before.Outcome && slices.Equal(e.Defects, before.Defects)
	switch {
	case e.Observation == before.Observation:
		says = append(says, "the same observations")
	case !same && len(says) == 0:
		says = append(says, "nothing that is pinned changed")
	}
	return says
}

// executions draws a line for each execution.
func (p *page) executions(h *results.History) {
	p.line(p.bold(counted(len(h.Executions)+h.More, "execution", "executions")) + p.dim("   ledger "+strings.TrimSpace(h.LedgerHead[:min(12, len(h.LedgerHead))])))
	p.blank()
	name := 0
	for i := range h.Executions {
		name = max(name, columns(fit(h.Executions[i].Name, maxName)))
	}
	for i := range h.Executions {
		e := &h.Executions[i]
		parts := []string{counted(e.Bundles(), "case", "cases")}
		if e.Planned > e.Bundles() {
			parts[0] = fmt.Sprintf("%s of %s", thousands(e.Bundles()), counted(e.Planned, "case", "cases"))
		}
		for _, o := range []verdict.Outcome{verdict.Fail, verdict.Inconclusive, verdict.Environment, verdict.InvalidFixture, verdict.Pass} {
			if n := e.Outcomes[o]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", o, n))
			}
		}
		if e.ReenactedOf != "" {
			parts = append(parts, reenactedOf(e.ReenactedOf))
		}
		if e.Paid+e.InDoubt > 0 {
			parts = append(parts, bill(e.Paid, e.InDoubt))
		}
		if n := e.PaidElsewhere + e.InDoubtElsewhere; n > 0 {
			parts = append(parts, thousands(n)+" of them by other executions")
		}
		if e.AtLeast {
			parts = append(parts, "what else it asked for is not known")
		}
		if e.Resumed > 0 {
			parts = append(parts, "resumed "+counted(e.Resumed, "time", "times"))
		}
		if e.Dropped != "" {
			parts = append(parts, "the rest was dropped")
		}
		if i+1 < len(h.Executions) && e.Pins != h.Executions[i+1].Pins && e.Name == h.Executions[i+1].Name {
			parts = append(parts, "pins changed")
		}
		mark, end := markPass, ""
		switch {
		case e.Unledgered:
			mark, end = markUnknown, "not in the ledger"
		case e.Exit == nil:
			mark, end = markEnvironment, "did not end"
		case e.Stopped != "":
			mark, end = markEnvironment, stopped(e.Stopped, 0)
		default:
			if end = fmt.Sprintf("exit %d", *e.Exit); *e.Exit != 0 {
				mark = markFail
			}
		}
		at := e.Execution.Time().Format(time.DateTime)
		head := fmt.Sprintf("  %s %s  %s  %s  %s", p.mark(mark), e.Execution, p.dim(at+" UTC"), pad(fit(e.Name, maxName), name), end)
		p.tailed(head, "  ", strings.Join(parts, ", "))
	}
}
