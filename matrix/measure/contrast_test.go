package measure

import (
	"math"
	"sync"
	"testing"
)

var contrastChecks = map[string]func(t *testing.T, v vector){
	"contrast_fixed_p": func(t *testing.T, v vector) {
		var in struct{ KA, KB, N int }
		var out struct {
			Up     float64 `json:"p_up"`
			Down   float64 `json:"p_down"`
			Fisher float64 `json:"fisher_up"`
		}
		decode(t, v.In, &in)
		decode(t, v.Out, &out)
		near(t, "up", out.Up, Boschloo(in.KA, in.N, in.KB, in.N), v.Tol)
		near(t, "down", out.Down, Boschloo(in.KB, in.N, in.KA, in.N), v.Tol)
		near(t, "Fisher", out.Fisher, newFisher(in.N, in.N).p(in.KA, in.KB), v.Tol)
	},
	"boschloo": func(t *testing.T, v vector) {
		var in struct{ KA, NA, KB, NB int }
		var want float64
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		near(t, v.ID, want, Boschloo(in.KA, in.NA, in.KB, in.NB), v.Tol)
	},
	"min_kB_significant": func(t *testing.T, v vector) {
		var in struct {
			N     int
			Alpha float64
		}
		var want []*int
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		for kA, least := range want {
			for kB := range in.N + 1 {
				significant := Boschloo(kA, in.N, kB, in.N) <= in.Alpha+slack
				if significant != (least != nil && kB >= *least) {
					t.Errorf("%d and %d of %d: significant is %v", kA, kB, in.N, significant)
				}
			}
		}
	},
	"contrast_e": func(t *testing.T, v vector) {
		var in struct {
			KA, KB, N    int
			Alternatives [3][2]float64
		}
		var out struct {
			Up   float64 `json:"log_e_up"`
			Down float64 `json:"log_e_down"`
		}
		decode(t, v.In, &in)
		decode(t, v.Out, &out)
		for i, alt := range in.Alternatives {
			if alternatives[i].lo != alt[0] || alternatives[i].hi != alt[1] {
				t.Errorf("the alternatives are %v", alternatives)
			}
		}
		near(t, "up", out.Up, LogEvidence(in.KA, in.KB, in.N), v.Tol)
		near(t, "down", out.Down, LogEvidence(in.KB, in.KA, in.N), v.Tol)
	},
	"labels": func(t *testing.T, v vector) {
		var in struct{ KA, KB, N int }
		var out struct {
			Auto, Fixed string
			LevelAuto   string `json:"level_auto"`
			LevelFixed  string `json:"level_fixed"`
		}
		decode(t, v.In, &in)
		decode(t, v.Out, &out)
		name := func(a Attribution) string {
			if a == Unattributed {
				return "undecided"
			}
			return a.String()
		}
		level := func(d Decision) string {
			return map[Decision]string{Passes: "full", Fails: "partial", Undecided: "provisional"}[d]
		}
		s := Sequential{0.5, 0.8, 0.05}
		if got := name(autoAttribution(s, in.KA, in.KB, in.N)); got != out.Auto {
			t.Errorf("auto: want %s, got %s", out.Auto, got)
		}
		if got := level(s.Of(in.N, in.KB)); got != out.LevelAuto {
			t.Errorf("auto: want %s, got %s", out.LevelAuto, got)
		}
		if got := name(fixedAttribution(in.KA, in.KB, in.N)); got != out.Fixed {
			t.Errorf("fixed: want %s, got %s", out.Fixed, got)
		}
		if got := level(FixedVerdict(in.N, in.KB, 0.5, 0.8, 0.05, false)); got != out.LevelFixed {
			t.Errorf("fixed: want %s, got %s", out.LevelFixed, got)
		}
	},
	"newcombe_diff": func(t *testing.T, v vector) {
		var in struct {
			KA, NA, KB, NB int
			Level          float64
		}
		decode(t, v.In, &in)
		lo, hi := Newcombe(in.KA, in.NA, in.KB, in.NB, in.Level)
		checkEnds(t, v, lo, hi)
	},
	"project_pairs": func(t *testing.T, v vector) {
		var in struct{ KA, KB, N, RMax int }
		decode(t, v.In, &in)
		r, ok, probability := MorePairs(in.KA, in.KB, in.N, in.RMax, 0.05)
		checkProjection(t, v, r, ok, probability)
	},
}

func autoAttribution(s Sequential, kA, kB, n int) Attribution {
	if n < fewestPairs {
		return Unattributed
	}
	return Attribute(Significant(LogEvidence(kB, kA, n), s.Alpha), Significant(LogEvidence(kA, kB, n), s.Alpha), s.Of(n, kA), s.Of(n, kB))
}

func fixedAttribution(kA, kB, n int) Attribution {
	const alpha = 0.05
	return Attribute(Boschloo(kB, n, kA, n) <= alpha+slack, Boschloo(kA, n, kB, n) <= alpha+slack,
		FixedVerdict(n, kA, 0.5, 0.8, alpha, true), FixedVerdict(n, kB, 0.5, 0.8, alpha, false))
}

