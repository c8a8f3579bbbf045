package adapters

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrBudget is inside of every error of a call that was not made because a budget does not allow it.
var ErrBudget = errors.New("the budget is used up")

// Amount is what calls take of a budget. Micro is money, in millionths of the currency's unit.
type Amount struct {
	Calls  int64
	Tokens int64
	Micro  int64
}

func (a Amount) plus(b Amount) Amount {
	return Amount{plus(a.Calls, b.Calls), plus(a.Tokens, b.Tokens), plus(a.Micro, b.Micro)}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{max(a.Calls-b.Calls, 0), max(a.Tokens-b.Tokens, 0), max(a.Micro-b.Micro, 0)}
}

// BudgetError says which limit a call would have passed. It is [ErrBudget].
type BudgetError struct {
	Limit string // "calls", "tokens" or "cost"
	Most  int64  // calls, tokens, or millionths of the currency's unit
	Spent int64
	Asked int64 // by the call that was not made, at the most
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%d %s are spent, and the next call may take %d of a budget of %d", e.Spent, e.Limit, e.Asked, e.Most)
}

// Is makes errors.Is(err, ErrBudget) hold.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// passed names the first limit that amount would pass; nil where it passes none.
func passed(most, spent, asked Amount) *BudgetError {
	for _, l := range []struct {
		name               string
		most, spent, asked int64
	}{
		{"calls", most.Calls, spent.Calls, asked.Calls},
		{"tokens", most.Tokens, spent.Tokens, asked.Tokens},
		{"cost", most.Micro, spent.Micro, asked.Micro},
	} {
		if l.most > 0 && l.asked > 0 && plus(l.spent, l.asked) > l.most {
			return &BudgetError{Limit: l.name, Most: l.most, Spent: l.spent, Asked: l.asked}
		}
	}
	return nil
}

// Budget is what all calls together may take; a limit of 0 is none. A call reserves the most that it may take before it is made
// and settles for what it took. It is safe for concurrent use: what is spent and reserved together never passes a limit, but by
// what an answer tells beyond the most that was reckoned with. The nil Budget has no limit.
type Budget struct {
	most Amount

	mu       sync.Mutex // keeps spent + reserved within most, and settled that of the present amounts
	spent    Amount
	reserved Amount
	settled  chan struct{} // closed when a reservation is settled
}

// NewBudget returns a budget with these limits.
func NewBudget(most Amount) *Budget { return &Budget{most: most, settled: make(chan struct{})} }

// Spent is what settled calls took.
func (b *Budget) Spent() Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// Left is the part of the scarcest limit, 0 to 1, that is neither spent nor reserved; 1 without a limit.
func (b *Budget) Left() float64 {
	if b == nil {
		return 1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	used, left := b.spent.plus(b.reserved), 1.0
	for _, l := range [][2]int64{{b.most.Calls, used.Calls}, {b.most.Tokens, used.Tokens}, {b.most.Micro, used.Micro}} {
		if l[0] > 0 {
			left = min(left, max(0, 1-float64(l[1])/float64(l[0])))
		}
	}
	return left
}

// Reserve sets an amount aside. Where there is room only if the calls that are under way take less than they may, it waits for them.
// Where there is none even then, the error is a [*BudgetError]. What is reserved must be settled.
func (b *Budget) Reserve(ctx context.Context, a Amount) error {
	for {
		changed, err := b.tryReserve(a)
		if err != nil || changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for what calls under way leave of the budget: %w", ctx.Err())
		}
	}
}

// tryReserve returns what to wait for, nil where there is nothing.
func (b *Budget) tryReserve(a Amount) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if over := passed(b.most, b.spent, a); over != nil {
		return nil, over
	}
	if over := passed(b.most, b.spent.plus(b.reserved), a); over != nil {
		return b.settled, nil
	}
	b.reserved = b.reserved.plus(a)
	return nil, nil
}

// Settle ends a reservation with what was taken.
func (b *Budget) Settle(reserved, took Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved, b.spent = b.reserved.minus(reserved), b.spent.plus(took)
	close(b.settled)
	b.settled = make(chan struct{})
}

// Meter says what calls to one backend take. The nil Meter counts nothing.
type Meter struct {
	Budget *Budget // nil: none

	// Count counts the tokens of a text, as nearly as can be known without the model; nil: the most that a call takes is not
	// reckoned, for neither a budget nor a pace needs it.
	Count func(string) int
	// Cost is the price in millionths of the currency's unit; nil: calls cost nothing.
	Cost func(Usage) int64
}

// reservation is what was set aside for a try.
type reservation struct {
	amount Amount
	worst  Usage
}

func (m *Meter) reserve(ctx context.Context, how shape) (r reservation, err error) {
	if m == nil || !how.counts {
		return r, nil
	}
	r.amount.Calls = 1
	if m.Count != nil && how.worst != nil {
		r.worst = how.worst(m.Count)
		r.amount = m.amount(r.worst)
		if how.generates && r.worst.Output == nil && m.Budget != nil && (m.Budget.most.Tokens > 0 || m.Budget.most.Micro > 0) {
			return r, errors.New("a budget of tokens or money needs a longest answer: set max_tokens")
		}
	}
	if m.Budget == nil {
		return r, nil
	}
	return r, m.Budget.Reserve(ctx, r.amount)
}

func (m *Meter) amount(u Usage) Amount {
	a := Amount{Calls: 1, Tokens: u.Tokens()}
	if m.Cost != nil {
		a.Micro = m.Cost(u)
	}
	return a
}

// spent is what a try took: nothing where it cannot have to be paid for, and all that was reserved where its answer tells no tokens.
func (m *Meter) spent(r reservation, a Attempt) Amount {
	switch {
	case m == nil || !a.Billed:
		return Amount{}
	case a.Err == nil && a.Used.Reported():
		return m.amount(a.Used)
	}
	return r.amount
}

func (m *Meter) settle(reserved, took Amount) {
	if m != nil && m.Budget != nil && reserved.Calls > 0 {
		m.Budget.Settle(reserved, took)
	}
}
