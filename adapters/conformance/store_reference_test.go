package conformance

import (
	"math"
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

func TestDistances(t *testing.T) {
	t.Parallel()
	a, b := []float32{1, 2, 2}, []float32{4, 0, -2}
	for distance, want := range map[string]float64{
		"cosine": 0, "dot": 0, "euclid": math.Sqrt(9 + 4 + 16), "manhattan": 3 + 2 + 4,
	} {
		if got := compare(distance, a, b); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", distance, got, want)
		}
	}
	for distance, want := range map[string]float64{"cosine": 1, "dot": 18, "euclid": 3, "manhattan": 5} {
		if got := compare(distance, a, []float32{2, 4, 4}); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s of a multiple is %v, want %v", distance, got, want)
		}
	}
}

// TestBruteForce: the best score comes first, whichever way it is, and of equals the lower id.
func TestBruteForce(t *testing.T) {
	t.Parallel()
	items := []adapters.Item{
		{ID: "far", Vector: []float32{9, 0}},
		{ID: "z", Vector: []float32{1, 1}},
		{ID: "y", Vector: []float32{1, 1}},
		{ID: "none"},
	}
	for _, test := range []struct {
		distance      string
		lowerIsBetter bool
		want          []string
	}{
		{"euclid", true, []string{"y", "z", "far"}},
		{"dot", false, []string{"far", "y", "z"}},
	} {
		s := storeSuite{StoreHarness: StoreHarness{Distance: test.distance, LowerIsBetter: test.lowerIsBetter}}
		s.defaults()
		var got []string
		for _, r := range s.bruteForce(items, []float32{1, 0}, nil) {
			got = append(got, r.id)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.distance, got, test.want)
		}
	}
}
