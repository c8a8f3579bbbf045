package conformance

import "testing"

func TestCorpusOfAStoreThatNeedsVectors(t *testing.T) {
	t.Parallel()
	for needs, want := range map[bool]int{false: 1, true: 0} {
		c, err := Allowances{NeedsVectors: needs}.Corpus()
		if err != nil {
			t.Fatal(err)
		}
		without := 0
		for _, item := range c.Items {
			if item.Vector == nil {
				without++
			}
		}
		if without != want {
			t.Errorf("needs vectors %t: %d items have none, want %d", needs, without, want)
		}
	}
}
