package verdict

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestRefusingCoin: a generator that refuses every second time may refuse a few times in a row. It is called one that refuses in one run of
// twenty at the most, and where it is neither shown to be that nor unstable, both are named. One that always refuses is called so.
func TestRefusingCoin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		runs        int
		rate        float64 // of refusals
		gold        bool    // in A's prompt; else A always refuses
		least, most float64 // share of runs that are given refused-answerable
	}{
		{200, 0.5, true, 0, .05},
		{200, 0.5, false, 0, .05},
		{20, 1, true, 1, 1},
		{20, 1, false, 1, 1},
	} {
		random := rand.New(rand.NewPCG(7, uint64(100*test.rate)))
		given, open := 0, 0
		for range test.runs {
			a := newArms(20, true)
			a.e.Pipeline.Refusal = []string{"I don't know"}
			a.o.Store.Gold = []matrix.GoldFacts{{Text: matrix.NewText("s and more"), TextOrigin: "case"}}
			a.play(func(trial *matrix.Trial, f *TrialFeatures, _ int) { // with the gold in each prompt
				trial.Packed, f.Gold = []matrix.Packed{{ID: "g", Position: 1}}, []GoldPlace{{Packed: 1, PackedID: "g", ByID: 1, Prompt: true}}
				f.Meets = random.Float64() >= test.rate
				if trial.Cell == matrix.CellA && !test.gold {
					trial.Packed, f.Gold, f.Meets = nil, []GoldPlace{{}}, false
				}
				f.Refused = !f.Meets
			})
			ev := EvaluateDigested("", a.e, a.c, a.p, &a.o, &a.f)
			missing := strings.Join(ev.Missing, "\n")
			switch {
			case len(ev.Defects) > 0 && ev.Defects[0].Name() == "abstain/refused-answerable":
				given++
			case strings.Contains(missing, "abstain/refused-answerable from generate/unstable"):
				if open++; ev.Outcome != Inconclusive || len(ev.Defects) > 0 || !strings.Contains(missing, "settle it") {
					t.Errorf("%s with %+v, and open: %s", ev.Outcome, ev.Defects, missing)
				}
			}
		}
		if share := float64(given) / float64(test.runs); share < test.least || share > test.most {
			t.Errorf("refusing at %v, gold in A %t: refused-answerable in %.3f of the runs, open in %d, want %v to %v", test.rate, test.gold, share, open, test.least, test.most)
		}
	}
}

// TestRefusalsAreCounted holds a fixed number of repeats to the same.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		refusals int // of ten of B
		defect   string
		missing  string
	}{
		{10, "abstain/refused-answerable", ""},
		{8, "", "B refuses in 8 of 10 trials with the evidence alone in its prompt: whether it fails more often than not, to tell abstain/refused-answerable from generate/unstable"},
		{6, "generate/unstable", ""},
	} {
		ev := asked(t, 10, func(trial *matrix.Trial) {
			if trial.Cell == matrix.CellB && trial.Rep <= test.refusals {
				trial.Answer = matrix.NewText("I don't know.")
			}
			if trial.Cell == matrix.CellA { // is not right, and does not have the gold in its prompt
				trial.Packed, trial.Prompt = trial.Packed[1:], []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("Lunch is at noon.")}}
			}
		})
		named, missing := "", strings.Join(ev.Missing, "\n")
		for _, d := range ev.Defects {
			if d.Stage == StageGenerate || d.Stage == StageAbstain {
				named = d.Name()
			}
		}
		if named != test.defect || !strings.Contains(missing, test.missing) {
			t.Errorf("%d refusals: %q with %q, want %q with %q", test.refusals, named, missing, test.defect, test.missing)
		}
	}
}
