package measure

import (
	"math"
	"math/big"
)

// A candidate is compared with a baseline on the same cases, with trials of both interleaved in time.

// Pair is one case under both: the first K trials of each, K fixed beforehand. A case that one arm lacks is left out before.
type Pair struct{ Candidate, Baseline Count }

func possible(pairs []Pair) bool {
	for _, p := range pairs {
		if !p.Candidate.possible() || !p.Baseline.possible() {
			return false
		}
	}
	return len(pairs) > 0
}

// Differences returns, by case, the score of the candidate less that of the baseline, times a number that makes all of them whole, and that
// number: the least common multiple of the numbers of trials. It is not ok for counts that cannot be, without a case, and where the
// multiple is beyond 10^12.
func Differences(pairs []Pair) (d []int64, times int64, ok bool) {
	if !possible(pairs) {
		return nil, 0, false
	}
	times = 1
	for _, p := range pairs {
		for _, n := range [2]int{p.Candidate.N, p.Baseline.N} {
			times = times / gcd(times, int64(n)) * int64(n)
			if times > 1_000_000_000_000 {
				return nil, 0, false
			}
		}
	}
	for _, p := range pairs {
		d = append(d, p.on(p.Candidate.K, times)-int64(p.Baseline.K)*(times/int64(p.Baseline.N)))
	}
	return d, times, true
}

func (p Pair) on(k int, times int64) int64 { return int64(k) * (times / int64(p.Candidate.N)) }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// spread is a distribution over whole numbers: p[i] is the probability of from+i.
type spread struct {
	from int64
	p    []float64
}

// mostStates is how wide a distribution is worked out exactly; beyond it a sample is drawn.
const mostStates = 200_000

// plus adds an independent part.
func (s spread) plus(values []int64, p []float64) spread {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	out := spread{s.from + least, make([]float64, int64(len(s.p))+most-least)}
	for i, v := range values {
		for j, reached := range s.p {
			if reached > 0 {
				out.p[int64(j)+v-least] += float64(reached * p[i])
			}
		}
	}
	return out
}

// tails are P(≥ seen) and P(≤ seen).
func (s spread) tails(seen int64) (above, below float64) {
	for i, p := range s.p {
		if s.from+int64(i) >= seen {
			above += p
		}
		if s.from+int64(i) <= seen {
			below += p
		}
	}
	return min(above, 1), min(below, 1)
}

// part is one case's contribution to a statistic where nothing changed.
type part struct {
	values []int64
	p      []float64
}

// tailsOf returns P(≥ seen) and P(≤ seen) for the sum of independent parts: exact up to mostStates sums, else from 100 000 draws of a
// generator with a fixed seed, as (b+1)/(B+1).
func tailsOf(parts []part, seen int64) (above, below float64) {
	width := int64(1)
	for _, p := range parts {
		width += p.values[len(p.values)-1] - p.values[0]
	}
	if width <= mostStates {
		all := spread{p: []float64{1}}
		for _, p := range parts {
			all = all.plus(p.values, p.p)
		}
		return all.tails(seen)
	}
	const draws = 100_000
	state, least, most := uint64(1), 1, 1
	for range draws {
		sum := int64(0)
		for _, p := range parts {
			u, i := uniform(&state), 0
			for ; i < len(p.p)-1 && u >= p.p[i]; i++ {
				u -= p.p[i]
			}
			sum += p.values[i]
		}
		if sum >= seen {
			least++
		}
		if sum <= seen {
			most++
		}
	}
	return float64(least) / (draws + 1), float64(most) / (draws + 1)
}

// uniform is splitmix64 on [0,1).
func uniform(state *uint64) float64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// Stratified is the exact test of "no case changed" for a suite whose cases are all that there are: given a case's passes under both, those
// of the candidate are hypergeometric; the statistic is Σ (kC/nC - kB/nB). better is the probability of the sum that was seen or a larger
// one, worse of that or a smaller one. Cases where all pass or none does contribute nothing; of one trial each it is [McNemar]. It is exact
// while the sum has at most 200 000 values, as with any equal numbers of trials; beyond that, 100 000 draws with a fixed seed stand in. It
// is 1 and 1 where [Differences] is not ok.
func Stratified(pairs []Pair) (better, worse float64) {
	d, times, ok := Differences(pairs)
	if !ok {
		return 1, 1
	}
	seen, parts := int64(0), make([]part, 0, len(pairs))
	for i, p := range pairs {
		seen += d[i]
		passes := p.Candidate.K + p.Baseline.K
		if passes == 0 || passes == p.Candidate.N+p.Baseline.N {
			continue
		}
		f, sum := newFisher(p.Baseline.N, p.Candidate.N), 0.0
		var one part
		for k := max(0, passes-p.Baseline.N); k <= min(passes, p.Candidate.N); k++ {
			one.values = append(one.values, p.on(k, times)-int64(passes-k)*(times/int64(p.Baseline.N)))
			one.p = append(one.p, math.Exp(f.choose(f.nB, k)+f.choose(f.nA, passes-k)-f.choose(f.nA+f.nB, passes)))
			sum += one.p[len(one.p)-1]
		}
		for j := range one.p {
			one.p[j] /= sum
		}
		parts = append(parts, one)
	}
	return tailsOf(parts, seen)
}

