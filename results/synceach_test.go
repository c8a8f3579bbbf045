package results

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for a sync gets one that began after its own write, and shares it with all who wrote meanwhile.
func TestGroupSharesSyncs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 300, 5
		var g group
		var written, durable, syncs, under atomic.Int64
		save := func() error {
			if under.Add(1) > 1 {
				t.Error("two syncs at once")
			}
			upTo := written.Load()
			time.Sleep(time.Millisecond) // of the bubble: who asks meanwhile waits for the next
			durable.Store(upTo)
			syncs.Add(1)
			under.Add(-1)
			return nil
		}
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					mine := written.Add(1)
					if err := g.do(save); err != nil {
						t.Error(err)
					}
					if durable.Load() < mine {
						t.Errorf("write %d is reported durable, and %d are", mine, durable.Load())
					}
				}
			})
		}
		wg.Wait()
		if n := syncs.Load(); n < each || n > 2*each {
			t.Errorf("%d syncs for %d callers that wrote %d times", n, callers, each)
		}
	})
}

// After a sync failed nothing is known to be durable any more.
func TestGroupFailsForGood(t *testing.T) {
	t.Parallel()
	var g group
	lost := errors.New("lost")
	if err := g.do(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := g.do(func() error { return lost }); !errors.Is(err, lost) {
		t.Errorf("a failing sync: %v", err)
	}
	for range 2 {
		if err := g.do(func() error { t.Error("it is synced again"); return nil }); !errors.Is(err, lost) {
			t.Errorf("after a failing sync: %v", err)
		}
	}
}
