package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// asksReranker writes an experiment with one case, whose evidence is the last document, and returns its file.
func asksReranker(t *testing.T, settings, evidence string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "experiment.yaml")
	experiment := fmt.Sprintf(`culprit: v1
name: reranker
backends:
  store:
    adapter: embedded
    documents:
      - {id: fares, source: fares.md, text: The rules of the cafeteria apply to all guests of the house.}
      - {id: old, source: old.md, text: The new rules of parking do not apply in winter.}
      - {id: rules, source: rules.md, text: %q}
  reranker: %s
  generator: {adapter: embedded}
pipeline:
  search: {mode: keyword, k: 3}
  rerank: {top: 1}
  assemble: {budget: 900 words}
  prompt: {user: "{{#context}}[{{id}}] {{text}}\n{{/context}}{{query}}"}
  generate: {temperature: 0, seed: 0, max_tokens: 100}
limits: {retries: 1, timeout: 20s}
cases: [case.yaml]
`, evidence, settings)
	one := "id: rules\nquery: When do the new travel rules apply?\nrisk: blocking\nevidence: {required: [{source: rules.md, span: from the first of May}]}\nclaims: [{id: day, any: [first of May]}]\n"
	if err := errors.Join(os.WriteFile(file, []byte(experiment), 0o600), os.WriteFile(filepath.Join(dir, "case.yaml"), []byte(one), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRunWithLiveReranker lets a real reranker order what was found: it puts the evidence first, unless that stands behind what it reads.
func TestRunWithLiveReranker(t *testing.T) {
	t.Parallel()
	s := openaitest.StartReranker(t)
	const evidence = "The new travel rules apply from the first of May."
	for name, tt := range map[string]struct {
		evidence string
		code     int
		says     []string
	}{
		"read": {evidence, exitOK, []string{`"outcome": "pass"`}},
		"unread": {
			strings.Repeat("Lunch is at noon and coffee is at four. ", 40) + evidence, 3,
			[]string{`"label": "input-truncated"`, "the reranker says that it did not read all of rules"},
		},
	} {
		folder := t.TempDir()
		file := asksReranker(t, fmt.Sprintf("{adapter: rerank, url: %q, model: %s}", s.URL, s.Model), tt.evidence)
		env := cached(t)
		stdout, stderr, code := invoke(t.Context(), env, "run", file, "--results", folder)
		explained, _, _ := invoke(t.Context(), env, "explain", "--results="+folder, "rules", "--json")
		for _, says := range tt.says {
			if code != tt.code || !strings.Contains(explained, says) {
				t.Errorf("%s: exit code %d, want %d and %q\n%s%s%s", name, code, tt.code, says, stdout, stderr, explained)
			}
		}
	}
}

// TestRunWithReranker runs against a server that asks for a key, healthy and with faults, and looks for the key in everything.
func TestRunWithReranker(t *testing.T) {
	t.Parallel()
	echo := func(r *http.Request) string { return `{"message": "who is ` + r.Header.Get("Authorization") + `?"}` }
	for name, tt := range map[string]struct {
		options openaitest.FakeOptions
		script  []openaitest.FakeReply
		code    int
		says    string
	}{
		"healthy":                 {openaitest.FakeOptions{Key: modelKey}, nil, exitOK, `"outcome": "pass"`},
		"in TEI's shape":          {openaitest.FakeOptions{Key: modelKey, TEI: true}, nil, exitOK, `"outcome": "pass"`},
		"a wrong key":             {openaitest.FakeOptions{}, []openaitest.FakeReply{{Status: 401, Echo: echo}}, exitEnvironment, "MODEL_KEY"},
		"an index of no document": {openaitest.FakeOptions{}, []openaitest.FakeReply{{Body: `[{"index": 3, "score": 1}]`}}, exitEnvironment, "a result has the index 3, and 3 documents were sent"},
		"a batch that is too large": {
			openaitest.FakeOptions{Key: modelKey, TEI: true, Batch: 2}, nil, exitEnvironment, "is backends.reranker.batch too large?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, tt.options)
			f.Script(tt.script...)
			folder, cache := t.TempDir(), t.TempDir()
			env := func(name string) string {
				return map[string]string{"CULPRIT_CACHE": cache, "MODEL_KEY": modelKey}[name]
			}
			file := asksReranker(t, "{adapter: rerank, url: "+f.URL+"/rerank, model: "+openaitest.FakeModel+", api_key_env: MODEL_KEY}", "The new travel rules apply from the first of May.")
			stdout, stderr, code := invoke(t.Context(), env, "run", file, "--results", folder)
			explained, _, _ := invoke(t.Context(), env, "explain", "--results="+folder, "rules", "--json")
			if code != tt.code || !strings.Contains(explained, tt.says) {
				t.Errorf("exit code %d, want %d and %q\n%s%s%s", code, tt.code, tt.says, stdout, stderr, explained)
			}
		})
	}
}
