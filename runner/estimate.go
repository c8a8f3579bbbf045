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
