package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// harbourFees is a healthy experiment whose items all share words with its question. The asker may not see the pilot's fee.
const harbourFees = `
backends:
  store:
    adapter: embedded
    documents:
      - {id: fee, text: The mooring fee for one night is 60 crowns.}
      - {id: old-fee, text: The mooring fee for one night was 45 crowns.}
      - {id: crane, text: The crane fee for one lift is 300 crowns.}
      - {id: winter, text: The winter fee for one month is 500 crowns.}
      - {id: slip, text: The slipway fee for one boat is 20 crowns.}
      - {id: power, text: The power fee for one night is 8 crowns.}
      - {id: shower, text: The shower fee for one minute is 2 crowns.}
      - {id: pilot, text: A pilot costs 900 crowns before the passage begins and a fee after it., access: [pilots]}
  generator: {adapter: embedded}
pipeline:
  search: {mode: keyword, k: 3}
runs: {perturbations: none}
cases:
  - id: c
    query: What is the mooring fee for one night?
    as: {groups: [guests]}
    evidence:
      required: [{source: fee, span: 60 crowns}]
      distractors: [{source: old-fee, kind: superseded}]
    claims:
      - {id: fee, any: [60 crowns]}
`

// TestVariants runs each variant end to end on a generator that has the weakness which it shows.
func TestVariants(t *testing.T) {
	t.Parallel()
	const generator = "backends.generator."
	for _, test := range []struct {
		name    string
		set     []string
		want    string
		shows   map[matrix.CellID]string // "" also where the cell was not run
		finding string
	}{
		{
			name: "healthy", set: []string{"runs.perturbations=[swap-span]", "runs.noise=[1,2,4,5]", "runs.positions=3", generator + "prefers=best"}, want: "pass",
			shows: map[matrix.CellID]string{
				"D/swap-span:fee": verdict.Sensitive, "D/noise:1": verdict.Robust, "D/noise:5": verdict.Robust, "D/position:1": verdict.Robust, "D/position:2": verdict.Robust, "D/position:3": verdict.Robust,
			},
		},
		{
			name: "it reads the ends", set: []string{"runs.positions=4", generator + "reads=ends", generator + "prefers=best"}, want: "pass",
			shows:   map[matrix.CellID]string{"D/position:1": verdict.Robust, "D/position:2": verdict.Fragile, "D/position:3": verdict.Fragile, "D/position:4": verdict.Robust},
			finding: "position: lost in the middle: with the gold at place 2, 3 of 4 the answer is worse than with the gold alone",
		},
		{
			name: "it reads the ends, and is noisy", want: "pass",
			set:     []string{"runs.positions=3", "runs.repeats=auto", generator + "reads=ends", generator + "prefers=best", generator + "flip={rate: 0.02, to: refuse}"},
			shows:   map[matrix.CellID]string{"D/position:2": verdict.Fragile},
			finding: "position: lost in the middle: with the gold at place 2 of 3 the answer is worse than with the gold alone",
		},
		{
			name: "it prefers the last of several", set: []string{"runs.noise=[1,4]", "pipeline.search.k=1", generator + "prefers=last"}, want: "pass",
			shows:   map[matrix.CellID]string{"D/noise:1": verdict.Fragile, "D/noise:4": verdict.Fragile},
			finding: "noise: with 1 seeded item behind the gold the answer is worse than with the gold alone (0 of 1)",
		},
		{
			name: "more than there is", set: []string{"runs.noise=[5,6]"}, want: "pass",
			shows: map[matrix.CellID]string{"D/noise:5": verdict.Robust, "D/noise:6": ""},
		},
		{
			name: "it answers by heart", set: []string{"runs.perturbations=[swap-span]", generator + "ignores_context=true", generator + "memory=The fee is 60 crowns."}, want: "pass/from-memory",
			shows:   map[matrix.CellID]string{"D/swap-span:fee": verdict.Insensitive},
			finding: `memory: D/swap-span:fee passes 1 of 1 with "60 crowns" changed to "77 crowns" in its context: the answer keeps the old fact`,
		},
		{
			name: "it answers by heart, and is wrong", set: []string{"runs.perturbations=[swap-span]", generator + "fixed=Ninety shillings."}, want: "generate/ignored-evidence",
			shows: map[matrix.CellID]string{"D/swap-span:fee": ""},
		},
		{
			name: "the last of those that fit is in the middle", want: "generate/position-sensitive",
			set:   []string{"runs.perturbations=[gold-middle]", generator + "prefers=last", generator + "min_overlap=4"},
			shows: map[matrix.CellID]string{"D/gold-middle": ""}, // it is better than A
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := run(t, writtenWith(t, harbourFees, test.set...))["c"]
			consistent(t, b.Evaluation)
			if got := verdictOf(b.Evaluation); got != test.want {
				t.Errorf("got %s, want %s\n    %s", got, test.want, explained(b.Evaluation))
			}
			for cell, want := range test.shows {
				i := slices.IndexFunc(b.Evaluation.Cells, func(c verdict.CellResult) bool { return c.Cell == cell })
				if i < 0 || b.Evaluation.Cells[i].Shows != want {
					t.Errorf("%s: want %q\n    %s", cell, want, explained(b.Evaluation))
				}
			}
			if test.finding != "" && !slices.Contains(b.Evaluation.Findings, test.finding) {
				t.Errorf("want the finding %q, got %q", test.finding, b.Evaluation.Findings)
			}
		})
	}
}

