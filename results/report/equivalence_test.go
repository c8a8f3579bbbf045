package report

import (
	"bytes"
	"testing"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

func TestEquivalence(t *testing.T) {
	t.Parallel()
	q := results.Equivalence{
		Case: "vpn\x1b[0m", Verdict: results.NotReproduced,
		Then:    results.Labelled{Execution: "20261129T200000Z-aaaaaa", Outcome: verdict.Fail, Defects: []string{"retrieve/below-cutoff"}},
		Now:     results.Labelled{Execution: "20261130T200000Z-aaaaaa", Outcome: verdict.Pass},
		Because: []string{"the label was retrieve/below-cutoff and is pass", `pin store.count was "10" and is "11"`},
		Pins: []results.PinMove{
			{Name: "embedder.model", State: results.PinSame},
			{Name: "generator.system_fingerprint[0]", State: results.PinUnverifiable},
			{Name: "store.count", State: results.PinDiffers, Then: "10", Now: "11"},
		},
		Steps: []results.Step{
			{Cell: "C", Step: "retrieve", State: results.StepDifferent, Says: `1 items moved, the first "c08": rank 3, now 1`},
			{Cell: "A", Step: "generate", State: results.StepEquivalent, Says: "passes 3/5, now 4/5"},
			{Cell: "B", Step: "generate", State: results.StepIdentical},
			{Cell: "D/closed-book", Step: "generate", State: results.StepMissing},
		},
	}
	var b bytes.Buffer
	for _, all := range []bool{false, true} {
		if err := Equivalence(&b, &q, Options{All: all}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "equivalence", b.Bytes())
}
