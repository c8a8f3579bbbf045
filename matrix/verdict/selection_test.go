package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// Every rule has a name of its own, and all of them in their order are the table that is built in.
func TestRuleIDs(t *testing.T) {
	t.Parallel()
	ids := RuleIDs()
	if len(ids) != len(Rules()) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("%d rules are named %q", len(Rules()), ids)
	}
	for i, r := range Rules() {
		if id, _, _ := strings.Cut(ids[i], "#"); id != r.ID() {
			t.Errorf("rule %d gives %s, and is named %s", i, r.ID(), ids[i])
		}
	}
	all, err := Select(ids, "")
	if err != nil || all.Digest() != Ruleset() {
		t.Errorf("all of them are %s, %v, and the table is %s", all.Digest(), err, Ruleset())
	}
}

// Another selection has another digest, whatever it is of.
func TestSelectionsDiffer(t *testing.T) {
	t.Parallel()
	ids := RuleIDs()
	swapped := slices.Clone(ids)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	digests := map[string]string{Ruleset(): "the table"}
	for name, of := range map[string]struct {
		ids   []string
		alpha matrix.Decimal
	}{
		"without the first": {ids[1:], ""}, "without the last": {ids[:len(ids)-1], ""}, "in another order": {swapped, ""},
		"surer": {ids, "0.01"}, "less sure": {ids, "0.1"}, "the first alone": {ids[:1], ""}, "the first alone and surer": {ids[:1], "0.01"},
	} {
		s, err := Select(of.ids, of.alpha)
		if err != nil {
			t.Fatal(err)
		}
		if other := digests[s.Digest()]; other != "" {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[s.Digest()] = name
	}
	for _, wrong := range [][]string{{"index/lost"}, {ids[0], ids[0]}, {"index/missing#3"}, {""}} {
		if _, err := Select(wrong, ""); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
