package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// The rules of the generation are asked when production's prompt held the evidence (A failed all the same), or when gold
// alone does not help either (B fails, a second defect).

func generateRules() []Rule {
	// part says which cell shows the fault: B where gold alone fails, else A.
	rule := func(label, says, decides, first, wasted string, fires func(x *facts, b bool) finding) Rule {
		return Rule{
			Stage: StageGenerate, Label: label, grade: Shown, Needs: "A and B under the same settings", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			once: func(x *facts) finding {
				a, b := x.cells[matrix.CellA], x.cells[matrix.CellB]
				switch {
				case x.c.Expect != matrix.ExpectAnswer || !a.fails() || len(x.gold) == 0:
					return no
				case b.fails() && x.goldJudges() && (!b.most(refused) || x.allInPrompt() && a.atTimes()):
					if x.onlyGiven() {
						return unknown(x.onlyGivenSays())
					}
					return fires(x, true)
				case x.allInPrompt() && (b.passes() || x.standIn) && !a.most(refused) && len(x.production().Forbidden) == 0:
					return fires(x, false) // what a leaked item does to the answer is the leak's doing
				}
				return no
			},
		}
	}
	return []Rule{
		{
			Stage: StageGenerate, Label: "empty-answer", grade: Shown, Needs: "the answers of A and B",
			Says:     "The generator returns no text, and says that it is done.",
			Decides:  "the answer's text and its finish reason",
			TryFirst: "look at the raw response: a field of reasoning, a tool call, or a stop sequence at the start",
			Wasted:   "retrieval work: an empty answer is none whatever the context",
			once: func(x *facts) finding {
				for _, id := range []matrix.CellID{matrix.CellA, matrix.CellB} {
					cell := x.cells[id]
					if id == matrix.CellB && x.standIn {
						break
					}
					if failing := cell.failing(); cell.fails() && !slices.ContainsFunc(failing, func(f *TrialFeatures) bool { return !f.Empty }) {
						return yes(fmt.Sprintf("%s returns no text in %d of %s", id, len(failing), counted(cell.result.Scored, "trial", "trials")))
					}
				}
				return no
			},
		},
		rule("unstable", "The same prompt is sometimes answered right and sometimes wrong.",
			"repetitions of A and B under the same settings", "lower the temperature, or a stronger model; then measure again with more repeats",
			"retrieval work: the evidence was in the prompt",
			func(x *facts, b bool) finding {
				a, cell := x.cells[matrix.CellA], x.cells[cellOf(b)]
				right := x.allInPrompt() && a.atTimes() // A was right with the evidence in its prompt, if only now and then
				return when(cell.mixed() || b && right, passes(x, cellOf(b))+" with the evidence in its prompt", passes(x, matrix.CellA))
			}),
		rule("ignored-evidence", "The generator answers without looking at the context.",
			"the answers of B, D/closed-book and D/swap-span: they do not change with the context", "tell the model to use the context only, or change the model",
			"retrieval work: the context is not read",
			func(x *facts, b bool) finding {
				closed := x.cells[matrix.CellID("D/"+matrix.ClosedBook)]
				if b && (closed == nil || closed.result.Scored == 0) {
					return x.unmovedBySwap()
				}
				same := b && sameAnswers(x.cells[matrix.CellB], closed) && !closed.most(refused)
				return when(same, fmt.Sprintf("B with the evidence and D/closed-book without any context give the same answer (%d and %d trials)", len(x.cells[matrix.CellB].trials), closedTrials(closed)))
			}),
		rule("prefers-superseded", "With the old and the current text in the context, the generator answers from the old one.",
			"gold alone against gold with the superseded item", "put dates into the prompt and ask for the newest, or remove superseded items from the index",
			"embedding work: both texts are found",
			func(x *facts, b bool) finding {
				if b || x.standIn || !x.cells[matrix.CellA].some(func(f *TrialFeatures) bool { return f.Superseded }) {
					return no
				}
				for _, d := range x.variants(matrix.WithSuperseded) {
					if d.fails() {
						return yes(passes(x, matrix.CellB), fmt.Sprintf("%s passes %d of %d: the old text beside the gold is preferred", d.result.Cell, d.result.Pass, d.result.Scored))
					}
				}
				return no
			}),
		rule("position-sensitive", "The evidence is in the prompt, and whether it is used depends on where it stands.",
			"A's own context with the gold moved, nothing else changed", "put the best evidence first (or last), pack fewer items, or a model that reads all of its context",
			"retrieval work: the evidence was packed",
			func(x *facts, b bool) finding {
				if b || x.standIn && !x.ordersDiffer() || x.sameContext() != nil {
					return no
				}
				for _, d := range x.variants(orders...) {
					if d.passes() {
						f := yes(fmt.Sprintf("gold %s: packed at position %s; passes alone and when %s", x.gold[0].name(), x.positions(), orderSays[d.result.Cell.Variant()]))
						switch {
						case x.standIn:
							f.evidence[0] += " through pipeline.prompt and backends.generator, where it fails in another order"
							f.grade = Inferred
						case d.result.Cell.Variant() != matrix.ContextReversed:
							f.grade = Verified // moving the gold is the repair, and it was run
						}
						return f
					}
				}
				return no
			}),
		rule("fabricated-citation", "The answer cites a source that is not in the context.",
			"every citation against the packed items", "ask for ids that stand in the context, and check them before showing the answer",
			"retrieval work: the evidence was in the prompt",
			func(x *facts, b bool) finding {
				failing := x.cells[cellOf(b)].failing()
				i := slices.IndexFunc(failing, func(f *TrialFeatures) bool { return len(f.Fabricated) > 0 })
				if i < 0 || !onlyCitationsFail(x.c, x.cells[cellOf(b)]) {
					return no
				}
				return yes(fmt.Sprintf("%s cites %s, which is not in its context", cellOf(b), quoted(failing[i].Fabricated)))
			}),
		rule("contradicts", "The answer states what the evidence rules out.",
			"the claims that must never be stated, with the evidence in the prompt", "show the model the evidence alone and compare; a stronger model or a stricter prompt",
			"retrieval work: the evidence was in the prompt",
			func(x *facts, b bool) finding {
				return when(b && x.cells[matrix.CellB].some(func(f *TrialFeatures) bool { return claimIn(f, ClaimViolated) != "" }),
					fmt.Sprintf("B states what claim %s rules out", firstClaim(x.cells[matrix.CellB], ClaimViolated)))
			}),
		rule("incomplete", "The answer is taken from the evidence and leaves out required facts.",
			"claim by claim, with all the evidence in the prompt, and the answer's words against the prompt's", "ask for every part of the question, or split it into several questions",
			"retrieval work alone: with all of the evidence in the prompt the answer lacks it all the same",
			func(x *facts, b bool) finding {
				cell := x.cells[cellOf(b)]
				some := cell.some(func(f *TrialFeatures) bool { return x.statesFact(f) && claimIn(f, ClaimMissing) != "" })
				grounded := b && !slices.ContainsFunc(cell.failing(), func(f *TrialFeatures) bool { return !f.Grounded || claimIn(f, ClaimMissing) == "" })
				return when(some || grounded, fmt.Sprintf("%s leaves out claim %s", cellOf(b), firstClaim(cell, ClaimMissing)), passes(x, cellOf(b)))
			}),
		rule("distracted", "With the evidence alone the answer is right; other items in the context lead it away.",
			"gold alone against A's context, in every order that was tried, and against gold with one other item", "pack fewer items, rerank harder, or a model that is less easily led",
			"index work: the evidence was packed",
			distracted),
		rule("unsupported-claim", "The answer states what the evidence in its prompt does not say.",
			"the answer against the gold text in B's prompt", "a stricter prompt, a lower temperature or a stronger model",
			"retrieval work alone: gold does not help either",
			func(x *facts, b bool) finding {
				return when(b, passes(x, matrix.CellB)+" with the evidence alone in its prompt, and its words are not the evidence's")
			}),
	}
}

