package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
)

// Need is what calls take. What is nil is not known.
type Need struct {
	Calls     int    `json:"calls"`
	Paid      int    `json:"paid"` // of models outside of this process
	TokensIn  *int64 `json:"tokens_in"`
	TokensOut *int64 `json:"tokens_out"`
	CostMicro *int64 `json:"cost_micro"`
}

// Add adds what other calls take.
func (n *Need) Add(m Need) {
	n.Calls += m.Calls
	n.Paid += m.Paid
	n.TokensIn, n.TokensOut, n.CostMicro = bothOf(n.TokensIn, m.TokensIn), bothOf(n.TokensOut, m.TokensOut), bothOf(n.CostMicro, m.CostMicro)
}

func bothOf(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	sum := int64(matrix.Micro(*a).Plus(matrix.Micro(*b)))
	return &sum
}

// nothing is the need of no calls.
func nothing() Need { return Need{TokensIn: new(int64), TokensOut: new(int64), CostMicro: new(int64)} }

// CellNeed is what one cell of a case takes: a run, or a search with its embedding and rerank. The cells of no case are what serves
// all of them.
type CellNeed struct {
	Case     string `json:"case,omitempty"`
	Cell     string `json:"cell"`
	Worst    Need   `json:"worst"`
	Expected Need   `json:"expected"`
}

// Estimate is what a run takes at the most, with every try that limits.retries allows, and what is expected of it, each call made
// once. Assumes says what the expected part rests on, Unknown why something is not known.
type Estimate struct {
	Currency string        `json:"currency,omitempty"`
	Prices   matrix.Prices `json:"prices,omitzero"`
	Paid     []string      `json:"paid"` // the roles that are paid for
	Cells    []CellNeed    `json:"cells"`
	Worst    Need          `json:"worst"`
	Expected Need          `json:"expected"`
	Assumes  []string      `json:"assumes,omitempty"`
	Unknown  []string      `json:"unknown,omitempty"`
}

// The names of what serves all cases.
const (
	cellDocuments = "embedding the documents"
	cellSample    = "comparing stored vectors"
	cellRepairs   = "repairs"
	cellRetries   = "further tries"
)

// expectedPart is the part of the longest answer that an answer is expected to be.
const expectedPart = 4

// EstimateRun reckons what a run takes of the plans of its cases. It makes no call and opens no backend: what it knows of the store's
// chunks are the experiment's own documents.
func EstimateRun(ctx context.Context, l *experiments.Loaded, plans []*matrix.Plan) (*Estimate, error) {
	e := &l.Experiment
	r := &reckoning{e: e, out: &Estimate{Currency: e.Currency(), Prices: e.Prices, Paid: append([]string{}, e.Paid()...), Cells: []CellNeed{}, Worst: nothing(), Expected: nothing()}}
	if len(r.out.Paid) > 0 || e.Limits.Budget.Tokens > 0 {
		var err error
		if r.count, err = newCounter(tokenizerOf(e)); err != nil {
			return nil, err
		}
		if err := r.measure(ctx, l.Documents); err != nil {
			return nil, err
		}
	}
	var mistakes []*matrix.TemplateError
	if r.prompter, mistakes = matrix.NewPrompter(&e.Pipeline); len(mistakes) > 0 {
		return nil, fmt.Errorf("template: %w", mistakes[0])
	}
	plain := e.Pipeline.WithReferencePrompt()
	if r.plainPrompter, mistakes = matrix.NewPrompter(&plain); len(mistakes) > 0 {
		return nil, fmt.Errorf("template: %w", mistakes[0])
	}
	if r.embeds() {
		r.sharedCalls()
	}
	for i, plan := range plans {
		c := &l.Cases[i].Case
		r.rewriting(c)
		r.searches(c, plan)
		for _, cell := range plan.Cells {
			if cell.Condition != matrix.IfDecides {
				worst, expected := r.generations(c, cell)
				r.add(c.ID, string(cell.Cell), worst, expected)
			}
		}
		r.repairs(c, plan)
		r.judgements(c, plan)
	}
	if tries := e.Limits.Retries; tries > 0 && len(r.out.Paid) > 0 {
		more := nothing()
		for range tries {
			more.Add(r.out.Worst)
		}
		r.add("", cellRetries, more, nothing())
	}
	r.explain()
	return r.out, nil
}

// reckoning makes one estimate.
type reckoning struct {
	e     *matrix.Experiment
	out   *Estimate
	count counter // nil: nothing is paid, and tokens are not counted

	prompter, plainPrompter *matrix.Prompter

	chunks                int // of the documents; 0: not at hand
	mean, largest, corpus int64
}

func (r *reckoning) embeds() bool {
	return r.e.Backends.Embedder != nil && r.e.Pipeline.Search.Mode != matrix.ModeKeyword
}

