package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

const modelsDoc = "../../docs/models.md"

// TestModelSettingsAreDocumented makes the tables of settings out of the schemas, in their order.
func TestModelSettingsAreDocumented(t *testing.T) {
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []adapters.Role{adapters.RoleGenerator, adapters.RoleEmbedder} {
		table := "\n| setting | default | what it is |\n|---|---|---|\n" + settingRows(t, "", registry.Schemas()[string(role)]["openai"]) + "\n"
		documentedIn(t, modelsDoc, "settings of the "+string(role), table, nil)
	}
	table := "\n| setting | default | what it is |\n|---|---|---|\n" + settingRows(t, "", registry.Schemas()[string(adapters.RoleReranker)]["rerank"]) + "\n"
	documentedIn(t, modelsDoc, "settings of the reranker", table, nil)
}

// TestModelExamplesAreValid checks each example of docs/models.md in an experiment that is otherwise whole.
func TestModelExamplesAreValid(t *testing.T) {
	text, err := os.ReadFile(modelsDoc)
	if err != nil {
		t.Fatal(err)
	}
	const (
		rest = `
pipeline:
  search: {mode: MODE, k: 3}RERANK
  assemble: {budget: 300 words}
  prompt: {user: "{{#context}}[{{id}}] {{text}}\n{{/context}}{{query}}"}
  generate: {temperature: 0, seed: 0, max_tokens: 100}
cases: [case.yaml]
`
		one = "id: one\nquery: When?\nevidence: {required: [{source: a.md, span: from the first of May}]}\nclaims: [{id: day, any: [1 May]}]\n"
	)
	examples := strings.Split(string(text), "```yaml\n")[1:]
	if len(examples) < 8 {
		t.Errorf("%d examples, and there are eight kinds of server", len(examples))
	}
	for _, example := range examples {
		backends, _, closed := strings.Cut(example, "```\n")
		backends, isBackends := strings.CutPrefix(backends, "backends:\n")
		if !closed || !isBackends {
			t.Fatalf("an example that is no backends:\n%s", example)
		}
		mode := "dense"
		if !strings.Contains(backends, "  embedder:") {
			mode = "keyword"
		}
		if !strings.Contains(backends, "  generator:") {
			backends += "  generator: {adapter: embedded}\n"
		}
		rerank := ""
		if strings.Contains(backends, "  reranker:") {
			rerank = "\n  rerank: {top: 2}"
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "experiment.yaml")
		whole := "culprit: v1\nname: example\nbackends:\n  store: {adapter: embedded, documents: [{id: a, source: a.md, text: It applies from the first of May.}]}\n" +
			backends + strings.NewReplacer("MODE", mode, "RERANK", rerank).Replace(rest)
		if err := errors.Join(os.WriteFile(file, []byte(whole), 0o600), os.WriteFile(filepath.Join(dir, "case.yaml"), []byte(one), 0o600)); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := invoke(t.Context(), cached(t), "check", file); code != 0 {
			t.Errorf("exit code %d\n%s%s\n%s", code, stdout, stderr, whole)
		}
	}
}