// orders are the variants that have A's items in another order, and how each is spoken of.
var (
	orders    = []string{matrix.GoldFirst, matrix.GoldMiddle, matrix.GoldLast, matrix.ContextReversed}
	orderSays = map[string]string{matrix.GoldFirst: "first", matrix.GoldMiddle: "in the middle", matrix.GoldLast: "last", matrix.ContextReversed: "the order is reversed"}
)

// ordersDiffer reports whether gold alone passes, and A's items pass in one order and fail in another: what stands in for the generator
// of a service depends on the order then, as the service may.
func (x *facts) ordersDiffer() bool {
	tried := x.variants(orders...)
	return x.cells[matrix.CellB].passes() && slices.ContainsFunc(tried, (*cellFacts).passes) && slices.ContainsFunc(tried, (*cellFacts).fails)
}

// sameContext returns a cell of D that has A's very items in A's order and passes, nil where none does. Neither its context nor the order of it
// can then be what A fails for.
func (x *facts) sameContext() *cellFacts {
	t := x.productionTrial()
	if x.standIn || t == nil || len(t.Packed) == 0 {
		return nil
	}
	for _, d := range x.variants(orders...) {
		if d.passes() && slices.EqualFunc(t.Packed, d.trials[0].Packed, func(a, d matrix.Packed) bool { return a.ID == d.ID && a.Text.Ref == d.Text.Ref }) {
			return d
		}
	}
	return nil
}

