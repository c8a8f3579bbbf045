package verdict

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// How far gold restores the answer.
const (
	RestoresFully   = "full"        // B is reliable
	RestoresPartly  = "partial"     // B is better than A, and fails all the same
	RestoresForSome = "provisional" // B is better than A; whether it is reliable is not established
)

// How a cell or an attribution is decided.
const (
	DecidedExactly    = "exact"    // equal requests get equal answers
	DecidedFixed      = "fixed"    // by exact tests, the number of repeats being fixed in advance
	DecidedSequential = "sequence" // by tests that hold at any time of stopping
)

// Reliable and failing rates, with an indifference zone between them (STATISTICS 4).
const (
	reliableRate = matrix.ReliableRate
	failingRate  = matrix.FailingRate
)

const (
	fewestPairs = matrix.FewestRepeats // before anything is decided in a sequence
	mostMore    = 50                   // further pairs that are reckoned with
)

// Attribution says what a failure of A is due to, with what it rests on. It is absent where A or B was not scored, and where B is not
// production's.
type Attribution struct {
	Kind      string   `json:"kind"`            // of measure.Attribution: context, not_context, gold_hurts, not_failing or inconclusive
	Level     string   `json:"level,omitempty"` // of context
	By        string   `json:"by"`
	A         Passed   `json:"a"`
	B         Passed   `json:"b"`
	Evidence  string   `json:"evidence,omitempty"`  // "p = 0.011", or "e = 26": the odds that were gathered for a difference
	Alpha     string   `json:"alpha,omitempty"`     // the most that it is wrong
	Interval  []string `json:"interval,omitempty"`  // of the difference between the pass rates of B and A, at level 1-2·alpha
	More      int      `json:"more,omitempty"`      // about so many more pairs would decide, in four of five runs
	Unsettled bool     `json:"unsettled,omitempty"` // more pairs are unlikely to decide: the rates are too close
}

// Passed counts the passes among scored trials.
type Passed struct {
	Pass   int `json:"pass"`
	Scored int `json:"scored"`
}

func (p Passed) String() string { return fmt.Sprintf("%d of %d", p.Pass, p.Scored) }

// deciding is how the cells of a plan are judged.
type deciding struct {
	by    string
	alpha float64
	// Where a judge decides trials: the most of the failing that it passes, and of the passing that it fails.
	falsePass, falseFail float64
}

func decidingBy(e *matrix.Experiment, p *matrix.Plan) deciding {
	d := deciding{by: DecidedFixed, alpha: e.Runs.ErrorRate()}
	switch {
	case p.Deterministic:
		d.by = DecidedExactly
	case p.Auto:
		d.by = DecidedSequential
	}
	return d
}

// rates are the two between which nothing is decided, as rates of what passes by the judge where there is one.
func (d deciding) rates() (failing, reliable float64) {
	return failingRate + float64((1-failingRate)*d.falsePass), float64(reliableRate * (1 - d.falseFail))
}

func (d deciding) sequence() measure.Sequential {
	failing, reliable := d.rates()
	return measure.Sequential{Low: failing, High: reliable, Alpha: d.alpha}
}

// of decides about outcomes in the order of the plan.
func (d deciding) of(passes []bool, production bool) measure.Decision {
	k := count(passes)
	switch {
	case len(passes) == 0:
		return measure.Undecided
	case d.by == DecidedExactly && k == len(passes):
		return measure.Passes
	case d.by == DecidedExactly:
		return measure.Fails
	case d.by == DecidedSequential:
		decision, _ := d.sequence().Decide(passes)
		return decision
	}
	failing, reliable := d.rates()
	return measure.FixedVerdict(len(passes), k, failing, reliable, d.alpha, production)
}

// failures decides about failures as the other does about passes: whether there are more of them than not.
func (d deciding) failures() deciding {
	d.falsePass, d.falseFail = d.falseFail, d.falsePass
	return d
}

func count(passes []bool) int {
	n := 0
	for _, p := range passes {
		if p {
			n++
		}
	}
	return n
}

