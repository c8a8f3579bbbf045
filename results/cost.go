package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// TotalsOf counts what was asked of the backends of an experiment, and what it costs.
func TotalsOf(e *matrix.Experiment, asked []matrix.Asked) Totals {
	var t Totals
	paid := e.Paid()
	for i := range asked {
		a := &asked[i]
		t.Calls += a.Calls
		t.Reused += a.Reused
		t.TokensIn, t.TokensOut = addCount(t.TokensIn, a.Input), addCount(t.TokensOut, a.Output)
		switch a.Role {
		case matrix.RoleGenerator:
			t.Generation += a.Calls
		case matrix.RoleJudge:
			t.Judgements += a.Calls
		}
		if n := a.Calls - a.Unpaid; slices.Contains(paid, a.Role) && n > 0 {
			t.Paid += n
			t.cost(e.Prices.Of(a.Role), a)
		}
	}
	t.settle()
	return t
}

// cost adds the price of what was asked of one backend, and why it is not known where it is not.
func (t *Totals) cost(price *matrix.Price, a *matrix.Asked) {
	cost, known := price.Cost(a.Counts())
	t.CostLeast = int64(matrix.Micro(t.CostLeast).Plus(cost))
	setting := "prices." + a.Role
	lacks := price.Lacks(a.Role)
	switch {
	case price == nil:
		t.unknown(setting + " is not set")
	case lacks != "":
		t.unknown(setting + " does not name " + lacks)
	case !known:
		t.unknown(setting + " does not name all that was used")
	case a.Untold > 0 && price.Search == nil:
		t.CostUntold += a.Untold
	}
}

func (t *Totals) unknown(why string) {
	if !slices.Contains(t.CostUnknown, why) {
		t.CostUnknown = append(t.CostUnknown, why)
		slices.Sort(t.CostUnknown) // which case asked first is chance
	}
}

// settle makes the cost of what is known of it.
func (t *Totals) settle() {
	t.CostMicro = nil
	if len(t.CostUnknown) == 0 && t.CostUntold+t.InDoubt == 0 {
		cost := t.CostLeast
		t.CostMicro = &cost
	}
}

func (t *Totals) doubt(n int) {
	t.InDoubt = n
	t.settle()
}

// add adds the totals of a part.
func (t *Totals) add(c Totals) {
	t.Calls += c.Calls
	t.Reused += c.Reused
	t.Generation += c.Generation
	t.Judgements += c.Judgements
	t.Paid += c.Paid
	t.InDoubt += c.InDoubt
	t.PaidElsewhere += c.PaidElsewhere
	t.InDoubtElsewhere += c.InDoubtElsewhere
	t.TokensIn = addCount(t.TokensIn, c.TokensIn)
	t.TokensOut = addCount(t.TokensOut, c.TokensOut)
	t.CostLeast = int64(matrix.Micro(t.CostLeast).Plus(matrix.Micro(c.CostLeast)))
	t.CostUntold += c.CostUntold
	for _, why := range c.CostUnknown {
		t.unknown(why)
	}
	t.settle()
}

// CostSays is the cost in words: "cost 0.0123 USD", "cost unknown: prices.generator is not set"; "" where nothing is paid.
func (t *Totals) CostSays(currency string) string {
	least := matrix.Money{Micro: matrix.Micro(t.CostLeast), Currency: currency}.String()
	switch {
	case t.Paid == 0:
		return ""
	case t.CostMicro != nil:
		return "cost " + matrix.Money{Micro: matrix.Micro(*t.CostMicro), Currency: currency}.String()
	case len(t.CostUnknown) > 0:
		return "cost unknown: " + strings.Join(t.CostUnknown, ", ")
	case t.CostUntold+t.InDoubt == 1:
		return "cost at least " + least + ": 1 call may have to be paid for and told no tokens"
	}
	return fmt.Sprintf("cost at least %s: %d calls may have to be paid for and told no tokens", least, t.CostUntold+t.InDoubt)
}

func addCount(a, b *int64) *int64 {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	sum := *a + *b
	return &sum
}