func cellOf(b bool) matrix.CellID {
	if b {
		return matrix.CellB
	}
	return matrix.CellA
}

func (x *facts) allRefuse(c *cellFacts) bool {
	failing, refusals := c.failing(), 0
	for _, f := range failing {
		refusals += one(f.Refused)
	}
	return len(failing) > 0 && 5*refusals >= 4*len(failing)
}

func closedTrials(c *cellFacts) int {
	if c == nil {
		return 0
	}
	return len(c.trials)
}

// sameAnswers reports whether most answers of the two cells, each taken by itself, are one text, citations being part of it.
func sameAnswers(a, b *cellFacts) bool {
	usual := func(c *cellFacts) (number int) {
		n := map[int]int{}
		for _, f := range c.features {
			if n[f.Answer]++; 5*n[f.Answer] >= 3*len(c.features) {
				number = f.Answer
			}
		}
		return number
	}
	first := usual(a)
	return first != 0 && first == usual(b)
}

func passes(x *facts, cell matrix.CellID) string {
	if x.cells[cell] == nil {
		return fmt.Sprintf("%s is not in the plan", cell)
	}
	r := x.cells[cell].result
	says := fmt.Sprintf("%s passes %d of %d", cell, r.Pass, r.Scored)
	if x.standIn && cell.Run() != matrix.Production {
		says += " through pipeline.prompt and backends.generator"
	}
	return says
}

func (x *facts) positions() string {
	var out []string
	for _, g := range x.gold {
		out = append(out, fmt.Sprint(g.packed.Packed))
	}
	return strings.Join(out, ", ")
}

func distracted(x *facts, b bool) finding {
	if b || x.standIn {
		return no
	}
	for _, d := range x.variants(matrix.WithDistractor, matrix.WithSuperseded, matrix.WithIrrelevant, matrix.NoiseCurve) {
		if d.fails() {
			enough := "one more item behind the gold is enough"
			if n := len(d.trials[0].Seeded); n > 1 {
				enough = fmt.Sprintf("%d more items behind the gold are enough", n)
			}
			return yes(passes(x, matrix.CellB), fmt.Sprintf("%s passes %d of %d: %s", d.result.Cell, d.result.Pass, d.result.Scored, enough))
		}
	}
	if n := len(x.productionTrial().Packed); n > len(x.gold) && x.sameContext() == nil {
		f := yes(fmt.Sprintf("gold %s: packed at position %s of %d; A answers from %s", x.gold[0].name(), x.positions(), n, x.answeredFrom()),
			passes(x, matrix.CellB)+" without the other items, and no order of them helps")
		f.grade = Inferred
		return f
	}
	return no
}

// unwanted says what A does where the case expects no answer.
func (x *facts) unwanted(a *cellFacts) string {
	failing := a.failing()
	if x.allRefuse(a) {
		return fmt.Sprintf("refuses, and states all the same what claim %s rules out, in %d of %s", firstClaim(a, ClaimViolated), len(failing), counted(a.result.Scored, "trial", "trials"))
	}
	gold := "no gold is declared"
	if len(x.gold) > 0 {
		gold = fmt.Sprintf("the case expects to %s although it declares gold", x.c.Expect)
	}
	return fmt.Sprintf("%s; answered from %s in %d of %s", gold, x.answeredFrom(), a.result.Scored-a.result.Refused, counted(a.result.Scored, "trial", "trials"))
}

