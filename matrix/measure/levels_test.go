package measure

import (
	"encoding/json"
	"math"
	"testing"
)

// checkValue holds a value against a number of a vector, or against null.
func checkValue(t *testing.T, what string, want json.RawMessage, got Value, tolerance float64) {
	t.Helper()
	switch {
	case want == nil:
	case string(want) == "null":
		if got.OK() || got.Reason() == "" {
			t.Errorf("%s: want no value and a reason, got %v", what, got)
		}
	default:
		var number float64
		decode(t, want, &number)
		if !got.OK() {
			t.Errorf("%s: want %v, got %v", what, number, got)
		}
		near(t, what, number, got.Float(), tolerance)
	}
}

type clustered struct {
	S []float64
	C []int
}

var levelChecks = map[string]func(t *testing.T, v vector){
	"decompose": func(t *testing.T, v vector) {
		var in struct{ K, N []int }
		var out map[string]json.RawMessage
		decode(t, v.In, &in)
		decode(t, v.Out, &out)
		var cases []Count
		for i := range in.K {
			cases = append(cases, Count{in.K[i], in.N[i]})
		}
		got := Decompose(cases)
		for name, value := range map[string]Value{
			"mean": got.Mean, "se_case": got.CaseError, "sigma2_within": got.Within,
			"var_between": got.Between, "se_suite": got.SuiteError, "icc": got.Share,
		} {
			want, ok := out[name]
			if !ok { // one trial per case: nothing is known of it
				want = json.RawMessage("null")
			}
			checkValue(t, name, want, value, v.Tol)
		}
	},
	"se_clt": func(t *testing.T, v vector) {
		var in clustered
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, StandardError(in.S), v.Tol)
	},
	"se_cluster_miller": func(t *testing.T, v vector) {
		var in clustered
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, MillerError(in.S, in.C), v.Tol)
	},
	"se_cluster_cr1": func(t *testing.T, v vector) {
		var in clustered
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, ClusteredError(in.S, in.C), v.Tol)
	},
	"miller_n": func(t *testing.T, v vector) {
		in := readDesign(t, v)
		checkValue(t, v.ID, v.Out, in.design.CasesNeeded(in.Delta, in.Alpha, in.Power), v.Tol)
	},
	"miller_mde": func(t *testing.T, v vector) {
		in := readDesign(t, v)
		checkValue(t, v.ID, v.Out, in.design.Detectable(in.N, in.Alpha, in.Power), v.Tol)
	},
	"resample_var_ratio": func(t *testing.T, v vector) {
		var in struct {
			Between float64 `json:"var_between"`
			Within  float64 `json:"sigma2"`
			K       int
		}
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, RepeatsLeave(in.Between, in.Within, in.K), v.Tol)
	},
}

type planVector struct {
	Delta, Alpha, Power float64
	N                   int
	Omega2, SA2, SB2    float64
	KA, KB              int
	design              Design
}

func readDesign(t *testing.T, v vector) planVector {
	t.Helper()
	var in planVector
	decode(t, v.In, &in)
	in.design = Design{Between: in.Omega2, WithinC: in.SA2, WithinB: in.SB2, TrialsC: in.KA, TrialsB: in.KB}
	return in
}

func TestLevelsWithoutValue(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, v := range map[string]Value{
		"no case":               Decompose(nil).Mean,
		"counts":                Decompose([]Count{{3, 2}}).Mean,
		"one case":              Decompose([]Count{{3, 5}}).CaseError,
		"one case, between":     Decompose([]Count{{3, 5}}).Between,
		"a case of one trial":   Decompose([]Count{{3, 5}, {1, 1}}).SuiteError,
		"no score":              StandardError(nil),
		"not a number":          StandardError([]float64{nan, 1}),
		"one cluster":           ClusteredError([]float64{1, 0}, []int{4, 4}),
		"clusters of nothing":   ClusteredError([]float64{1, 0}, []int{4}),
		"no repeats":            RepeatsLeave(0.1, 0.1, 0),
		"nothing varies":        RepeatsLeave(0, 0, 3),
		"no difference to find": Design{Between: 1, TrialsC: 1, TrialsB: 1}.CasesNeeded(0, 0.05, 0.8),
		"no trials":             Design{Between: 1}.Detectable(10, 0.05, 0.8),
	} {
		if v.OK() || v.Reason() == "" {
			t.Errorf("%s: got %v", name, v)
		}
	}
	if within := Decompose([]Count{{3, 5}, {1, 1}}).Within; within.Decimal() != "0.300000" {
		t.Errorf("the case of several trials has a variance of %v", within)
	}
}

func TestMeanInterval(t *testing.T) {
	t.Parallel()
	lo, hi, ok := MeanInterval([]float64{1, 0.8, 0.6, 0, 0.2, 1, 1, 0.4}, []int{1, 1, 1, 2, 2, 3, 3, 4}, 0.95)
	half := 3.182446305284263 * 0.20367713421000402 // t of three degrees of freedom
	near(t, "lo", 0.625-half, lo, 1e-9)
	near(t, "hi", 0.625+half, hi, 1e-9)
	if _, _, again := MeanInterval([]float64{1}, []int{1}, 0.95); !ok || again {
		t.Errorf("%v, %v", ok, again)
	}
}
