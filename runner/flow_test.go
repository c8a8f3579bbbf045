package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// Cases begin no faster than their generations are made, whether it is the searches that take time, the intents, the answers or the
// writing; and the generator is kept busy.
func TestFlowBoundsTheCasesInHand(t *testing.T) {
	t.Parallel()
	const most, cases, each = 16, 200, 10
	for _, tt := range []struct {
		name                          string
		search, intent, answer, write time.Duration
		rounds                        int
		inHand                        int64 // the most cases that may have begun and not ended
		within                        time.Duration
	}{
		{"slow answers", time.Millisecond, 0, 100 * time.Millisecond, time.Millisecond, 1, 10, cases * each / most * 102 * time.Millisecond},
		{"slow searches", 150 * time.Millisecond, 0, 100 * time.Millisecond, 0, 1, 10, cases * each / most * 102 * time.Millisecond},
		{"slow intents", time.Millisecond, 40 * time.Millisecond, 100 * time.Millisecond, 0, 1, 10, cases * each / most * 102 * time.Millisecond},
		{"rounds", time.Millisecond, time.Millisecond, 100 * time.Millisecond, 0, 3, 10, 3 * cases * each / most * 102 * time.Millisecond},
		{"a slow disk", 0, 0, time.Millisecond, time.Second, 1, writers + 8, cases / writers * 1100 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFlow(most)
				var inHand, mostInHand, turns, mostTurns atomic.Int64
				slots := make(chan struct{}, most)
				start := time.Now()
				var wg sync.WaitGroup
				for range cases {
					plan := &matrix.Plan{Cells: []matrix.PlannedCell{{Repeats: each}}}
					if err := f.enter(t.Context(), nil, plan); err != nil {
						t.Fatal(err)
					}
					raise(&inHand, &mostInHand)
					wg.Go(func() {
						time.Sleep(tt.search)
						for range tt.rounds {
							err := f.ask(t.Context(), plan, each, func(_ context.Context, _ int, came func()) error {
								raise(&turns, &mostTurns)
								time.Sleep(tt.intent)
								slots <- struct{}{}
								time.Sleep(tt.answer)
								<-slots
								turns.Add(-1)
								came()
								return nil
							})
							if err != nil {
								t.Error(err)
							}
						}
						f.write()
						time.Sleep(tt.write)
						f.written()
						inHand.Add(-1)
					})
				}
				wg.Wait()
				if n := mostInHand.Load(); n > tt.inHand {
					t.Errorf("%d cases were in hand at once, want at most %d", n, tt.inHand)
				}
				if n := mostTurns.Load(); n != most+most/2 {
					t.Errorf("%d calls had a turn at once, want %d", n, most+most/2)
				}
				if took := time.Since(start); took > tt.within {
					t.Errorf("it took %v, want at most %v", took, tt.within)
				}
			})
		})
	}
}

func raise(n, most *atomic.Int64) {
	now := n.Add(1)
	for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
	}
}

// One failing generation ends the others of its case, and what they held is free again.
func TestFlowEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlow(1)
		broken := errors.New("broken")
		err := f.ask(t.Context(), nil, 3, func(ctx context.Context, n int, _ func()) error {
			if n == 0 {
				time.Sleep(time.Second)
				return broken
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if err := f.ask(t.Context(), nil, 1, func(context.Context, int, func()) error { return nil }); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		plan := &matrix.Plan{Cells: []matrix.PlannedCell{{Repeats: ahead}}}
		if err := f.enter(t.Context(), nil, plan); err != nil {
			t.Error(err)
		}
		drain := make(chan struct{})
		time.AfterFunc(time.Minute, func() { close(drain) })
		start := time.Now()
		if err := f.enter(t.Context(), drain, plan); err != nil || time.Since(start) != time.Minute {
			t.Errorf("a drain ended the wait after %v with %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.enter(ctx, nil, plan); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