// contrast is the evidence that the second of two cells passes more often, and that it passes less often, each as what is at most
// alpha where there is no difference: an exact p, or the inverse of the most evidence that was ever gathered.
type contrast struct{ up, down float64 }

func (d deciding) contrast(a, b []bool) contrast {
	if len(a) == 0 || len(b) == 0 {
		return contrast{1, 1}
	}
	switch d.by {
	case DecidedExactly:
		up, down := 1.0, 1.0
		if allPass(b) && !allPass(a) {
			up = 0
		}
		if allPass(a) && !allPass(b) {
			down = 0
		}
		return contrast{up, down}
	case DecidedFixed:
		return contrast{
			up:   measure.Boschloo(count(a), len(a), count(b), len(b)),
			down: measure.Boschloo(count(b), len(b), count(a), len(a)),
		}
	}
	var last contrast
	for _, last = range contrasts(a, b) {
	}
	return last
}

// contrasts goes through the pairs in the order of the plan, and yields the number of them and what they show so far.
func contrasts(a, b []bool) iter.Seq2[int, contrast] {
	return func(yield func(int, contrast) bool) {
		c, up, down := contrast{1, 1}, 0.0, 0.0 // and the logarithms of the most evidence of each
		kA, kB := 0, 0
		for n := range min(len(a), len(b)) {
			kA, kB = kA+one(a[n]), kB+one(b[n])
			pairs := n + 1
			if pairs >= fewestPairs {
				c.up, up = gathered(c.up, up, kA, kB, pairs)
				c.down, down = gathered(c.down, down, kB, kA, pairs)
			}
			if !yield(pairs, c) {
				return
			}
		}
	}
}

// gathered takes the evidence of n pairs into p, which is what the most of it so far leaves.
func gathered(p, most float64, kA, kB, n int) (newP, newMost float64) {
	log, ok := measure.LogEvidenceFrom(kA, kB, n, most)
	if !ok {
		return p, most
	}
	return min(p, math.Exp(-log)), max(most, log)
}

func one(pass bool) int {
	if pass {
		return 1
	}
	return 0
}

func allPass(passes []bool) bool { return count(passes) == len(passes) }

// atMost compares with slack, so that the last bit of a float decides nothing.
func atMost(p, alpha float64) bool { return p <= alpha*(1+1e-9) }

// attribute applies the first rule of STATISTICS 5.2 that fits. The pairs are looked at in the order of the plan, and the first that
// decides counts, however many were made in one go.
func (d deciding) attribute(a, b []bool) measure.Attribution {
	if d.by != DecidedSequential {
		return d.attributed(d.contrast(a, b), d.of(a, true), d.of(b, false))
	}
	sequence := d.sequence()
	decidedA, atA := sequence.Decide(a)
	decidedB, atB := sequence.Decide(b)
	for n, c := range contrasts(a, b) {
		if n < fewestPairs {
			continue
		}
		ofA, ofB := measure.Undecided, measure.Undecided
		if n >= atA {
			ofA = decidedA
		}
		if n >= atB {
			ofB = decidedB
		}
		if kind := d.attributed(c, ofA, ofB); kind != measure.Unattributed {
			return kind
		}
	}
	return measure.Unattributed
}

func (d deciding) attributed(c contrast, a, b measure.Decision) measure.Attribution {
	return measure.Attribute(atMost(c.down, d.alpha), atMost(c.up, d.alpha), a, b)
}

// outcomes lists the outcomes of the scored trials, in the order of the plan.
func (c *cellFacts) outcomes() []bool {
	if c == nil {
		return nil
	}
	out := make([]bool, len(c.features))
	for i, f := range c.features {
		out[i] = f.Meets
	}
	return out
}

// failures lists which of the scored trials fail, in the order of the plan.
func (c *cellFacts) failures() []bool {
	out := c.outcomes()
	for i := range out {
		out[i] = !out[i]
	}
	return out
}

// decideCells judges every cell on its own, and then those that are held against another.
func (x *facts) decideCells() {
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		if c.usable() {
			c.decided = x.by.of(c.outcomes(), planned.Cell == matrix.CellA)
		}
		c.state = c.decided
	}
	x.attribute()
	x.decidePerturbations()
}

