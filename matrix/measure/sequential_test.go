package measure

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

var sequentialChecks = map[string]func(t *testing.T, v vector){
	"sprt": func(t *testing.T, v vector) {
		var in struct {
			K, N          int
			P0, P1, Alpha float64
		}
		var out struct {
			LLR     float64
			Verdict string
		}
		decode(t, v.In, &in)
		decode(t, v.Out, &out)
		s := Sequential{in.P0, in.P1, in.Alpha}
		near(t, "log ratio", out.LLR, s.LogRatio(in.N, in.K), v.Tol)
		if want := map[string]Decision{"pass": Passes, "fail": Fails, "none": Undecided}[out.Verdict]; s.Of(in.N, in.K) != want {
			t.Errorf("want %v, got %v", want, s.Of(in.N, in.K))
		}
	},
	"sprt_boundary": func(t *testing.T, v vector) {
		var in struct {
			Side          string
			P0, P1, Alpha float64
		}
		var want []int
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		s := Sequential{in.P0, in.P1, in.Alpha}
		for others, n := range want { // others are the fails before a pass is shown, or the passes before a fail is
			decision, k, kBefore := Passes, n-others, n-1-others
			if in.Side == "fail" {
				decision, k, kBefore = Fails, others, others
			}
			if s.Of(n, k) != decision || s.Of(n-1, kBefore) == decision {
				t.Errorf("want %v at %d of %d for the first time, got %v, and %v before", decision, k, n, s.Of(n, k), s.Of(n-1, kBefore))
			}
		}
	},
	"bb_cs": func(t *testing.T, v vector) {
		var in struct {
			K, N  int
			Alpha float64
		}
		decode(t, v.In, &in)
		lo, hi := ConfidenceSequence(in.N, in.K, in.Alpha)
		checkEnds(t, v, lo, hi)
	},
	"howard_bernoulli_ci (optional, v_opt-tuned variant)": func(t *testing.T, v vector) {
		var in struct {
			K, N     int
			Alpha    float64
			Expected int `json:"t_opt"`
		}
		decode(t, v.In, &in)
		lo, hi := TunedConfidenceSequence(in.N, in.K, in.Alpha, in.Expected)
		checkEnds(t, v, lo, hi)
	},
	"bb_log_mixture": func(t *testing.T, v vector) {
		var in struct {
			K, N int
			P    float64
		}
		var want float64
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		near(t, v.ID, want, mixture(mathext.Lbeta(float64(in.K+1), float64(in.N-in.K+1)), in.N, in.K, in.P), v.Tol)
	},
	"project_single": func(t *testing.T, v vector) {
		var in struct{ K, N, RMax int }
		decode(t, v.In, &in)
		r, ok, probability := Sequential{0.5, 0.8, 0.05}.MoreNeeded(in.N, in.K, in.RMax)
		checkProjection(t, v, r, ok, probability)
	},
}

func checkProjection(t *testing.T, v vector, r int, ok bool, probability float64) {
	t.Helper()
	var want struct {
		R        *int
		PDecided float64 `json:"p_decided"`
	}
	decode(t, v.Out, &want)
	if ok != (want.R != nil) || ok && r != *want.R || !ok && r != 0 {
		t.Errorf("want %v, got %d, %v", want.R, r, ok)
	}
	near(t, "probability", want.PDecided, probability, v.Tol)
}

func TestDecideKeepsTheFirstDecision(t *testing.T) {
	t.Parallel()
	s := Sequential{0.5, 0.8, 0.05}
	passes := make([]bool, 20)
	for i := 4; i < len(passes); i++ {
		passes[i] = true
	}
	if d, at := s.Decide(passes); d != Fails || at != 4 { // of the count alone, 16 of 20, nothing would be decided
		t.Errorf("got %v at %d", d, at)
	}
	if d, at := s.Decide(passes[4:]); d != Passes || at != 7 {
		t.Errorf("got %v at %d", d, at)
	}
	if d, at := s.Decide(passes[2:8]); d != Undecided || at != 0 {
		t.Errorf("got %v at %d", d, at)
	}
	if r, ok, probability := s.MoreNeeded(7, 7, 50); r != 0 || !ok || probability != 1 {
		t.Errorf("a decided count needs %d more, %v, %v", r, ok, probability)
	}
}

// TestOtherTargets holds the rule against the numbers that the specification prints for other rates: trials until all passes, and until
// all failures, decide.
func TestOtherTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s                Sequential
		passing, failing int
		low, high        float64 // expected trials at the two rates
	}{
		{Sequential{0.5, 0.8, 0.05}, 7, 4, 13.8, 15.9},
		{Sequential{0.5, 0.8, 0.01}, 10, 6, 22.5, 24.6},
		{Sequential{0.6, 0.9, 0.05}, 8, 3, 10.8, 13.3},
		{Sequential{0.8, 0.95, 0.05}, 18, 3, 23.5, 30.8},
	} {
		all := make([]bool, 60)
		if d, at := tt.s.Decide(all); d != Fails || at != tt.failing {
			t.Errorf("%v: all fail: %v at %d", tt.s, d, at)
		}
		for i := range all {
			all[i] = true
		}
		if d, at := tt.s.Decide(all); d != Passes || at != tt.passing {
			t.Errorf("%v: all pass: %v at %d", tt.s, d, at)
		}
	}
}

