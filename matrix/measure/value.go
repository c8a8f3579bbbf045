package measure

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Value is a number or the reason why there is none. The zero Value has neither a number nor a reason.
type Value struct {
	num, den int64    // num/den, where den is not 0: most numbers are small fractions, which need no allocation
	number   *big.Rat // else; never changed once it is here
	exact    bool     // the number is the value, and not near it
	reason   string
}

// Reasons why a metric has no value.
const (
	NoGold   = "no gold"   // the case declares no evidence: it leaves every denominator
	NoValues = "no values" // a mean over nothing
)

// fraction is num/den; den is not 0.
func fraction(num, den int64) Value { return Value{num: num, den: den, exact: true} }

func none(reason string) Value { return Value{reason: reason} }

// OK reports whether there is a number.
func (v Value) OK() bool { return v.den != 0 || v.number != nil }

// rat is the number, which nobody changes; nil where there is none.
func (v Value) rat() *big.Rat {
	if v.den != 0 {
		return big.NewRat(v.num, v.den)
	}
	return v.number
}

// Reason says why there is no number; it is empty where there is one.
func (v Value) Reason() string { return v.reason }

// Decimal returns the number with six places, rounded half away from zero, and an empty string where there is none.
func (v Value) Decimal() string {
	const places = 1_000_000
	const most = math.MaxInt64 / places / 4 // so that nothing below overflows
	switch {
	case !v.OK():
		return ""
	case v.den <= 0 || v.den > most || v.num < 0 || v.num > most:
		return v.rat().FloatString(6)
	}
	rounded := (2*places*v.num + v.den) / (2 * v.den)
	b := strconv.AppendInt(make([]byte, 0, 24), rounded/places, 10)
	point := len(b)
	b = strconv.AppendInt(b, places+rounded%places, 10) // a 1, and the six places
	b[point] = '.'
	return string(b)
}

// Fraction returns the number as num/den in lowest terms. It is not ok where there is no number, or none that is a fraction of
// integers, as with nDCG.
func (v Value) Fraction() (num, den *big.Int, ok bool) {
	if !v.OK() || !v.exact {
		return nil, nil, false
	}
	r := v.rat()
	return new(big.Int).Set(r.Num()), new(big.Int).Set(r.Denom()), true
}

// Float returns the number for arithmetic that is not stored, and 0 where there is none.
func (v Value) Float() float64 {
	if !v.OK() {
		return 0
	}
	f, _ := v.rat().Float64()
	return f
}

// String is for people: the decimal, or the reason in parentheses.
func (v Value) String() string {
	if !v.OK() {
		return fmt.Sprintf("(%s)", v.reason)
	}
	return v.Decimal()
}

// Mean returns the mean of the values that there are, and how many they are: print it as used/len(values).
func Mean(values []Value) (mean Value, used int) {
	sum, exact := new(big.Rat), true
	for _, v := range values {
		if v.OK() {
			sum.Add(sum, v.rat())
			exact = exact && v.exact
			used++
		}
	}
	if used == 0 {
		return none(NoValues), 0
	}
	return Value{number: sum.Quo(sum, big.NewRat(int64(used), 1)), exact: exact}, used
}

// minus is v - w of two values that there are.
func (v Value) minus(w Value) Value {
	return Value{number: new(big.Rat).Sub(v.rat(), w.rat()), exact: v.exact && w.exact}
}

// rest is 1 - v, without value where v has none.
func (v Value) rest() Value {
	if !v.OK() {
		return v
	}
	return fraction(1, 1).minus(v)
}

// about is a number in floating point as a value: near what it stands for, and not it. What no number is has the reason.
func about(f float64, reason string) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return none(reason)
	}
	return Value{number: new(big.Rat).SetFloat64(f)}
}
