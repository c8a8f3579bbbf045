package matrix

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// Micro is an amount of money in millionths of a currency's unit. Sums and products that it cannot hold are [MostMicro].
type Micro int64

// MostMicro is the largest amount.
const MostMicro Micro = math.MaxInt64

const microsPerUnit = 1_000_000

// Plus adds two amounts that are not negative.
func (m Micro) Plus(n Micro) Micro {
	if m > MostMicro-n {
		return MostMicro
	}
	return m + n
}

// String writes the amount in units, with two decimals or as many more as it needs: "10.00", "0.0123".
func (m Micro) String() string {
	sign := ""
	n := uint64(m)
	if m < 0 {
		sign, n = "-", -uint64(m)
	}
	fraction := strings.TrimRight(fmt.Sprintf("%06d", n%microsPerUnit), "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return fmt.Sprintf("%s%d.%s", sign, n/microsPerUnit, fraction)
}

// micro reads a decimal exactly. More than six decimals, a negative amount or one above a billion is an error.
func micro(d Decimal) (Micro, error) {
	const most = 1_000_000_000
	r, ok := new(big.Rat).SetString(string(d))
	if !ok || r.Sign() < 0 || r.Cmp(big.NewRat(most, 1)) > 0 {
		return 0, fmt.Errorf("%s is no amount of money: write a number from 0 to %d", d, most)
	}
	if r.Mul(r, big.NewRat(microsPerUnit, 1)); !r.IsInt() {
		return 0, fmt.Errorf("%s has more than six decimals: write an amount in whole millionths", d)
	}
	return Micro(r.Num().Int64()), nil
}

// Money is an amount in a currency, as text "10.00 USD". The zero Money is none.
type Money struct {
	Micro    Micro
	Currency string
}

func (m Money) String() string {
	if m.Currency == "" {
		return m.Micro.String()
	}
	return m.Micro.String() + " " + m.Currency
}

// MarshalText writes the amount.
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads "10.00 USD".
func (m *Money) UnmarshalText(text []byte) error {
	amount, currency, ok := strings.Cut(string(text), " ")
	if !ok || currency == "" {
		return fmt.Errorf("%q is no amount of money: write a number and a currency, such as 10.00 USD", text)
	}
	value, err := micro(Decimal(amount))
	if err != nil {
		return err
	}
	m.Micro, m.Currency = value, currency
	return nil
}

// Price is what a backend takes: Input, CachedInput and Output for a million tokens, Search for a thousand searches. What is nil is
// not known; cached input without a price of its own has that of input.
type Price struct {
	Input       *Rate `json:"input,omitempty"`
	CachedInput *Rate `json:"cached_input,omitempty"`
	Output      *Rate `json:"output,omitempty"`
	Search      *Rate `json:"search,omitempty"`
}

// Rate is a price in millionths of the currency's unit. As JSON it is a decimal.
type Rate Micro

// MarshalJSON writes the rate as a string, as [Decimal] does.
func (r Rate) MarshalJSON() ([]byte, error) { return json.Marshal(Micro(r).String()) }

// UnmarshalJSON reads a JSON number or a string that holds one, exactly.
func (r *Rate) UnmarshalJSON(data []byte) error {
	var d Decimal
	if err := d.UnmarshalJSON(data); err != nil {
		return err
	}
	m, err := micro(d)
	*r = Rate(m)
	return err
}

// Prices are the declared prices. A backend without one has a price that is not known.
type Prices struct {
	Currency  string `json:"currency,omitempty"`
	Generator *Price `json:"generator,omitempty"`
	Embedder  *Price `json:"embedder,omitempty"`
	Reranker  *Price `json:"reranker,omitempty"`
	Judge     *Price `json:"judge,omitempty"`
}

// Of returns the price of a role's backend, nil where none is declared.
func (p *Prices) Of(role string) *Price {
	switch role {
	case RoleGenerator:
		return p.Generator
	case RoleEmbedder:
		return p.Embedder
	case RoleReranker:
		return p.Reranker
	case RoleJudge:
		return p.Judge
	}
	return nil
}

// The roles of backends, as the keys of an experiment name them.
const (
	RoleStore     = "store"
	RoleEmbedder  = "embedder"
	RoleGenerator = "generator"
	RoleReranker  = "reranker"
	RoleJudge     = "judge"
)

// Lacks names what a role's price must say and does not, "" where it is complete: "input", "input and output".
func (p *Price) Lacks(role string) string {
	if p == nil {
		p = &Price{}
	}
	switch generates := role == RoleGenerator || role == RoleJudge; {
	case generates && p.Input == nil && p.Output == nil:
		return "input and output"
	case generates && p.Output == nil:
		return "output"
	case role == RoleReranker && p.Search != nil:
		return ""
	case role == RoleReranker && p.Input == nil:
		return "input or search"
	case p.Input == nil:
		return "input"
	}
	return ""
}

// Counts are tokens and searches that have a price. CachedInput is part of Input.
type Counts struct {
	Input, CachedInput, Output, Searches int64
}

// Cost is the price of one call, rounded up to a millionth. It is unknown where something was used that has no price.
func (p *Price) Cost(c Counts) (cost Micro, known bool) {
	if p == nil {
		return 0, c == Counts{}
	}
	cached := min(max(c.CachedInput, 0), max(c.Input, 0))
	input, again := p.Input, p.CachedInput
	if again == nil {
		again = input
	}
	var hi, lo uint64 // the sum of prices times counts, in millionths of millionths
	known = true
	add := func(rate *Rate, count, scale int64) {
		switch {
		case count <= 0:
		case rate == nil:
			known = false
		default:
			high, low := bits.Mul64(uint64(*rate)*uint64(scale), uint64(count))
			var carry uint64
			lo, carry = bits.Add64(lo, low, 0)
			hi, _ = bits.Add64(hi, high, carry)
		}
	}
	if p.Search == nil || p.Input != nil { // paid by the search alone, tokens cost nothing
		add(input, c.Input-cached, 1)
		add(again, cached, 1)
	}
	add(p.Output, c.Output, 1)
	if p.Search != nil {
		add(p.Search, c.Searches, 1000)
	}
	if hi >= microsPerUnit {
		return MostMicro, known
	}
	quotient, rest := bits.Div64(hi, lo, microsPerUnit)
	if rest > 0 {
		quotient++
	}
	return Micro(min(quotient, math.MaxInt64)), known
}

// Spending is what a whole execution may take; zero parts have no limit.
type Spending struct {
	Calls  int64 `json:"calls,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`
	Cost   Money `json:"cost,omitzero"`
}

// Unpriced names the settings that a budget of money needs and the experiment lacks, such as "prices.generator.output". The
// embedded adapter costs nothing.
func (e *Experiment) Unpriced() []string {
	var out []string
	for _, role := range e.Paid() {
		if lacks := e.Prices.Of(role).Lacks(role); lacks != "" {
			out = append(out, "prices."+role+" ("+lacks+")")
		}
	}
	return out
}

// Paid lists the roles whose backends leave this process and ask for money, in the order of the pipeline.
func (e *Experiment) Paid() []string {
	var out []string
	for _, b := range []struct {
		role    string
		backend *Backend
	}{{RoleEmbedder, e.Backends.Embedder}, {RoleReranker, e.Backends.Reranker}, {RoleGenerator, e.Backends.Generator}, {RoleGenerator, e.Backends.Pipeline}, {RoleJudge, e.Backends.Judge}} {
		if b.role == RoleJudge && !e.Judge.Asks() {
			continue
		}
		if b.backend != nil && !b.backend.Free() && !slices.Contains(out, b.role) {
			out = append(out, b.role)
		}
	}
	return out
}

// freeAdapter is the one whose backends live in this process.
const freeAdapter = "embedded"

// Free reports whether a backend leaves this process for nobody and costs nothing.
func (b *Backend) Free() bool { return b == nil || b.Adapter == freeAdapter }

// Currency is that of the prices: as they declare it, or else that of the budget; "" where neither does.
func (e *Experiment) Currency() string {
	if e.Prices.Currency != "" {
		return e.Prices.Currency
	}
	return e.Limits.Budget.Cost.Currency
}
