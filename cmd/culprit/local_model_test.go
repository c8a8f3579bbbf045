package main

import (
	"encoding/json"
	"testing"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// TestLocalModelKeepsStages runs cases of both examples with the stand-ins and with the real, small models of the profile local-model:
// what a stage before the generator did is told the same, whatever the model makes of it. One answer of each cell is enough for that,
// and a long timeout, for the model shares its cores with other tests.
func TestLocalModelKeepsStages(t *testing.T) {
	t.Parallel()
	generator, embedder := openaitest.StartGenerator(t), openaitest.StartEmbedder(t, openaitest.Int8)
	for _, tt := range []struct {
		example string
		want    map[string]string // by case
		more    []string
	}{
		{
			"travel-policy",
			map[string]string{"mileage-rate": "index/missing", "lie-flat-seat": "retrieve/vocabulary-miss", "taxi-receipt": "assemble/budget-cut"},
			nil,
		},
		{
			"handbook",
			map[string]string{"training-budget": "retrieve/filtered-out", "bonus-date": "access/leak"},
			[]string{"--set", "backends.embedder.base_url=" + embedder.URL},
		},
	} {
		args := []string{"run", "../../experiments/examples/" + tt.example, "--json", "--set", "runs.perturbations=none", "--set", "runs.repeats=1"}
		for id := range tt.want {
			args = append(args, "--case", id)
		}
		local := append([]string{
			"--profile", "local-model", "--set", "backends.generator.base_url=" + generator.URL,
			"--set", "pipeline.generate.seed=1", "--set", "limits.timeout=5m",
		}, tt.more...)
		for profile, more := range map[string][]string{"the stand-ins": nil, "local-model": local} {
			stdout, stderr, _ := invoke(t.Context(), cached(t), append(append(args, "--results", t.TempDir()), more...)...)
			var record struct {
				Cases []struct {
					ID      string
					Defects []struct{ Stage, Label string }
				}
			}
			if err := json.Unmarshal([]byte(stdout), &record); err != nil || len(record.Cases) != len(tt.want) {
				t.Fatalf("%s with %s: %d cases, %v\n%s", tt.example, profile, len(record.Cases), err, stderr)
			}
			for _, c := range record.Cases {
				first := "no defect"
				if len(c.Defects) > 0 {
					first = c.Defects[0].Stage + "/" + c.Defects[0].Label
				}
				if first != tt.want[c.ID] {
					t.Errorf("%s with %s: %s has %s, want %s", tt.example, profile, c.ID, first, tt.want[c.ID])
				}
			}
		}
	}
}
