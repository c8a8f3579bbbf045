package measure

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"gonum.org/v1/gonum/mathext"
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

// Wilson is the Wilson score interval for k passes of n at a two-sided level: c ± h with c = (p + z²/2n)/(1+z²/n),
// h = z/(1+z²/n)·√(p(1-p)/n + z²/4n²) and p = k/n. It is [0,1] for no trial, for counts that cannot be and for a level outside (0,1).
func Wilson(k, n int, level float64) (lo, hi float64) {
	if k < 0 || n < k || !(level > 0 && level < 1) {
		return 0, 1
	}
	return wilson(k, n, upper((1-level)/2))
}

// wilson is [0,1] of no trial, and its ends are exact where all trials pass or none does.
func wilson(k, n int, z float64) (lo, hi float64) {
	if n == 0 {
		return 0, 1
	}
	lo, hi = score(float64(k)/float64(n), float64(n), z)
	if k == 0 {
		lo = 0
	}
	if k == n {
		hi = 1
	}
	return lo, hi
}

// score is the interval for a share p of count > 0 trials, which need not be whole. It is computed in floating point that is the same on
// every processor: a product is converted before it is added, which keeps the compiler from fusing the two, and the square root is exact to
// the last bit everywhere.
func score(p, count, z float64) (lo, hi float64) {
	z2 := float64(z * z)
	scale := 1 + z2/count
	centre := (p + z2/float64(2*count)) / scale
	spread := float64(p*(1-p))/count + z2/float64(4*float64(count*count))
	half := float64(float64(z/scale) * math.Sqrt(spread))
	return max(0, centre-half), min(1, centre+half)
}

// upper is the standard normal quantile at 1-alpha, finite for 0 < alpha < 1 however near to 0.
func upper(alpha float64) float64 { return -mathext.NormalQuantile(alpha) }

// Jeffreys is the interval between the quantiles of Beta(k+½, n-k+½) at a two-sided level, with 0 for k 0 and 1 for k n. It is [0,1] where
// [Wilson] is. It is for display: as a bound it errs up to three times as often as it says.
func Jeffreys(k, n int, level float64) (lo, hi float64) {
	lo, hi = 0, 1
	if k < 0 || n < k || !(level > 0 && level < 1) {
		return lo, hi
	}
	a, b := float64(k)+0.5, float64(n-k)+0.5
	if k > 0 {
		lo = mathext.InvRegIncBeta(a, b, (1-level)/2)
	}
	if k < n {
		hi = mathext.InvRegIncBeta(a, b, (1+level)/2)
	}
	return lo, hi
}

// decimal writes six places; a rate is never below 0, so there is no negative zero.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

type bound struct {
	k, n  int
	alpha float64
}

var bounds kept[bound, Value]

// ClopperPearsonLower returns the one-sided lower bound at level 1-alpha for the rate behind k passes of n: the rate at which k
// passes or more have probability alpha. It is 0 for k 0. Results are kept.
func ClopperPearsonLower(k, n int, alpha float64) Value {
	switch {
	case k < 0 || n < k:
		return none(fmt.Sprintf("%d passes of %d cannot be", k, n))
	case !(alpha > 0 && alpha < 1):
		return none("alpha is not between 0 and 1")
	case k == 0:
		return fraction(0, 1)
	}
	return bounds.of(bound{k, n, alpha}, bound.lower)
}

// lower is the largest multiple of 2^-boundBits at which k passes or more are less probable than alpha. A float library gives the
// place to start from, and exact arithmetic the result.
func (b bound) lower() Value {
	level := number().SetFloat64(b.alpha)
	below := func(m int64) bool {
		return m <= 0 || m < 1<<boundBits && tail(b.k, b.n, number().SetMantExp(number().SetInt64(m), -boundBits)).Cmp(level) < 0
	}
	start := mathext.InvRegIncBeta(float64(b.k), float64(b.n-b.k+1), b.alpha)
	if !(start >= 0 && start <= 1) {
		start = 0.5
	}
	guess := int64(math.Ldexp(start, boundBits))
	lo, hi := guess-1, guess+1
	for step := int64(1); !below(lo); step *= 4 {
		lo, hi = max(lo-step, 0), lo
	}
	for step := int64(1); below(hi); step *= 4 {
		lo, hi = hi, min(hi+step, 1<<boundBits)
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return Value{number: new(big.Rat).SetFrac(big.NewInt(lo), new(big.Int).Lsh(big.NewInt(1), boundBits))}
}

// ClopperPearsonUpper is the one-sided upper bound: the rate at which k passes or fewer have probability alpha. It is 1 for k n.
func ClopperPearsonUpper(k, n int, alpha float64) Value {
	return ClopperPearsonLower(n-k, n, alpha).rest()
}

// A bound has this many bits behind the point, from probabilities to this many bits.
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
