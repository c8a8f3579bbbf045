package results

import (
	"fmt"
	"math"
	"strconv"
)

// Number is a finite number of a summary, rounded to four places. A missing one is a nil pointer, null in JSON.
type Number float64

// newNumber rounds f; nil stands for what is not a finite number.
func newNumber(f float64) *Number {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	const hasPlaces = 1e11 // a larger number has no four places to round to
	if math.Abs(f) < hasPlaces {
		f = math.Round(f*1e4) / 1e4
	}
	n := Number(f + 0) // adding zero turns a negative zero into zero
	return &n
}

func parseNumber(s string) *Number {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return newNumber(f)
}

// MarshalJSON never writes an exponent, and refuses what JSON has no number for.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a number that can be written", f)
	}
	return strconv.AppendFloat(nil, f+0, 'f', -1, 64), nil
}
