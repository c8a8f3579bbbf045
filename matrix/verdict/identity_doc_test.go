package verdict

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// TestIdentityIsDocumented holds the table of docs/identity.md to what was measured and to what the rule makes of it; -update
// writes it.
func TestIdentityIsDocumented(t *testing.T) {
	t.Parallel()
	const file, mark, end = "../../docs/identity.md", "-update -->\n", "\n<!-- end -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), mark)
	got, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table between %q and %q", file, mark, end)
	}
	m := readMeasured(t)
	var want strings.Builder
	want.WriteString("\n| stored vectors | n | cosine with the own text: least / 5 % / median / most | ≥ 0.999 | nearest to the own of 32 | check |\n|---|---|---|---|---|---|\n")
	for _, s := range m.Scenarios {
		q := func(i int) string { return fmt.Sprintf("%.4f", float64(s.Quantiles[i])/1e6) }
		var answers []string
		for first := 0; first+m.Sample <= len(s.Own); first += m.Sample {
			got := sampled(&matrix.EmbedFacts{PassagePrefix: s.Prefix, QueryPrefix: s.Prefix, Sample: s.sample(first, m.Sample)})
			if a := string(got.answer()) + got.table(); !slices.Contains(answers, a) {
				answers = append(answers, a)
			}
		}
		nearest := fmt.Sprint(slices.Min(s.OwnNearest))
		if most := slices.Max(s.OwnNearest); most != slices.Min(s.OwnNearest) {
			nearest += fmt.Sprintf(" to %d", most)
		}
		fmt.Fprintf(&want, "| %s | %d | %s / %s / %s / %s | %.0f %% | %s | %s |\n", s.Made, s.N, q(0), q(1), q(3), q(len(s.Quantiles)-1),
			100*float64(s.Matching)/float64(s.N), nearest, strings.Join(answers, "; "))
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+mark+want.String()+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("%s is out of date; run this test with -update (-want +got):\n%s", file, diff)
	}
}

// table is what the table says beside the answer.
func (s sample) table() string {
	switch {
	case s.answer() == matrix.Yes:
		return ""
	case s.matching > 0 && s.kin == kinStranger:
		return ": a part of another model"
	case s.kin == kinStranger:
		return ": another model"
	case s.kin == kinRelative, s.matching == 0 && s.near == s.drawn:
		return ": the same or a relative, not explained"
	case s.moved > 0:
		return ": vectors of other texts"
	case s.compared < s.drawn:
		return ": a part without vectors"
	case len(s.explained) > 0:
		return ": explained"
	}
	return ": too few to tell"
}
