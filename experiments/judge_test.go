package experiments

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

func TestJudgeIsRead(t *testing.T) {
	t.Parallel()
	standard := matrix.Judge{Claims: true, Cells: []matrix.CellID{"A", "B"}, Temperature: "0", Seed: 7, MaxTokens: 800}
	everything := matrix.Judge{
		Faithfulness: true, AnswerRelevancy: &matrix.AnswerRelevancy{Questions: 3}, ContextPrecision: true, ContextRecall: true,
		Cells: []matrix.CellID{"A", "D/closed-book"}, Temperature: "0.50", Seed: 1, MaxTokens: 90,
	}
	for _, test := range []struct {
		name, backend, judge string
		want                 *matrix.Judge
	}{
		{"no judge", "", "", nil},
		{"a judge that is only named is asked what is asked by default", "judge: {adapter: plain, model: j}", "", &standard},
		{"a judge with no settings", "judge: {adapter: plain, model: j}", "judge: {}", &standard},
		{
			"every setting", "judge: {adapter: plain, model: j}",
			"judge: {claims: false, faithfulness: true, answer_relevancy: {}, context_precision: true, context_recall: true, cells: [A, D/closed-book], temperature: 0.50, seed: 1, max_tokens: 90}",
			&everything,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			loaded := load(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: judged
backends:
  store: {adapter: plain}
  embedder: {adapter: plain}
  generator: {adapter: plain, model: g}
  `+test.backend+`
`+test.judge+`
cases: [{id: a, query: q, expect: abstain}]
`), Options{})
			if diff := cmp.Diff(test.want, loaded.Experiment.Judge); diff != "" {
				t.Errorf("judge (-want +got):\n%s", diff)
			}
			if (test.want == nil) != (loaded.Experiment.Backends.Judge == nil) {
				t.Errorf("backends.judge is %v", loaded.Experiment.Backends.Judge)
			}
		})
	}
}
