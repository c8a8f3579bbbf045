package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestWhyNotDoesNotApply: a label that the pipeline or the case has no place for is not said to have been looked for.
func TestWhyNotDoesNotApply(t *testing.T) {
	t.Parallel()
	e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
		if trial.Cell == matrix.CellA {
			trial.Packed, trial.Prompt = trial.Packed[1:], []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("Lunch is at noon.")}}
		}
	})
	r := &o.Retrievals[0]
	r.K = 1
	slices.Reverse(r.Candidates)
	r.Candidates[0].Rank, r.Candidates[1].Rank = 1, 2
	f, err := Extract(e, c, o)
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"rerank/demoted":                "does not apply: the pipeline has no reranker",
		"retrieve/filtered-out":         "does not apply: the search has no filter",
		"retrieve/below-threshold":      "does not apply: the search has no threshold",
		"retrieve/query-altered":        "does not apply: the question was searched for as it was typed",
		"retrieve/approximate-miss":     "does not apply: the search is exact",
		"embed/model-mismatch":          "does not apply: the search is by keyword alone",
		"assemble/budget-cut":           "does not apply: the context has no budget",
		"assemble/lost":                 "gold tariff: it was not asked, as retrieve/below-cutoff explains the loss before it",
		"prompt/not-serialised":         "gold tariff: it was not asked, as retrieve/below-cutoff explains the loss before it",
		"abstain/answered-unanswerable": "does not apply: the case expects an answer",
		"generate/prefers-superseded":   "does not apply: no item that the case declares to be superseded is in A's context",
		"seam/cause-not-shown":          "does not apply: retrieve/below-cutoff explains the failure: gold tariff: rank 2, cutoff 1",
		"access/leak":                   "it is not known: the case names no asker",
		"seam/cached-answer":            "the generator was asked",
		"retrieve/crowded-out":          "gold tariff: asked, and the check says no; it left the way in the search: rank 2, k = 1",
		"generate/contradicts":          "B passes 5 of 5: with the evidence alone the generator answers right",
	} {
		n, err := ExplainWhyNot(e, c, p, o, &f, label)
		if err != nil {
			t.Fatal(err)
		}
		because := strings.Join(n.Because, "\n")
		if n.Given || !strings.Contains(because, want) || strings.Contains(because, saysNo) && !strings.Contains(want, saysNo) {
			t.Errorf("%s: %q, want %q", label, because, want)
		}
	}
}
