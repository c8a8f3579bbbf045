package measure

import (
	"math"
	"slices"
)

// FewPairs is why there is no floor: they are too few for the share that may reach it.
const FewPairs = "too few pairs"

// Floor returns the least score, a little above one of others, that at most a share of others reaches. others are the scores of items
// that have nothing to do with their query, better ones higher; those that the search cannot score are -Inf, and where they are so
// many that the floor would be one, it is 0: any score at all is above it. The floor rests on others alone, so that the share of gold
// below it may be bounded by [ClopperPearsonUpper]. Without 1/share others it has no value.
func Floor(others []float64, share float64) Value {
	n := len(others)
	reach := int(math.Floor(share*float64(n) + slack)) // so many may reach it
	if !(share > 0 && share < 1) || reach < 1 {
		return none(FewPairs)
	}
	sorted := slices.Sorted(slices.Values(others))
	last := sorted[n-reach-1]
	if math.IsInf(last, -1) {
		return fraction(0, 1)
	}
	return about(above(last), FewPairs)
}

// above is a number of four significant digits that is greater than f, and the next there is.
func above(f float64) float64 {
	unit := 1e-4
	if f != 0 {
		unit = math.Pow(10, math.Floor(math.Log10(math.Abs(f)))-3)
	}
	if up := float64(math.Ceil(f/unit) * unit); up > f {
		return up
	}
	return float64((math.Floor(f/unit) + 1) * unit)
}
