package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// arms is a case of A and B alone, whose trials are known by their outcomes.
type arms struct {
	e *matrix.Experiment
	c *matrix.Case
	p *matrix.Plan
	o matrix.Observations
	f Features
}

func newArms(most int, auto bool) *arms {
	a := &arms{
		e: &matrix.Experiment{},
		c: &matrix.Case{ID: "c", Expect: matrix.ExpectAnswer, Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "g", Span: "s"}}}}}},
		p: &matrix.Plan{Auto: auto, Cells: []matrix.PlannedCell{{Cell: matrix.CellA, Repeats: most}, {Cell: matrix.CellB, Repeats: most}}},
	}
	a.o.Retrievals = []matrix.Retrieval{{Cell: matrix.CellC, Status: matrix.StatusOK, K: 1}}
	a.f.Retrievals = []RetrievalFeatures{{Cell: matrix.CellC, Gold: []Place{{}}}}
	return a
}

func (a *arms) add(cell matrix.CellID, passes ...bool) {
	for _, pass := range passes {
		a.o.Trials = append(a.o.Trials, matrix.Trial{Cell: cell, CallKey: fmt.Sprint(len(a.o.Trials)), Status: matrix.StatusOK, Answer: matrix.NewText(fmt.Sprint(len(a.o.Trials)))})
		a.f.Trials = append(a.f.Trials, TrialFeatures{Cell: cell, Meets: pass, Gold: []GoldPlace{{Prompt: cell == matrix.CellB}}})
	}
}

func outcomes(k, n int) []bool {
	return append(slices.Repeat([]bool{false}, n-k), slices.Repeat([]bool{true}, k)...)
}

func (a *arms) facts() *facts { return newFacts(a.e, a.c, a.p, &a.o, &a.f) }

// TestAttribution holds the examples of STATISTICS 5.2.
func TestAttribution(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		kA, nA, kB, nB int
		auto           bool
		kind           measure.Attribution
		level          string
		more           int
	}{
		{name: "four of five restore", kA: 0, nA: 5, kB: 4, nB: 5, kind: measure.Context, level: RestoresForSome},
		{name: "all restore", kA: 0, nA: 5, kB: 5, nB: 5, kind: measure.Context, level: RestoresFully},
		{name: "three of five restore", kA: 0, nA: 5, kB: 3, nB: 5, kind: measure.Context, level: RestoresForSome},
		{name: "one lucky pass of A", kA: 1, nA: 5, kB: 4, nB: 5, kind: measure.Unattributed, more: 11},
		{name: "one lucky pass of A, and all of B", kA: 1, nA: 5, kB: 5, nB: 5, kind: measure.Context, level: RestoresFully},
		{name: "gold helps and does not restore", kA: 0, nA: 20, kB: 8, nB: 20, kind: measure.Context, level: RestoresPartly},
		{name: "neither passes", kA: 0, nA: 2, kB: 0, nB: 2, kind: measure.NotContext},
		{name: "A passes", kA: 5, nA: 5, kB: 5, nB: 5, kind: measure.NotFailing},
		{name: "A passes four of five, which shows nothing", kA: 4, nA: 5, kB: 5, nB: 5, kind: measure.Unattributed},
		{name: "gold hurts", kA: 5, nA: 5, kB: 0, nB: 5, kind: measure.GoldHurts},
		{name: "auto: three pairs", auto: true, kA: 0, nA: 3, kB: 3, nB: 3, kind: measure.Context, level: RestoresForSome},
		{name: "auto: three of five", auto: true, kA: 0, nA: 5, kB: 3, nB: 5, kind: measure.NotContext}, // A and B fail in the first two pairs
		{name: "auto: nothing of four", auto: true, kA: 0, nA: 4, kB: 0, nB: 4, kind: measure.NotContext},
		{name: "auto: seven passes", auto: true, kA: 7, nA: 7, kB: 7, nB: 7, kind: measure.NotFailing},
		{name: "auto: six passes", auto: true, kA: 6, nA: 6, kB: 6, nB: 6, kind: measure.Unattributed},
	} {
		a := newArms(20, test.auto)
		a.add(matrix.CellA, outcomes(test.kA, test.nA)...)
		b := outcomes(test.kB, test.nB)
		if test.name == "auto: three of five" {
			b = []bool{true, true, true, false, false}
			test.kind, test.more = measure.Context, 0 // 3/3 against 0/3 has decided before the fourth pair
			test.level = RestoresForSome
		}
		a.add(matrix.CellB, b...)
		x := a.facts()
		got := x.attribution
		if got == nil || x.attributed != test.kind || got.Kind != test.kind.String() || got.Level != test.level || test.more > 0 && got.More != test.more {
			t.Errorf("%s: %+v, want %s %s, more %d", test.name, got, test.kind, test.level, test.more)
		}
	}
}

