package measure

import (
	"math"
	"testing"
)

type arms struct {
	KC, NC, KB, NB []int
	Alpha          float64 `json:"alpha1"`
}

func (a arms) pairs() (pairs []Pair) {
	for i := range a.KC {
		pairs = append(pairs, Pair{Count{a.KC[i], a.NC[i]}, Count{a.KB[i], a.NB[i]}})
	}
	return pairs
}

func checkDifference(t *testing.T, v vector, d Difference, ok bool) {
	t.Helper()
	var want struct{ Delta, Lower, Upper float64 }
	decode(t, v.Out, &want)
	if !ok {
		t.Error("there is no interval")
	}
	near(t, "delta", want.Delta, d.Delta, v.Tol)
	near(t, "lower", want.Lower, d.Lo, v.Tol)
	near(t, "upper", want.Upper, d.Hi, v.Tol)
}

func checkTails(t *testing.T, v vector, better, worse float64) {
	t.Helper()
	var want struct {
		Better float64  `json:"p_better"`
		Worse  float64  `json:"p_worse"`
		Two    *float64 `json:"p_two"`
	}
	decode(t, v.Out, &want)
	near(t, "better", want.Better, better, v.Tol)
	near(t, "worse", want.Worse, worse, v.Tol)
	if want.Two != nil {
		near(t, "either", *want.Two, min(1, 2*min(better, worse)), v.Tol)
	}
}

var compareChecks = map[string]func(t *testing.T, v vector){
	"mcnemar_exact": func(t *testing.T, v vector) {
		var in struct{ Gain, Loss int }
		decode(t, v.In, &in)
		better, worse, either := McNemar(in.Gain, in.Loss)
		checkTails(t, v, better, worse)
		near(t, "two-sided", min(1, 2*min(better, worse)), either, 0)
	},
	"signflip_exact": func(t *testing.T, v vector) {
		var in struct {
			KC, KB []int
			N      int
		}
		decode(t, v.In, &in)
		var pairs []Pair
		for i := range in.KC {
			pairs = append(pairs, Pair{Count{in.KC[i], in.N}, Count{in.KB[i], in.N}})
		}
		d, _, ok := Differences(pairs)
		if !ok {
			t.Fatal("no differences")
		}
		better, worse := SignFlip(d)
		checkTails(t, v, better, worse)
	},
	"strat_exact": func(t *testing.T, v vector) { //nolint:misspell // the vectors' name
		var in arms
		decode(t, v.In, &in)
		better, worse := Stratified(in.pairs())
		checkTails(t, v, better, worse)
	},
	"suite_ci": func(t *testing.T, v vector) {
		var in arms
		decode(t, v.In, &in)
		d, ok := SuiteDifference(in.pairs(), in.Alpha)
		checkDifference(t, v, d, ok)
		var want struct {
			C float64 `json:"neff_c"`
			B float64 `json:"neff_b"`
		}
		decode(t, v.Out, &want)
		_, nC := effective(in.pairs(), func(p Pair) Count { return p.Candidate })
		_, nB := effective(in.pairs(), func(p Pair) Count { return p.Baseline })
		near(t, "candidate's trials", want.C, nC, v.Tol)
		near(t, "baseline's trials", want.B, nB, v.Tol)
	},
	"bp_ci":         checkPopulation,
	"bp_ci_cluster": checkPopulation,
	"holm": func(t *testing.T, v vector) {
		var in struct{ P []float64 }
		var want []float64
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		for i, p := range Holm(in.P) {
			near(t, v.ID, want[i], p, v.Tol)
		}
	},
	"verdict": func(t *testing.T, v vector) {
		var in struct {
			Lower         float64
			Better        float64 `json:"p_better_adj"`
			Worse         float64 `json:"p_worse_adj"`
			Margin, Alpha float64
		}
		var want string
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		got, smallLoss := Compare(in.Lower, in.Better, in.Worse, in.Margin, in.Alpha)
		if got.String() != want || smallLoss != (got == NoWorse && in.Worse <= in.Alpha) {
			t.Errorf("want %s, got %s, small loss %v", want, got, smallLoss)
		}
	},
	"plan_generations_per_arm": func(t *testing.T, v vector) {
		var in struct {
			Delta, Power float64
			B            float64 `json:"sigma2_b"`
			C            float64 `json:"sigma2_c"`
			Alpha        float64 `json:"alpha1"`
		}
		var want float64
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		near(t, v.ID, want, TrialsNeeded(in.Delta, in.C, in.B, in.Alpha, in.Power).Float(), v.Tol)
	},
}