// answeredFrom names what A's failing answers cite.
func (x *facts) answeredFrom() string {
	var cited []string
	for _, f := range x.cells[matrix.CellA].failing() {
		for _, id := range f.Citations {
			if !slices.Contains(cited, id) {
				cited = append(cited, id)
			}
		}
	}
	return orElse(quoted(cited), "nothing that it cites")
}

// statesFact reports whether an answer states one of the required facts. What must not be stated, and what must be cited, is
// no fact: an answer that says nothing of the matter meets the one, and any quotation may meet the other.
func (x *facts) statesFact(f *TrialFeatures) bool {
	return slices.ContainsFunc(f.Claims, func(r ClaimResult) bool {
		return r.State == ClaimMet && slices.ContainsFunc(x.c.Claims, func(c matrix.Claim) bool { return c.ID == r.ID && len(c.Any) > 0 })
	})
}

func claimIn(f *TrialFeatures, state ClaimState) string {
	if i := slices.IndexFunc(f.Claims, func(r ClaimResult) bool { return r.State == state }); i >= 0 {
		return f.Claims[i].ID
	}
	return ""
}

func firstClaim(c *cellFacts, state ClaimState) string {
	for _, f := range c.failing() {
		if id := claimIn(f, state); id != "" {
			return fmt.Sprintf("%q", id)
		}
	}
	return ""
}

func abstainRules() []Rule {
	return []Rule{
		{
			Stage: StageAbstain, Label: "undeclared-refusal", grade: Inferred, Needs: "A's answers",
			Says:     "The system refuses, as the case wants it to, in words that the experiment does not declare as a refusal.",
			Decides:  "A's answers against phrases by which systems refuse in several languages: they hold one, no figure, and no citation",
			TryFirst: "read the answers; where they refuse, add their words to pipeline.refusal",
			Wasted:   "prompt and model work: the system does what is expected",
			once: func(x *facts) finding {
				a := x.cells[matrix.CellA]
				return when(x.c.Expect != matrix.ExpectAnswer && a.fails() && a.most(declined),
					fmt.Sprintf("A's answers read like a refusal in %d of %s, in words that pipeline.refusal does not declare", a.count(declined), counted(a.result.Scored, "trial", "trials")))
			},
		},
		{
			Stage: StageAbstain, Label: "answered-unanswerable", grade: Shown, Needs: "A's answer",
			Says:     "The case says that nothing answers the question, and the system answers all the same.",
			Decides:  "the declared refusal phrases against A's answer",
			TryFirst: "tell the model when to refuse, require a minimal score before generating, and test with more unanswerable questions; where what it cites does answer, correct the case",
			Wasted:   "index and ranking work: there is no evidence to find",
			once: func(x *facts) finding {
				a := x.cells[matrix.CellA]
				fires := x.c.Expect != matrix.ExpectAnswer && a.fails() && !a.every(func(f *TrialFeatures) bool { return f.Empty })
				if !fires {
					return no
				}
				return yes(x.unwanted(a))
			},
		},
		{
			Stage: StageAbstain, Label: "refused-answerable", grade: Shown, Needs: "A and B under the same settings",
			Says:     "The evidence was in the prompt, and the system refuses all the same.",
			Decides:  "the declared refusal phrases against the answer, with the gold span in the prompt",
			TryFirst: "soften the refusal instruction; where B answers, look at the items beside the evidence",
			Wasted:   "retrieval work: the evidence was in the prompt",
			once: func(x *facts) finding {
				c, shown := x.refusing()
				b := x.cells[matrix.CellB]
				switch {
				case c == nil:
					return no
				case c == b && x.onlyGiven():
					return unknown(x.onlyGivenSays())
				}
				says := fmt.Sprintf("%s refuses in %d of %s with the evidence in its prompt", c.result.Cell, c.result.Refused, counted(c.result.Scored, "trial", "trials"))
				if c == b {
					says = strings.Replace(says, "the evidence", "the evidence alone", 1)
				}
				if shown != measure.Passes {
					return unknown(says + ": whether it fails more often than not, to tell abstain/refused-answerable from generate/unstable; " + x.moreFailures(c))
				}
				f := yes(says)
				if c != b && b.passes() {
					f.evidence = append(f.evidence, passes(x, matrix.CellB))
				}
				return f
			},
		},
	}
}

