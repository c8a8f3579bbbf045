package measure

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Interval is a two-sided interval for a rate, as decimals with six places.
type Interval struct{ Lo, Hi string }

// z95 is the standard normal quantile at 0.975.
const z95 = 1.959963984540054

// Wilson95 returns the Wilson 95 % interval for k passes of n, for display: where a bound decides something, use
// [ClopperPearsonLower]. Of no trial nothing is known: the interval is [0,1]. It is not ok for counts that cannot be.
func Wilson95(k, n int) (i Interval, ok bool) {
	if k < 0 || n < k {
		return Interval{}, false
	}
	lo, hi := wilson(k, n, z95)
	return Interval{Lo: decimal(lo), Hi: decimal(hi)}, true
}

// wilson is computed in floating point that is the same on every processor: a product is converted before it is added, which keeps the
// compiler from fusing the two, and the square root is exact to the last bit everywhere.
func wilson(k, n int, z float64) (lo, hi float64) {
	if n == 0 {
		return 0, 1
	}
	count := float64(n)
	p := float64(k) / count
	z2 := float64(z * z)
	scale := 1 + z2/count
	centre := (p + z2/float64(2*count)) / scale
	spread := float64(p*(1-p))/count + z2/float64(4*float64(count*count))
	half := float64(float64(z/scale) * math.Sqrt(spread))
	lo, hi = max(0, centre-half), min(1, centre+half)
	if k == 0 {
		lo = 0
	}
	if k == n {
		hi = 1
	}
	return lo, hi
}

// decimal writes six places; a rate is never below 0, so there is no negative zero.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

// ClopperPearsonLower returns the one-sided lower bound at level 1-alpha for the rate behind k passes of n: the rate at which k
// passes or more have probability alpha. It is 0 for k 0.
func ClopperPearsonLower(k, n int, alpha float64) Value {
	switch {
	case k < 0 || n < k:
		return none(fmt.Sprintf("%d passes of %d cannot be", k, n))
	case !(alpha > 0 && alpha < 1):
		return none("alpha is not between 0 and 1")
	case k == 0:
		return fraction(0, 1)
	}
	level := number().SetFloat64(alpha)
	lo, hi := number(), number().SetInt64(1)
	for range boundBits {
		mid := number().Add(lo, hi)
		mid.Quo(mid, number().SetInt64(2))
		if tail(k, n, mid).Cmp(level) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	bound, _ := lo.Rat(nil)
	return Value{number: bound}
}

// ClopperPearsonUpper is the one-sided upper bound: the rate at which k passes or fewer have probability alpha. It is 1 for k n.
func ClopperPearsonUpper(k, n int, alpha float64) Value {
	v := ClopperPearsonLower(n-k, n, alpha)
	if v.OK() {
		v.number = new(big.Rat).Sub(big.NewRat(1, 1), v.number)
	}
	return v
}

// A bound is found by halving [0,1] this often, with probabilities to this many bits.
const (
	boundBits = 50
	tailBits  = 192
)

func number() *big.Float { return new(big.Float).SetPrec(tailBits) }

// tail returns P(Bin(n,p) ≥ k) for 0 < p < 1, summed from its first term on. All terms are positive: nothing cancels. math/big is used
// because the beta quantile of a float library goes through logarithms, which differ between processors.
func tail(k, n int, p *big.Float) *big.Float {
	q := number().Sub(number().SetInt64(1), p)
	term := number().SetInt(new(big.Int).Binomial(int64(n), int64(k)))
	term.Mul(term, power(p, k)).Mul(term, power(q, n-k))
	odds := number().Quo(p, q)
	sum := number().Set(term)
	for i := k; i < n; i++ {
		term.Mul(term, number().SetInt64(int64(n-i))).Quo(term, number().SetInt64(int64(i+1)))
		term.Mul(term, odds)
		sum.Add(sum, term)
	}
	return sum
}

func power(x *big.Float, n int) *big.Float {
	result, square := number().SetInt64(1), number().Set(x)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result.Mul(result, square)
		}
		square.Mul(square, square)
	}
	return result
}
