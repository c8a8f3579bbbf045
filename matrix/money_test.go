package matrix

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Money{
		"10.00 USD":        {10_000_000, "USD"},
		"0.000001 EUR":     {1, "EUR"},
		"0.0123 USD":       {12_300, "USD"},
		"1000000000 JPY":   {1_000_000_000_000_000, "JPY"},
		"0.30 USD":         {300_000, "USD"}, // no float64 is 0.3
		"123456789.01 CHF": {123_456_789_010_000, "CHF"},
	} {
		var got Money
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: want %+v, got %+v, %v", text, want, got, err)
		}
		var again Money
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%q is written as %q and read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "10", "10 ", "x USD", "-1 USD", "0.0000001 USD", "1000000001 USD", "1e999 USD", "NaN USD", "1/3 USD"} {
		var got Money
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q became %v", text, got)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	price := func(text string) *Price {
		var p Price
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return &p
	}
	generator := price(`{"input": 2.00, "cached_input": 0.50, "output": "8.00"}`)
	for _, tt := range []struct {
		name  string
		price *Price
		of    Counts
		want  Micro
		known bool
	}{
		{"a million of each", generator, Counts{Input: 1e6, Output: 1e6}, 10_000_000, true},
		{"cached input is a part of the input", generator, Counts{Input: 1000, CachedInput: 400}, 1200 + 200, true},
		{"no more is cached than went in", generator, Counts{Input: 10, CachedInput: 4000}, 5, true},
		{"cached input without a price of its own", price(`{"input": 2, "output": 8}`), Counts{Input: 1000, CachedInput: 400}, 2000, true},
		{"rounded up", price(`{"input": 0.02}`), Counts{Input: 1}, 1, true},
		{"and no further", price(`{"input": 0.02}`), Counts{Input: 50}, 1, true},
		{"searches", price(`{"search": 2}`), Counts{Searches: 3}, 6000, true},
		{"searches alone are paid", price(`{"search": 2}`), Counts{Searches: 1, Input: 5000}, 2000, true},
		{"free", price(`{"input": 0}`), Counts{Input: 5000}, 0, true},
		{"no price", nil, Counts{Input: 1}, 0, false},
		{"no price of the output", price(`{"input": 1}`), Counts{Input: 5, Output: 5}, 5, false},
		{"nothing used", nil, Counts{}, 0, true},
		{"more than can be held", price(`{"input": 1000000, "output": 1000000}`), Counts{Input: math.MaxInt64, Output: math.MaxInt64}, MostMicro, true},
	} {
		if got, known := tt.price.Cost(tt.of); got != tt.want || known != tt.known {
			t.Errorf("%s: want %d %t, got %d %t", tt.name, tt.want, tt.known, got, known)
		}
	}
}

// TestCostIsExact holds the cost against fractions of any size.
func TestCostIsExact(t *testing.T) {
	t.Parallel()
	for range 2000 {
		in, out, cached := Rate(rand.Int64N(1e12)), Rate(rand.Int64N(1e12)), Rate(rand.Int64N(1e12))
		c := Counts{Input: rand.Int64N(1 << rand.IntN(62)), Output: rand.Int64N(1 << rand.IntN(62))}
		c.CachedInput = rand.Int64N(c.Input + 1)
		sum := new(big.Int)
		for _, part := range [][2]int64{{int64(in), c.Input - c.CachedInput}, {int64(cached), c.CachedInput}, {int64(out), c.Output}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		sum.Add(sum, big.NewInt(microsPerUnit-1))
		want := MostMicro
		if sum.Div(sum, big.NewInt(microsPerUnit)); sum.IsInt64() {
			want = Micro(sum.Int64())
		}
		price := Price{Input: &in, CachedInput: &cached, Output: &out}
		if got, known := price.Cost(c); got != want || !known {
			t.Fatalf("%+v at %d, %d, %d: want %d, got %d", c, in, cached, out, want, got)
		}
	}
}