// measure counts the documents.
func (r *reckoning) measure(ctx context.Context, set *experiments.DocumentSet) error {
	if set == nil {
		return nil
	}
	for d, err := range set.Documents(ctx) {
		if err != nil {
			return err
		}
		n := int64(r.count(d.Text))
		r.chunks++
		r.corpus += n
		r.largest = max(r.largest, n)
	}
	if r.chunks > 0 {
		r.mean = (r.corpus + int64(r.chunks) - 1) / int64(r.chunks)
	}
	return nil
}

// tokensOf are so many chunks, at the most and as expected; nil where the store's chunks are not at hand.
func (r *reckoning) tokensOf(chunks int) (worst, expected *int64) {
	if r.count == nil || r.chunks == 0 && chunks > 0 {
		return nil, nil
	}
	w, x := int64(chunks)*r.largest, int64(chunks)*r.mean
	return &w, &x
}

// need prices calls to the backend of a role. A nil in is not known.
func (r *reckoning) need(role string, calls int, in *int64, out, searches int64) Need {
	n := Need{Calls: calls}
	if role == matrix.RoleStore {
		zero := nothing()
		zero.Calls = calls
		return zero
	}
	n.TokensIn = in
	n.TokensOut = &out
	if r.count == nil {
		n.TokensOut = nil
	}
	if !slices.Contains(r.out.Paid, role) {
		n.CostMicro = new(int64)
		return n
	}
	n.Paid = calls
	price := r.e.Prices.Of(role)
	counts := matrix.Counts{Output: out, Searches: searches}
	if in != nil {
		counts.Input = *in
	}
	bySearch := role == matrix.RoleReranker && price != nil && price.Search != nil && price.Input == nil
	if cost, known := price.Cost(counts); known && price.Lacks(role) == "" && (in != nil || bySearch) {
		micro := int64(cost)
		n.CostMicro = &micro
	}
	return n
}

func (r *reckoning) add(name, cell string, worst, expected Need) {
	r.out.Worst.Add(worst)
	r.out.Expected.Add(expected)
	for i := range r.out.Cells {
		if c := &r.out.Cells[i]; c.Case == name && c.Cell == cell {
			c.Worst.Add(worst)
			c.Expected.Add(expected)
			return
		}
	}
	r.out.Cells = append(r.out.Cells, CellNeed{Case: name, Cell: cell, Worst: worst, Expected: expected})
}

// margin is the most that a local count may stand for.
func margin(n *int64, texts int) *int64 {
	if n == nil {
		return nil
	}
	worst := adapters.WorstInput(*n, int64(texts))
	return &worst
}

// What a comparison of stored vectors takes at the most (docs/identity.md): the texts of the sample as they are and under each
// prefix; of some that stay open, the store's neighbours and the start of the text.
const (
	identityPasses   = 10 // of all texts
	identityCalls    = 14
	identitySearches = 8
	identityTexts    = 192 // in the calls that are not over all texts
)

// sharedCalls are made for all cases: documents are embedded for a store that makes its own vectors, and the sample afresh. Both
// need a store.
func (r *reckoning) sharedCalls() {
	if r.e.WithoutStore() {
		return
	}
	if r.e.Backends.Store.Free() && r.chunks > 0 {
		calls := (r.chunks + batch - 1) / batch
		worst, expected := margin(&r.corpus, r.chunks), r.corpus
		r.add("", cellDocuments, r.need(matrix.RoleEmbedder, calls, worst, 0, 0), r.need(matrix.RoleEmbedder, calls, &expected, 0, 0))
	}
	if n := r.e.Checks.Sample; n > 0 {
		if r.chunks > 0 {
			n = min(n, r.chunks)
		}
		all := identityPasses*n + identityTexts
		worst, _ := r.tokensOf(all)
		_, expected := r.tokensOf(n)
		most := r.need(matrix.RoleEmbedder, identityCalls+identityPasses*(n/batch), margin(worst, all), 0, 0)
		most.Add(r.need(matrix.RoleStore, identitySearches, nil, 0, 0))
		r.add("", cellSample, most, r.need(matrix.RoleEmbedder, 1+n/batch, expected, 0, 0))
	}
}

