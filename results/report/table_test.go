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
