package verdict

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// play generates what is asked for until nothing is. Each trial fails, until then changes it.
func (a *arms) play(then func(t *matrix.Trial, f *TrialFeatures, rep int)) {
	made := map[matrix.CellID]int{}
	for wants := First(a.p); len(wants) > 0; wants = Next(a.e, a.c, a.p, &a.o, &a.f) {
		for _, w := range wants {
			for made[w.Cell] < w.Reps {
				made[w.Cell]++
				a.add(w.Cell, false)
				last := len(a.o.Trials) - 1
				then(&a.o.Trials[last], &a.f.Trials[last], made[w.Cell])
			}
		}
	}
}

// TestLostCallsAreWaitedFor: a call that fails early is no more than one in twenty of those that may be made, and more are made until it is
// not; two are, of twenty, and then no more are bought.
func TestLostCallsAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		most int
		lost map[matrix.CellID]int // how many of the first calls fail
		a, b float64               // pass rates
		kind measure.Attribution
		made map[matrix.CellID]int
	}{
		{"none", 20, nil, 0, 1, measure.Context, map[matrix.CellID]int{"A": 3, "B": 7}},
		{"one of A", 20, map[matrix.CellID]int{"A": 1}, 0, 1, measure.Context, map[matrix.CellID]int{"A": 20, "B": 7}},
		{"one of B", 20, map[matrix.CellID]int{"B": 1}, 0, 1, measure.Context, map[matrix.CellID]int{"A": 4, "B": 20}},
		{"one of each", 20, map[matrix.CellID]int{"A": 1, "B": 1}, 0, 0, measure.NotContext, map[matrix.CellID]int{"A": 20, "B": 20}},
		{"one of A, which passes", 20, map[matrix.CellID]int{"A": 1}, 1, 1, measure.NotFailing, map[matrix.CellID]int{"A": 20, "B": 8}},
		{"two of A", 20, map[matrix.CellID]int{"A": 2}, 0, 1, measure.Unattributed, map[matrix.CellID]int{"A": 3, "B": 3}},
		{"two of forty", 40, map[matrix.CellID]int{"A": 2}, 0, 1, measure.Context, map[matrix.CellID]int{"A": 40, "B": 7}},
		{"one of ten", 10, map[matrix.CellID]int{"A": 1}, 0, 1, measure.Unattributed, map[matrix.CellID]int{"A": 3, "B": 3}},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		a := newArms(test.most, true)
		a.play(func(trial *matrix.Trial, f *TrialFeatures, rep int) {
			f.Meets = random.Float64() < map[matrix.CellID]float64{"A": test.a, "B": test.b}[trial.Cell]
			if rep <= test.lost[trial.Cell] {
				trial.Status = matrix.StatusError
			}
		})
		x := a.facts()
		if x.attributed != test.kind {
			t.Errorf("%s: %s, want %s", test.name, x.attributed, test.kind)
		}
		for cell, want := range test.made {
			if got := x.cells[cell].asked(); got != want {
				t.Errorf("%s: %d calls of %s, want %d", test.name, got, cell, want)
			}
		}
	}
}

// TestLostCallsAreSaid: where the calls that failed are too many, the verdict says of which cell, how many, and what the error was.
func TestLostCallsAreSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cell  matrix.CellID
		wants []string
	}{
		{"A", []string{"A: 7 of 8 trials scored, and 1 failed or gave no answer: more than one in 20", "the gateway hung up"}},
		{"B", []string{"generate: too few calls of B were scored", "B: 7 of 8 trials scored, and 1 failed or gave no answer: more than one in 20", "the gateway hung up"}},
	} {
		ev := asked(t, 8, func(trial *matrix.Trial) {
			if trial.Cell == test.cell && trial.Rep == 3 {
				trial.Status, trial.Error = matrix.StatusError, &matrix.CallError{Kind: "transient", Message: "the gateway hung up"}
			}
		})
		missing := strings.Join(ev.Missing, "\n")
		for _, want := range test.wants {
			if ev.Outcome != Inconclusive || !strings.Contains(missing, want) {
				t.Errorf("%s: %s, %q, want %q", test.cell, ev.Outcome, missing, want)
			}
		}
	}
}
