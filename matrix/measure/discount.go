package measure

import "math/big"

// Fixed-point numbers with this many bits behind the point; the logarithm works with twice as many. math.Log2 differs in the last bit between
// processors, and a table of floats would not say how far it goes.
const pointBits = 96

// discounted returns sum of gains[i] / log2(i+2), in fixed point.
func discounted(gains []int) *big.Int {
	sum := new(big.Int)
	for i, gain := range gains {
		if gain > 0 {
			sum.Add(sum, terms.of(gained{gain, i}, discount))
		}
	}
	return sum
}

// gained is a gain at a place, from 0.
type gained struct{ gain, place int }

var terms kept[gained, *big.Int]

func discount(g gained) *big.Int {
	term := big.NewInt(int64(g.gain))
	return term.Lsh(term, 2*pointBits).Quo(term, logs.of(int64(g.place)+2, log2))
}

// ratio returns a/b of two fixed-point numbers; b is not 0.
func ratio(a, b *big.Int) Value {
	return Value{number: new(big.Rat).SetFrac(a, b)}
}

var logs kept[int64, *big.Int]

// log2 returns the binary logarithm of n ≥ 2 in fixed point, rounded down, by squaring: each squaring of the mantissa moves one bit of
// the logarithm before the point. It doubles the relative error of the mantissa, which the second half of its bits takes up.
func log2(n int64) *big.Int {
	whole := big.NewInt(n).BitLen() - 1
	result := big.NewInt(int64(whole))
	const bits = 2*pointBits + 32
	x := new(big.Int).Lsh(big.NewInt(n), uint(bits-whole)) // in [1,2), with bits behind the point
	for range pointBits {
		x.Mul(x, x).Rsh(x, bits)
		result.Lsh(result, 1)
		if x.Bit(bits+1) == 1 {
			result.SetBit(result, 0, 1)
			x.Rsh(x, 1)
		}
	}
	return result
}
