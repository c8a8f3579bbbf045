package adapters_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// perToken is a price of two millionths for a token that goes in, and eight for one that comes out.
func perToken(u adapters.Usage) int64 {
	var sum int64
	if u.Input != nil {
		sum += 2 * *u.Input
	}
	if u.Output != nil {
		sum += 8 * *u.Output
	}
	return sum
}

// TestBudgetSettles: what a try takes of a budget, by how it ends. It reserves 40 tokens in and 60 out, which cost 560.
func TestBudgetSettles(t *testing.T) {
	t.Parallel()
	worst := adapters.Amount{Calls: 1, Tokens: 100, Micro: 560}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		name string
		s    *spender
		want adapters.Amount
	}{
		{"as told", &spender{in: 10, out: 5}, adapters.Amount{Calls: 1, Tokens: 15, Micro: 60}},
		{"nothing told", &spender{}, worst},
		{"a timeout may be billed", &spender{errors: []error{failure(adapters.KindTimeout, 0)}}, worst},
		{"a 500 may be billed", &spender{errors: []error{failure(adapters.KindTransient, 0)}}, worst},
		{"an answer that cannot be read may be billed", &spender{errors: []error{failure(adapters.KindPermanent, 0)}}, worst},
		{"a refused connection is not", &spender{errors: []error{adapters.NewError("a", "generate", adapters.KindTransient, refused)}}, adapters.Amount{}},
		{"a 429 is not", &spender{errors: []error{failure(adapters.KindRateLimited, 0)}}, adapters.Amount{}},
		{"a 401 is not", &spender{errors: []error{failure(adapters.KindUnauthorised, 0)}}, adapters.Amount{}},
		{"a prompt that is too long is not", &spender{errors: []error{failure(adapters.KindTooLong, 0)}}, adapters.Amount{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			budget := adapters.NewBudget(adapters.Amount{Calls: 10, Tokens: 1000, Micro: 10_000})
			g := adapters.WrapGenerator(tt.s, adapters.Policy{Meter: &adapters.Meter{Budget: budget, Count: words, Cost: perToken}})
			_, err := g.Generate(t.Context(), asked)
			if (err != nil) != (tt.s.errors != nil) {
				t.Fatal(err)
			}
			if got := budget.Spent(); got != tt.want {
				t.Errorf("spent %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestBudgetRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		most  adapters.Amount
		calls int // that are made, of 15 tokens each
		want  adapters.BudgetError
	}{
		{adapters.Amount{Calls: 3}, 3, adapters.BudgetError{Limit: "calls", Most: 3, Spent: 3, Asked: 1}},
		{adapters.Amount{Tokens: 99}, 0, adapters.BudgetError{Limit: "tokens", Most: 99, Asked: 100}},
		{adapters.Amount{Tokens: 120}, 2, adapters.BudgetError{Limit: "tokens", Most: 120, Spent: 30, Asked: 100}},
		{adapters.Amount{Micro: 700}, 3, adapters.BudgetError{Limit: "cost", Most: 700, Spent: 180, Asked: 560}},
	} {
		s := &spender{in: 10, out: 5}
		g := adapters.WrapGenerator(s, adapters.Policy{Retries: 3, Meter: &adapters.Meter{Budget: adapters.NewBudget(tt.most), Count: words, Cost: perToken}})
		var err error
		for range 5 {
			if _, err = g.Generate(t.Context(), asked); err != nil {
				break
			}
		}
		var over *adapters.BudgetError
		if !errors.Is(err, adapters.ErrBudget) || !errors.As(err, &over) || *over != tt.want || len(s.at) != tt.calls {
			t.Errorf("%+v: after %d calls: %v (%+v); want %d and %+v", tt.most, len(s.at), err, over, tt.calls, tt.want)
		}
	}
}

// TestBudgetNeedsALongestAnswer: without one the most that a call takes is not known.
func TestBudgetNeedsALongestAnswer(t *testing.T) {
	t.Parallel()
	endless := asked
	endless.MaxTokens = 0
	for _, most := range []adapters.Amount{{Tokens: 1000}, {Micro: 1000}, {Calls: 1000}} {
		s := &spender{in: 1, out: 1}
		g := adapters.WrapGenerator(s, adapters.Policy{Meter: &adapters.Meter{Budget: adapters.NewBudget(most), Count: words, Cost: perToken}})
		_, err := g.Generate(t.Context(), endless)
		if refused := err != nil && strings.Contains(err.Error(), "max_tokens"); refused != (most.Calls == 0) || len(s.at) == 1 == refused {
			t.Errorf("%+v: %v after %d calls", most, err, len(s.at))
		}
	}
}

// TestBudgetWaitsForCallsUnderWay: a call that fits once the others have taken less than they may is made then, and not refused.
func TestBudgetWaitsForCallsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spender{in: 10, out: 5, takes: time.Second, t0: time.Now()}
		budget := adapters.NewBudget(adapters.Amount{Tokens: 150})
		g := adapters.WrapGenerator(s, adapters.Policy{Meter: &adapters.Meter{Budget: budget, Count: words}})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := g.Generate(t.Context(), asked); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := budget.Spent().Tokens; got != 45 || time.Since(s.t0) != 3*time.Second {
			t.Errorf("%d tokens in %v, want 45 one after the other in 3s", got, time.Since(s.t0))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		wg.Go(func() { _, _ = g.Generate(t.Context(), adapters.GenerateRequest{MaxTokens: 60}) })
		synctest.Wait()
		if _, err := g.Generate(ctx, asked); errors.Is(err, adapters.ErrBudget) || adapters.KindOf(err) != adapters.KindTimeout {
			t.Errorf("%v, want the caller's own end in the wait", err)
		}
		wg.Wait()
	})
}

// unsteady takes a random part of what its caller may take, fails now and then, and keeps the sum.
type unsteady struct {
	adapters.Generator
	calls, tokens atomic.Int64
}

func (u *unsteady) Generate(context.Context, adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	in, out := 1+rand.IntN(40), rand.IntN(61)
	switch rand.IntN(6) {
	case 0:
		return adapters.GenerateResponse{}, failure(adapters.KindUnauthorised, 0)
	case 1:
		u.calls.Add(1)
		u.tokens.Add(int64(in + out))
		return adapters.GenerateResponse{}, failure(adapters.KindPermanent, 0)
	}
	u.calls.Add(1)
	u.tokens.Add(int64(in + out))
	return adapters.GenerateResponse{InputTokens: &in, OutputTokens: &out}, nil
}

// TestBudgetIsNeverPassed: whatever calls together take, it is within the budget, and what is reckoned is never less.
func TestBudgetIsNeverPassed(t *testing.T) {
	t.Parallel()
	for range 20 {
		most := adapters.Amount{Calls: 1 + rand.Int64N(200), Tokens: 1 + rand.Int64N(9000), Micro: 1 + rand.Int64N(40_000)}
		budget := adapters.NewBudget(most)
		u := &unsteady{}
		g := adapters.WrapGenerator(u, adapters.Policy{Meter: &adapters.Meter{Budget: budget, Count: words, Cost: perToken}})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 30 {
					if _, err := g.Generate(t.Context(), asked); errors.Is(err, adapters.ErrBudget) {
						return
					}
				}
			})
		}
		wg.Wait()
		spent := budget.Spent()
		if spent.Calls > most.Calls || spent.Tokens > most.Tokens || spent.Micro > most.Micro {
			t.Errorf("spent %+v of %+v", spent, most)
		}
		if calls, tokens := u.calls.Load(), u.tokens.Load(); calls > spent.Calls || tokens > spent.Tokens {
			t.Errorf("%d calls of %d tokens were made, and %+v reckoned", calls, tokens, spent)
		}
	}
}
