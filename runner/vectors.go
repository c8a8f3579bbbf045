package runner

import (
	"math"
	"strconv"

	"github.com/culprit-rag/culprit/matrix"
)

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x)) // un-fused: equal bytes on every CPU
	}
	return math.Sqrt(sum)
}

// cosine compares the leading numbers that both vectors have: a model that is made for it gives a shorter vector of the same
// text by leaving off the rest. It returns nil where one has no length there.
func cosine(a, b []float32) *matrix.Decimal {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += float64(x * y) // un-fused, as in norm
		aa += float64(x * x)
		bb += float64(y * y)
	}
	length := float64(math.Sqrt(aa) * math.Sqrt(bb))
	if length == 0 || math.IsNaN(dot) || math.IsInf(length, 0) {
		return nil
	}
	d := decimal(dot / length)
	return &d
}

// score keeps eight significant digits, so that small scores that differ stay apart; minus zero is zero. A number that is
// none is no score.
func score(f float64) *matrix.Decimal {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	if f == 0 {
		f = 0
	}
	d := matrix.Decimal(strconv.FormatFloat(f, 'g', 8, 64))
	return &d
}

// decimal keeps six places; minus zero is zero.
func decimal(f float64) matrix.Decimal {
	f = math.Round(f*1e6) / 1e6
	if f == 0 {
		f = 0
	}
	return matrix.NewDecimal(f)
}
