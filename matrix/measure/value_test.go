package measure

import (
	"math"
	"math/big"
	"testing"
)

// TestFractionDecimal holds the decimals of small fractions against those of math/big, and fractions that are too large for it to being
// left to it.
func TestFractionDecimal(t *testing.T) {
	t.Parallel()
	check := func(num, den int64) {
		if got, want := fraction(num, den).Decimal(), big.NewRat(num, den).FloatString(6); got != want {
			t.Errorf("%d/%d: want %s, got %s", num, den, want, got)
		}
	}
	for den := int64(1); den < 130; den++ {
		for num := int64(-2); num <= den+2; num++ {
			check(num, den)
		}
	}
	for _, den := range []int64{2_000_000, 2_000_001, 1 << 41, 1 << 45, math.MaxInt64} { // a half of the last place, and less
		for _, num := range []int64{0, 1, 3, den/2 + 1, den - 1, den, 1 << 41, math.MaxInt64} {
			check(num, den)
		}
	}
	check(1, -3)
}
