package verdict

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// judgedAnswers are so many words of one judge on claims that are left to it, the first passing ones.
func judgedAnswers(passes, fails int) []JudgedAnswer {
	var out []JudgedAnswer
	for i := range passes + fails {
		out = append(out, JudgedAnswer{
			Case: fmt.Sprint(i), Tags: map[string]string{"language": []string{"en", "de"}[i%2]}, Asked: fmt.Sprint(i), Passes: i < passes, Left: true,
			At: fmt.Sprintf("2026-07-01T10:%02d:00Z", i%60), Judge: matrix.CalibratedJudge{Model: "j", Reported: []string{"j-2026"}, Prompt: "p", Settings: "s"},
		})
	}
	return out
}

// TestAgree counts labels: overall, by slice, of the last 30, of two persons; and what was repeated, void and not labelled.
func TestAgree(t *testing.T) {
	t.Parallel()
	judged := judgedAnswers(40, 40)
	judged = append(judged, judged[0], judged[0], judged[1], judged[2]) // judged again
	judged[81].Passes = false
	judged[83].Copied = true
	judged[3].Void, judged[4].Left = true, false
	yes, no := true, false
	var labels []Label
	for i := range 70 { // of 40 that pass all but 4 are labelled so, of 30 that fail all but one
		labels = append(labels, Label{Of: i, Human: i < 36 || i == 69, Second: map[bool]*bool{true: &yes, false: &no}[i < 36]})
	}
	got, err := Agree(judged, labels, []string{"language"}, "2026-07-02")
	if err != nil {
		t.Fatal(err)
	}
	c := &got.Calibration
	want := matrix.Calibration{
		Schema: matrix.CalibrationSchema, Date: "2026-07-02", By: []string{"language"},
		Judge:  matrix.CalibratedJudge{Model: "j", Reported: []string{"j-2026"}, Prompt: "p", Settings: "s"},
		Labels: matrix.LabelCounts{BothPass: 34, JudgePass: 4, HumanPass: 1, BothFail: 29},
		Slices: []matrix.LabelledSlice{
			{Tag: "language", Value: "de", Labels: matrix.LabelCounts{BothPass: 17, JudgePass: 2, HumanPass: 1, BothFail: 14}},
			{Tag: "language", Value: "en", Labels: matrix.LabelCounts{BothPass: 17, JudgePass: 2, BothFail: 15}},
		},
		Recent:     matrix.LabelCounts{BothPass: 6, JudgePass: 4, BothFail: 20}, // minutes 30 to 59 of the hour
		Humans:     &matrix.LabelCounts{BothPass: 36, HumanPass: 1, BothFail: 33},
		Repeated:   []matrix.RepeatedWord{{Passes: 2, Of: 2, Questions: 1}, {Passes: 2, Of: 3, Questions: 1}},
		Judgements: 83, Void: 1,
	}
	if diff := cmp.Diff(&want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Void != 1 || got.Aside != 1 || (got.Judged != measure.Count{N: 10}) {
		t.Errorf("void %d, aside %d, without a label %+v", got.Void, got.Aside, got.Judged)
	}
	got.Show()
	s := c.Shown
	if s.Gates || s.Of.Sensitivity != "0.971429" || s.Of.Specificity != "0.878788" || s.Of.MorePass != 46-35 || s.Of.MoreFail <= 0 || s.Questions != 2 || len(s.Rate) != 3 || s.Slices[1].Of.Pass != 17 {
		t.Errorf("shown %+v", s)
	}

	twice, err := Agree(judged, append(slices.Clone(labels), Label{Of: 80, Human: true}, Label{Of: 82, Human: true}), nil, "2026-07-02")
	if err != nil || twice.Calibration.Labels != want.Labels || twice.Again != 2 {
		t.Errorf("questions that are labelled twice: %+v, %d again, %v", twice.Calibration.Labels, twice.Again, err)
	}
	renamed := slices.Clone(judged)
	renamed[60].Judge.Reported = []string{"j-2027"}
	if _, err := Agree(renamed, labels, nil, ""); !errors.Is(err, ErrTwoJudges) {
		t.Errorf("two models that answered: want %v, got %v", ErrTwoJudges, err)
	}

	labels[1].Of = 84
	other := slices.Concat(judged, judged[5:6])
	other[84].Judge.Settings = "t"
	if _, err := Agree(other, labels, nil, ""); !errors.Is(err, ErrTwoJudges) {
		t.Errorf("want %v, got %v", ErrTwoJudges, err)
	}
}

// TestShowGates: enough labels without an error, and enough repeated questions, are what it takes.
func TestShowGates(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{29: true, 28: false} {
		judged := append(judgedAnswers(n, n), judgedAnswers(n, n)...)
		var labels []Label
		for i := range 2 * n {
			labels = append(labels, Label{Of: i, Human: i < n})
		}
		got, err := Agree(judged, labels, nil, "2026-07-02")
		if err != nil {
			t.Fatal(err)
		}
		if got.Show(); got.Calibration.Shown.Gates != want {
			t.Errorf("%d of each class: %q", n, got.Calibration.Shown.Lacks)
		}
	}
}
