package measure

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// slack is what two logarithms or probabilities may differ by and still count as equal: the last bits of math.Log and math.Exp depend
// on the processor, and no decision may.
const slack = 1e-12

// enough is the probability at which a projection counts as "settles".
const enough = 0.8

// Decision is what the trials of one configuration show.
type Decision int

// A configuration passes where its rate is shown to be above Low, and fails where it is shown to be below High. Between the two either
// may be shown; nothing is claimed about which side of the middle it is on.
const (
	Undecided Decision = iota
	Passes
	Fails
)

// String is "undecided", "passes" or "fails".
func (d Decision) String() string { return [...]string{"undecided", "passes", "fails"}[d] }

// Sequential is Wald's test of a rate of Low against one of High with the thresholds of Ville's inequality. At any stopping time, at any
// cap and for any size of batch, P(ever passes) ≤ Alpha where the rate is Low or less, and P(ever fails) ≤ Alpha where it is High or more.
// The defaults are 0.5, 0.8 and 0.05. One without 0 < Low < High < 1 and 0 < Alpha < 1 decides nothing.
type Sequential struct{ Low, High, Alpha float64 }

// steps are the log likelihood ratios of one pass and of one failure, and the threshold for both sides.
type steps struct{ pass, fail, bound float64 }

func (s Sequential) steps() steps {
	if !(0 < s.Low && s.Low < s.High && s.High < 1 && 0 < s.Alpha && s.Alpha < 1) || math.IsInf(s.High/s.Low, 1) {
		return steps{bound: math.Inf(1)}
	}
	return steps{math.Log(s.High / s.Low), math.Log((1 - s.High) / (1 - s.Low)), -math.Log(s.Alpha)}
}

func (w steps) ratio(n, k int) float64 {
	return float64(float64(k)*w.pass) + float64(float64(n-k)*w.fail)
}

func (w steps) of(n, k int) Decision {
	switch ratio := w.ratio(n, k); {
	case ratio >= w.bound-slack:
		return Passes
	case ratio <= slack-w.bound:
		return Fails
	}
	return Undecided
}

// LogRatio is the log likelihood ratio k·ln(High/Low) + (n-k)·ln((1-High)/(1-Low)) of k passes in n trials. It is 0 for counts that cannot
// be.
func (s Sequential) LogRatio(n, k int) float64 {
	if k < 0 || n < k {
		return 0
	}
	return s.steps().ratio(n, k)
}

// Of decides from a count alone: passes where LogRatio ≥ ln(1/Alpha), fails where it is ≤ -ln(1/Alpha). Where the order of arrival is
// known, use Decide: a threshold once crossed stays crossed.
func (s Sequential) Of(n, k int) Decision {
	if k < 0 || n < k {
		return Undecided
	}
	return s.steps().of(n, k)
}

// Decide goes through the trials in their order of arrival and returns the first decision, and the number of trials that it took; 0 where
// there is none.
func (s Sequential) Decide(passes []bool) (d Decision, at int) {
	w, k := s.steps(), 0
	for i, pass := range passes {
		if pass {
			k++
		}
		if d := w.of(i+1, k); d != Undecided {
			return d, i + 1
		}
	}
	return Undecided, 0
}

// MoreNeeded projects how many more trials settle k passes of n: the smallest r ≤ most for which a decision within r trials has
// probability 0.8 or more, at the smoothed rate (k+½)/(n+1), by exact forward recursion. It is not ok where there is none: the rate is
// then likely to lie between Low and High; probability is then that of a decision within most trials. It is 0 with probability 1 for a
// count that is decided. Results are kept.
func (s Sequential) MoreNeeded(n, k, most int) (r int, ok bool, probability float64) {
	if k < 0 || n < k || most < 0 {
		return 0, false, 0
	}
	p := settlements.of(settlement{s, n, k, most}, settlement.project)
	return p.r, p.ok, p.probability
}

type settlement struct {
	s          Sequential
	n, k, most int
}

var settlements kept[settlement, projected]

func (q settlement) project() (out projected) {
	n, k, w := q.n, q.k, q.s.steps()
	if w.of(n, k) != Undecided {
		return projected{0, true, 1}
	}
	p := (float64(k) + 0.5) / float64(n+1)
	open := make([]float64, q.most+1) // by further passes
	open[0] = 1
	for r := 1; r <= q.most; r++ {
		for j := r; j >= 0; j-- {
			reached := float64(open[j] * (1 - p))
			if j > 0 {
				reached += float64(open[j-1] * p)
			}
			if w.of(n+r, k+j) != Undecided {
				out.probability += reached
				reached = 0
			}
			open[j] = reached
		}
		if out.probability >= enough-slack {
			return projected{r, true, out.probability}
		}
	}
	return out
}

