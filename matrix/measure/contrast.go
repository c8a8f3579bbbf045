package measure

import (
	"math"
	"sync"
)

// Two arms that differ in one thing are contrasted here: A, as it is, and B, with the thing replaced. k of an arm is its passes, n its
// trials.

// table is a 2×2 table: passes and trials of both arms.
type table struct{ kA, nA, kB, nB int }

func (t table) possible() bool {
	return t.kA >= 0 && t.kA <= t.nA && t.kB >= 0 && t.kB <= t.nB
}

var boschloos kept[table, float64]

// Boschloo is the one-sided p of "B is better than A" for numbers of trials that were fixed beforehand: Boschloo's exact unconditional test
// (1970), which orders the tables by Fisher's p and takes the largest probability, over all common rates, of a table that is no less
// extreme. It holds its level for every common rate and is stronger than Fisher's test. It is 1 where an arm has no trial, and for counts
// that cannot be. Results are kept: one table costs about a millisecond for 50 trials, and grows with the square of the trials. Compare it
// with a level as p ≤ level + 1e-12.
func Boschloo(kA, nA, kB, nB int) float64 {
	t := table{kA, nA, kB, nB}
	if !t.possible() || nA == 0 || nB == 0 {
		return 1
	}
	return boschloos.of(t, boschloo)
}

func boschloo(t table) float64 {
	f := newFisher(t.nA, t.nB)
	limit := f.p(t.kA, t.kB)
	limit = float64(limit*(1+1e-9)) + slack
	if limit >= 1 {
		return 1
	}
	// The region holds, of each a, the b from least[a] on: Fisher's p falls with b and grows with a.
	least := make([]int, t.nA+1)
	b := 0
	for a := range least {
		for b <= t.nB && f.p(a, b) > limit {
			b++
		}
		least[a] = b
	}
	passesA, above := make([]float64, t.nA+1), make([]float64, t.nB+2)
	size := func(rate float64) float64 { // of the region, at a common rate
		f.binomials(passesA, t.nA, rate)
		f.binomials(above, t.nB, rate)
		for b := t.nB; b > least[0]; b-- {
			above[b-1] += above[b] // from a probability to that of b or more
		}
		sum := 0.0
		for a, b := range least {
			sum += float64(passesA[a] * above[b])
		}
		return sum
	}
	const grid = 1000
	best, at := 0.0, 1
	for i := 1; i < grid; i++ { // at the rates 0 and 1 a table is certain that is not in the region
		if p := size(float64(i) / grid); p > best {
			best, at = p, i
		}
	}
	lo, hi := float64(at-1)/grid, float64(at+1)/grid
	for range 40 {
		third := (hi - lo) / 3
		left, right := lo+third, hi-third
		pLeft, pRight := size(left), size(right)
		best = max(best, pLeft, pRight)
		if pLeft < pRight {
			lo = left
		} else {
			hi = right
		}
	}
	return min(best, 1)
}

// fisher holds the logarithms of factorials for tables of two arms.
type fisher struct {
	nA, nB  int
	logFact []float64
}

func newFisher(nA, nB int) fisher {
	f := fisher{nA, nB, make([]float64, nA+nB+1)}
	for i := 2; i <= nA+nB; i++ {
		f.logFact[i] = f.logFact[i-1] + math.Log(float64(i))
	}
	return f
}

func (f fisher) choose(n, k int) float64 { return f.logFact[n] - f.logFact[k] - f.logFact[n-k] }

// binomial is the probability of k of n at a rate whose logarithm, and that of 1 less it, are given.
func (f fisher) binomial(k, n int, log, logNot float64) float64 {
	return math.Exp(f.choose(n, k) + float64(float64(k)*log) + float64(float64(n-k)*logNot))
}

// binomials fills in the probabilities of 0 to n of n at a rate between 0 and 1, from the likeliest to both sides.
func (f fisher) binomials(into []float64, n int, rate float64) {
	odds := rate / (1 - rate)
	mode := min(int(rate*float64(n+1)), n)
	into[mode] = f.binomial(mode, n, math.Log(rate), math.Log1p(-rate))
	for k := mode; k < n; k++ {
		into[k+1] = into[k] * odds * float64(n-k) / float64(k+1)
	}
	for k := mode; k > 0; k-- {
		into[k-1] = into[k] / odds * float64(k) / float64(n-k+1)
	}
}

// p is Fisher's one-sided p of a passes of A and b of B: the probability that B has b or more of a+b.
func (f fisher) p(a, b int) float64 {
	passes, sum := a+b, 0.0
	all := f.choose(f.nA+f.nB, passes)
	for x := min(f.nB, passes); x >= b; x-- {
		if passes-x <= f.nA {
			sum += math.Exp(f.choose(f.nB, x) + f.choose(f.nA, passes-x) - all)
		}
	}
	return min(sum, 1)
}

