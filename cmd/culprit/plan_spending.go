package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// showSpending shows what a run takes at the most and is expected to take: cell by cell where models are paid for.
func (a *app) showSpending(e *matrix.Experiment, s *runner.Estimate) {
	if len(s.Paid) == 0 {
		line(a.out, "  spending    0 paid: every model is in this process")
	} else {
		line(a.out, "")
		a.showPrices(s)
		a.showNeeds(s)
	}
	for _, text := range overBudget(e.Limits.Budget, s) {
		line(a.out, "  limit       "+text)
	}
}

// showPrices shows the table of prices that the cost is reckoned with.
func (a *app) showPrices(s *runner.Estimate) {
	var parts []string
	for _, role := range s.Paid {
		price := s.Prices.Of(role)
		if price == nil {
			price = &matrix.Price{}
		}
		var of []string
		for _, rate := range []struct {
			what string
			rate *matrix.Rate
		}{{"in", price.Input}, {"cached in", price.CachedInput}, {"out", price.Output}, {"for 1,000 searches", price.Search}} {
			if rate.rate != nil {
				of = append(of, matrix.Micro(*rate.rate).String()+" "+rate.what)
			}
		}
		if of == nil {
			of = []string{"no price"}
		}
		parts = append(parts, role+" "+strings.Join(of, ", "))
	}
	head := "  prices      "
	if s.Currency != "" {
		head += s.Currency + " a million tokens: "
	}
	for _, text := range report.Wrap(strings.Join(parts, "; "), a.width()-report.Columns(head)) {
		line(a.out, head+text)
		head = strings.Repeat(" ", report.Columns(head))
	}
}

// showNeeds draws a table of the cells over all cases, and their sum.
func (a *app) showNeeds(s *runner.Estimate) {
	const longest = 23
	var cells []runner.CellNeed
	for _, c := range s.Cells {
		name, subject, _ := strings.Cut(c.Cell, ":")
		if subject != "" {
			name += ":…"
		}
		at := slices.IndexFunc(cells, func(other runner.CellNeed) bool { return other.Cell == name })
		if at < 0 {
			c.Case, c.Cell = "", name
			cells = append(cells, c)
			continue
		}
		cells[at].Worst.Add(c.Worst)
		cells[at].Expected.Add(c.Expected)
	}
	cells = append(cells, runner.CellNeed{Cell: "total", Worst: s.Worst, Expected: s.Expected})
	linef(a.out, "  %-*s%*s  %*s", longest+1, "", needWidth, "at the most", needWidth, "expected")
	head := fmt.Sprintf("%6s %10s %8s %9s", "calls", "in", "out", "cost")
	linef(a.out, "  %-*s%s  %s", longest+1, "", head, head)
	for _, c := range cells {
		line(a.out, strings.TrimRight("  "+padded(c.Cell, longest+1)+needOf(c.Worst)+"  "+needOf(c.Expected), " "))
	}
	for _, list := range []struct {
		label string
		texts []string
	}{{"unknown", s.Unknown}, {"reckoned", s.Assumes}} {
		label := list.label
		for _, says := range list.texts {
			head := "  " + padded(label, 12)
			for _, text := range report.Wrap(says, a.width()-len(head)) {
				line(a.out, head+text)
				head = strings.Repeat(" ", len(head))
			}
			label = ""
		}
	}
}

const needWidth = 36

func needOf(n runner.Need) string {
	return fmt.Sprintf("%6s %10s %8s %9s", grouped(int64(n.Calls)), amountOf(n.TokensIn), amountOf(n.TokensOut), costOf(n.CostMicro))
}

// costOf rounds up to four decimals, so that a table of small amounts can be read.
func costOf(micro *int64) string {
	if micro == nil {
		return "?"
	}
	const step = 100
	m := matrix.Micro(*micro)
	if rest := m % step; rest > 0 {
		m = m.Plus(step - rest)
	}
	return m.String()
}

func amountOf(n *int64) string {
	if n == nil {
		return "?"
	}
	return grouped(*n)
}

// grouped writes 18,234.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// overBudget names the limits of the budget that the run may need more than.
func overBudget(b matrix.Spending, s *runner.Estimate) []string {
	var out []string
	tell := func(name, limit string, most int64, worst, expected *int64) {
		switch {
		case most <= 0:
		case expected != nil && *expected > most:
			out = append(out, fmt.Sprintf("limits.budget.%s is %s: the run is expected to need more, and stops there", name, limit))
		case worst == nil:
			out = append(out, fmt.Sprintf("limits.budget.%s is %s: whether that is enough is not known", name, limit))
		case *worst > most:
			out = append(out, fmt.Sprintf("limits.budget.%s is %s: a run that needs more stops there", name, limit))
		}
	}
	calls, usual := int64(s.Worst.Calls), int64(s.Expected.Calls)
	tell("calls", grouped(b.Calls), b.Calls, &calls, &usual)
	tell("tokens", grouped(b.Tokens), b.Tokens, bothTokens(s.Worst), bothTokens(s.Expected))
	tell("cost", b.Cost.String(), int64(b.Cost.Micro), s.Worst.CostMicro, s.Expected.CostMicro)
	return out
}

func bothTokens(n runner.Need) *int64 {
	if n.TokensIn == nil || n.TokensOut == nil {
		return nil
	}
	sum := *n.TokensIn + *n.TokensOut
	return &sum
}
