package report

import (
	"bytes"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	label := func(outcome verdict.Outcome, defects ...string) results.Labelled {
		return results.Labelled{Outcome: outcome, Defects: defects}
	}
	many := results.Reranking{Cell: matrix.CellC, Left: 20, Right: 21}
	for range 10 {
		many.Items = append(many.Items, results.Moved{Name: "c01", Left: "1–2", Right: "7"})
	}
	d := results.Diff{
		Left: "20261129T200000Z-aaaaaa", Right: "20261130T200000Z-aaaaaa", OnlyLeft: []string{"old"}, OnlyRight: []string{"new", "newer"},
		Counts: map[string]int{results.DiffSame: 1, results.DiffChanged: 1, results.DiffWithinNoise: 1, results.DiffNotComparable: 1},
		Cases: []results.CaseDiff{
			{Case: "gym", Result: results.DiffSame, Left: label(verdict.Pass), Right: label(verdict.Pass), Pins: []results.Moved{{Name: "store.count", Left: "1", Right: "2"}}},
			{
				Case: "vpn", Result: results.DiffChanged, Story: "retrieve/below-cutoff became pass. What moved of the pins: embedder.model.",
				Left: label(verdict.Fail, "retrieve/below-cutoff"), Right: label(verdict.Pass),
				Pins:    []results.Moved{{Name: "embedder.model", Left: "small", Right: "large"}, {Name: "store.revision", Right: "2"}},
				Gold:    []results.Moved{{Name: "gold c08", Left: "rank 3, not in the prompt", Right: "rank 1, in the prompt"}},
				Checks:  []results.Moved{{Name: "fresh", Left: "no", Right: "yes"}},
				Ranking: []results.Reranking{many},
				Cells: []results.CellDiff{
					{Cell: "A", Left: results.Counted{Pass: 0, Scored: 10, Interval: []string{"0", "0.28"}}, Right: results.Counted{Pass: 10, Scored: 10, Interval: []string{"0.72", "1"}}, Differs: matrix.Yes, By: "fisher", P: "<0.0001", LeftAnswers: 3, RightAnswers: 2, Shared: 1},
					{Cell: "B", Left: results.Counted{Pass: 4, Scored: 5, Interval: []string{"0.37", "0.96"}}, Right: results.Counted{Pass: 3, Scored: 5, Interval: []string{"0.23", "0.88"}}, Differs: matrix.No, By: "fisher", P: "1.0000", LeftAnswers: 5, RightAnswers: 5},
				},
				Claims: []results.ClaimDiff{{Cell: "A", Claim: "class", Left: results.Counted{Scored: 10}, Right: results.Counted{Pass: 10, Scored: 10}}},
			},
			{Case: "taxi", Result: results.DiffWithinNoise, Story: "pass became generate/unstable.", Left: label(verdict.Pass), Right: label(verdict.Fail, "generate/unstable")},
			{Case: "x\x1b[2J\n::error::", Result: results.DiffNotComparable, Story: "Not comparable: the case was changed\u202e.", Left: label("fail\r"), Right: label(verdict.Fail, "::error::a")},
		},
	}
	var b bytes.Buffer
	if err := Diff(&b, &d, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff", b.Bytes())
	if got := Fenced("a ```` b\n"); got != "`````text\na ```` b\n`````\n" {
		t.Errorf("a fence that can be ended: %q", got)
	}
}