// alternatives are the pairs of rates of A and B that the evidence bets on, a third on each.
var alternatives = [3]struct{ lo, hi float64 }{{0.2, 0.8}, {0.1, 0.9}, {0.5, 0.95}}

// bets are, by alternative, the logarithms of the factors of a pass and of a failure, of A and of B.
type bets [len(alternatives)]struct{ passA, failA, passB, failB float64 }

var evidence = sync.OnceValue(func() *bets {
	var e bets
	for i, alt := range alternatives {
		t := (alt.lo + alt.hi) / 2
		e[i].passA, e[i].failA = math.Log(alt.lo/t), math.Log((1-alt.lo)/(1-t))
		e[i].passB, e[i].failB = math.Log(alt.hi/t), math.Log((1-alt.hi)/(1-t))
	}
	return &e
})

// log is the evidence, where it may be least or more: it is at most the largest of its parts, which spares most exponentials.
func (e *bets) log(kA, kB, n int, least float64) (log float64, ok bool) {
	var logs [len(alternatives)]float64
	largest := math.Inf(-1)
	for i := range e {
		f := &e[i]
		logs[i] = float64(float64(kA)*f.passA) + float64(float64(n-kA)*f.failA) +
			float64(float64(kB)*f.passB) + float64(float64(n-kB)*f.failB)
		largest = max(largest, logs[i])
	}
	if largest < least {
		return 0, false
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - largest)
	}
	return largest + math.Log(sum/float64(len(logs))), true
}

// reach reports whether the evidence reaches bound.
func (e *bets) reach(kA, kB, n int, bound float64) bool {
	log, ok := e.log(kA, kB, n, bound-2*slack)
	return ok && log >= bound-slack
}

// LogEvidence is the natural logarithm of the evidence that B is better than A after n paired blocks, each of one trial of A and one of B:
// the mean, over the alternatives (0.2, 0.8), (0.1, 0.9) and (0.5, 0.95) for the rates of A and B with t between the two, of
// (lo/t)^kA ((1-lo)/(1-t))^(n-kA) (hi/t)^kB ((1-hi)/(1-t))^(n-kB). Where B is not better this is an e-process (Turner, Ly and Grünwald 2024):
// the probability that it ever reaches 1/alpha is at most alpha, at any stopping time. Swap kA and kB for the evidence that A is
// better. Arms of different length use their first n. It is 0 for no block and for counts that cannot be.
func LogEvidence(kA, kB, n int) float64 {
	if !(table{kA, n, kB, n}).possible() || n == 0 {
		return 0
	}
	log, _ := evidence().log(kA, kB, n, math.Inf(-1))
	return log
}

// LogEvidenceFrom is [LogEvidence] in less time where only what is about least or more is of use: it is not ok where it is less. Where it
// is ok, it may be less all the same.
func LogEvidenceFrom(kA, kB, n int, least float64) (log float64, ok bool) {
	if !(table{kA, n, kB, n}).possible() || n == 0 {
		return 0, least <= 0
	}
	return evidence().log(kA, kB, n, least-slack)
}

// Significant reports whether a logarithm of evidence reaches 1/alpha.
func Significant(logEvidence, alpha float64) bool {
	return alpha > 0 && logEvidence >= -math.Log(alpha)-slack
}

// Attribution is what a contrast of production, A, with the same on the gold context, B, shows about where a failure comes from.
type Attribution int

// The attributions, in the order in which they are looked for.
const (
	Unattributed Attribution = iota // nothing is shown: more trials, or no difference that they could show
	GoldHurts                       // B is worse: the gold text conflicts, is too long or is wrong
	NotFailing                      // A passes: there is nothing to attribute
	Context                         // B is better: what was in the context caused the failure
	NotContext                      // both fail: generator, prompt, judge or gold are at fault
)

// String is the word of the specification.
func (a Attribution) String() string {
	return [...]string{"inconclusive", "gold_hurts", "not_failing", "context", "not_context"}[a]
}

// Attribute applies the rule, first match wins: down is whether A is shown to be better than B, up whether B is.
func Attribute(down, up bool, a, b Decision) Attribution {
	switch {
	case down:
		return GoldHurts
	case a == Passes:
		return NotFailing
	case up:
		return Context
	case a == Fails && b == Fails:
		return NotContext
	}
	return Unattributed
}

// fewestPairs is what a sequential attribution needs.
const fewestPairs = 3

type projection struct {
	kA, kB, n, most int
	alpha           float64
	settled         float64 // the probability that is enough
}

type projected struct {
	r           int
	ok          bool
	probability float64
}

var projections kept[projection, projected]