// SignFlip is the exact test of "the two are exchangeable within a case" where the cases are a sample: the share of the sign flips of the
// differences that are not 0 whose sum is at least, or at most, the one seen. Give whole differences, of [Differences] or [ClusterSums]. It
// is exact while their absolute sum is below 100 000; beyond that, 100 000 draws with a fixed seed stand in.
func SignFlip(d []int64) (better, worse float64) {
	seen, parts := int64(0), make([]part, 0, len(d))
	for _, x := range d {
		seen += x
		if x = max(x, -x); x != 0 {
			parts = append(parts, part{[]int64{-x, x}, []float64{0.5, 0.5}})
		}
	}
	return tailsOf(parts, seen)
}

// ClusterSums adds differences up by cluster, in order of first appearance. cluster holds the cluster of each.
func ClusterSums(d []int64, cluster []int) []int64 {
	var sums []int64
	at := map[int]int{}
	for i, c := range cluster[:min(len(cluster), len(d))] {
		place, ok := at[c]
		if !ok {
			place = len(sums)
			at[c] = place
			sums = append(sums, 0)
		}
		sums[place] += d[i]
	}
	return sums
}

// McNemar is the exact test of gains against losses, one trial a case: better is P(Bin(gains+losses, ½) ≥ gains), worse the same of losses,
// either the two-sided min(1, 2·min). All are 1 where nothing changed, and for counts that cannot be.
func McNemar(gains, losses int) (better, worse, either float64) {
	if gains < 0 || losses < 0 {
		return 1, 1, 1
	}
	n := gains + losses
	atLeastHalf := func(k int) float64 { // in whole numbers: a tail of 2^n
		sum, one := new(big.Int), new(big.Int)
		for i := k; i <= n; i++ {
			sum.Add(sum, one.Binomial(int64(n), int64(i)))
		}
		p, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
		return p
	}
	better, worse = atLeastHalf(gains), atLeastHalf(losses)
	return better, worse, min(1, 2*min(better, worse))
}

// Difference is the mean difference of a candidate from a baseline, with its one-sided bounds on both sides.
type Difference struct{ Delta, Lo, Hi float64 }

// SuiteDifference is the interval for the mean difference where the cases are all that there are: Newcombe's of two Wilson intervals, each
// for the macro mean p of an arm with n_eff trials at one-sided alpha. With N = m²/Σ(1/n) and v the variance of one trial of a case, n_eff
// is N/R where R = min(1, (Σv + ¼)/(m·p(1-p) + ¼)), the share of the variance that is within cases, and N where a case has one trial. It
// has no width of 0. It is not ok for counts that cannot be, without a case and for an alpha outside (0,½).
func SuiteDifference(pairs []Pair, alpha float64) (d Difference, ok bool) {
	if !possible(pairs) || !(alpha > 0 && alpha < 0.5) {
		return Difference{}, false
	}
	z := upper(alpha)
	pC, nC := effective(pairs, func(p Pair) Count { return p.Candidate })
	pB, nB := effective(pairs, func(p Pair) Count { return p.Baseline })
	loC, hiC := score(pC, nC, z)
	loB, hiB := score(pB, nB, z)
	d.Delta = pC - pB
	d.Lo, d.Hi = newcombe(pB, loB, hiB, pC, loC, hiC)
	return d, true
}

// effective returns the macro mean of an arm and the number of trials that it is worth.
func effective(pairs []Pair, arm func(Pair) Count) (p, n float64) {
	m := float64(len(pairs))
	var inverse, within float64
	repeated := true
	for _, pair := range pairs {
		c := arm(pair)
		p += c.rate()
		inverse += 1 / float64(c.N)
		v, ok := c.within()
		within += v
		repeated = repeated && ok
	}
	p = min(p/m, 1)
	n = float64(m*m) / inverse
	if repeated {
		n /= min(1, (within+0.25)/(float64(m*float64(p*(1-p)))+0.25))
	}
	return p, n
}

