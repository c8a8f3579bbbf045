package measure

import (
	"math"
	"slices"
)

// RelativeGateFalseAlarm is how often a gate that fails where a mean drops by more than the share tau fails where nothing changed:
// Φ(-tau·mu·√m/sd), mu being the mean, sd the standard deviation over m cases of the difference between two runs. It says why not to use
// one.
func RelativeGateFalseAlarm(tau, mu, sd float64, m int) Value {
	if m < 1 || !(sd > 0) {
		return none(NoVariety)
	}
	x := float64(float64(tau*mu)*math.Sqrt(float64(m))) / sd
	return about(math.Erfc(x/math.Sqrt2)/2, NoVariety)
}

// Regressed is the gate for outcomes that are the same in each run, retrieval from a frozen index: the metric's mean over the cases drops
// by 0.02 or more, and at least 2 cases and 2 % of all regress. before and after are the metric by case; cases without a value in either
// are left out. No test is needed: the suite is fixed and there is no noise.
func Regressed(before, after []Value) (failed bool, drop Value, cases []int) {
	var differences []Value
	for i := range before[:min(len(before), len(after))] {
		if !before[i].OK() || !after[i].OK() {
			continue
		}
		d := before[i].minus(after[i])
		differences = append(differences, d)
		if d.rat().Sign() > 0 {
			cases = append(cases, i)
		}
	}
	drop, used := Mean(differences)
	enough := len(cases) >= 2 && 50*len(cases) >= used
	return used > 0 && enough && 50*drop.Float() >= 1-slack, drop, cases
}

// fewestReruns is how many reruns a floor needs.
const fewestReruns = 20

// NoiseFloor is the 95th percentile of the absolute differences between runs of one system, 20 or more: a drop below it is no news. The
// percentile is the smallest difference that at least 95 % do not exceed.
func NoiseFloor(differences []float64) Value {
	if len(differences) < fewestReruns {
		return none("fewer than 20 reruns")
	}
	sizes := make([]float64, len(differences))
	for i, d := range differences {
		if math.IsNaN(d) {
			return none(NotFinite)
		}
		sizes[i] = math.Abs(d)
	}
	slices.Sort(sizes)
	return about(sizes[(95*len(sizes)+99)/100-1], NotFinite)
}

// SelfCheck reports whether runs of one system against itself were found worse no more often than alpha allows: k of n with a one-sided
// lower bound at 1-alpha that is not above alpha. Without a run nothing is shown: false.
func SelfCheck(worse Count, alpha float64) bool {
	return worse.possible() && alpha > 0 && alpha < 1 && (worse.K == 0 || atLeast(worse.K, worse.N, alpha) > alpha)
}