// ConfidenceSequence is the interval for the rate behind k passes of n that holds at all n at once, with probability 1-alpha: the one to
// print where the trials were stopped by what they showed. It is the set of rates p at which the beta-binomial mixture B(k+1, n-k+1) / (p^k
// (1-p)^(n-k)) is below 1/alpha (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021), found by halving. It is [0,1] for no trial, for
// counts that cannot be and for an alpha outside (0,1). It may hold Low where [Sequential] passes: that test aims at two rates and is the
// sharper one. Results are kept.
func ConfidenceSequence(n, k int, alpha float64) (lo, hi float64) {
	if k < 0 || n < k || n == 0 || !(alpha > 0 && alpha < 1) {
		return 0, 1
	}
	ends := confidences.of(bound{k, n, alpha}, bound.sequence)
	return ends[0], ends[1]
}

var confidences kept[bound, [2]float64] // lo and hi

func (b bound) sequence() [2]float64 {
	whole, limit := mathext.Lbeta(float64(b.k)+1, float64(b.n-b.k)+1), -math.Log(b.alpha)
	lo, hi := sequence(b.n, b.k, func(p float64) bool { return mixture(whole, b.n, b.k, p) < limit })
	return [2]float64{lo, hi}
}

// TunedConfidenceSequence is a [ConfidenceSequence] that is narrowest near a number of trials that is expected: its prior is Beta(mp,
// m(1-p)) around each rate p, with m = expected/(2L + ln(1+2L)) - 1, at least 0.001, and L = ln(1/alpha), as bernoulli_confidence_interval
// of gostevehoward/confseq has it. It is [0,1] where [ConfidenceSequence] is.
func TunedConfidenceSequence(n, k int, alpha float64, expected int) (lo, hi float64) {
	if k < 0 || n < k || n == 0 || !(alpha > 0 && alpha < 1) {
		return 0, 1
	}
	bound := -math.Log(alpha)
	m := max(float64(expected)/(float64(2*bound)+math.Log(1+float64(2*bound)))-1, 1e-3)
	return sequence(n, k, func(p float64) bool {
		a, b := float64(m*p), float64(m*(1-p))
		return mixture(mathext.Lbeta(float64(k)+a, float64(n-k)+b)-mathext.Lbeta(a, b), n, k, p) < bound
	})
}

// sequence finds the ends of the rates that are inside, by halving on each side of the rate that was seen.
func sequence(n, k int, inside func(p float64) bool) (lo, hi float64) {
	edge := func(in, out float64) float64 {
		for range boundBits {
			if mid := (in + out) / 2; inside(mid) {
				in = mid
			} else {
				out = mid
			}
		}
		return out
	}
	lo, hi = 0, 1
	rate := float64(k) / float64(n)
	if k > 0 {
		lo = edge(rate, 0)
	}
	if k < n {
		hi = edge(rate, 1)
	}
	return lo, hi
}

// mixture is the logarithm of the mixture at p, given that of its beta function.
func mixture(whole float64, n, k int, p float64) float64 {
	if k > 0 {
		whole -= float64(float64(k) * math.Log(p))
	}
	if k < n {
		whole -= float64(float64(n-k) * math.Log1p(-p))
	}
	return whole
}

// FixedVerdict decides on a number of trials that was fixed beforehand, by the exact binomial: passes where k or more passes have
// probability alpha or less at the rate low, fails where k or fewer have it at high. Of production a pass also needs a share of high:
// 5k ≥ 4n for 0.8. Where the rate is shown to lie between the two, as many trials can show, it is undecided.
func FixedVerdict(n, k int, low, high, alpha float64, production bool) Decision {
	if k < 0 || n < k || n == 0 || !(0 < low && low < high && high < 1 && alpha < 1) {
		return Undecided
	}
	passes := atLeast(k, n, low) <= alpha+slack
	fails := atLeast(n-k, n, 1-high) <= alpha+slack
	const whole = 1e-9 // counts are whole: what separates two shares is far more
	switch {
	case passes == fails:
		return Undecided
	case fails:
		return Fails
	case production && float64(k) < float64(high*float64(n))-whole:
		return Undecided
	}
	return Passes
}

// atLeast returns P(Bin(n,p) ≥ k).
func atLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}