// refusing returns the cell that refuses with the evidence in its prompt, B's or else A's, and whether it is shown that it fails more
// often than not. One that refuses now and then is unstable: it may refuse a few times in a row. nil where none refuses.
func (x *facts) refusing() (*cellFacts, measure.Decision) {
	a, c := x.cells[matrix.CellA], x.cells[matrix.CellB]
	switch {
	case x.c.Expect != matrix.ExpectAnswer || !a.fails() || len(x.gold) == 0:
		return nil, measure.Undecided
	case c.fails() && x.goldJudges() && c.most(refused) && !(x.allInPrompt() && a.atTimes()):
	case x.allInPrompt() && x.allRefuse(a) && (c.passes() || x.standIn):
		c = a
	default:
		return nil, measure.Undecided
	}
	return c, x.by.failures().of(c.failures(), false)
}

// moreFailures says how many more repetitions of a cell would show whether it fails more often than not.
func (x *facts) moreFailures(c *cellFacts) string {
	more, likely, _ := x.by.failures().sequence().MoreNeeded(c.result.Scored, c.result.Scored-c.result.Pass, mostMore)
	if !likely {
		return "more repeats are unlikely to settle it, as the rate is between the two"
	}
	return fmt.Sprintf("about %s of %s would settle it (runs.repeats, runs.max_repeats)", counted(more, "more repeat", "more repeats"), c.result.Cell)
}

// notMoved lists the cells that have A's items in another order and were not made, as the service does not tell the items.
func (x *facts) notMoved() []string {
	var out []string
	if t := x.productionTrial(); t == nil || !t.Unseen(matrix.PackedUnobserved) {
		return nil
	}
	for _, planned := range x.p.Cells {
		if (planned.Condition == matrix.IfGoldPacked || planned.Condition == matrix.IfManyPacked) && x.cells[planned.Cell].result.Scored == 0 {
			out = append(out, string(planned.Cell))
		}
	}
	return out
}

func seamRules() []Rule {
	return []Rule{
		{
			Stage: StageSeam, Label: "isolated-parts-pass", grade: Inferred, Needs: "A, B and C",
			Says:     "Retrieval delivers the evidence and the generator uses it, yet production fails: the defect is between them.",
			Decides:  "C complete and B passing, each with evidence, while A fails",
			TryFirst: "compare A's prompt with B's, message by message; look for caches, routers and what changes the answer behind the model",
			Wasted:   "index, ranking or model work: each part passes on its own",
			once: func(x *facts) finding {
				fires := !x.standIn && x.cells[matrix.CellA].fails() && x.allInPrompt() && x.cells[matrix.CellB].passes() && len(x.production().Forbidden) == 0
				if cells := x.notMoved(); fires && len(cells) > 0 {
					return unknown(fmt.Sprintf("A has the evidence in its prompt and fails, and B passes; the service does not tell what it packs (packed), so that %s, which would show whether the generator goes by what else A's context holds or by its order, could not be made: add packed to its trace", quoted(cells)))
				}
				f := when(fires, "C delivers all of the evidence into A's "+x.seenIn(), passes(x, matrix.CellB), passes(x, matrix.CellA))
				if d := x.sameContext(); fires && d != nil {
					f.evidence, f.grade = append(f.evidence, passes(x, d.result.Cell)+" with the very context of A"), Shown
				}
				return f
			},
		},
		{
			Stage: StageSeam, Label: "cause-not-shown", grade: Inferred, Needs: "every boundary of production",
			Says:     "Production fails, and nothing that was observed shows why.",
			Decides:  "none of the other rules fires although every boundary was observed",
			TryFirst: "read the trace of A in the bundle, step by step",
			Wasted:   "guessing",
			once:     func(*facts) finding { return no }, // it is what is left
		},
	}
}