func checkPopulation(t *testing.T, v vector) {
	t.Helper()
	var in struct {
		D     []float64
		C     []int
		Alpha float64 `json:"alpha1"`
	}
	decode(t, v.In, &in)
	d, ok := PopulationDifference(in.D, in.C, in.Alpha)
	checkDifference(t, v, d, ok)
}

// TestOneTrialIsMcNemar: of one trial a case, both exact tests are McNemar's.
func TestOneTrialIsMcNemar(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]int{{0, 0}, {5, 0}, {1, 7}, {9, 2}, {3, 3}} {
		pairs := []Pair{{Count{1, 1}, Count{1, 1}}, {Count{0, 1}, Count{0, 1}}}
		for range tt[0] {
			pairs = append(pairs, Pair{Count{1, 1}, Count{0, 1}})
		}
		for range tt[1] {
			pairs = append(pairs, Pair{Count{0, 1}, Count{1, 1}})
		}
		better, worse, _ := McNemar(tt[0], tt[1])
		d, _, _ := Differences(pairs)
		for name, test := range map[string]func() (float64, float64){
			"stratified": func() (float64, float64) { return Stratified(pairs) },
			"sign flip":  func() (float64, float64) { return SignFlip(d) },
		} {
			b, w := test()
			near(t, name+" better", better, b, 1e-12)
			near(t, name+" worse", worse, w, 1e-12)
		}
	}
}

// TestDrawsStandInForTooManySums: the drawn tail is near the exact one, and the same each time.
func TestDrawsStandInForTooManySums(t *testing.T) {
	t.Parallel()
	d := []int64{3, -1, 4, 1, 5, -9, 2, 6, 5, 3}
	large := make([]int64, len(d))
	for i, x := range d {
		large[i] = 50_000 * x
	}
	better, worse := SignFlip(d)
	drawnBetter, drawnWorse := SignFlip(large)
	near(t, "better", better, drawnBetter, 0.005)
	near(t, "worse", worse, drawnWorse, 0.005)
	if better == drawnBetter {
		t.Error("nothing was drawn")
	}
	if again, _ := SignFlip(large); again != drawnBetter {
		t.Errorf("%v, then %v", drawnBetter, again)
	}
}

// TestExactTestsHoldTheirLevel, whatever the rates of the cases, where nothing changed.
func TestExactTestsHoldTheirLevel(t *testing.T) {
	t.Parallel()
	for _, rates := range [][3]float64{{0.5, 0.5, 0.5}, {0.9, 0.9, 0.9}, {0.2, 0.6, 0.95}} {
		const n = 3
		var wrong [2]float64
		f := newFisher(n, n)
		each := func(p float64, do func(c, b int, probability float64)) {
			for c := range n + 1 {
				for b := range n + 1 {
					do(c, b, f.binomial(c, n, math.Log(p), math.Log1p(-p))*f.binomial(b, n, math.Log(p), math.Log1p(-p)))
				}
			}
		}
		each(rates[0], func(c0, b0 int, p0 float64) {
			each(rates[1], func(c1, b1 int, p1 float64) {
				each(rates[2], func(c2, b2 int, p2 float64) {
					pairs := []Pair{{Count{c0, n}, Count{b0, n}}, {Count{c1, n}, Count{b1, n}}, {Count{c2, n}, Count{b2, n}}}
					if better, worse := Stratified(pairs); better <= 0.05+slack {
						wrong[0] += p0 * p1 * p2
					} else if worse <= 0.05+slack {
						wrong[1] += p0 * p1 * p2
					}
				})
			})
		})
		if wrong[0] > 0.05 || wrong[1] > 0.05 {
			t.Errorf("%v: %v", rates, wrong)
		}
	}
}

// TestUnequalTrials: numbers of trials without a small multiple in common are drawn, and a clear gain is seen all the same.
func TestUnequalTrials(t *testing.T) {
	t.Parallel()
	var pairs []Pair
	for n := 5; n < 20; n++ {
		pairs = append(pairs, Pair{Count{n, n}, Count{1, n + 1}})
	}
	if better, worse := Stratified(pairs); better != 1./100_001 || worse < 0.99 {
		t.Errorf("better %v, worse %v", better, worse)
	}
}

func TestClusterSums(t *testing.T) {
	t.Parallel()
	if got := ClusterSums([]int64{1, 2, 4, 8}, []int{7, 3, 7, 3}); len(got) != 2 || got[0] != 5 || got[1] != 10 {
		t.Errorf("got %v", got)
	}
}

