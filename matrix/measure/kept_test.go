package measure

import (
	"sync"
	"testing"
)

// TestKept: a result is made once while it is kept, whoever asks, and no more are kept than the most.
func TestKept(t *testing.T) {
	t.Parallel()
	var k kept[int, int]
	made := map[int]int{}
	square := func(n int) int {
		made[n]++
		return n * n
	}
	for n := range mostKept + 1 {
		for range 2 {
			if got := k.of(n, square); got != n*n {
				t.Fatalf("%d: %d", n, got)
			}
		}
	}
	if len(made) != mostKept+1 || len(k.made) != 1 {
		t.Errorf("%d made, %d kept", len(made), len(k.made))
	}
	for n, times := range made {
		if times != 1 {
			t.Fatalf("%d was made %d times", n, times)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 2 * mostKept {
				if got := k.of(n, func(n int) int { return n * n }); got != n*n {
					t.Errorf("%d: %d", n, got)
				}
			}
		})
	}
	all.Wait()
}