// PopulationDifference is the interval for the mean difference where the cases are a sample, Bonett and Price 2012: with one case of +1 and
// one of -1 added, mean ± z·SE. d are the differences by case, within [-1,1]; cluster holds the cluster of each, or is nil: with C clusters
// two of the average size s = m/C are added, with sums +s and -s. Metrics that are no pass rates are scaled to [-1,1] first. It is not ok
// without a case, with a difference that is not a number and for an alpha outside (0,½).
func PopulationDifference(d []float64, cluster []int, alpha float64) (out Difference, ok bool) {
	if len(d) == 0 || cluster != nil && len(cluster) != len(d) || !(alpha > 0 && alpha < 0.5) {
		return Difference{}, false
	}
	type group struct{ sum, size float64 }
	var groups []group
	at := map[int]int{}
	total := 0.0
	for i, x := range d {
		if !(x >= -1 && x <= 1) {
			return Difference{}, false
		}
		c := i
		if cluster != nil {
			c = cluster[i]
		}
		place, seen := at[c]
		if !seen {
			place = len(groups)
			at[c] = place
			groups = append(groups, group{})
		}
		groups[place].sum += x
		groups[place].size++
		total += x
	}
	m := float64(len(d))
	s := m / float64(len(groups))
	groups = append(groups, group{s, s}, group{-s, s})
	size := m + 2*s
	middle, squares := total/size, 0.0
	for _, g := range groups {
		r := g.sum - float64(g.size*middle)
		squares += float64(r * r)
	}
	half := float64(upper(alpha) * math.Sqrt(squares) / size)
	return Difference{total / m, max(-1, middle-half), min(1, middle+half)}, true
}

// Comparison is what a slice shows about a candidate.
type Comparison int

// The comparisons. NotCompared is of a slice without cases.
const (
	NotCompared Comparison = iota
	Better
	NoWorse
	Worse
	Inconclusive
)

// String is the word of the specification.
func (c Comparison) String() string {
	return [...]string{"no_cases", "better", "no_worse", "worse", "inconclusive"}[c]
}

// Compare applies the rule to one slice, first match wins: better where that is significant and lo > -margin; no worse where lo > -margin,
// with smallLoss where a loss is significant all the same; worse where that is significant; else inconclusive. lo is the one-sided bound at
// alpha; better and worse are the p, adjusted by [Holm] over the slices that are tested. The margin is absolute and declared beforehand:
// 0.05 overall, 0.10 for a slice.
func Compare(lo, better, worse, margin, alpha float64) (c Comparison, smallLoss bool) {
	noWorse, loss := lo > slack-margin, worse <= alpha+slack
	switch {
	case noWorse && better <= alpha+slack:
		return Better, false
	case noWorse:
		return NoWorse, loss
	case loss:
		return Worse, false
	}
	return Inconclusive, false
}

// TooMany reports whether a part is more than 5 % of a whole: dropped cases, or trials that ended in an error. What rests on them is
// inconclusive.
func TooMany(part, whole int) bool { return 20*part > whole }

// SliceResult is one slice in a sign-off.
type SliceResult struct {
	Comparison Comparison
	Critical   bool // it must be shown to be no worse
}

// SignOff is the decision on a release.
type SignOff int

// The decisions on a release.
const (
	Hold  SignOff = iota // not enough is shown
	Pass                 // the whole and every critical slice are no worse, and no slice is worse
	Block                // something is worse
)

// String is "hold", "pass" or "block".
func (s SignOff) String() string { return [...]string{"hold", "pass", "block"}[s] }

// SignOffOf decides on a release: it passes with a probability of at most alpha where a critical slice lost the margin or more. Slices that
// are not critical are watched, and nothing is promised of them.
func SignOffOf(overall Comparison, slices []SliceResult) SignOff {
	decision := Pass
	for _, s := range append([]SliceResult{{overall, true}}, slices...) {
		switch {
		case s.Comparison == Worse:
			return Block
		case s.Critical && s.Comparison != Better && s.Comparison != NoWorse:
			decision = Hold
		}
	}
	return decision
}

// TrialsNeeded is how many trials each arm needs in all to show a candidate that did not change to be no worse by the margin, at one-sided
// alpha: (z_{1-α}+z_power)²·(sB²+sC²)/margin² with the variances of one trial of a case, [Components].Within. Round up.
func TrialsNeeded(margin, withinC, withinB, alpha, power float64) Value {
	z, ok := planned(2*alpha, power)
	if !ok || margin == 0 {
		return none(NoPlan)
	}
	return about(float64(z*z)*(withinB+withinC)/float64(margin*margin), NoPlan)
}
