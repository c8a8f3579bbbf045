package results

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// without selects the rules that do not give a label, alpha in place of the experiment's.
func without(t *testing.T, label string, alpha matrix.Decimal) *verdict.Selection {
	t.Helper()
	s, err := verdict.Select(slices.DeleteFunc(verdict.RuleIDs(), func(id string) bool {
		of, _, _ := strings.Cut(id, "#")
		return of == label
	}), alpha)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a label rests on shows where its rules are left out, or where more is asked of it; all other labels stay. By all of the rules it is
// the same bytes as by none that were selected.
func TestReplayBy(t *testing.T) {
	t.Parallel()
	for name, golden := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := readAll(t, golden)
			plain, err := ReplayBundle(golden)
			if err != nil {
				t.Fatal(err)
			}
			for _, label := range verdict.Labels() {
				by := without(t, label, "")
				r, err := ReplayBy(golden, by)
				if err != nil {
					t.Fatal(err)
				}
				if r.Now.Ruleset != by.Digest() || r.Now.Ruleset == verdict.Ruleset() || r.Same || r.State() != StateEvaluator {
					t.Errorf("without %s: by %s, the same %v, %s", label, r.Now.Ruleset, r.Same, r.State())
				}
				if given := strings.Contains(plain.Now.Verdict, label); given == (r.Now.Verdict == plain.Now.Verdict) {
					t.Errorf("without %s, %s becomes %s", label, plain.Now.Verdict, r.Now.Verdict)
				}
			}
			all, err := ReplayBy(golden, without(t, "", ""))
			if err != nil || !bytes.Equal(remade(t, all)[1], remade(t, plain)[1]) || all.Now.Ruleset != verdict.Ruleset() {
				t.Errorf("by all rules: %+v, %v", all, err)
			}
			if !bytes.Equal(readAll(t, golden), before) {
				t.Error("the bundle was changed")
			}
		})
	}
	for _, tc := range []struct {
		golden, label string
		alpha         matrix.Decimal
		want          string
	}{
		{"repeated", "generate/unstable", "", "generate/unsupported-claim"}, // what follows next in the order
		{"repeated", "", "0.01", "inconclusive"},                            // what was observed is too little for so little doubt
		{"index-missing", "index/missing", "", "inconclusive"},
	} {
		r, err := ReplayBy(goldens(t)[tc.golden], without(t, tc.label, tc.alpha))
		if err != nil || r.Now.Verdict != tc.want || !r.Changed() || len(r.Changes) == 0 {
			t.Errorf("%s without %q at %q: %+v, %v", tc.golden, tc.label, tc.alpha, r, err)
		}
	}
}

// A selection is a value: evaluations by it and by the built-in rules, side by side, are what each is alone. And a bundle that this very
// program sealed is not called broken because other rules were asked for.
func TestReplayByLeavesTheTableAlone(t *testing.T) {
	t.Parallel()
	dir := current(t, "repeated")
	by := without(t, "generate/unstable", "0.1")
	alone, err := ReplayBy(dir, by)
	if err != nil || alone.State() != StateEvaluator {
		t.Fatalf("%+v, %v", alone, err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i%2 == 0 {
				if r, err := ReplayBundle(dir); err != nil || !r.Same {
					t.Errorf("by the table other bytes follow, %v", err)
				}
			} else if r, err := ReplayBy(dir, by); err != nil || !bytes.Equal(remade(t, r)[1], remade(t, alone)[1]) {
				t.Errorf("by the selection other bytes follow, %v", err)
			}
		})
	}
	wg.Wait()
}
