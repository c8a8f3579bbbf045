package measure

import (
	"encoding/json"
	"testing"
)

var flakinessChecks = map[string]func(t *testing.T, v vector){
	"distribution": func(t *testing.T, v vector) {
		var in struct{ Counts []int }
		var want map[string]json.RawMessage
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		got := VarietyOf(in.Counts)
		for name, value := range map[string]Value{
			"entropy_bits": got.Entropy, "entropy_norm": got.Normalised, "entropy_miller_madow": got.MillerMadow,
			"collision_agreement": got.Agreement, "modal_share": got.ModalShare, "distinct": fraction(int64(got.Distinct), 1),
		} {
			if want[name] == nil {
				t.Errorf("no %s", name)
			}
			checkValue(t, name, want[name], value, v.Tol)
		}
	},
	"pass_at_k_and_pass_hat_k": func(t *testing.T, v vector) {
		var in struct{ N, C, K int }
		var want struct {
			At  json.RawMessage `json:"pass_at_k"`
			Hat json.RawMessage `json:"pass_hat_k"`
		}
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		checkValue(t, "at least one", want.At, PassAtK(Count{in.C, in.N}, in.K), v.Tol)
		checkValue(t, "all", want.Hat, PassHatK(Count{in.C, in.N}, in.K), v.Tol)
	},
}

func TestSteadiness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c     Count
		want  Steadiness
		bound string
	}{
		{Count{5, 5}, NoFailureSeen, "0.450720"},
		{Count{10, 10}, NoFailureSeen, "0.258866"},
		{Count{0, 30}, NoPassSeen, "0.095034"},
		{Count{4, 5}, Flaky, ""},
		{Count{0, 0}, Untried, ""},
		{Count{2, 1}, Untried, ""},
	} {
		s, unseen := SteadinessOf(tt.c, 0.05)
		if s != tt.want || unseen.Decimal() != tt.bound || !unseen.OK() && unseen.Reason() == "" {
			t.Errorf("%v: %v, %v", tt.c, s, unseen)
		}
	}
}

func TestVarietyWithoutAnswers(t *testing.T) {
	t.Parallel()
	for _, counts := range [][]int{nil, {0}, {3, -1}} {
		v := VarietyOf(counts)
		for _, value := range []Value{v.Agreement, v.ModalShare, v.Entropy, v.Normalised, v.MillerMadow} {
			if value.OK() || value.Reason() != NoAnswers {
				t.Errorf("%v: %v", counts, value)
			}
		}
	}
	if v := VarietyOf([]int{4, 0, 1}); v.Distinct != 2 || v.Agreement.Decimal() != "0.600000" {
		t.Errorf("an answer that nobody gave counts: %v", v)
	}
}