func TestFixedVerdict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, k       int
		production bool
		want       Decision
	}{
		{5, 5, true, Passes},
		{5, 4, false, Undecided},
		{4, 4, false, Undecided},
		{2, 0, false, Fails},
		{1, 0, false, Undecided},
		{10, 5, false, Fails},
		{10, 6, false, Undecided},
		{20, 15, false, Passes},
		{20, 15, true, Undecided}, // not a share of 0.8
		{20, 16, true, Passes},
		{50, 33, false, Undecided}, // shown to be above 0.5 and below 0.8
		{0, 0, true, Undecided},
		{3, 4, false, Undecided},
		{3, -1, false, Undecided},
	} {
		if got := FixedVerdict(tt.n, tt.k, 0.5, 0.8, 0.05, tt.production); got != tt.want {
			t.Errorf("%d/%d, production %v: want %v, got %v", tt.k, tt.n, tt.production, tt.want, got)
		}
	}
}

// TestImpossibleCountsDecideNothing: neither a NaN nor a decision leaves the package for what cannot be.
func TestImpossibleCountsDecideNothing(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, s := range []Sequential{{}, {0.8, 0.5, 0.05}, {0.5, 1, 0.05}, {0, 0.8, 0.05}, {0.5, 0.8, 0}, {0.5, 0.8, 1}, {nan, 0.8, 0.05}, {0.5, nan, nan}} {
		if d := s.Of(20, 20); d != Undecided || s.LogRatio(20, 3) != 0 {
			t.Errorf("%v: %v, %v", s, d, s.LogRatio(20, 3))
		}
		if d, _ := s.Decide(make([]bool, 100)); d != Undecided {
			t.Errorf("%v decides %v", s, d)
		}
		if r, ok, p := s.MoreNeeded(3, 1, 10); r != 0 || ok || p != 0 {
			t.Errorf("%v: %d, %v, %v", s, r, ok, p)
		}
		if d := FixedVerdict(20, 20, s.Low, s.High, s.Alpha, false); d != Undecided && s.Alpha != 0 {
			t.Errorf("%v: fixed %v", s, d)
		}
	}
	if r := (Sequential{1e-320, 0.8, 0.05}).LogRatio(20, 0); r != 0 {
		t.Errorf("a target so low that the ratio overflows: %v", r)
	}
	s := Sequential{0.5, 0.8, 0.05}
	for _, bad := range [][2]int{{3, 4}, {3, -1}, {-1, 0}, {-1, -1}} {
		n, k := bad[0], bad[1]
		if s.Of(n, k) != Undecided || s.LogRatio(n, k) != 0 {
			t.Errorf("%v: %v", bad, s.LogRatio(n, k))
		}
		if lo, hi := ConfidenceSequence(n, k, 0.05); lo != 0 || hi != 1 {
			t.Errorf("%v: [%v,%v]", bad, lo, hi)
		}
		if _, ok, p := s.MoreNeeded(n, k, 50); ok || p != 0 {
			t.Errorf("%v: %v", bad, p)
		}
		if p := Boschloo(k, n, 1, 2); p != 1 {
			t.Errorf("%v: p %v", bad, p)
		}
		if l := LogEvidence(k, 1, n); l != 0 {
			t.Errorf("%v: evidence %v", bad, l)
		}
		if lo, hi := Newcombe(k, n, 1, 2, 0.9); lo != -1 || hi != 1 {
			t.Errorf("%v: [%v,%v]", bad, lo, hi)
		}
		if _, ok, p := MorePairs(k, 1, n, 50, 0.05); ok || p != 0 {
			t.Errorf("%v: %v", bad, p)
		}
	}
	for _, alpha := range []float64{0, 1, nan, math.Inf(1)} {
		if lo, hi := ConfidenceSequence(5, 4, alpha); lo != 0 || hi != 1 {
			t.Errorf("alpha %v: [%v,%v]", alpha, lo, hi)
		}
		if _, ok, _ := MorePairs(0, 3, 5, 10, alpha); ok {
			t.Errorf("alpha %v settles", alpha)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	passes := make([]bool, 50) // a pattern that is never decided
	for i := range passes {
		passes[i] = i%3 != 0
	}
	s := Sequential{0.5, 0.8, 1e-9}
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(passes)
	}
}

func BenchmarkConfidenceSequenceFirstUse(b *testing.B) {
	for b.Loop() {
		bound{31, 50, 0.05}.sequence()
	}
}

func BenchmarkMoreNeededFirstUse(b *testing.B) {
	for b.Loop() {
		settlement{Sequential{0.5, 0.8, 0.05}, 6, 4, 50}.project()
	}
}

func BenchmarkFixedVerdict(b *testing.B) {
	for b.Loop() {
		FixedVerdict(50, 40, 0.5, 0.8, 0.05, true)
	}
}
