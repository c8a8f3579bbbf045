package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// TestLocalModelKeepsStages runs both examples with the stand-ins and with the real, small models of the profile local-model: in every
// case each stage before the generator, and access, is in the same state with the same labels, whatever the models make of it. One
// sentence of each cell is enough for that. A model with one thread each, and a long timeout, share the cores with other tests.
func TestLocalModelKeepsStages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		example string
		embeds  bool // else it searches by words alone
	}{
		{"travel-policy", false},
		{"handbook", true},
	} {
		t.Run(tt.example, func(t *testing.T) {
			t.Parallel()
			local := []string{
				"--profile", "local-model", "--set", "backends.generator.base_url=" + openaitest.StartGenerator(t, "--threads", "1").URL,
				"--set", "pipeline.generate.seed=1", "--set", `pipeline.generate.stop=["\n", "."]`, "--set", "limits.timeout=5m",
			}
			if tt.embeds {
				local = append(local, "--set", "backends.embedder.base_url="+openaitest.StartEmbedder(t, openaitest.Int8).URL)
			}
			if diff := cmp.Diff(stagesOf(t, tt.example), stagesOf(t, tt.example, local...)); diff != "" {
				t.Errorf("-stand-ins +local-model:\n%s", diff)
			}
		})
	}
}

// stagesOf runs an example and returns the state of each stage that the models' answers must not move, by case; of a broken one with
// its labels.
func stagesOf(t *testing.T, example string, more ...string) map[string]map[verdict.Stage]string {
	t.Helper()
	args := []string{"run", "../../experiments/examples/" + example, "--json", "--set", "runs.perturbations=none", "--set", "runs.repeats=1", "--results", t.TempDir()}
	stdout, stderr, _ := invoke(t.Context(), cached(t), append(args, more...)...)
	var record struct{ Cases []struct{ ID, Bundle string } }
	if err := json.Unmarshal([]byte(stdout), &record); err != nil || len(record.Cases) == 0 {
		t.Fatalf("%s: %d cases, %v\n%s", example, len(record.Cases), err, stderr)
	}
	out := map[string]map[verdict.Stage]string{}
	for _, c := range record.Cases {
		bundle, err := results.Open(c.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		out[c.ID] = map[verdict.Stage]string{}
		for _, s := range bundle.Evaluation.Stages {
			switch {
			case s.Stage == verdict.StageGenerate, s.Stage == verdict.StageAbstain, s.Stage == verdict.StageSeam: // what the model answered
			case s.State == verdict.Broken:
				out[c.ID][s.Stage] = s.Tested
			default:
				out[c.ID][s.Stage] = string(s.State)
			}
		}
	}
	return out
}
