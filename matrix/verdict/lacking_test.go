package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestStoredTextLacksTheClaim: what the store lacks of the evidence beyond its span is the first defect, whatever is broken behind it, so that
// B fails as well.
func TestStoredTextLacksTheClaim(t *testing.T) {
	t.Parallel()
	const span, whole = "the fee was agreed in March", "Then the fee was agreed in March. Since then it is forty crowns."
	for _, test := range []struct {
		name   string
		stored string
		more   string // another stored item of the gold's source
		want   []string
	}{
		{"its end is not stored", "Then the fee was agreed in March.", "", []string{"index/partial", "prompt/not-serialised"}},
		{"it is edited around the span", "Some say that the fee was agreed in March, and laugh.", "", []string{"index/overwritten", "prompt/not-serialised"}},
		{"all of it is stored", whole, "", []string{"prompt/not-serialised"}},
		{"another item has the rest", "Then the fee was agreed in March.", "Since then it is forty crowns.", []string{"prompt/not-serialised"}},
	} {
		text := matrix.NewText(test.stored)
		e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
			trial.Prompt, trial.Answer = []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("What is the fee?")}}, matrix.NewText("I don't know.")
			trial.Packed = []matrix.Packed{{Position: 1, ID: "tariff", Source: "tariff", Text: text, Rank: 1}}
			if trial.Cell == matrix.CellB {
				trial.Packed[0].Text, trial.Packed[0].Gold = matrix.NewText(whole), true
			}
		})
		c.Evidence.Required[0].AnyOf[0].Span, c.Evidence.Required[0].AnyOf[0].Text = span, whole
		o.Retrievals[0].Candidates[0].Text = text
		gold := &o.Store.Gold[0]
		gold.Text, gold.Items[0].Text = matrix.NewText(whole), text
		if test.more != "" {
			gold.Items = append(gold.Items, matrix.GoldItem{ID: "tariff-2", Text: matrix.NewText(test.more), Allowed: true})
		}
		ev := evaluated(t, e, c, p, o)
		var got []string
		for _, d := range ev.Defects {
			got = append(got, d.Name())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q; missing %q", test.name, got, test.want, ev.Missing)
		}
		if len(test.want) > 1 && !strings.Contains(strings.Join(ev.Defects[0].Evidence, "\n"), `no stored item of the gold states claim "fee"`) {
			t.Errorf("%s: evidence %q", test.name, ev.Defects[0].Evidence)
		}
	}
}
