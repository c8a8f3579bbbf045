package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// judgedCase is a case of every kind of claim, with two answers of A that differ and the recorded words of a judge on them.
func judgedCase() (*matrix.Experiment, *matrix.Case, *matrix.Plan, *matrix.Observations) {
	c := &matrix.Case{
		ID: "fee", Query: "What is the fee?", Expect: matrix.ExpectAnswer,
		Claims: []matrix.Claim{
			{ID: "fee", Says: "It is forty crowns.", Any: []string{"forty crowns"}},
			{ID: "old", Never: []string{"thirty crowns"}},
			{ID: "cited", Says: "The tariff says so.", Cites: []string{"tariff"}},
			{ID: "both", Any: []string{"forty crowns"}, Never: []string{"thirty crowns"}},
		},
	}
	e := &matrix.Experiment{
		Backends: matrix.Backends{Judge: &matrix.Backend{Adapter: "a"}},
		Judge:    &matrix.Judge{Claims: true, Faithfulness: true, AnswerRelevancy: &matrix.AnswerRelevancy{Questions: 2}, ContextPrecision: true, ContextRecall: true, Cells: []matrix.CellID{"A", "D"}},
	}
	p := &matrix.Plan{Cells: []matrix.PlannedCell{{Cell: "A", Repeats: 2}, {Cell: "D/closed-book", Base: "A", Change: "the context is empty", Repeats: 1}}}
	packed := []matrix.Packed{{Position: 1, ID: "lunch", Text: matrix.NewText("Lunch.")}, {Position: 2, ID: "tariff", Text: matrix.NewText("The fee is forty crowns.")}}
	trial := func(cell matrix.CellID, rep int, answer string, packed []matrix.Packed) matrix.Trial {
		return matrix.Trial{CallKey: fmt.Sprint(cell, rep), Cell: cell, Rep: rep, Packed: packed, Answer: matrix.NewText(answer), ModelReported: "g", Status: matrix.StatusOK}
	}
	o := &matrix.Observations{Trials: []matrix.Trial{
		trial("A", 1, "It is forty crowns.", packed), trial("A", 2, "It was thirty crowns.", packed), trial("D/closed-book", 1, "Perhaps fifty.", nil),
	}}
	return e, c, p, o
}

func judgedBy(t *testing.T, judgements ...matrix.Judgement) Evaluation {
	t.Helper()
	e, c, p, o := judgedCase()
	for i := range judgements {
		if judgements[i].Status == "" {
			judgements[i].Status = matrix.StatusOK
		}
		judgements[i].ModelRequested, judgements[i].ModelReported = "j", "j"
	}
	o.Judgements = judgements
	return evaluated(t, e, c, p, o)
}

// TestAgreementWithTheChecks holds each word on each kind of claim against what the checks made of the two answers.
func TestAgreementWithTheChecks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		claim             string
		rep               int
		word              matrix.ClaimWord
		compared, agrees  int
		void              string
		entailed, n, lost int
	}{
		{claim: "fee", rep: 1, word: matrix.Entailed, compared: 1, agrees: 1, entailed: 1, n: 1},
		{claim: "fee", rep: 1, word: matrix.Absent, compared: 1, n: 1},
		{claim: "fee", rep: 2, word: matrix.Contradicted, compared: 1, agrees: 1, n: 1},
		{claim: "fee", rep: 2, word: matrix.Entailed, compared: 1, entailed: 1, n: 1},
		{claim: "fee", rep: 1, void: "the quote is not in the answer", n: 1, lost: 1},
		{claim: "fee", rep: 1, n: 1, lost: 1}, // no word: a run does not write it
		{claim: "old", rep: 1, word: matrix.Absent, compared: 1, agrees: 1, n: 1},
		{claim: "old", rep: 2, word: matrix.Entailed, compared: 1, agrees: 1, entailed: 1, n: 1},
		{claim: "old", rep: 2, word: matrix.Absent, compared: 1, n: 1},
		{claim: "cited", rep: 1, word: matrix.Entailed, entailed: 1, n: 1},
		{claim: "both", rep: 1, word: matrix.Entailed, compared: 1, agrees: 1, entailed: 1, n: 1},
		{claim: "both", rep: 2, word: matrix.Absent, n: 1},
	} {
		t.Run(fmt.Sprint(test.claim, test.rep, test.word, test.void), func(t *testing.T) {
			t.Parallel()
			d := judgedBy(t, matrix.Judgement{Cell: "A", Rep: test.rep, Kind: matrix.JudgeClaim, Claim: test.claim, Word: test.word, Void: test.void}).Judged
			if len(d.Cells) == 0 || len(d.Cells[0].Claims) != 1 {
				t.Fatalf("cells %+v", d.Cells)
			}
			got := d.Cells[0].Claims[0]
			if got.Compared != test.compared || got.Agree != test.agrees || got.Entailed != test.entailed || got.N != test.n || got.Void != test.lost || d.Compared != test.compared || d.Agree != test.agrees {
				t.Errorf("want %+v, got %+v", test, got)
			}
			if got.N != got.Entailed+got.Contradicted+got.Absent+got.Void+got.Failed {
				t.Errorf("the words do not add up: %+v", got)
			}
		})
	}
}

