package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// perturbed is a case whose cells pass as they are told to: "D/irrelevant" → "++-" is right twice and then wrong. It has all of the gold in
// A's prompt, and the answers are texts of the outcome alone.
func perturbed(t *testing.T, runs matrix.Runs, deterministic bool, outcomes map[matrix.CellID]string) Evaluation {
	t.Helper()
	runs.Alpha = "0.05"
	e := &matrix.Experiment{
		Backends: matrix.Backends{Store: &matrix.Backend{Adapter: "embedded"}, Generator: &matrix.Backend{Adapter: "embedded"}},
		Pipeline: matrix.Pipeline{Search: matrix.Search{Mode: matrix.ModeKeyword, K: 3}}, Runs: runs,
	}
	const text = "The fee is 60 crowns."
	c := &matrix.Case{
		ID: "c", Query: "fee", Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{{ID: "fee", Any: []string{"60 crowns"}}},
		Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "fee", Span: "60 crowns", Text: text}}}}},
	}
	p, err := matrix.Expand(e, c, deterministic)
	if err != nil {
		t.Fatal(err)
	}
	gold := matrix.Packed{ID: "fee", Source: "fee", Position: 1, Rank: 1, Text: matrix.NewText(text)}
	score := matrix.Decimal("1")
	o := &matrix.Observations{
		Store: matrix.StoreFacts{
			Fingerprint: "f", FingerprintAfter: "f", Scan: matrix.ScanFacts{Scanned: 1, Counted: 1, Complete: true},
			Gold: []matrix.GoldFacts{{Exact: []string{"fee"}, Text: gold.Text, TextOrigin: "case", TextID: "fee", Items: []matrix.GoldItem{{ID: "fee", Source: "fee", Text: gold.Text, Allowed: true}}}},
		},
		Retrievals: []matrix.Retrieval{{CallKey: "C", Cell: matrix.CellC, Status: matrix.StatusOK, K: 3, Candidates: []matrix.Hit{{Rank: 1, ID: "fee", Source: "fee", Score: &score, Text: gold.Text}}}},
	}
	for _, cell := range p.Cells {
		for i, mark := range outcomes[cell.Cell] {
			trial := matrix.Trial{
				CallKey: fmt.Sprint(cell.Cell, i), Cell: cell.Cell, Rep: i + 1, Status: matrix.StatusOK, Packed: []matrix.Packed{gold}, FinishReason: "stop",
				Prompt: []matrix.PromptMessage{{Role: "user", Text: matrix.NewText(text + " What is the fee?")}},
				Answer: matrix.NewText(map[rune]string{'+': "It is 60 crowns.", '-': "Ninety shillings, always.", '?': "I don't know."}[mark]),
			}
			if cell.Cell == matrix.CellA {
				trial.Retrieval = "C"
			}
			switch cell.Cell.Variant() {
			case matrix.SwapSpan:
				trial.Swapped = &matrix.Swap{From: "60 crowns", To: "77 crowns"}
			case matrix.NoiseCurve:
				trial.Seeded = make([]string, cell.Seeded)
			case matrix.GoldMiddle:
				trial.Packed = []matrix.Packed{{Position: 1, ID: "lunch"}, gold, {Position: 3, ID: "supper"}}
			}
			o.Trials = append(o.Trials, trial)
		}
	}
	e.Pipeline.Refusal = []string{"I don't know"}
	return evaluated(t, e, c, p, o)
}

func shownBy(e Evaluation, cell matrix.CellID) string {
	for _, c := range e.Cells {
		if c.Cell == cell {
			return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Expect, c.Held, c.Shows))
		}
	}
	return "not planned"
}