// attribute holds A against B, where both are production's.
func (x *facts) attribute() {
	a, b := x.cells[matrix.CellA], x.cells[matrix.CellB]
	if x.standIn || !a.usable() || !b.usable() || x.c.Expect != matrix.ExpectAnswer || !x.goldTested() {
		return
	}
	passA, passB := a.outcomes(), b.outcomes()
	kind := x.by.attribute(passA, passB)
	t := &Attribution{Kind: kind.String(), By: x.by.by, A: Passed{a.result.Pass, a.result.Scored}, B: Passed{b.result.Pass, b.result.Scored}}
	x.attributed, x.attribution = kind, t
	switch kind {
	case measure.Context:
		t.Level = map[measure.Decision]string{measure.Passes: RestoresFully, measure.Fails: RestoresPartly, measure.Undecided: RestoresForSome}[b.decided]
		a.state = measure.Fails
		if b.state == measure.Undecided {
			b.state = measure.Passes // provisionally: it is better than A
		}
	case measure.GoldHurts:
		if b.state == measure.Undecided {
			b.state = measure.Fails
		}
	case measure.Unattributed:
		if a.state == measure.Fails {
			a.state = measure.Undecided // it cannot be said what the failure is due to
		}
	}
	if x.by.by == DecidedExactly || x.ahead { // which reads none of the rest
		return
	}
	t.Alpha = string(matrix.NewDecimal(x.by.alpha))
	c := x.by.contrast(passA, passB)
	if x.by.by == DecidedFixed {
		lo, hi := measure.Newcombe(a.result.Pass, a.result.Scored, b.result.Pass, b.result.Scored, 1-2*x.by.alpha)
		t.Interval = []string{decimals(lo), decimals(hi)}
		t.Evidence = "p = " + figures(min(c.up, c.down))
	} else {
		lo, hi := measure.DifferenceSequence(a.result.Pass, a.result.Scored, b.result.Pass, b.result.Scored, x.by.alpha)
		t.Interval = []string{decimals(lo), decimals(hi)}
		t.Evidence = "e = " + figures(1/min(c.up, c.down))
	}
	if kind == measure.Unattributed {
		n := min(len(passA), len(passB))
		r, ok, _ := measure.MorePairs(count(passA[:n]), count(passB[:n]), n, mostMore, x.by.alpha)
		t.More, t.Unsettled = r, !ok
	}
}

// decidePerturbations holds each D against the cell that it starts from. Several of a family are looked at, so that each must show more.
func (x *facts) decidePerturbations() {
	cells := map[string][]*cellFacts{} // by family
	up, down := map[string][]float64{}, map[string][]float64{}
	for _, planned := range x.p.Cells {
		c, base := x.cells[planned.Cell], x.cells[planned.Base]
		if planned.Cell.Run() != matrix.Perturbation || !c.usable() || !base.usable() || c.other != "" {
			continue
		}
		k, of := x.by.contrast(base.outcomes(), c.outcomes()), family(planned.Cell)
		cells[of], up[of], down[of] = append(cells[of], c), append(up[of], k.up), append(down[of], k.down)
	}
	for of := range cells {
		better, worse := x.by.adjusted(up[of]), x.by.adjusted(down[of])
		for i, c := range cells[of] {
			c.better, c.worse = atMost(better[i], x.by.alpha), atMost(worse[i], x.by.alpha)
			switch {
			case c.state != measure.Undecided:
			case c.better:
				c.state = measure.Passes
			case c.worse:
				c.state = measure.Fails
			}
		}
	}
}

// adjusted corrects for several comparisons in one case: Holm where they are looked at once, else by their number, since each may stop
// at a time of its own.
func (d deciding) adjusted(p []float64) []float64 {
	switch d.by {
	case DecidedFixed:
		return measure.Holm(p)
	case DecidedSequential:
		out := slices.Clone(p)
		for i := range out {
			out[i] = min(1, out[i]*float64(len(p)))
		}
		return out
	}
	return p
}

