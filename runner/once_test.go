package runner

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnce: an answer is asked for once, also at the same time; a failure is nobody else's.
func TestOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOnce(100, func(s string) int { return len(s) })
		var mu sync.Mutex // orders the calls
		var calls []string
		fail := true
		get := func(ctx context.Context, words ...string) (string, int, error) {
			keys := make([]onceKey, len(words))
			for i, w := range words {
				keys[i] = keyOf(w)
			}
			values, reused, err := o.get(ctx, keys, func(places []int) ([]string, error) {
				var some []string
				for _, p := range places {
					some = append(some, strings.ToUpper(words[p]))
				}
				mu.Lock()
				calls = append(calls, strings.Join(some, " "))
				failing := fail
				fail = false
				mu.Unlock()
				time.Sleep(time.Second)
				if failing {
					return nil, errors.New("the first one fails")
				}
				return some, nil
			})
			n := 0
			for _, r := range reused {
				if r {
					n++
				}
			}
			return strings.Join(values, " "), n, err
		}
		var wg sync.WaitGroup
		failed := 0
		for range 3 {
			wg.Go(func() {
				values, _, err := get(t.Context(), "a", "b")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				} else if values != "A B" {
					t.Errorf("got %q", values)
				}
			})
		}
		wg.Wait()
		if failed != 1 || len(calls) != 2 {
			t.Errorf("%d failed, calls %q; want one failure, and one call more", failed, calls)
		}
		if values, reused, err := get(t.Context(), "c", "b", "c"); values != "C B C" || reused != 2 || err != nil || calls[2] != "C" {
			t.Errorf("%q with %d reused, %v, calls %q", values, reused, err, calls)
		}
		// Who waits for another's call can give up.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wg.Go(func() { _, _, _ = get(t.Context(), "d") })
		synctest.Wait()
		if _, _, err := get(ctx, "d"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the caller's own end", err)
		}
		wg.Wait()
	})
}

// TestOnceIsBounded: the oldest answers go where there is no room.
func TestOnceIsBounded(t *testing.T) {
	t.Parallel()
	o := newOnce(10, func(s string) int { return len(s) })
	calls := 0
	for _, word := range []string{"aaaa", "bbbb", "aaaa", "cccc", "bbbb", "aaaa", strings.Repeat("z", 99), "aaaa"} {
		if _, _, err := o.get(t.Context(), []onceKey{keyOf(word)}, func([]int) ([]string, error) { calls++; return []string{word}, nil }); err != nil {
			t.Fatal(err)
		}
		if o.bytes > 10 || len(o.kept) != len(o.order) || len(o.flying) != 0 {
			t.Errorf("%d bytes in %d answers", o.bytes, len(o.kept))
		}
	}
	if calls != 6 {
		t.Errorf("%d calls, want 6: a b c a z a", calls)
	}
}

func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	seen := map[onceKey]bool{}
	for _, parts := range [][]any{{"a", "b"}, {"ab"}, {"a", "b", ""}, {"a", 1}, {"a", "1"}, {"a", 1 << 30}, {"a", 1<<30 + 1}, {"a\" \"b"}} {
		if key := keyOf(parts...); seen[key] {
			t.Errorf("%v has the key of another", parts)
		} else {
			seen[key] = true
		}
	}
}
