package measure

import (
	"math"
	"testing"
)

func TestFloor(t *testing.T) {
	t.Parallel()
	inf := math.Inf(-1)
	steps := func(n int, from, by float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[n-1-i] = from + by*float64(i) // not in order
		}
		return out
	}
	for _, test := range []struct {
		name   string
		others []float64
		share  float64
		want   string // "" for none
		reason string
	}{
		{"one of twenty may reach it", steps(20, 0.01, 0.01), 0.05, "0.190100", ""},
		{"a tenth", steps(20, 0.01, 0.01), 0.1, "0.180100", ""},
		{"nineteen are too few for a twentieth", steps(19, 0.01, 0.01), 0.05, "", FewPairs},
		{"negative scores, as of distances", steps(20, -20, 1), 0.05, "-1.999000", ""},
		{"ties are left below together", append(steps(18, 0.1, 0), 0.1, 0.1), 0.05, "0.100100", ""},
		{"what has no score is below all", append(steps(2, 3, 1), []float64{inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf}...), 0.2, "0.000000", ""},
		{"nothing has a score", []float64{inf, inf, inf, inf}, 0.5, "0.000000", ""},
		{"no share", steps(20, 0, 1), 0, "", FewPairs},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Floor(test.others, test.share)
			if got.Decimal() != test.want || got.Reason() != test.reason {
				t.Errorf("want %q %q, got %q %q", test.want, test.reason, got.Decimal(), got.Reason())
			}
			if !got.OK() {
				return
			}
			reach := 0
			for _, f := range test.others {
				if f >= got.Float() {
					reach++
				}
			}
			if float64(reach) > test.share*float64(len(test.others))+1e-9 {
				t.Errorf("%d of %d reach it", reach, len(test.others))
			}
		})
	}
}