// TestJudgedMetricsOfACell: a mean is over the values that there are, an incomplete one is none, and an empty context supports nothing.
func TestJudgedMetricsOfACell(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	two := []matrix.Text{matrix.NewText("One."), matrix.NewText("Two.")}
	d := judgedBy(
		t,
		matrix.Judgement{Cell: "A", Rep: 1, Kind: matrix.JudgeStatements, Statements: two},
		matrix.Judgement{Cell: "A", Rep: 1, Kind: matrix.JudgeFaithfulness, Statements: two, Supported: []bool{true, false}},
		matrix.Judgement{Cell: "A", Rep: 2, Kind: matrix.JudgeStatements, Statements: two},
		matrix.Judgement{Cell: "A", Rep: 2, Kind: matrix.JudgeFaithfulness, Statements: two, Void: "statement 2 is not judged"},
		matrix.Judgement{Cell: "A", Rep: 1, Kind: matrix.JudgeAnswerRelevancy, Questions: two, Cosines: []matrix.Decimal{"0.9", "0.7"}},
		matrix.Judgement{Cell: "A", Rep: 2, Kind: matrix.JudgeAnswerRelevancy, Noncommittal: true},
		matrix.Judgement{Cell: "A", Position: 1, Kind: matrix.JudgeContextPrecision, Useful: &no},
		matrix.Judgement{Cell: "A", Position: 2, Kind: matrix.JudgeContextPrecision, Useful: &yes},
		matrix.Judgement{Cell: "A", Kind: matrix.JudgeContextRecall, Supported: []bool{true, true, false}},
		matrix.Judgement{Cell: "D/closed-book", Rep: 1, Kind: matrix.JudgeStatements, Statements: two},
		matrix.Judgement{Cell: "D/closed-book", Rep: 1, Kind: matrix.JudgeAnswerRelevancy, Status: matrix.StatusError, Error: &matrix.CallError{Kind: "timeout"}},
	).Judged
	want := []JudgedCell{
		{Cell: "A", Metrics: []JudgedMetric{
			{Name: "faithfulness", Value: "0.500000", Used: 1, Total: 2, Parts: 2},
			{Name: "answer_relevancy", Value: "0.400000", Used: 2, Total: 2, Parts: 2},
			{Name: "context_precision", Value: "0.500000", Used: 1, Total: 1, Parts: 2},
			{Name: "context_recall", Value: "0.666667", Used: 1, Total: 1, Parts: 3},
		}},
		{Cell: "D/closed-book", Metrics: []JudgedMetric{
			{Name: "faithfulness", Value: "0.000000", Used: 1, Total: 1, Parts: 2},
			{Name: "answer_relevancy", Total: 1, Reason: "incomplete"},
			{Name: "context_precision", Total: 1, Reason: "no items"},
			{Name: "context_recall", Value: "0.000000", Used: 1, Total: 1, Parts: 3},
		}},
	}
	if diff := cmp.Diff(want, d.Cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if d.Judgements != 11 || d.Void != 1 || d.Failed != 1 || d.NotRun != 0 {
		t.Errorf("counts %+v", d)
	}
}

// TestNothingJudgedHasNoNumber: where the judge was never reached every metric says that it is unknown.
func TestNothingJudgedHasNoNumber(t *testing.T) {
	t.Parallel()
	d := judgedBy(t).Judged
	for _, m := range d.Cells[0].Metrics {
		if m.Value != "" || m.Used != 0 || m.Reason == "" {
			t.Errorf("%+v", m)
		}
	}
}

// TestTheJudgeDecidesNothing: whatever it says, everything but what is its own stays as it is.
func TestTheJudgeDecidesNothing(t *testing.T) {
	t.Parallel()
	bare := func(ev Evaluation) Evaluation {
		ev.Judged, ev.ObservationDigest, ev.Findings = nil, "", nil
		return ev
	}
	plain := bare(judgedBy(t))
	for _, word := range []matrix.ClaimWord{matrix.Entailed, matrix.Contradicted, matrix.Absent} {
		var all []matrix.Judgement
		for _, claim := range []string{"fee", "old", "cited", "both"} {
			for rep := 1; rep <= 2; rep++ {
				all = append(all, matrix.Judgement{Cell: "A", Rep: rep, Kind: matrix.JudgeClaim, Claim: claim, Word: word})
			}
		}
		ev := judgedBy(t, all...)
		if diff := cmp.Diff(plain, bare(ev)); diff != "" {
			t.Errorf("%s (-without +with):\n%s", word, diff)
		}
		found := false
		for _, f := range ev.Findings {
			found = found || strings.Contains(f, "not as the deterministic check has it: ")
		}
		if !found {
			t.Errorf("%s of everything is no finding: %q", word, ev.Findings)
		}
	}
}
