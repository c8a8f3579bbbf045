package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// Every text of the table begins in one column, and no text is cut for want of what it can do without.
func TestRunAlignsTheTable(t *testing.T) {
	t.Parallel()
	s := travelPolicy()
	s.Cases[3].Summary = "gold c11: rank 2, cut by the budget of 50 words (needs 71)"
	s.Cases[4].Summary = "gold c08: packed at position 2; passes alone and when first"
	s.Cases[6].Findings = []string{"noted"}
	s.Cases[7].Findings = []string{"noted without a label"}
	texts := []string{"gold c15", "gold c08: in", "gold c08: rank", "gold c11", "gold c08: packed", "no gold", "note: noted\n"}
	for width, needs := range map[int]bool{90: false, 100: true, 110: true, 140: true} {
		p := newPage(Options{Width: width}, runLabels)
		p.cases(s, false)
		got := p.b.String()
		at := -1
		for _, text := range texts {
			for line := range strings.Lines(got) {
				before, _, found := strings.Cut(line, text)
				if !found {
					continue
				}
				if n := columns(before); at < 0 {
					at = n
				} else if n != at {
					t.Errorf("width %d: %q begins in column %d, want %d", width, text, n, at)
				}
			}
		}
		if at < 0 || !strings.Contains(got, "✓ per-diem-dinner  note: noted without a label\n") {
			t.Errorf("width %d: got %s", width, got)
		}
		if strings.Contains(got, "(needs 71)\n") != needs {
			t.Errorf("width %d: what the gold needs is shown: %v, want %v: %s", width, !needs, needs, got)
		}
		if whole := strings.Contains(got, "passes alone and when first\n"); whole != (width > 100) {
			t.Errorf("width %d: the last words are shown: %v: %s", width, whole, got)
		}
		for line := range strings.Lines(got) {
			if columns(line) > width+1 { // with its line end
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}

// No rate of a stochastic generator stands in a row without its interval, however narrow the page; a single trial is said to be one.
func TestRatesHaveIntervals(t *testing.T) {
	t.Parallel()
	bare := regexp.MustCompile(`\b[AB] \d+/\d+(?: [^(]|[,;]|$)`)
	for _, n := range []int{1, 5} {
		for _, width := range []int{60, 80, 100, 140} {
			s := noisy()
			for i := range s.Cases {
				s.Cases[i].Cells = map[matrix.CellID]results.CellSummary{
					"A": {Trials: n, Scored: n, Wilson95: verdict.Wilson95(0, n)},
					"B": {Trials: n, Scored: n, Pass: n, Wilson95: verdict.Wilson95(n, n)},
				}
			}
			p := newPage(Options{Width: width}, runLabels)
			p.cases(s, false)
			got := p.b.String()
			if rate := bare.FindString(got); rate != "" {
				t.Errorf("width %d: %q: %s", width, rate, got)
			}
			if strings.Contains(got, "of one trial") != (n == 1) {
				t.Errorf("width %d, %d trials: %s", width, n, got)
			}
		}
	}
}

// Where nothing is to be cut, each row takes one line and holds all of its text.
func TestWholeRowsAreNotCut(t *testing.T) {
	t.Parallel()
	s := noisy()
	s.Cases[0].Summary = strings.Repeat("words ", 60) + "(needs 71)"
	for _, all := range []bool{false, true} {
		p := newPage(Options{Width: 60, Whole: true}, runLabels)
		p.cases(s, all)
		got := p.b.String()
		if !strings.Contains(got, "A 0/5 (.00–.43), B 4/5 (.38–.96); words words") || !strings.Contains(got, "words (needs 71)\n") || strings.Contains(got, "…") {
			t.Errorf("all %v: a text is cut: %s", all, got)
		}
	}
}

// Every defect of the table has the letter of its grade, and the letters that stand there are explained once.
func TestGradesOfTheTable(t *testing.T) {
	t.Parallel()
	s := travelPolicy()
	s.Cases[2].Behind = []results.DefectSummary{{Stage: verdict.StageAssemble, Label: "budget-cut", Grade: verdict.Inferred}}
	var b strings.Builder
	if err := Run(&b, s, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"retrieve/below-cutoff         s  gold c08", "then             assemble/budget-cut           i\n", "generate/position-sensitive   v  gold",
		"  grades     v verified 1: undone alone, and the case passed; s shown 5: the trace shows it; i inferred 1: by exclusion, or from few answers\n",
	} {
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// The kinds of intervals that stand on a screen are named, and no others.
func TestIntervalsAreNamed(t *testing.T) {
	t.Parallel()
	bounds := []string{"0.100", "0.900"}
	for _, test := range []struct {
		cells []verdict.CellResult
		want  string
	}{
		{nil, ""},
		{[]verdict.CellResult{{Exact: true}}, ""},
		{[]verdict.CellResult{{Wilson95: bounds}}, "(low–high) is the 95 % interval of the rate: for a fixed n, Wilson's"},
		{
			[]verdict.CellResult{{Sequence95: bounds}, {Wilson95: bounds, Judged95: bounds}},
			"(low–high) is the 95 % interval of the rate: where runs.repeats is auto, a confidence sequence, which holds whenever it stops and is wider for it; where a judge decides, widened by its errors",
		},
	} {
		var kinds Intervals
		for i := range test.cells {
			kinds.Add(&test.cells[i])
		}
		if got := kinds.String(); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.cells, got, test.want)
		}
	}
}

// A's repeated request is explained where it was made.
func TestAgainIsExplained(t *testing.T) {
	t.Parallel()
	const says = "\n  A again is A's own request once more: a generator that is deterministic answers it alike\n"
	for _, made := range []bool{false, true} {
		b := longHaul()
		if made {
			b.Evaluation.Cells = append(b.Evaluation.Cells, verdict.CellResult{Cell: matrix.CellAgain, Planned: 1, Scored: 1, Exact: true})
		}
		var out strings.Builder
		if err := Explain(&out, b, Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), says) != made {
			t.Errorf("made: %v\n%s", made, out.String())
		}
	}
}