// TestNextPairs plays the rule of auto against arms of known rates, and compares how often it ends where and what it takes with the
// exact figures of STATISTICS 5 (cap 20). The generator of numbers is seeded: the test is the same each time.
func TestNextPairs(t *testing.T) {
	t.Parallel()
	const runs = 400
	for _, test := range []struct {
		pA, pB float64
		kind   measure.Attribution
		share  float64 // of the runs that end so
		eA, eB float64 // trials on average
	}{
		{.02, .98, measure.Context, 1, 3.3, 7.5},
		{.1, .1, measure.NotContext, .998, 4.9, 4.9},
		{.9, .1, measure.GoldHurts, .985, 4.8, 4.8},
		{.8, .8, measure.NotFailing, .724, 13.7, 13.7},
		{.5, .9, measure.Context, .627, 13.6, 14.4},
	} {
		random := rand.New(rand.NewPCG(1, uint64(100*test.pA)))
		ends, trials := 0, map[matrix.CellID]int{}
		for range runs {
			a := newArms(20, true)
			for wants := First(a.p); len(wants) > 0; wants = a.facts().nextPairs() {
				for _, w := range wants {
					p := map[matrix.CellID]float64{matrix.CellA: test.pA, matrix.CellB: test.pB}[w.Cell]
					for range w.Reps - a.facts().cells[w.Cell].asked() {
						a.add(w.Cell, random.Float64() < p)
					}
				}
			}
			x := a.facts()
			ends += one(x.attributed == test.kind)
			for cell, c := range x.cells {
				trials[cell] += c.asked()
				if c.asked() > 20 {
					t.Errorf("%d trials of %s", c.asked(), cell)
				}
			}
		}
		const chance = .07 // three standard deviations of a share of 400
		if share := float64(ends) / runs; share < test.share-chance || share > test.share+chance {
			t.Errorf("A %v, B %v: %s in %.3f of the runs, want %.3f", test.pA, test.pB, test.kind, share, test.share)
		}
		for cell, want := range map[matrix.CellID]float64{matrix.CellA: test.eA, matrix.CellB: test.eB} {
			if mean := float64(trials[cell]) / runs; mean < want-3.5 || mean > want+1.3 { // in batches of up to four, and given up where the rates are too close
				t.Errorf("A %v, B %v: %.1f trials of %s on average, want about %.1f", test.pA, test.pB, mean, cell, want)
			}
		}
	}
}

// TestBatchesDecideAlike: how many trials were made in one go does not change what is decided, as the first that decides counts.
func TestBatchesDecideAlike(t *testing.T) {
	t.Parallel()
	a := newArms(20, true)
	a.add(matrix.CellA, false, false, false)
	a.add(matrix.CellB, true, true, true)
	b := newArms(20, true)
	b.add(matrix.CellA, false, false, false, true, true, true, true)
	b.add(matrix.CellB, true, true, true, false, false, false, false)
	if x, y := a.facts(), b.facts(); x.attributed != measure.Context || y.attributed != measure.Context {
		t.Errorf("%s and %s, want context in both", x.attributed, y.attributed)
	}
}

// TestErrorsDecideNothing: of a cell with too many failed calls nothing is attributed.
func TestErrorsDecideNothing(t *testing.T) {
	t.Parallel()
	a := newArms(20, true)
	a.add(matrix.CellA, false, false)
	a.add(matrix.CellB, true, true, true)
	a.o.Trials = append(a.o.Trials, matrix.Trial{Cell: matrix.CellA, CallKey: "lost", Status: matrix.StatusError})
	a.f.Trials = append(a.f.Trials, TrialFeatures{Cell: matrix.CellA})
	if x := a.facts(); x.attribution != nil {
		t.Errorf("attributed %+v", x.attribution)
	}
}

// TestAttributionIsTheFirstThatDecides holds the attribution, which goes through the pairs once, to what is recomputed for each number of pairs.
func TestAttributionIsTheFirstThatDecides(t *testing.T) {
	t.Parallel()
	d := deciding{by: DecidedSequential, alpha: 0.05}
	shown := func(a, b []bool) contrast {
		c := contrast{1, 1}
		for n := fewestPairs; n <= min(len(a), len(b)); n++ {
			c.up = min(c.up, math.Exp(-measure.LogEvidence(count(a[:n]), count(b[:n]), n)))
			c.down = min(c.down, math.Exp(-measure.LogEvidence(count(b[:n]), count(a[:n]), n)))
		}
		return c
	}
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[measure.Attribution]int{}
	for range 2000 {
		var arms [2][]bool
		for i := range arms {
			rate := random.Float64()
			for range random.IntN(40) {
				arms[i] = append(arms[i], random.Float64() < rate)
			}
		}
		a, b := arms[0], arms[1]
		want := measure.Unattributed
		for n := fewestPairs; n <= min(len(a), len(b)) && want == measure.Unattributed; n++ {
			c := shown(a[:n], b[:n])
			want = measure.Attribute(atMost(c.down, d.alpha), atMost(c.up, d.alpha), d.of(a[:n], true), d.of(b[:n], false))
		}
		if got := d.attribute(a, b); got != want {
			t.Errorf("%v and %v: %s, want %s", a, b, got, want)
		}
		if got, want := d.contrast(a, b), shown(a, b); len(a) > 0 && len(b) > 0 && got != want {
			t.Errorf("%v and %v: %v, want %v", a, b, got, want)
		}
		seen[want]++
	}
	if len(seen) != 5 {
		t.Errorf("the arms that were drawn end in %v, want each attribution", seen)
	}
}

// TestUndecidedSaysOfWhat: that A fails by itself, and that it is open what it fails for, are two things.
func TestUndecidedSaysOfWhat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kA, kB int // of eight
		want   string
	}{
		{2, 5, "undecided: A against B: A passes 2 of 8 and B 5 of 8 (p = 0.11), so that it is open what A, which fails by itself, fails for; about"},
		{6, 8, "undecided: A against B: A passes 6 of 8 and B 8 of 8 (p = 0.11); about"},
	} {
		a := newArms(8, false)
		a.add(matrix.CellA, outcomes(test.kA, 8)...)
		a.add(matrix.CellB, outcomes(test.kB, 8)...)
		if got := a.facts().undecidedSays(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%d and %d: %q, want %q", test.kA, test.kB, got, test.want)
		}
	}
}
