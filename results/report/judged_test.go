package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// judgedBundle is a case that was judged: by a judge that disagrees, is void, fails, and whose names are hostile.
func judgedBundle() *results.Bundle {
	b := longHaul()
	b.Evaluation.Judged = &verdict.Judged{
		Model: "judge", ModelReported: []string{"judge-2026-01-01\x1b[2J"}, Judgements: 40, Void: 3, Failed: 1, NotRun: 2, Compared: 12, Agree: 10,
		Cells: []verdict.JudgedCell{
			{
				Cell: matrix.CellA,
				Claims: []verdict.JudgedClaim{
					{ID: "class", Entailed: 3, Contradicted: 1, Absent: 0, Void: 1, N: 5, Compared: 4, Agree: 3},
					{ID: "::error::not-the-old", Forbidden: true, Absent: 5, N: 5, Compared: 5, Agree: 5},
				},
				Metrics: []verdict.JudgedMetric{
					{Name: "faithfulness", Value: "0.666667", Used: 4, Total: 5, Parts: 12},
					{Name: "answer_relevancy", Value: "-0.125000", Used: 5, Total: 5, Parts: 15},
					{Name: "context_precision", Used: 0, Total: 1, Reason: "no item is useful"},
					{Name: "context_recall", Value: "1.000000", Used: 1, Total: 1, Parts: 1},
				},
			},
			{Cell: matrix.CellB, Claims: []verdict.JudgedClaim{{ID: "class", Entailed: 2, Failed: 3, N: 5, Compared: 2, Agree: 2}}},
		},
	}
	return b
}

func TestExplainJudged(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"explain-judged": {}, "explain-judged-narrow": {Width: 60}} {
		var b bytes.Buffer
		if err := Explain(&b, judgedBundle(), o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
		_, judged, _ := strings.Cut(b.String(), "  judge  ")
		judged, _, _ = strings.Cut(judged, "\n\n")
		for line := range strings.Lines(judged) {
			if n := columns(strings.TrimSpace(line)); o.Width > 0 && n > o.Width {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
	}
}

func TestRunJudged(t *testing.T) {
	t.Parallel()
	s := travelPolicy()
	s.Setup.Judge = "judge"
	s.Cases[0].Judged = judgedBundle().Evaluation.Judged
	s.Cases[1].Judged = &verdict.Judged{Judgements: 2, Compared: 2, Agree: 2}
	var b bytes.Buffer
	if err := Run(&b, s, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "run-judged", b.Bytes())
}
