package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestContextGivenAndNotTold: a service that says that it takes a context, and tells nothing of what it did with it, is not blamed for its
// generator, and nothing is said of a prompt that nobody saw.
func TestContextGivenAndNotTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		untold []string
		answer string
		defect string
		says   string // among the evidence, or what is missing
	}{
		{"neither is told", []string{matrix.PackedUnobserved, matrix.PromptUnobserved}, "It is fifty crowns.", "", "the service tells neither what it packs of it nor its prompt"},
		{"neither is told, and it refuses", []string{matrix.PackedUnobserved, matrix.PromptUnobserved}, "I don't know.", "", "let its trace tell packed or prompt"},
		{"neither is told, and B is right", []string{matrix.PackedUnobserved, matrix.PromptUnobserved}, "It is forty crowns.", "generate/distracted", ""},
		{"packed is told", []string{matrix.PromptUnobserved}, "It is fifty crowns.", "generate/unsupported-claim", "B passes 0 of 10 with the evidence alone in its context"},
		{"both are told", nil, "It is fifty crowns.", "generate/unsupported-claim", "B passes 0 of 10 with the evidence alone in its prompt"},
	} {
		e, c, p, o := askedCase(10, func(trial *matrix.Trial) {
			trial.By = matrix.ByService
			trial.Answer = matrix.NewText("It is fifty crowns.")
			if trial.Cell == matrix.CellB {
				trial.Answer = matrix.NewText(test.answer)
			}
			if trial.Unobserved = test.untold; slices.Contains(test.untold, matrix.PromptUnobserved) {
				trial.Prompt = nil
			}
			if trial.Cell == matrix.CellA { // of its own context it tells what it packs
				trial.Unobserved = slices.DeleteFunc(slices.Clone(test.untold), func(s string) bool { return s == matrix.PackedUnobserved })
			}
		})
		e.Backends.Pipeline = &matrix.Backend{Adapter: "remote"}
		o.Retrievals[0].By = matrix.ByService
		ev := evaluated(t, e, c, p, o)
		got, said := "", strings.Join(ev.Missing, "\n")
		if len(ev.Defects) > 0 {
			got, said = ev.Defects[0].Name(), strings.Join(ev.Defects[0].Evidence, "\n")
		}
		if got != test.defect || !strings.Contains(said, test.says) || test.defect == "" && ev.Outcome != Inconclusive {
			t.Errorf("%s: %s %q with %q, want %q with %q", test.name, ev.Outcome, got, said, test.defect, test.says)
		}
		if test.untold != nil && strings.Contains(said, "in its prompt") {
			t.Errorf("%s: %q speaks of a prompt that nobody saw", test.name, said)
		}
	}
}