// MorePairs projects how many more paired blocks attribute kA and kB passes of n blocks, by the sequential rule: the smallest r ≤ most for
// which an attribution within r blocks has probability 0.8 or more, at the smoothed rates (kA+½)/(n+1) and (kB+½)/(n+1), by exact forward
// recursion, with the rates 0.5 and 0.8 of [Sequential]. It is not ok where there is none: the arms are too close to settle; probability is
// then that of an attribution within most blocks. It is 0 with probability 1 for what is attributed. Results are kept.
func MorePairs(kA, kB, n, most int, alpha float64) (r int, ok bool, probability float64) {
	p := projection{kA, kB, n, most, alpha, enough}.kept()
	return p.r, p.ok, p.probability
}

// PairsDecide reports whether as [MorePairs] projects them, most further blocks attribute with a probability of chance or more.
func PairsDecide(kA, kB, n, most int, alpha, chance float64) bool {
	return projection{kA, kB, n, most, alpha, chance}.kept().ok
}

func (q projection) kept() projected {
	if !(table{q.kA, q.n, q.kB, q.n}).possible() || q.most < 0 || !(q.alpha > 0 && q.alpha < 1) {
		return projected{}
	}
	return projections.of(q, projection.project)
}

func (q projection) project() (out projected) {
	e, w := evidence(), Sequential{0.5, 0.8, q.alpha}.steps()
	attributed := func(kA, kB, n int) bool {
		return n >= fewestPairs && Attribute(
			e.reach(kB, kA, n, w.bound), e.reach(kA, kB, n, w.bound),
			w.of(n, kA), w.of(n, kB)) != Unattributed
	}
	if attributed(q.kA, q.kB, q.n) {
		return projected{0, true, 1}
	}
	pA, pB := (float64(q.kA)+0.5)/float64(q.n+1), (float64(q.kB)+0.5)/float64(q.n+1)
	both, onlyA, onlyB, neither := float64(pA*pB), float64(pA*(1-pB)), float64((1-pA)*pB), float64((1-pA)*(1-pB))
	side := q.most + 1
	open := make([]float64, side*side) // by further passes of A and of B
	open[0] = 1
	live := extent{} // holds all that is open
	for r := 1; r <= q.most; r++ {
		next := extent{side, 0, side, 0}
		for a := live.toA + 1; a >= live.fromA; a-- {
			for b := live.toB + 1; b >= live.fromB; b-- {
				at := a*side + b
				reached := float64(open[at] * neither)
				if a > 0 {
					reached += float64(open[at-side] * onlyA)
				}
				if b > 0 {
					reached += float64(open[at-1] * onlyB)
				}
				if a > 0 && b > 0 {
					reached += float64(open[at-side-1] * both)
				}
				if reached > 0 && attributed(q.kA+a, q.kB+b, q.n+r) {
					out.probability += reached
					reached = 0
				}
				if open[at] = reached; reached > 0 {
					next = extent{min(next.fromA, a), max(next.toA, a), min(next.fromB, b), max(next.toB, b)}
				}
			}
		}
		if out.probability >= q.settled-slack {
			return projected{r, true, out.probability}
		}
		live = next
	}
	return out
}

// extent is a range of passes of A and of B.
type extent struct{ fromA, toA, fromB, toB int }

// Newcombe is the interval for the difference pB - pA of two rates, at a two-sided level, for numbers of trials that were fixed
// beforehand: with d = pB - pA and the Wilson bounds l and u of each arm, [d - √((pB-lB)² + (uA-pA)²), d + √((uB-pB)² + (pA-lA)²)]
// (Newcombe 1998, method 10). It is [-1,1] where an arm has no trial, for counts that cannot be and for a level outside (0,1).
func Newcombe(kA, nA, kB, nB int, level float64) (lo, hi float64) {
	if !(table{kA, nA, kB, nB}).possible() || nA == 0 || nB == 0 || !(level > 0 && level < 1) {
		return -1, 1
	}
	z := upper((1 - level) / 2)
	loA, hiA := wilson(kA, nA, z)
	loB, hiB := wilson(kB, nB, z)
	pA, pB := float64(kA)/float64(nA), float64(kB)/float64(nB)
	return newcombe(pA, loA, hiA, pB, loB, hiB)
}

func newcombe(pA, loA, hiA, pB, loB, hiB float64) (lo, hi float64) {
	d := pB - pA
	return max(-1, d-hypotenuse(pB-loB, hiA-pA)), min(1, d+hypotenuse(hiB-pB, pA-loA))
}

// hypotenuse is √(a²+b²), the same on every processor.
func hypotenuse(a, b float64) float64 { return math.Sqrt(float64(a*a) + float64(b*b)) }

// DifferenceSequence is the interval for pB - pA that holds at all times at once, with probability 1-alpha: the one to print where the
// trials were stopped by what they showed. It is [loB - hiA, hiB - loA] of the confidence sequences of the arms at alpha/2.
func DifferenceSequence(kA, nA, kB, nB int, alpha float64) (lo, hi float64) {
	loA, hiA := ConfidenceSequence(nA, kA, alpha/2)
	loB, hiB := ConfidenceSequence(nB, kB, alpha/2)
	return loB - hiA, hiB - loA
}
