package measure

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Repeats within cases: a case's score is the share of its trials that pass, and a suite's is the mean of those, whatever the number of
// trials of each ("macro"). Source: Miller 2024, "Adding error bars to evals", arXiv 2411.00640.

// Count is k passes of n trials.
type Count struct{ K, N int }

func (c Count) possible() bool { return c.K >= 0 && c.K <= c.N && c.N > 0 }

func (c Count) rate() float64 { return float64(c.K) / float64(c.N) }

// within is the unbiased variance of one trial, k(n-k)/(n(n-1)), and not ok for one trial.
func (c Count) within() (variance float64, ok bool) {
	if c.N < 2 {
		return 0, false
	}
	return float64(c.K) * float64(c.N-c.K) / (float64(c.N) * float64(c.N-1)), true
}

// Reasons why a variance has no value.
const (
	OneCase    = "one case"              // cases vary only where there are several
	OneTrial   = "one trial"             // so do trials of a case
	OneGroup   = "one cluster"           // and clusters
	NoCases    = "no cases"              //
	NoVariety  = "nothing varies"        // a share of no variance
	Impossible = "counts that cannot be" // more passes than trials, or no trial
)

// Components are the parts of the variance of a suite's mean.
type Components struct {
	Mean       Value // of the cases' scores
	CaseError  Value // standard error where the cases are a sample: √(Σ(s-mean)²/(m(m-1))); it holds the noise of the trials already
	Within     Value // mean variance of one trial
	SuiteError Value // standard error where the cases are all that there are: √(Σ v/n)/m
	Between    Value // variance of the cases' true rates, Var(s) - mean(v/n), at least 0
	Share      Value // of the variance that is between cases, "icc"
}

// Decompose works out the components for the cases of a suite. The within variance leaves out cases of one trial; what rests on that of
// every case has no value where there is such a case. An interval of width 0, where all pass, must not be printed: see [SuiteDifference].
func Decompose(cases []Count) Components {
	lacking := func(reason string) Components {
		v := none(reason)
		return Components{v, v, v, v, v, v}
	}
	if len(cases) == 0 {
		return lacking(NoCases)
	}
	scores := make([]float64, len(cases))
	var within, noise float64
	repeated := 0
	for i, c := range cases {
		if !c.possible() {
			return lacking(Impossible)
		}
		scores[i] = c.rate()
		if v, ok := c.within(); ok {
			within += v
			noise += v / float64(c.N)
			repeated++
		}
	}
	m := float64(len(cases))
	out := lacking(OneTrial)
	out.Mean = about(mean(scores), NoCases)
	out.CaseError = StandardError(scores)
	if repeated > 0 {
		out.Within = about(within/float64(repeated), OneTrial)
	}
	if repeated < len(cases) {
		return out
	}
	out.SuiteError = about(math.Sqrt(noise)/m, OneTrial)
	if len(cases) == 1 {
		out.Between, out.Share = none(OneCase), none(OneCase)
		return out
	}
	between := max(0, squares(scores)/(m-1)-noise/m)
	out.Between = about(between, OneCase)
	out.Share = none(NoVariety)
	if all := between + within/m; all > 0 {
		out.Share = about(between/all, NoVariety)
	}
	return out
}

