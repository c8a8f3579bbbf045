package measure

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// mixes draw the true rates of cases, from those that are all alike to those of which most are decided.
var mixes = map[string]func(*rand.Rand) float64{
	"all at .8":            func(*rand.Rand) float64 { return 0.8 },
	"any rate":             func(r *rand.Rand) float64 { return r.Float64() },
	"mostly deterministic": func(r *rand.Rand) float64 { return [...]float64{0, 1, 1, 1, 1, 1, 1, 0.5, 0.8, 1}[r.IntN(10)] },
	"half of them coins":   func(r *rand.Rand) float64 { return [...]float64{1, 0.5}[r.IntN(2)] },
	"nearly all pass":      func(*rand.Rand) float64 { return 0.97 },
}

func passes(r *rand.Rand, n int, rate float64) Count {
	c := Count{N: n}
	for range n {
		if r.Float64() < rate {
			c.K++
		}
	}
	return c
}

// TestMarginIntervalsCover simulates STATISTICS 3.2: the true difference is above the one-sided lower bound of 95 % in at least the share of
// runs that is stated for the worst setting, less what the draws may err.
func TestMarginIntervalsCover(t *testing.T) {
	t.Parallel()
	const runs, err = 1500, 0.02
	for name, mix := range mixes {
		for _, m := range []int{10, 20, 50} {
			for _, loss := range []float64{0, 0.1} {
				t.Run(fmt.Sprintf("%s/m=%d/loss=%v", name, m, loss), func(t *testing.T) {
					t.Parallel()
					const k = 3
					r := rand.New(rand.NewPCG(uint64(m), uint64(100*loss)))
					suite, population := 0, 0
					fixed := make([]float64, m) // the cases of a suite are these
					mean := 0.0
					for i := range fixed {
						fixed[i] = mix(r)
						mean -= (fixed[i] - max(0, fixed[i]-loss)) / float64(m)
					}
					expected, draws := 0.0, rand.New(rand.NewPCG(1, 1))
					const many = 200_000
					for range many {
						p := mix(draws)
						expected -= (p - max(0, p-loss)) / many
					}
					for range runs {
						pairs, d := make([]Pair, m), make([]float64, m)
						for i, p := range fixed {
							pairs[i] = Pair{passes(r, k, max(0, p-loss)), passes(r, k, p)}
							q := mix(r)
							d[i] = passes(r, k, max(0, q-loss)).rate() - passes(r, k, q).rate()
						}
						s, _ := SuiteDifference(pairs, 0.05)
						p, _ := PopulationDifference(d, nil, 0.05)
						if s.Lo <= mean+slack {
							suite++
						}
						if p.Lo <= expected+1e-3 {
							population++
						}
					}
					for what, got := range map[string]float64{"suite": float64(suite) / runs, "population": float64(population) / runs} {
						if least := map[string]float64{"suite": 0.936, "population": 0.938}[what] - err; got < least {
							t.Errorf("%s covers in %.3f of the runs, want %.3f or more", what, got, least)
						}
					}
				})
			}
		}
	}
}

// TestUnchangedIsSeldomWorse simulates STATISTICS 3.3 and 8: of a candidate that changed nothing, a slice is called worse in about 5 % of
// the runs at the most, whatever the margin.
func TestUnchangedIsSeldomWorse(t *testing.T) {
	t.Parallel()
	const runs, k = 800, 5
	for name, mix := range mixes {
		for _, m := range []int{10, 50} {
			r := rand.New(rand.NewPCG(uint64(m), 9))
			worse := 0
			for range runs {
				pairs := make([]Pair, m)
				for i := range pairs {
					p := mix(r)
					pairs[i] = Pair{passes(r, k, p), passes(r, k, p)}
				}
				d, _ := SuiteDifference(pairs, 0.05)
				up, down := Stratified(pairs)
				if c, _ := Compare(d.Lo, up, down, 0.05, 0.05); c == Worse {
					worse++
				}
			}
			if share := float64(worse) / runs; share > 0.052+0.023 { // and three standard deviations
				t.Errorf("%s, %d cases: worse in %.3f of the runs", name, m, share)
			}
		}
	}
}
