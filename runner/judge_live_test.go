package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
	"github.com/culprit-rag/culprit/matrix"
)

// TestJudgeOnARealModel asks a real model that cannot judge: 135 million parameters. What it says is not looked at; every judgement
// is of the form, or void with its reason, and is kept with who gave it.
func TestJudgeOnARealModel(t *testing.T) {
	t.Parallel()
	server := openaitest.StartGenerator(t)
	for _, test := range []struct{ name, structured, asked string }{
		{"held to a JSON Schema", "json_schema", "faithfulness: true, answer_relevancy: {questions: 2}, max_tokens: 80"},
		{"asked by the prompt alone", "none", "max_tokens: 40"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := fmt.Sprintf(`culprit: v1
name: judged
backends:
  store:
    adapter: embedded
    documents:
      - {id: lunch, text: The fee for lunch in the harbour is twelve crowns.}
      - {id: gold, text: The mooring fee in the harbour is forty crowns.}
  embedder: {adapter: embedded}
  generator: {adapter: embedded, spots: [forty crowns]}
  judge: {adapter: openai, base_url: %q, model: %q, structured: %s}
judge: {cells: [A], %s}
pipeline: {search: {k: 2}}
runs: {perturbations: none}
limits: {concurrency: 1}
cases:
  - id: c
    query: What is the mooring fee in the harbour?
    evidence: {required: [{source: gold, span: forty crowns}]}
    claims: [{id: fee, any: [forty crowns]}]
`, server.URL, server.Model, test.structured, test.asked)
			file := filepath.Join(t.TempDir(), "experiment.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b := run(t, load(t, file, change{}))["c"]
			kinds := map[matrix.JudgementKind]int{}
			for _, j := range b.Observations.Judgements {
				kinds[j.Kind]++
				read := j.Word != "" || j.Statements != nil || j.Supported != nil || j.Useful != nil || j.Questions != nil
				if j.Status == matrix.StatusError || read == (j.Void != "") && j.Status == matrix.StatusOK {
					t.Errorf("neither read nor void: %+v", j)
				}
				if j.ModelReported != server.Model || j.Usage.OutputTokens == nil || j.Response.Value == "" || j.Structured != (test.structured != "none") {
					t.Errorf("not kept with who gave it: %+v", j)
				}
				t.Logf("%s: void %q, word %q: %s", j.Kind, j.Void, j.Word, j.Response.Value)
			}
			if kinds[matrix.JudgeClaim] != 1 || test.structured != "none" && (kinds[matrix.JudgeStatements] != 1 || kinds[matrix.JudgeAnswerRelevancy] != 1) {
				t.Errorf("asked %v", kinds)
			}
			if got := verdictOf(b.Evaluation); got != "pass" {
				t.Errorf("the verdict is %s", got)
			}
		})
	}
}
