package main

import (
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/experiments"
)

// What the repository holds is accepted by the schema that an editor is given, with the adapters that are built in.
func TestSchemaAcceptsEveryExperiment(t *testing.T) {
	t.Parallel()
	files, err := experiments.Find("../../experiments")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d experiments, %v", len(files), err)
	}
	schema := compileSchema(t, "experiment")
	for _, file := range files {
		if err := schema.Validate(readYAML(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	// Not every validator knows Unicode classes.
	stdout, _, _ := invoke(t.Context(), cached(t), "schema", "experiment")
	if strings.Contains(stdout, `\\p`) {
		t.Error(`the schema has a pattern with \p`)
	}
}