func mean(s []float64) float64 {
	sum := 0.0
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

// squares is Σ(s-mean)².
func squares(s []float64) float64 {
	m, sum := mean(s), 0.0
	for _, x := range s {
		sum += float64((x - m) * (x - m))
	}
	return sum
}

// StandardError is that of the mean of scores that are a sample: √(Σ(s-mean)²/(m(m-1))), equation 1. Run it on the differences of pairs for a
// comparison (equation 7).
func StandardError(scores []float64) Value {
	switch m := float64(len(scores)); len(scores) {
	case 0:
		return none(NoCases)
	case 1:
		return none(OneCase)
	default:
		return about(math.Sqrt(squares(scores)/float64(m*(m-1))), NotFinite)
	}
}

// NotFinite is the reason where a score is not a number.
const NotFinite = "a score is not a number"

// ClusteredError is the standard error of the mean where scores of one cluster (a source document, a tenant, a template) go together: CR1,
// √(C/(C-1))/m·√(Σ over clusters of (Σ(s-mean))²). It is [StandardError] where each score is a cluster of its own. Use it with Student's t of
// C-1 degrees of freedom. cluster holds the cluster of each score.
func ClusteredError(scores []float64, cluster []int) Value {
	residuals, reason := clusterResiduals(scores, cluster)
	if reason != "" {
		return none(reason)
	}
	c, m := float64(len(residuals)), float64(len(scores))
	sum := 0.0
	for _, r := range residuals {
		sum += float64(r * r)
	}
	return about(math.Sqrt(c/(c-1)*sum)/m, NotFinite)
}

// MillerError is the clustered standard error of equation 4: SE² = SE_CLT² + Σ over clusters of Σ over i≠j of (s_i-mean)(s_j-mean) / m². It
// is for comparison with what is published; [ClusteredError] corrects for few clusters.
func MillerError(scores []float64, cluster []int) Value {
	residuals, reason := clusterResiduals(scores, cluster)
	if reason != "" {
		return none(reason)
	}
	m, cross := float64(len(scores)), 0.0
	for _, r := range residuals {
		cross += float64(r * r)
	}
	all := squares(scores)
	cross -= all
	return about(math.Sqrt(all/float64(m*(m-1))+cross/float64(m*m)), NotFinite)
}

// clusterResiduals sums the distances from the mean by cluster, in order of first appearance.
func clusterResiduals(scores []float64, cluster []int) (sums []float64, reason string) {
	if len(scores) == 0 || len(cluster) != len(scores) {
		return nil, NoCases
	}
	middle := mean(scores)
	at := map[int]int{}
	for i, c := range cluster {
		place, ok := at[c]
		if !ok {
			place = len(sums)
			at[c] = place
			sums = append(sums, 0)
		}
		sums[place] += scores[i] - middle
	}
	if len(sums) < 2 {
		return nil, OneGroup
	}
	return sums, ""
}

// MeanInterval is mean ± t·SE at a two-sided level with the clustered standard error, of a sample of at least 200 scores or so: with fewer
// it covers far less than it says, see [PopulationDifference]. It is not ok where the standard error has no value.
func MeanInterval(scores []float64, cluster []int, level float64) (lo, hi float64, ok bool) {
	se := ClusteredError(scores, cluster)
	if !se.OK() || !(level > 0 && level < 1) {
		return 0, 0, false
	}
	clusters := map[int]bool{}
	for _, c := range cluster {
		clusters[c] = true
	}
	half := float64(-student((1-level)/2, float64(len(clusters)-1)) * se.Float())
	return mean(scores) - half, mean(scores) + half, true
}

// Design plans a comparison of two arms on the same cases: Between is the variance of the cases' true differences, w² = Var(xC)+Var(xB)-2Cov;
// Within the variance of one trial and Trials the repeats per case, of each arm.
type Design struct {
	Between          float64
	WithinC, WithinB float64
	TrialsC, TrialsB int
}

func (d Design) perCase() float64 {
	return d.Between + d.WithinC/float64(d.TrialsC) + d.WithinB/float64(d.TrialsB)
}

// planned is (z at 1-alpha/2 + z at power), and not ok for what plans nothing.
func planned(alpha, power float64) (z float64, ok bool) {
	if !(alpha > 0 && alpha < 2 && power > 0 && power < 1) {
		return 0, false
	}
	return upper(alpha/2) + mathext.NormalQuantile(power), true
}

// CasesNeeded is how many cases find a difference delta with the power, in a two-sided test at alpha: (z_{α/2}+z_β)²·(w² + sC²/KC +
// sB²/KB)/delta² (equation 9). For a one-sided test give 2·alpha. Round up.
func (d Design) CasesNeeded(delta, alpha, power float64) Value {
	z, ok := planned(alpha, power)
	if !ok || d.TrialsB < 1 || d.TrialsC < 1 || delta == 0 {
		return none(NoPlan)
	}
	return about(float64(z*z)*d.perCase()/float64(delta*delta), NoPlan)
}

// Detectable is the difference that m cases find with the power: (z_{α/2}+z_β)·√((w² + sC²/KC + sB²/KB)/m) (equation 10).
func (d Design) Detectable(m int, alpha, power float64) Value {
	z, ok := planned(alpha, power)
	if !ok || d.TrialsB < 1 || d.TrialsC < 1 || m < 1 {
		return none(NoPlan)
	}
	return about(float64(z*math.Sqrt(d.perCase()/float64(m))), NoPlan)
}

// NoPlan is the reason where a level, a power, a difference or a number of trials plans nothing.
const NoPlan = "not a plan"

// RepeatsLeave is the share of the variance of a mean with one trial per case that remains with k: (between + within/k)/(between + within).
// Stop raising k where within/k is much less than between.
func RepeatsLeave(between, within float64, k int) Value {
	if k < 1 || !(between >= 0 && within >= 0 && between+within > 0) {
		return none(NoPlan)
	}
	return about((between+within/float64(k))/(between+within), NoPlan)
}

// student is the quantile at p of Student's t with df degrees of freedom, 0 < p < 1 and df > 0: where y is the quantile of
// Beta(df/2, ½) at 2p, it is -√(df(1-y)/y) for p < ½, and symmetric.
func student(p, df float64) float64 {
	if p > 0.5 {
		return -student(1-p, df)
	}
	y := mathext.InvRegIncBeta(df/2, 0.5, 2*p)
	return -math.Sqrt(float64(df*(1-y)) / y)
}