// TestContextsOfVariants looks at what stands in the contexts: the gold at its place, seeded items that grow by nesting and are neither evidence,
// nor declared, nor hidden from the asker, and a changed fact where one can be changed.
func TestContextsOfVariants(t *testing.T) {
	t.Parallel()
	b := run(t, writtenWith(t, harbourFees, "runs.perturbations=[gold-middle,swap-span]", "runs.noise=[1,2,4]", "runs.positions=3"))["c"]
	noise := trialOf(t, b, "D/noise:4").Seeded
	want := map[matrix.CellID]string{
		"D/noise:1": "fee " + noise[0], "D/noise:2": "fee " + strings.Join(noise[:2], " "), "D/noise:4": "fee " + strings.Join(noise, " "),
		"D/position:1": fmt.Sprintf("fee %s %s", noise[0], noise[1]), "D/position:2": fmt.Sprintf("%s fee %s", noise[0], noise[1]), "D/position:3": fmt.Sprintf("%s %s fee", noise[0], noise[1]),
		"D/swap-span:fee": "fee",
	}
	got := map[matrix.CellID]string{}
	for cell := range want {
		got[cell] = idsIn(trialOf(t, b, cell).Packed)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
	for _, id := range noise {
		if id == "fee" || id == "old-fee" || id == "pilot" {
			t.Errorf("%s is no item to be put beside the gold", id)
		}
	}
	a, middle := trialOf(t, b, matrix.CellA), trialOf(t, b, "D/gold-middle")
	if len(a.Packed) != 3 || middle.Packed[1].ID != "fee" {
		t.Errorf("A holds %s, D/gold-middle %s", idsIn(a.Packed), idsIn(middle.Packed))
	}
	swapped := trialOf(t, b, "D/swap-span:fee")
	if text := swapped.Packed[0].Text.Value; text != "The mooring fee for one night is 77 crowns." || *swapped.Swapped != (matrix.Swap{From: "60 crowns", To: "77 crowns"}) {
		t.Errorf("the gold became %q by %+v", text, swapped.Swapped)
	}

	vague := strings.NewReplacer("span: 60 crowns", "span: mooring fee", "any: [60 crowns]", "any: [mooring fee]").Replace(harbourFees)
	b = run(t, writtenWith(t, vague, "runs.perturbations=[gold-middle,swap-span]", "pipeline.search.k=2"))["c"]
	for cell, want := range map[matrix.CellID]string{
		"D/gold-middle":   "A's context holds fewer than two items beside the gold, so that it has no middle",
		"D/swap-span:fee": verdict.NoSwap,
	} {
		if trial := trialOf(t, b, cell); trial.Status != matrix.StatusNotRun || trial.Reason != want {
			t.Errorf("%s: %s, %q, want it not run: %q", cell, trial.Status, trial.Reason, want)
		}
	}
}

func writtenWith(t *testing.T, text string, set ...string) *experiments.Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(file, []byte("culprit: v1\nname: test\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return load(t, file, change{set: set})
}

func trialOf(t *testing.T, b *results.Bundle, cell matrix.CellID) *matrix.Trial {
	t.Helper()
	for i := range b.Observations.Trials {
		if b.Observations.Trials[i].Cell == cell {
			return &b.Observations.Trials[i]
		}
	}
	t.Fatalf("no trial of %s", cell)
	return nil
}

func idsIn(packed []matrix.Packed) string {
	var ids []string
	for _, p := range packed {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}
