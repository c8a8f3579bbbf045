package runner

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
)

// TestSampleHasNoRuns draws the smallest hashes of ids that are counted up: neighbours must not come together.
func TestSampleHasNoRuns(t *testing.T) {
	t.Parallel()
	const items, drawn = 20000, 32
	number := map[uint64]int{}
	var hashes []uint64
	for i := range items {
		h := fnv.New64a()
		fmt.Fprintf(h, "chunk-%05d", i)
		seed := spread(h.Sum64())
		number[seed] = i
		hashes = append(hashes, seed)
	}
	slices.Sort(hashes)
	var ids []int
	for _, h := range hashes[:drawn] {
		ids = append(ids, number[h])
	}
	slices.Sort(ids)
	runs := 0
	for i := 1; i < len(ids); i++ {
		if ids[i]-ids[i-1] < 10 { // expected for 0.5 of 31 pairs
			runs++
		}
	}
	if runs > 3 {
		t.Errorf("%d of %d drawn ids stand within 10 of the one before: %v", runs, drawn, ids)
	}
}
