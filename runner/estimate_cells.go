package runner

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// generations is what a cell that generates takes. The embedded generator is asked once, as it answers equal requests alike.
func (r *reckoning) generations(c *matrix.Case, cell matrix.PlannedCell) (worst, expected Need) {
	prompter := r.prompter
	if cell.Cell.ReferencePrompt() {
		prompter = r.plainPrompter
	}
	var texts []string
	for _, m := range prompter.Messages(c, nil) {
		texts = append(texts, m.Text)
	}
	items, longest, mean := r.context(c, cell)
	in := margin(bothOf(r.counted(texts...), longest), len(texts)+items)
	usual := bothOf(r.counted(texts...), mean)
	most := int64(r.e.Pipeline.Generate.MaxTokens)
	of := func(repeats int, each *int64, out int64) Need {
		var all *int64
		if each != nil {
			sum := *each * int64(repeats)
			all = &sum
		}
		return r.need(matrix.RoleGenerator, repeats, all, out*int64(repeats), 0)
	}
	likely := r.e.Runs.Usual(cell)
	if r.e.Backends.Generator.Free() && r.e.Backends.Pipeline.Free() {
		likely = 1
	}
	answer := max(most/expectedPart, 1)
	return of(cell.Repeats, in, most), of(likely, usual, answer)
}

// The repairs and rungs that start from production's own context or ranking, and those that do not ask the reranker again.
var (
	withoutSearch = []matrix.CellID{
		matrix.RungPrompt, matrix.RungPacked, matrix.RepairPrompt, matrix.RepairPastCache, matrix.RepairBudget, matrix.RepairNoDedupe,
	}
	withoutRerank = []matrix.CellID{matrix.RepairNoRerank, matrix.RepairReversed, matrix.RungReranked}
)

// repairs adds the dearest of the repairs and rungs, as many as are run for one case. None is expected: a case that passes asks for none.
func (r *reckoning) repairs(c *matrix.Case, plan *matrix.Plan) {
	var all []Need
	reranks := r.e.Pipeline.Rerank != nil && r.e.Backends.Reranker != nil
	for _, cell := range plan.Cells {
		if cell.Condition != matrix.IfDecides {
			continue
		}
		worst, _ := r.generations(c, cell)
		if !slices.Contains(withoutSearch, cell.Cell) {
			worst.Add(r.need(matrix.RoleStore, 1, nil, 0, 0)) // texts below the window in which they are recorded
			if reranks && !slices.Contains(withoutRerank, cell.Cell) {
				k := r.e.Pipeline.Search.K
				if cell.Cell == matrix.RepairMoreK {
					k = r.deepest()
				}
				again, _ := r.rerank(k, r.counted(c.Question()))
				worst.Add(again)
			}
		}
		all = append(all, worst)
	}
	if len(all) == 0 {
		return
	}
	number := func(n int) *int64 { m := int64(n); return &m }
	r.add(c.ID, cellRepairs, Need{
		Calls:     int(*dearest(all, func(n Need) *int64 { return number(n.Calls) })),
		Paid:      int(*dearest(all, func(n Need) *int64 { return number(n.Paid) })),
		TokensIn:  dearest(all, func(n Need) *int64 { return n.TokensIn }),
		TokensOut: dearest(all, func(n Need) *int64 { return n.TokensOut }),
		CostMicro: dearest(all, func(n Need) *int64 { return n.CostMicro }),
	}, nothing())
}

// dearest sums an amount over as many of the repairs as are run, the greatest first; nil where one is not known.
func dearest(all []Need, amount func(Need) *int64) *int64 {
	amounts := make([]int64, len(all))
	for i, n := range all {
		m := amount(n)
		if m == nil {
			return nil
		}
		amounts[i] = *m
	}
	slices.Sort(amounts)
	sum := new(int64)
	for _, m := range amounts[max(0, len(amounts)-matrix.MostRepairs):] {
		sum = bothOf(sum, &m)
	}
	return sum
}

// deepest is the deepest rank at which gold may be.
func (r *reckoning) deepest() int {
	if r.chunks > 0 {
		return min(r.chunks, r.e.Pipeline.Search.Depth)
	}
	return r.e.Pipeline.Search.Depth
}

// context is how many items a cell's context may hold, and their tokens.
func (r *reckoning) context(c *matrix.Case, cell matrix.PlannedCell) (items int, worst, expected *int64) {
	variant := cell.Cell.Variant()
	if variant == matrix.ClosedBook {
		return 0, new(int64), new(int64)
	}
	if cell.Cell == matrix.CellB || cell.Cell == matrix.RungPrompt || cell.Cell.Run() == matrix.Perturbation && cell.Base == matrix.CellB {
		items = len(c.Evidence.Required) + cell.Seeded
		switch variant {
		case matrix.DropSpan:
			items--
		case matrix.WithSuperseded, matrix.WithDistractor, matrix.WithIrrelevant:
			items++
		}
		worst, expected = r.tokensOf(items)
		return items, bothOf(worst, r.goldTexts(c)), expected
	}
	p := &r.e.Pipeline
	items = p.Search.K
	switch {
	case p.Rerank != nil && cell.Cell != matrix.RepairNoRerank:
		items = p.Rerank.Top
	case cell.Cell == matrix.RepairMoreK:
		items = r.deepest()
	}
	worst, expected = r.tokensOf(items)
	if budget := p.Assemble.Budget; budget.Unit == "tokens" && r.count != nil && cell.Cell != matrix.RepairBudget {
		most := int64(budget.N)
		if worst == nil || *worst > most {
			worst = &most
		}
		if expected != nil && *expected > most {
			expected = &most
		}
	}
	if cell.Cell.Run() == matrix.GoldRun { // a rung
		n := len(c.Evidence.Required)
		gold, _ := r.tokensOf(n)
		items, worst = items+n, bothOf(worst, bothOf(gold, r.goldTexts(c)))
	}
	return items, worst, expected
}

// goldTexts are the tokens of gold that is written in the case, which may be longer than any chunk.
func (r *reckoning) goldTexts(c *matrix.Case) *int64 {
	sum := r.counted()
	for _, q := range c.Evidence.Required {
		for _, g := range q.AnyOf {
			sum = bothOf(sum, r.counted(g.Text))
		}
	}
	return sum
}
