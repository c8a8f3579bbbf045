package measure

import (
	"math"
	"slices"
	"testing"
)

var gateChecks = map[string]func(t *testing.T, v vector){
	"rel_gate_false_alarm": func(t *testing.T, v vector) {
		var in struct {
			Tau, Mu, SD float64
			M           int
		}
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, RelativeGateFalseAlarm(in.Tau, in.Mu, in.SD, in.M), v.Tol)
	},
}

func TestRegressed(t *testing.T) {
	t.Parallel()
	ones := func(n int) (values []Value) {
		for range n {
			values = append(values, fraction(1, 1))
		}
		return values
	}
	lower := func(n int, by ...int64) []Value { // by hundredths
		values := ones(n)
		for i, b := range by {
			values[i] = fraction(100-b, 100)
		}
		return values
	}
	for _, tt := range []struct {
		name          string
		before, after []Value
		failed        bool
		drop          string
		cases         int
	}{
		{"the same", ones(10), ones(10), false, "0.000000", 0},
		{"two cases, a drop of 0.02 on the dot", ones(10), lower(10, 10, 10), true, "0.020000", 2},
		{"two cases, a little less", ones(10), lower(10, 10, 9), false, "0.019000", 2},
		{"one case", ones(10), lower(10, 100), false, "0.100000", 1},
		{"two of 101 cases", ones(101), lower(101, 200, 100), false, "0.029703", 2},
		{"two of 100 cases", ones(100), lower(100, 100, 100), true, "0.020000", 2},
		{"better elsewhere", lower(10, 0, 0, 100), lower(10, 50, 50), false, "0.000000", 2},
		{"a case without gold", append(ones(10), none(NoGold)), append(lower(10, 50, 50), none(NoGold)), true, "0.100000", 2},
	} {
		failed, drop, cases := Regressed(tt.before, tt.after)
		if failed != tt.failed || drop.Decimal() != tt.drop || len(cases) != tt.cases {
			t.Errorf("%s: failed %v, drop %v, cases %v", tt.name, failed, drop, cases)
		}
	}
	if failed, drop, _ := Regressed(nil, nil); failed || drop.OK() {
		t.Errorf("of nothing: %v, %v", failed, drop)
	}
}

func TestNoiseFloor(t *testing.T) {
	t.Parallel()
	var d []float64
	for i := range 20 {
		d = append(d, float64(i-10)/100)
	}
	slices.Reverse(d)
	near(t, "19 of 20 are within", 0.09, NoiseFloor(d).Float(), 0) // sizes 0, 2×(0.01 … 0.09), 0.10
	for name, v := range map[string]Value{"19 reruns": NoiseFloor(d[1:]), "not a number": NoiseFloor(append([]float64{math.NaN()}, d...))} {
		if v.OK() || v.Reason() == "" {
			t.Errorf("%s: %v", name, v)
		}
	}
	for _, v := range []Value{RelativeGateFalseAlarm(0.05, 0.6, 0, 30), RelativeGateFalseAlarm(0.05, 0.6, 0.1, 0)} {
		if v.OK() || v.Reason() == "" {
			t.Errorf("nothing varies: %v", v)
		}
	}
}

func TestSelfCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		worse Count
		want  bool
	}{
		{Count{0, 100}, true},
		{Count{5, 100}, true},
		{Count{9, 100}, true},   // P(9 or more) is 0.063
		{Count{10, 100}, false}, // 0.028
		{Count{}, false},
	} {
		if got := SelfCheck(tt.worse, 0.05); got != tt.want {
			t.Errorf("%v: %v", tt.worse, got)
		}
	}
}
