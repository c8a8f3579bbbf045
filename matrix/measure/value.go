package measure

import (
	"fmt"
	"math"
	"math/big"
)

// Value is a number or the reason why there is none. The zero Value has neither a number nor a reason.
type Value struct {
	number *big.Rat // never changed once it is here
	exact  bool     // the number is the value, and not near it
	reason string
}

// Reasons why a metric has no value.
const (
	NoGold   = "no gold"   // the case declares no evidence: it leaves every denominator
	NoValues = "no values" // a mean over nothing
)

func fraction(num, den int64) Value { return Value{number: big.NewRat(num, den), exact: true} }

func none(reason string) Value { return Value{reason: reason} }

// OK reports whether there is a number.
func (v Value) OK() bool { return v.number != nil }

// Reason says why there is no number; it is empty where there is one.
func (v Value) Reason() string { return v.reason }

// Decimal returns the number with six places, rounded half away from zero, and an empty string where there is none.
func (v Value) Decimal() string {
	if v.number == nil {
		return ""
	}
	return v.number.FloatString(6)
}

// Fraction returns the number as num/den in lowest terms. It is not ok where there is no number, or none that is a fraction of
// integers, as with nDCG.
func (v Value) Fraction() (num, den *big.Int, ok bool) {
	if v.number == nil || !v.exact {
		return nil, nil, false
	}
	return new(big.Int).Set(v.number.Num()), new(big.Int).Set(v.number.Denom()), true
}

// Float returns the number for arithmetic that is not stored, and 0 where there is none.
func (v Value) Float() float64 {
	if v.number == nil {
		return 0
	}
	f, _ := v.number.Float64()
	return f
}

// String is for people: the decimal, or the reason in parentheses.
func (v Value) String() string {
	if v.number == nil {
		return fmt.Sprintf("(%s)", v.reason)
	}
	return v.Decimal()
}

// Mean returns the mean of the values that there are, and how many they are: print it as used/len(values).
func Mean(values []Value) (mean Value, used int) {
	sum, exact := new(big.Rat), true
	for _, v := range values {
		if v.number != nil {
			sum.Add(sum, v.number)
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
	return Value{number: new(big.Rat).Sub(v.number, w.number), exact: v.exact && w.exact}
}

// about is a number in floating point as a value: near what it stands for, and not it. What no number is has the reason.
func about(f float64, reason string) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return none(reason)
	}
	return Value{number: new(big.Rat).SetFloat64(f)}
}