func TestBenjaminiHochberg(t *testing.T) {
	t.Parallel()
	for i, q := range BenjaminiHochberg([]float64{0.04, 0.005, 0.03, 0.9}) { // 4·.04/3 < 4·.03/2
		near(t, "q", []float64{0.16 / 3, 0.02, 0.16 / 3, 0.9}[i], q, 1e-12)
	}
}

func TestNoProbabilityShowsNothing(t *testing.T) {
	t.Parallel()
	for i, p := range Holm([]float64{math.NaN(), 0.01, -1}) {
		near(t, "Holm", []float64{1, 0.03, 1}[i], p, 1e-12)
	}
	for i, q := range BenjaminiHochberg([]float64{0.01, math.NaN()}) {
		near(t, "q", []float64{0.02, 1}[i], q, 1e-12)
	}
}

func TestSignOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		overall Comparison
		slices  []SliceResult
		want    SignOff
	}{
		{"all is well", Better, []SliceResult{{NoWorse, true}, {Inconclusive, false}, {NotCompared, false}}, Pass},
		{"no slices", NoWorse, nil, Pass},
		{"a critical slice is open", NoWorse, []SliceResult{{Inconclusive, true}}, Hold},
		{"a critical slice has no cases", NoWorse, []SliceResult{{NotCompared, true}}, Hold},
		{"the whole is open", Inconclusive, []SliceResult{{Better, true}}, Hold},
		{"the whole is worse", Worse, nil, Block},
		{"some slice is worse", Better, []SliceResult{{Inconclusive, true}, {Worse, false}}, Block},
	} {
		if got := SignOffOf(tt.overall, tt.slices); got != tt.want {
			t.Errorf("%s: want %v, got %v", tt.name, tt.want, got)
		}
	}
}

func TestCompareImpossible(t *testing.T) {
	t.Parallel()
	bad := []Pair{{Count{3, 2}, Count{1, 2}}}
	for _, pairs := range [][]Pair{nil, bad, {{Count{0, 0}, Count{1, 2}}}} {
		if _, ok := SuiteDifference(pairs, 0.05); ok {
			t.Errorf("%v has an interval", pairs)
		}
		if better, worse := Stratified(pairs); better != 1 || worse != 1 {
			t.Errorf("%v: %v, %v", pairs, better, worse)
		}
	}
	for _, d := range [][]float64{nil, {math.NaN()}, {2}} {
		if _, ok := PopulationDifference(d, nil, 0.05); ok {
			t.Errorf("%v has an interval", d)
		}
	}
	ties := []Pair{{Count{5, 5}, Count{5, 5}}}
	for _, alpha := range []float64{0, 0.5, 1, math.NaN(), math.Inf(1)} {
		if _, ok := SuiteDifference(ties, alpha); ok {
			t.Errorf("alpha %v has an interval", alpha)
		}
		if _, ok := PopulationDifference([]float64{0}, nil, alpha); ok {
			t.Errorf("alpha %v has an interval", alpha)
		}
	}
	if d, ok := SuiteDifference(ties, 1e-300); !ok || !(d.Lo < -0.9 && d.Hi > 0.9) { // 1 - alpha is 1
		t.Errorf("a tiny alpha: %v, %v", d, ok)
	}
	if lo, hi := Wilson(3, 5, math.Nextafter(1, 0)); !(lo > 0 && lo < 0.1 && hi > 0.9 && hi < 1) {
		t.Errorf("a level next to 1: [%v,%v]", lo, hi)
	}
	if better, worse, either := McNemar(-1, 3); better != 1 || worse != 1 || either != 1 {
		t.Errorf("%v, %v, %v", better, worse, either)
	}
	for _, v := range []Value{TrialsNeeded(0, 0.1, 0.1, 0.05, 0.8), TrialsNeeded(0.1, 0.1, 0.1, 0.05, 1)} {
		if v.OK() || v.Reason() == "" {
			t.Errorf("a plan of nothing: %v", v)
		}
	}
	if !TooMany(6, 100) || TooMany(5, 100) || TooMany(0, 0) {
		t.Error("more than 5 % is too many")
	}
}

func BenchmarkStratified(b *testing.B) {
	var pairs []Pair
	for i := range 200 {
		pairs = append(pairs, Pair{Count{i % 6, 5}, Count{(i * 7) % 6, 5}})
	}
	for b.Loop() {
		Stratified(pairs)
	}
}