// TestEvidenceIsOne holds the construction: where both arms have one rate, the evidence of a block has an expectation of at most 1.
func TestEvidenceIsOne(t *testing.T) {
	t.Parallel()
	for i := range 101 {
		p := float64(i) / 100
		expected := 0.0
		for kA := range 2 {
			for kB := range 2 {
				expected += math.Pow(p, float64(kA+kB)) * math.Pow(1-p, float64(2-kA-kB)) * math.Exp(LogEvidence(kA, kB, 1))
			}
		}
		if expected > 1+1e-12 {
			t.Errorf("at %v the evidence of a block is %v", p, expected)
		}
	}
}

// TestBoschlooHoldsItsLevel: whatever the common rate, tables whose p is at most 0.05 have together at most that probability.
func TestBoschlooHoldsItsLevel(t *testing.T) {
	t.Parallel()
	for _, arms := range [][2]int{{5, 5}, {8, 8}, {10, 10}, {4, 9}} {
		f := newFisher(arms[0], arms[1])
		for i := 1; i < 200; i++ {
			log, logNot := math.Log(float64(i)/200), math.Log1p(-float64(i)/200)
			size := 0.0
			for a := range arms[0] + 1 {
				for b := range arms[1] + 1 {
					if Boschloo(a, arms[0], b, arms[1]) <= 0.05+slack {
						size += f.binomial(a, arms[0], log, logNot) * f.binomial(b, arms[1], log, logNot)
					}
				}
			}
			if size > 0.05+1e-9 {
				t.Errorf("%v at %v: %v", arms, float64(i)/200, size)
			}
		}
	}
}

// TestKeptResultsAreSafe: the race detector watches many readers of one table.
func TestKeptResultsAreSafe(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if p := Boschloo(2, 9, 8, 9); !(p > 0 && p < 0.05) {
				t.Errorf("p is %v", p)
			}
			if r, ok, _ := MorePairs(0, 2, 3, 50, 0.05); !ok || r != 10 {
				t.Errorf("%d, %v", r, ok)
			}
		})
	}
	wait.Wait()
}

func TestDifferenceSequence(t *testing.T) {
	t.Parallel()
	lo, hi := DifferenceSequence(0, 5, 4, 5, 0.05)
	near(t, "lo", mustSequence(4, 0)-mustSequence(0, 1), lo, 1e-12)
	near(t, "hi", mustSequence(4, 1), hi, 1e-12)
	if narrowLo, narrowHi := Newcombe(0, 5, 4, 5, 0.95); lo > narrowLo || hi < narrowHi {
		t.Errorf("[%v,%v] is narrower than the interval for a fixed number of trials", lo, hi)
	}
	if lo, hi := DifferenceSequence(0, 0, 4, 5, 0.05); lo > -0.8 || hi > 1 {
		t.Errorf("without a trial of A: [%v,%v]", lo, hi)
	}
}

func mustSequence(k, side int) float64 {
	lo, hi := ConfidenceSequence(5, k, 0.025)
	return [2]float64{lo, hi}[side]
}

// TestLogEvidenceFrom: it is that of LogEvidence to the bit, and is left out only where that is less.
func TestLogEvidenceFrom(t *testing.T) {
	t.Parallel()
	left := 0
	for n := -1; n <= 12; n++ {
		for kA := -1; kA <= n+1; kA++ {
			for kB := -1; kB <= n+1; kB++ {
				want := LogEvidence(kA, kB, n)
				for _, least := range []float64{math.Inf(-1), want - 1, want, want + 1, want + 3, 0, math.Log(20)} {
					switch got, ok := LogEvidenceFrom(kA, kB, n, least); {
					case ok && got != want:
						t.Errorf("%d and %d of %d from %v: want %v, got %v", kA, kB, n, least, want, got)
					case !ok && want >= least:
						t.Errorf("%d and %d of %d: %v is left out, and is not below %v", kA, kB, n, want, least)
					case !ok:
						left++
					}
				}
			}
		}
	}
	if left == 0 {
		t.Error("nothing is left out")
	}
}

func BenchmarkBoschlooFirstUse(b *testing.B) {
	for b.Loop() {
		boschloo(table{20, 50, 31, 50})
	}
}

func BenchmarkBoschlooKept(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Boschloo(20, 50, 31, 50)
	}
}

func BenchmarkLogEvidence(b *testing.B) {
	for b.Loop() {
		LogEvidence(20, 31, 50)
	}
}

func BenchmarkMorePairsFirstUse(b *testing.B) {
	for b.Loop() {
		projection{6, 7, 10, 50, 0.05, enough}.project()
	}
}

// TestPairsDecide holds it to the probabilities of MorePairs.
func TestPairsDecide(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 12; n++ {
		for kA := 0; kA <= n; kA++ {
			for kB := 0; kB <= n; kB++ {
				for _, most := range []int{0, 3, 20} {
					_, likely, probability := MorePairs(kA, kB, n, most, 0.05)
					if got, want := PairsDecide(kA, kB, n, most, 0.05, 0.25), likely || probability >= 0.25; got != want {
						t.Errorf("%d and %d of %d, %d more: %t, want %t (%v)", kA, kB, n, most, got, want, probability)
					}
				}
			}
		}
	}
	if PairsDecide(3, 1, 2, 5, 0.05, 0.25) {
		t.Error("counts that cannot be decide nothing")
	}
}

func BenchmarkPairsDecideOfMany(b *testing.B) {
	for b.Loop() {
		projection{65, 66, 100, 100, 0.05, 0.25}.project()
	}
}
