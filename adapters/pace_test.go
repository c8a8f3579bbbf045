package adapters_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// spender is a generator of answers of some tokens, which tells what its script says of its limits.
type spender struct {
	adapters.Generator
	in, out int
	takes   time.Duration
	quotas  []*adapters.Quota // of each call
	errors  []error

	mu sync.Mutex // orders the calls
	at []time.Duration
	t0 time.Time
}

func (s *spender) Generate(context.Context, adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	s.mu.Lock()
	n := len(s.at)
	s.at = append(s.at, time.Since(s.t0))
	s.mu.Unlock()
	time.Sleep(s.takes) // in the bubble's clock
	resp := adapters.GenerateResponse{Text: "done", WireTime: s.takes}
	if s.in > 0 {
		resp.InputTokens, resp.OutputTokens = &s.in, &s.out
	}
	if n < len(s.quotas) {
		resp.Quota = s.quotas[n]
	}
	if n < len(s.errors) && s.errors[n] != nil {
		return adapters.GenerateResponse{}, s.errors[n]
	}
	return resp, nil
}

// words counts as the tests do: a token is a word.
func words(s string) int { return len(strings.Fields(s)) }

// asked is a prompt of 16 words: with the margin 24 tokens and 16 for the message, and 60 of the answer: 100 at the most.
var asked = adapters.GenerateRequest{Messages: []adapters.Message{{Role: "user", Text: strings.Repeat("word ", 16)}}, MaxTokens: 60}

func TestPace(t *testing.T) {
	t.Parallel()
	const second = time.Second
	left := func(n int, reset time.Duration) *adapters.Quota {
		return &adapters.Quota{Requests: &adapters.Allowance{Left: n, Reset: reset}}
	}
	for _, tt := range []struct {
		name string
		pace *adapters.Pace
		s    *spender
		want []time.Duration // when each call is made, one after the other
	}{
		{"no limit", adapters.NewPace(0, 0), &spender{}, []time.Duration{0, 0, 0}},
		{"requests a minute", adapters.NewPace(20, 0), &spender{}, []time.Duration{0, 3 * second, 6 * second}},
		{"tokens a minute, none told: each is reckoned at its most", adapters.NewPace(0, 6000), &spender{}, []time.Duration{0, 0, 0, 440 * time.Millisecond}},
		{"tokens a minute, as told, pay for the next calls", adapters.NewPace(0, 6000), &spender{in: 15, out: 5}, []time.Duration{0, 0, 0, 0, 0, 0}},
		{"more than reckoned is owed", adapters.NewPace(0, 6000), &spender{in: 400, out: 200}, []time.Duration{0, 3440 * time.Millisecond}},
		{"nothing is left until a reset", adapters.NewPace(0, 0), &spender{quotas: []*adapters.Quota{left(0, 5*second)}}, []time.Duration{0, 5 * second, 5 * second}},
		{"something is left", adapters.NewPace(0, 0), &spender{quotas: []*adapters.Quota{left(1, 5*second)}}, []time.Duration{0, 0}},
		{"no rest is longer than the longest wait", adapters.NewPace(0, 0), &spender{quotas: []*adapters.Quota{left(0, time.Hour)}}, []time.Duration{0, adapters.DefaultMaxWait}},
		{
			"a limit that is learnt", adapters.NewPace(0, 0),
			&spender{quotas: []*adapters.Quota{{Requests: &adapters.Allowance{Limit: 30, Left: 1}}}},
			[]time.Duration{0, 0, 2 * second, 4 * second},
		},
		{
			"the user's own limit stays where it is lower", adapters.NewPace(10, 0),
			&spender{quotas: []*adapters.Quota{{Requests: &adapters.Allowance{Limit: 600, Left: 599, Reset: 100 * time.Millisecond}}}},
			[]time.Duration{0, 6 * second, 12 * second},
		},
		{
			"a window of a second is not taken for a minute", adapters.NewPace(0, 0),
			&spender{quotas: []*adapters.Quota{{Requests: &adapters.Allowance{Limit: 10, Left: 9, Reset: 100 * time.Millisecond}}}},
			[]time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100 * time.Millisecond},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.s.t0 = time.Now()
				g := adapters.WrapGenerator(tt.s, adapters.Policy{Pace: tt.pace, Meter: &adapters.Meter{Count: words}})
				for i, want := range tt.want {
					if _, err := g.Generate(t.Context(), asked); err != nil {
						t.Fatal(err)
					}
					if got := tt.s.at[i].Round(10 * time.Millisecond); got != want {
						t.Errorf("call %d at %v, want %v", i+1, got, want)
					}
				}
			})
		})
	}
}

// TestRetryAfterHoldsAllBack: what one call is told holds for all calls of the backend, and waits are not wire time.
func TestRetryAfterHoldsAllBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spender{takes: 50 * time.Millisecond, errors: []error{failure(adapters.KindRateLimited, 7*time.Second)}, t0: time.Now()}
		g := adapters.WrapGenerator(s, adapters.Policy{Pace: adapters.NewPace(0, 0), Retries: 1})
		var wg sync.WaitGroup
		call := func() {
			resp, err := g.Generate(t.Context(), asked)
			if err != nil || resp.WireTime != 50*time.Millisecond {
				t.Errorf("wire time %v, error %v", resp.WireTime, err)
			}
		}
		wg.Go(call)
		time.Sleep(time.Second)
		wg.Go(call)
		wg.Go(call)
		wg.Wait()
		for i, at := range s.at[1:] {
			if at != 7050*time.Millisecond {
				t.Errorf("call %d was made after %v, want 7.05s", i+2, at)
			}
		}
		if len(s.at) != 4 {
			t.Errorf("%d tries, want 4", len(s.at))
		}
	})
}

func TestPaceGivesUpAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := adapters.NewPace(1, 0)
		g := adapters.WrapGenerator(&spender{t0: time.Now()}, adapters.Policy{Pace: pace})
		if _, err := g.Generate(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		if _, err := g.Generate(ctx, asked); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("%v after %v, want the deadline at once", err, time.Since(start))
		}
		// What was drawn is given back: the next call waits for the first alone.
		if _, err := g.Generate(t.Context(), asked); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v, want a minute", err, time.Since(start))
		}
	})
}
