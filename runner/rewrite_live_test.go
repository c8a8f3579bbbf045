package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
	"github.com/culprit-rag/culprit/matrix"
)

// TestRewritingByARealModel lets a real model rewrite a conversation. What it writes is not looked at; what is searched for is what it
// wrote, read as declared, and it is kept with who wrote it.
func TestRewritingByARealModel(t *testing.T) {
	t.Parallel()
	server := openaitest.StartGenerator(t)
	for _, test := range []struct {
		name, settings string
		rewrite        matrix.Rewrite
	}{
		{"one query", "", matrix.Rewrite{}},
		{"several queries and the original", ", several: true, most: 3, keep_original: true, merge: rrf", matrix.Rewrite{Several: true, Most: 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := fmt.Sprintf(`culprit: v1
name: rewritten
backends:
  store:
    adapter: embedded
    documents:
      - {id: lunch, text: The fee for lunch in the harbour is twelve crowns.}
      - {id: gold, text: The mooring fee in the harbour is forty crowns.}
  generator: {adapter: openai, base_url: %q, model: %q}
pipeline:
  rewrite: {prompt: "Write a short search query for the last question.\n{{#messages}}{{role}}: {{text}}\n{{/messages}}Search query:", max_tokens: 120%s}
  search: {k: 2}
  generate: {max_tokens: 40}
runs: {repeats: 1, perturbations: none}
limits: {concurrency: 1}
cases:
  - id: c
    messages: [{role: user, text: May I moor in the harbour?}, {role: assistant, text: "Yes, for a fee."}, {role: user, text: What is the mooring fee in the harbour?}]
    evidence: {required: [{source: gold, span: forty crowns}]}
    claims: [{id: fee, any: [forty crowns]}]
`, server.URL, server.Model, test.settings)
			file := filepath.Join(t.TempDir(), "experiment.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b := run(t, load(t, file, change{}))["c"]
			consistent(t, b.Evaluation)
			w, c := b.Observations.Rewriting, b.Observations.Retrievals[0]
			if w.ModelReported != server.Model || w.Usage.InputTokens == nil || w.Usage.OutputTokens == nil || w.Answer.Value == "" {
				t.Errorf("not kept with who wrote it: %+v", w)
			}
			t.Logf("%s after %q: %q", w.Status, w.Answer.Value, w.Queries)
			if w.Status == matrix.StatusTruncated {
				if c.Status != matrix.StatusNotRun {
					t.Errorf("half a query was searched for: %+v", c)
				}
				return
			}
			if want := test.rewrite.Queries(w.Answer.Value); !slices.Equal(want, w.Queries) {
				t.Errorf("queries %q, want %q", w.Queries, want)
			}
			searched := w.Queries
			if test.rewrite.Several {
				searched = append([]string{"What is the mooring fee in the harbour?"}, w.Queries...)
			}
			for _, q := range searched {
				if !slices.Contains(c.Queries(), q) {
					t.Errorf("searched for %q, without %q", c.Queries(), q)
				}
			}
		})
	}
}