// searches adds the retrievals of a case. A search of a live store is made twice, as production makes it and to its full depth.
func (r *reckoning) searches(c *matrix.Case, plan *matrix.Plan) {
	if r.e.WithoutStore() { // the service is asked, for what its store finds
		question := r.counted(c.Question())
		r.add(c.ID, string(matrix.CellC), r.need(matrix.RoleGenerator, 1, margin(question, 1), 0, 0), r.need(matrix.RoleGenerator, 1, question, 0, 0))
		return
	}
	each := 2
	if r.e.Backends.Store.Free() {
		each = 1
	}
	typed, written := r.counted(c.Question()), r.queries(c)
	for _, p := range plan.Retrievals {
		searches, question := r.e.Pipeline.Rewrite.Searches(), written
		if p.Cell == matrix.ProbeAsTyped {
			searches, question = 1, typed
		}
		perSearch := each * searches
		worst, expected := r.need(matrix.RoleStore, perSearch, nil, 0, 0), nothing()
		if p.Cell == matrix.ControlRerank {
			worst = nothing()
		}
		embedding := []matrix.CellID{matrix.CellC, matrix.ProbeAsTyped, matrix.ProbeIndexEmbed, matrix.ProbeUncached, matrix.ProbeLater}
		if r.embeds() && slices.Contains(embedding, p.Cell) {
			worst.Add(r.need(matrix.RoleEmbedder, searches, margin(question, searches), 0, 0))
		}
		if p.Cell == matrix.ProbeUncached { // the query in two more forms
			worst.Add(r.need(matrix.RoleEmbedder, 1, margin(bothOf(question, question), 2), 0, 0))
		}
		if p.Condition == "" {
			expected = r.need(matrix.RoleStore, perSearch, nil, 0, 0)
			if r.embeds() && p.Cell == matrix.CellC {
				expected.Add(r.need(matrix.RoleEmbedder, searches, question, 0, 0))
			}
		}
		r.reranks(p.Cell, typed, &worst, &expected)
		r.add(c.ID, string(p.Cell), worst, expected)
	}
	if len(plan.Retrievals) > 0 && r.embeds() && c.HasGold() && r.e.Checks.Sample > 0 {
		gold := keepItems * len(c.Evidence.Required)
		all := identityPasses*gold + identityTexts
		worst, _ := r.tokensOf(all)
		_, expected := r.tokensOf(len(c.Evidence.Required))
		most := r.need(matrix.RoleEmbedder, identityCalls, margin(worst, all), 0, 0)
		most.Add(r.need(matrix.RoleStore, max(identitySearches, gold), nil, 0, 0))
		r.add(c.ID, cellSample, most, r.need(matrix.RoleEmbedder, 1, expected, 0, 0))
	}
}

// reranks adds the calls of the reranker: one of C, and three of its control.
func (r *reckoning) reranks(cell matrix.CellID, question *int64, worst, expected *Need) {
	if r.e.Pipeline.Rerank == nil || r.e.Backends.Reranker == nil {
		return
	}
	switch cell {
	case matrix.CellC:
		most, usual := r.rerank(r.e.Pipeline.Search.K, question)
		worst.Add(most)
		expected.Add(usual)
	case matrix.ControlRerank:
		two, _ := r.tokensOf(2)
		worst.Add(r.need(matrix.RoleReranker, 3, margin(bothOf(two, times(question, 7)), 8), 0, 3))
	}
}

// rerank is what the reranker takes for so many items.
func (r *reckoning) rerank(items int, question *int64) (worst, expected Need) {
	most, mean := r.tokensOf(items)
	questions, searches := times(question, items), adapters.Searches(items)
	return r.need(matrix.RoleReranker, 1, margin(bothOf(most, questions), 2*items), 0, searches),
		r.need(matrix.RoleReranker, 1, bothOf(mean, questions), 0, searches)
}

func times(n *int64, by int) *int64 {
	if n == nil {
		return nil
	}
	product := *n * int64(by)
	return &product
}

func (r *reckoning) counted(texts ...string) *int64 {
	if r.count == nil {
		return nil
	}
	var n int64
	for _, t := range texts {
		n += int64(r.count(t))
	}
	return &n
}

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

// explain says what the numbers rest on.
func (r *reckoning) explain() {
	if r.count == nil {
		return
	}
	say := func(list *[]string, format string, args ...any) { *list = append(*list, fmt.Sprintf(format, args...)) }
	if r.chunks > 0 {
		say(&r.out.Assumes, "the %d chunks of the documents have %d tokens on average and %d at the most, by %s", r.chunks, r.mean, r.largest, tokenizerOf(r.e))
	}
	say(&r.out.Assumes, "worst case: local counts and half of them again, and 16 tokens for each message or item; answers of max_tokens; each call tried %d times, by limits.retries", 1+r.e.Limits.Retries)
	say(&r.out.Assumes, "expected: answers of a quarter of max_tokens, every cell that generates is run, no search has to be probed, and no case fails, so that nothing is repaired")
	if r.e.Runs.Repeats == matrix.Auto {
		say(&r.out.Assumes, "expected: each cell %d times, which decides one that passes each time; a rate between reliable and failing takes up to runs.max_repeats", min(r.e.Runs.RepeatsToPass(), r.e.Runs.MaxRepeats))
	}
	if r.chunks == 0 {
		say(&r.out.Unknown, "how long the store's chunks are: the experiment names no documents")
		if r.e.Pipeline.Assemble.Budget.Unit != "tokens" {
			say(&r.out.Unknown, "how long production's context is: pipeline.assemble.budget is not in tokens")
		}
	}
	for _, role := range r.out.Paid {
		if lacks := r.e.Prices.Of(role).Lacks(role); lacks != "" {
			say(&r.out.Unknown, "what the %s costs: prices.%s needs %s", role, role, lacks)
		}
	}
}
