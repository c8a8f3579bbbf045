package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// TestRepairs: a defect is verified where its repair was run and the case then passes; a repair that does not help shows what stands
// behind it; and where there is no repair, the rung of the ladder shows how far the way is whole.
func TestRepairs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, id, label string
		grade           verdict.Grade
		repair          matrix.CellID
		behind          string
	}{
		{file: "cases/RK-06.yaml", id: "rk-06", label: "rerank/wrong-direction", grade: verdict.Verified, repair: matrix.RepairReversed},
		{file: "cases/RK-09.yaml", id: "rk-09", label: "rerank/input-truncated", grade: verdict.Verified, repair: matrix.RepairNoRerank},
		{file: "cases/EM-09.yaml", id: "em-09", label: "embed/model-mismatch", grade: verdict.Verified, repair: matrix.RepairIndexEmbed},
		{file: "cases/SM-01.yaml", id: "sm-01", label: "retrieve/query-altered", grade: verdict.Verified, repair: matrix.RepairAsTyped},
		{file: "cases/SM-05.yaml", id: "sm-05", label: "seam/cached-answer", grade: verdict.Verified, repair: matrix.RepairPastCache},
		{file: "cases/RT-15.yaml", id: "rt-15", label: "retrieve/crowded-out", grade: verdict.Verified, repair: matrix.RepairMoreK},
		{file: "cases/AS-09.yaml", id: "as-09", label: "prompt/not-serialised", grade: verdict.Verified, repair: matrix.RungPrompt},
		{file: "cases/AB-04.yaml", id: "ab-04-answerable", label: "retrieve/below-threshold", grade: verdict.Verified, repair: matrix.RepairNoThreshold},
		{file: "cases/IX-03.yaml", id: "ix-03", label: "index/missing", grade: verdict.Shown, repair: matrix.RungCandidates},
		{file: "cases/AS-05.yaml", id: "as-05", label: "assemble/lost", grade: verdict.Shown, repair: matrix.RungPacked},
		{file: "examples/travel-policy", id: "long-haul-cabin", label: "retrieve/below-cutoff", grade: verdict.Shown, repair: matrix.RungCandidates, behind: "assemble/budget-cut"},
	} {
		t.Run(test.id, func(t *testing.T) {
			t.Parallel()
			e := run(t, load(t, "../experiments/"+test.file, change{}))[test.id].Evaluation
			d := e.Defects[0]
			if len(e.Defects) != 1 || d.Name() != test.label || d.Grade != test.grade || d.Repair != string(test.repair) {
				t.Errorf("%s, %s by %q\n    %s", d.Name(), d.Grade, d.Repair, explained(e))
			}
			var behind []string
			for _, b := range e.Behind {
				if b.Behind != d.Name() {
					t.Errorf("%s stands behind %q", b.Name(), b.Behind)
				}
				behind = append(behind, b.Name())
			}
			if strings.Join(behind, ", ") != test.behind {
				t.Errorf("behind it %q, want %q", behind, test.behind)
			}
			if without := run(t, load(t, "../experiments/"+test.file, change{set: []string{"runs.repairs=false"}}))[test.id]; without.Evaluation.Defects[0].Repair != "" || len(without.Plan.Cells) >= 20 {
				t.Errorf("with repairs: false, %+v", without.Evaluation.Defects[0])
			}
		})
	}
}

// TestRepairsSpareTheBudget: what is left of a budget is kept for the matrix.
func TestRepairsSpareTheBudget(t *testing.T) {
	t.Parallel()
	for budget, want := range map[int]bool{200: true, 10: false} {
		loaded := load(t, "../experiments/cases/RK-09.yaml", change{set: []string{fmt.Sprintf("limits.budget={calls: %d}", budget)}})
		e := run(t, loaded)["rk-09"].Evaluation
		if d := e.Defects[0]; (d.Repair != "") != want || d.Name() != "rerank/input-truncated" {
			t.Errorf("budget %d: %s by %q", budget, d.Name(), d.Repair)
		}
	}
}

// TestRepeatsAuto: a clear failure takes few generations, and each label keeps its cells' counts.
func TestRepeatsAuto(t *testing.T) {
	t.Parallel()
	flip := "backends.generator.flip={rate: 0.05, to: refuse}"
	b := run(t, load(t, "../experiments/cases/IX-03.yaml", change{set: []string{flip}}))["ix-03"]
	e := b.Evaluation
	consistent(t, e)
	if got := verdictOf(e); got != "index/missing" {
		t.Fatalf("%s\n    %s", got, explained(e))
	}
	a := e.Cells[0]
	if a.Cell != matrix.CellA || a.Scored < 3 || a.Scored > 8 || a.Decision == "passes" || len(a.Sequence95) != 2 || a.Wilson95 != nil {
		t.Errorf("A: %+v", a)
	}
	if got := e.Attribution; got == nil || got.Kind != "context" || got.By != verdict.DecidedSequential {
		t.Errorf("attributed %+v", got)
	}
	if rests := e.Defects[0].Rests; len(rests) < 2 || rests[0].Scored != a.Scored || rests[0].Interval == nil {
		t.Errorf("rests on %+v", rests)
	}
}

// TestGoldIsPackedInItsPlace: the rung behind assemble puts the gold where production's order would have had it, and it takes the place of
// what was packed in its stead. Where the retrieval did not keep it, it goes where the first would.
func TestGoldIsPackedInItsPlace(t *testing.T) {
	t.Parallel()
	// The words of 2019 come first, so that the gold has rank 2.
	const second = `cases.0.query="What was the mooring fee in 2019, and what is the mooring fee for one night?"`
	for _, test := range []struct {
		name string
		set  []string
		want string
	}{
		{"lost at rank 2", []string{second, "pipeline.faults.drop=[fee]"}, "fee-2019 fee greeting"},
		{"lost at rank 2, the best packed last", []string{second, "pipeline.faults.drop=[fee]", "pipeline.assemble.order=reverse"}, "greeting fee fee-2019"},
		{"cut", []string{second, "pipeline.faults.cut=30"}, "fee-2019 fee greeting"},
		{"shown under another id", []string{"pipeline.faults.relabel={fee: lunch}"}, "fee fee-2019 greeting"},
		{"beyond the budget", []string{second, "pipeline.assemble.budget=18 words"}, "fee-2019 fee"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := run(t, load(t, "testdata/switches/keyword.yaml", change{set: test.set}))["mooring-fee"]
			for _, trial := range b.Observations.Trials {
				if trial.Cell == matrix.RungPacked {
					var ids []string
					for _, p := range trial.Packed {
						ids = append(ids, p.ID)
					}
					if got := strings.Join(ids, " "); got != test.want {
						t.Errorf("packed %s, want %s", got, test.want)
					}
					return
				}
			}
			t.Errorf("the rung was not run: %s", explained(b.Evaluation))
		})
	}
}
