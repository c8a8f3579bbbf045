package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

const remoteDoc = "../../docs/remote.md"

// TestServiceSettingsAreDocumented makes the table of settings out of the schema, in its order.
func TestServiceSettingsAreDocumented(t *testing.T) {
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	table := "\n| setting | default | what it is |\n|---|---|---|\n" + settingRows(t, "", registry.Schemas()[string(adapters.RolePipeline)]["remote"]) + "\n"
	documentedIn(t, remoteDoc, "settings of the service", table, nil)
}

// TestServiceExamplesAreValid checks each example of docs/remote.md in an experiment that is otherwise whole.
func TestServiceExamplesAreValid(t *testing.T) {
	text, err := os.ReadFile(remoteDoc)
	if err != nil {
		t.Fatal(err)
	}
	const rest = "pipeline: {search: {mode: keyword, k: 3}}\ncases:\n  - {id: one, query: When?, evidence: {required: [{source: a, span: from the first of May}]}, claims: [{id: day, any: [1 May]}]}\n"
	examples := strings.Split(string(text), "```yaml\n")[1:]
	if len(examples) != 3 {
		t.Errorf("%d examples, want 3", len(examples))
	}
	for _, example := range examples {
		backends, _, _ := strings.Cut(example, "```\n")
		if !strings.Contains(backends, "  store:") {
			backends += "  store: {adapter: embedded, documents: [{id: a, text: It applies from the first of May.}]}\n"
		}
		file := filepath.Join(t.TempDir(), "experiment.yaml")
		whole := "culprit: v1\nname: example\n" + backends + rest
		if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := invoke(t.Context(), cached(t), "check", file); code != 0 {
			t.Errorf("exit code %d\n%s%s\n%s", code, stdout, stderr, whole)
		}
	}
}