// decimals writes a rate as intervals are written.
func decimals(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

// figures writes a number with two figures.
func figures(f float64) string {
	if f >= 1e6 {
		return "over a million"
	}
	if f >= 10 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 2, 64)
}

// countCells lists for each defect the counts that it rests on: A and B, the cells of D where it is one of the answer, and what was run
// to check it.
func (w *walker) countCells() {
	for i := range w.defects {
		d := &w.defects[i]
		for _, planned := range w.p.Cells {
			c := w.cells[planned.Cell]
			switch {
			case c.result.Scored == 0:
			case planned.Cell == matrix.CellA, planned.Cell == matrix.CellB, string(planned.Cell) == d.Repair, planned.Cell.Run() == matrix.Perturbation && throughPrompt(d):
				d.Rests = append(d.Rests, Rests{Cell: planned.Cell, Passed: Passed{c.result.Pass, c.result.Scored}, Interval: c.result.Interval()})
			}
		}
	}
}

// disagreements say where the trace and A against B point to different things, with what would settle it.
func (w *walker) disagreements() []string {
	var out []string
	b := w.cells[matrix.CellB]
	switch w.attributed {
	case measure.GoldHurts:
		out = append(out, fmt.Sprintf("attribution: gold alone does worse than production (A passes %s, B %s): compare the gold text with what A's context says; it may be wrong, in conflict, or too long", w.attribution.A, w.attribution.B))
	case measure.Context:
		if len(w.defects) > 0 && w.defects[0].Name() == "generate/unstable" && w.allInPrompt() {
			out = append(out, fmt.Sprintf("attribution: A has the evidence in its prompt and is right now and then, and gold alone is right more often (A passes %s, B %s): chance alone may not be all; what else stands in A's context, or its order, would be seen to matter by more repeats of the D cells", w.attribution.A, w.attribution.B))
		}
	case measure.NotContext:
		later := slices.ContainsFunc(w.defects, throughPromptOf)
		for i := range w.defects {
			d := &w.defects[i]
			if !isBeforeAnswer(d.Stage) {
				continue
			}
			says := fmt.Sprintf("attribution: the trace shows %s, and gold alone does not restore the answer (%s), so that mending it alone will not be seen to help", d.Name(), passes(w.facts, matrix.CellB))
			switch {
			case later:
				says += ": mend what B shows first, and run again"
			case !w.goldJudges():
				says += ": B had little more than the span; give the case the whole text (evidence.required.text), and run again"
			default:
				says += fmt.Sprintf(": look at B's answers (%d refusals), whether the claims are right, and run again with more repeats", b.result.Refused)
			}
			out = append(out, says)
		}
	}
	return out
}

func throughPromptOf(d Defect) bool { return throughPrompt(&d) }

// undecidedSays is what a person is told where A and B do not decide.
func (x *facts) undecidedSays() string {
	a := x.cells[matrix.CellA]
	passA := a.outcomes()
	more, likely, _ := x.by.sequence().MoreNeeded(len(passA), count(passA), mostMore)
	if t := x.attribution; t != nil && !(t.Unsettled && likely) { // A may settle by itself where it does not differ from B
		says := fmt.Sprintf("undecided: A against B: A passes %s and B %s (%s)", t.A, t.B, t.Evidence)
		if a.decided == measure.Fails {
			says += ", so that it is open what A, which fails by itself, fails for"
		}
		if t.Unsettled {
			return says + "; more pairs are unlikely to settle it, as the rates are too close"
		}
		return says + fmt.Sprintf("; about %s would settle it (runs.repeats, runs.max_repeats)", counted(t.More, "more pair", "more pairs"))
	}
	says := fmt.Sprintf("undecided: A by itself: it passes %d of %d, which shows neither that it is reliable nor that it fails", a.result.Pass, a.result.Scored)
	if !likely {
		return says + "; more repeats are unlikely to settle it, as the rate is between the two"
	}
	return says + fmt.Sprintf("; about %s would settle it (runs.repeats, runs.max_repeats)", counted(more, "more repeat", "more repeats"))
}