// TestWhatPerturbationsShow: the contrast with the base comes first, then the cell's own verdict, and neither is guessed.
func TestWhatPerturbationsShow(t *testing.T) {
	t.Parallel()
	const right, wrong = "++++++++++++++++++++", "--------------------"
	for _, test := range []struct {
		name, variant string
		cell          matrix.CellID
		exact         bool
		a, b, d       string
		want          string
	}{
		{"as good as its base", matrix.WithIrrelevant, "D/irrelevant", false, right, right, right, "invariant yes robust"},
		{"worse than its base", matrix.WithIrrelevant, "D/irrelevant", false, right, right, wrong, "invariant no fragile"},
		{"reliable, and worse all the same", matrix.WithIrrelevant, "D/irrelevant", false, right + right, right + right, strings.Repeat("+", 35) + "-----", "invariant no fragile"},
		{"too few trials", matrix.WithIrrelevant, "D/irrelevant", false, "+++", "+++", "++-", "invariant unknown"},
		{"better than its base is no strength", matrix.GoldFirst, "D/gold-first", false, wrong, right, right, "invariant no"},
		{"as bad as its base", matrix.GoldFirst, "D/gold-first", false, wrong, right, wrong, "invariant yes"},
		{"one exact trial", matrix.GoldMiddle, "D/gold-middle", true, "+", "+", "-", "invariant no fragile"},
		{"the changed fact is followed", matrix.SwapSpan, "D/swap-span:fee", false, right, right, wrong, "breaks yes sensitive"},
		{"the old fact is kept", matrix.SwapSpan, "D/swap-span:fee", false, right, right, right, "breaks no insensitive"},
		{"kept at times, and less often", matrix.SwapSpan, "D/swap-span:fee", false, right, right, "++++++++++----------", "breaks yes sensitive"},
		{"it follows what it never knew", matrix.SwapSpan, "D/swap-span:fee", false, wrong, wrong, wrong, "breaks yes"},
		{"it refuses without its evidence", matrix.DropSpan, "D/drop-span:fee", true, "+", "+", "?", "abstains yes sensitive"},
		{"it answers without its evidence", matrix.DropSpan, "D/drop-span:fee", true, "+", "+", "+", "abstains no insensitive"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			runs := matrix.Runs{Repeats: matrix.Repeats(len(test.a)), Perturbations: []string{test.variant}}
			e := perturbed(t, runs, test.exact, map[matrix.CellID]string{matrix.CellA: test.a, matrix.CellB: test.b, test.cell: test.d})
			if got := shownBy(e, test.cell); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestProbesAreFamiliesOfTheirOwn: what a perturbation must show does not depend on how many points a curve has, and the points of one
// curve are corrected for each other.
func TestProbesAreFamiliesOfTheirOwn(t *testing.T) {
	t.Parallel()
	const right, some = "++++++++", "++++----" // more than a chance for one comparison, and less for twelve
	for _, test := range []struct {
		name               string
		runs               matrix.Runs
		irrelevant, noise1 string
	}{
		{"alone", matrix.Runs{}, "invariant no fragile", "not planned"},
		{"beside a curve of two and eight places", matrix.Runs{Noise: []int{1, 2}, Positions: 8}, "invariant no fragile", "invariant no fragile"},
		{"beside a curve of twelve", matrix.Runs{Noise: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, "invariant no fragile", "invariant unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			outcomes := map[matrix.CellID]string{matrix.CellA: right, matrix.CellB: right, "D/irrelevant": some, "D/noise:1": some}
			for i := 2; i <= 12; i++ {
				outcomes[matrix.CellID(fmt.Sprintf("D/noise:%d", i))] = right
			}
			for i := 1; i <= 8; i++ {
				outcomes[matrix.CellID(fmt.Sprintf("D/position:%d", i))] = right
			}
			test.runs.Repeats, test.runs.Perturbations = 8, []string{matrix.WithIrrelevant}
			e := perturbed(t, test.runs, false, outcomes)
			if got := shownBy(e, "D/irrelevant"); got != test.irrelevant {
				t.Errorf("D/irrelevant: got %q, want %q", got, test.irrelevant)
			}
			if got := shownBy(e, "D/noise:1"); got != test.noise1 {
				t.Errorf("D/noise:1: got %q, want %q", got, test.noise1)
			}
		})
	}
}

// TestWhatIsSaidOfPerturbations holds the verdict, and the findings, to what the perturbations show.
func TestWhatIsSaidOfPerturbations(t *testing.T) {
	t.Parallel()
	type cells = map[matrix.CellID]string
	for _, test := range []struct {
		name     string
		runs     matrix.Runs
		cells    cells
		want     string
		findings []string
	}{
		{
			name: "right from memory", runs: matrix.Runs{Perturbations: []string{matrix.SwapSpan}}, cells: cells{"A": "+", "B": "+", "D/swap-span:fee": "+"},
			want:     "pass/from-memory",
			findings: []string{`memory: D/swap-span:fee passes 1 of 1 with "60 crowns" changed to "77 crowns" in its context: the answer keeps the old fact`},
		},
		{name: "right from the evidence", runs: matrix.Runs{Perturbations: []string{matrix.SwapSpan}}, cells: cells{"A": "+", "B": "+", "D/swap-span:fee": "?"}, want: "pass"},
		{
			name: "wrong, whatever the evidence says", runs: matrix.Runs{Perturbations: []string{matrix.SwapSpan}}, cells: cells{"A": "-", "B": "-", "D/swap-span:fee": "-"},
			want: "generate/ignored-evidence",
		},
		{name: "wrong, and another answer with another fact", runs: matrix.Runs{Perturbations: []string{matrix.SwapSpan}}, cells: cells{"A": "-", "B": "-", "D/swap-span:fee": "?"}, want: "generate/unsupported-claim"},
		{
			name:  "closed-book says that the context is read, and has the last word",
			runs:  matrix.Runs{Perturbations: []string{matrix.SwapSpan, matrix.ClosedBook}},
			cells: cells{"A": "-", "B": "-", "D/swap-span:fee": "-", "D/closed-book": "?"}, want: "generate/unsupported-claim",
		},
		{
			name: "noise from some number on", runs: matrix.Runs{Noise: []int{1, 2, 4}}, cells: cells{"A": "+", "B": "+", "D/noise:1": "+", "D/noise:2": "-", "D/noise:4": "-"},
			want: "pass", findings: []string{"noise: with 2 seeded items behind the gold the answer is worse than with the gold alone (0 of 1)"},
		},
		{
			name: "noise explains what A does", runs: matrix.Runs{Noise: []int{1, 4}}, cells: cells{"A": "-", "B": "+", "D/noise:1": "+", "D/noise:4": "-"},
			want: "generate/distracted", findings: []string{"noise: with 4 seeded items behind the gold the answer is worse than with the gold alone (0 of 1)"},
		},
		{
			name: "lost in the middle", runs: matrix.Runs{Positions: 4}, cells: cells{"A": "+", "B": "+", "D/position:1": "+", "D/position:2": "-", "D/position:3": "-", "D/position:4": "+"},
			want: "pass", findings: []string{"position: lost in the middle: with the gold at place 2, 3 of 4 the answer is worse than with the gold alone"},
		},
		{
			name: "lost behind the front", runs: matrix.Runs{Positions: 3}, cells: cells{"A": "+", "B": "+", "D/position:1": "+", "D/position:2": "-", "D/position:3": "-"},
			want: "pass", findings: []string{"position: with the gold at place 2, 3 of 3 the answer is worse than with the gold alone"},
		},
		{
			name: "the middle helps", runs: matrix.Runs{Perturbations: []string{matrix.GoldMiddle}}, cells: cells{"A": "-", "B": "+", "D/gold-middle": "+"},
			want: "generate/position-sensitive",
		},
		{
			name: "A's own context helps", runs: matrix.Runs{Perturbations: []string{matrix.GoldFirst}}, cells: cells{"A": "-", "B": "+", "D/gold-first": "+"},
			want: "seam/isolated-parts-pass",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.runs.Repeats = 1
			e := perturbed(t, test.runs, true, test.cells)
			got := string(e.Outcome)
			if len(e.Defects) > 0 {
				got = e.Defects[0].Name()
			} else if e.Qualifier != "" {
				got += "/" + e.Qualifier
			}
			if got != test.want {
				t.Errorf("got %s, want %s: %s %s %q", got, test.want, e.Summary, e.Story, e.Missing)
			}
			var findings []string
			for _, f := range e.Findings {
				if strings.HasPrefix(f, "memory: D/swap") || strings.HasPrefix(f, "noise: ") || strings.HasPrefix(f, "position: ") {
					findings = append(findings, f)
				}
			}
			if diff := cmp.Diff(test.findings, findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
