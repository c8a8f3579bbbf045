package verdict

import (
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// The fewest repeats that can show a pass are those at which the tests do.
func TestRepeatsToPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		repeats matrix.Repeats
		by      string
		alpha   matrix.Decimal
		want    int
	}{
		{matrix.Auto, DecidedSequential, "0.05", 7},
		{matrix.Auto, DecidedSequential, "", 7},
		{matrix.Auto, DecidedSequential, "0.01", 10},
		{matrix.Auto, DecidedSequential, "0.2", 4},
		{5, DecidedFixed, "0.05", 5},
		{2, DecidedFixed, "0.0625", 4}, // as sharp as it gets: 1/2 to the 4th
		{2, DecidedFixed, "0.01", 7},
		{2, DecidedFixed, "0.2", 3},
	} {
		runs := matrix.Runs{Repeats: tt.repeats, Alpha: tt.alpha}
		if got := runs.RepeatsToPass(); got != tt.want {
			t.Errorf("%s, alpha %q: want %d, got %d", tt.repeats, tt.alpha, tt.want, got)
		}
		d := deciding{by: tt.by, alpha: runs.ErrorRate()}
		for _, n := range []int{tt.want - 1, tt.want} {
			want := measure.Undecided
			if n == tt.want {
				want = measure.Passes
			}
			if got := d.of(slices.Repeat([]bool{true}, n), true); got != want {
				t.Errorf("%s, alpha %q: %d of %d: want %s, got %s", tt.repeats, tt.alpha, n, n, want, got)
			}
		}
	}
}
