package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// paraphrased is a case whose answers in A say what is claimed in other words, or not at all, and a judge that was calibrated.
func paraphrased(t *testing.T, answers []string, words []matrix.ClaimWord) (*matrix.Experiment, *matrix.Case, *matrix.Plan, *matrix.Observations) {
	t.Helper()
	e := &matrix.Experiment{
		Backends: matrix.Backends{Judge: &matrix.Backend{Adapter: "a"}},
		Runs:     matrix.Runs{Alpha: "0.05"},
		Judge:    &matrix.Judge{Claims: true, Cells: []matrix.CellID{"A", "B", "D"}, Temperature: "0"},
	}
	settings, err := e.JudgeSettings()
	if err != nil {
		t.Fatal(err)
	}
	e.Judge.Calibration = &matrix.Calibration{
		Schema: matrix.CalibrationSchema, Date: "2026-07-01",
		Judge:  matrix.CalibratedJudge{Model: "j", Reported: []string{"j-2026"}, Prompt: "sha256:p", Settings: settings},
		Labels: matrix.LabelCounts{BothPass: 60, JudgePass: 1, BothFail: 60}, Recent: matrix.LabelCounts{BothPass: 15, BothFail: 15},
		Repeated: []matrix.RepeatedWord{{Passes: 3, Of: 3, Questions: 50}}, Judgements: 200, Void: 1,
	}
	c := &matrix.Case{
		ID: "dogs", Query: "May I bring a dog?", Expect: matrix.ExpectAnswer, Tags: map[string]string{"language": "en"},
		Claims: []matrix.Claim{{ID: "pets", Says: "Pets are welcome.", Any: []string{"pets are welcome"}}},
	}
	p := &matrix.Plan{Cells: []matrix.PlannedCell{{Cell: "A", Repeats: len(answers)}, {Cell: "D/closed-book", Base: "A", Expect: matrix.ExpectAbstains, Change: "the context is empty", Repeats: len(answers)}}}
	o := &matrix.Observations{}
	for _, cell := range []matrix.CellID{"A", "D/closed-book"} {
		for i, answer := range answers {
			o.Trials = append(o.Trials, matrix.Trial{CallKey: string(cell) + answer + string(rune('0'+i)), Cell: cell, Rep: i + 1, Answer: matrix.NewText(answer), Status: matrix.StatusOK})
			o.Judgements = append(o.Judgements, matrix.Judgement{
				Cell: cell, Rep: i + 1, Kind: matrix.JudgeClaim, Claim: "pets", Word: words[i], Status: matrix.StatusOK,
				ModelRequested: "j", ModelReported: "j-2026", PromptDigest: "sha256:p", At: "2026-08-01T10:00:00Z",
			})
		}
	}
	return e, c, p, o
}

func heededVerdict(t *testing.T, e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations) Evaluation {
	t.Helper()
	f, err := Extract(e, c, o)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(f.Trials)
	ev, err := Evaluate(e, c, p, o, &f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, f.Trials); diff != "" {
		t.Errorf("the features were changed (-before +after):\n%s", diff)
	}
	return ev
}

func found(ev *Evaluation, text string) bool {
	return slices.ContainsFunc(ev.Findings, func(f string) bool { return strings.HasPrefix(f, "judge: ") && strings.Contains(f, text) })
}

const dog, cat = "You may take your dog along.", "The office has a cat."

// TestCalibratedJudgeDecides: a claim in other words is met by the word of a judge that is calibrated, and the interval is wider for it.
func TestCalibratedJudgeDecides(t *testing.T) {
	t.Parallel()
	e, c, p, o := paraphrased(t, slices.Repeat([]string{dog}, 12), slices.Repeat([]matrix.ClaimWord{matrix.Entailed}, 12))
	ev := heededVerdict(t, e, c, p, o)
	a := ev.Cells[0]
	if ev.Outcome != Pass || a.Pass != 12 || a.ByJudge != 12 || a.Claims[0].Met != 12 {
		t.Fatalf("outcome %s, A %+v", ev.Outcome, a)
	}
	if !(a.Judged95[0] <= a.Wilson95[0] && a.Judged95[1] >= a.Wilson95[1]) || a.Judged95[0] == a.Wilson95[0] && a.Judged95[1] == a.Wilson95[1] {
		t.Errorf("judged %s is not wider than %s", a.Judged95, a.Wilson95)
	}
	if !found(&ev, "its word met 24 claims that the match leaves missing, and 24 answers pass by it; of what should fail it passes at most 7.5 %") || ev.Judged.Decided != 24 || ev.Judged.Agree != 0 {
		t.Errorf("findings %q, judged %+v", ev.Findings, ev.Judged)
	}

	// Seven of eight are enough by the match; what a judge may have passed of the failing leaves it open.
	for answer, want := range map[string]Outcome{"Pets are welcome.": Pass, dog: Inconclusive} {
		e, c, p, o := paraphrased(t, append(slices.Repeat([]string{answer}, 7), cat), append(slices.Repeat([]matrix.ClaimWord{matrix.Entailed}, 7), matrix.Absent))
		if ev := heededVerdict(t, e, c, p, o); ev.Outcome != want || ev.Cells[0].Pass != 7 {
			t.Errorf("%q in 7 of 8: want %s, got %s: %s", answer, want, ev.Outcome, ev.Missing)
		}
	}
}

// TestJudgeDoesNotDecide: what a judge may not decide stays as the match has it, and a judge that was demoted changes no outcome.
func TestJudgeDoesNotDecide(t *testing.T) {
	t.Parallel()
	type setup struct {
		e *matrix.Experiment
		c *matrix.Case
		o *matrix.Observations
	}
	each := func(change func(*matrix.Judgement)) func(setup) {
		return func(s setup) {
			for i := range s.o.Judgements {
				change(&s.o.Judgements[i])
			}
		}
	}
	calibration := func(change func(*matrix.Calibration)) func(setup) {
		return func(s setup) { change(s.e.Judge.Calibration) }
	}
	for _, test := range []struct {
		name   string
		change func(setup)
		why    string // the finding; "" for none
	}{
		{"91 days old", each(func(j *matrix.Judgement) { j.At = "2026-09-30T00:00:01Z" }), "its labels are older than 90 days"},
		{"dated after the run", each(func(j *matrix.Judgement) { j.At = "2026-06-30T23:00:00Z" }), "its labels are dated after it judged"},
		{"of no known time", each(func(j *matrix.Judgement) { j.At = "" }), "it is not known how old its labels were"},
		{"another model asked", each(func(j *matrix.Judgement) { j.ModelRequested = "k" }), "model, prompt or rubric changed"},
		{"another model answered", each(func(j *matrix.Judgement) { j.ModelReported = "j-2027" }), "model, prompt or rubric changed"},
		{"two models answered what was labelled", calibration(func(c *matrix.Calibration) { c.Judge.Reported = []string{"j-2026", "j-2027"} }), "model, prompt or rubric changed"},
		{"another prompt", each(func(j *matrix.Judgement) { j.PromptDigest = "sha256:q" }), "model, prompt or rubric changed"},
		{"other settings", func(s setup) { s.e.Judge.MaxTokens = 5 }, "model, prompt or rubric changed"},
		{"passes too much", calibration(func(c *matrix.Calibration) { c.Labels.JudgePass = 5 }), "specificity is not shown to be 0.90"},
		{"fails too much", calibration(func(c *matrix.Calibration) { c.Labels.HumanPass = 5 }), "sensitivity is not shown to be 0.90"},
		{"disagrees with itself", calibration(func(c *matrix.Calibration) { c.Repeated[0].Passes = 2 }), "not shown to agree with itself"},
		{"was never repeated", calibration(func(c *matrix.Calibration) { c.Repeated = nil }), "not shown to agree with itself"},
		{"too much void", calibration(func(c *matrix.Calibration) { c.Void = 3 }), "unparsable"},
		{"errs of late", calibration(func(c *matrix.Calibration) { c.Recent = matrix.LabelCounts{BothPass: 15, JudgePass: 4, BothFail: 11} }), "below 0.85 on recent labels"},
		{"worse than persons", calibration(func(c *matrix.Calibration) {
			c.Labels = matrix.LabelCounts{BothPass: 60, HumanPass: 2, JudgePass: 2, BothFail: 60}
			c.Humans = &matrix.LabelCounts{BothPass: 50, BothFail: 50}
		}), "it agrees with persons by more than 0.05 less"},
		{"a slice that was not labelled", calibration(func(c *matrix.Calibration) { c.By = []string{"language"} }), `not show it for cases of language "en"`},
		{"a slice of too few labels", calibration(func(c *matrix.Calibration) {
			c.By = []string{"language"}
			*c.Slice("language", "en") = matrix.LabelCounts{BothPass: 10, BothFail: 10}
		}), `not show it for cases of language "en"`},
		{"A is not judged", func(s setup) { s.e.Judge.Cells = []matrix.CellID{"D"} }, "A's answers are not judged"},
		{"it says absent", each(func(j *matrix.Judgement) { j.Word = matrix.Absent }), ""},
		{"it contradicts", each(func(j *matrix.Judgement) { j.Word = matrix.Contradicted }), ""},
		{"void", each(func(j *matrix.Judgement) { j.Void = "the quote is not in the answer" }), ""},
		{"a claim that is never to be said", func(s setup) {
			s.c.Claims = []matrix.Claim{{ID: "pets", Any: []string{"pets are welcome"}, Never: []string{"dog"}}}
		}, ""},
		{"a claim that cites", func(s setup) { s.c.Claims[0].Cites = []string{"rules"} }, ""},
		{"a near miss", func(s setup) { s.c.Claims[0].Any = []string{"9 dogs"}; answerAll(s.o, "You may take 8 dogs.") }, ""},
		{"a refusal", func(s setup) { s.e.Pipeline.Refusal = []string{"take your dog"} }, ""},
		{"no answer is expected", func(s setup) { s.c.Expect = matrix.ExpectAbstain }, ""},
		{"no calibration", func(s setup) { s.e.Judge.Calibration = nil }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, c, p, o := paraphrased(t, slices.Repeat([]string{dog}, 5), slices.Repeat([]matrix.ClaimWord{matrix.Entailed}, 5))
			test.change(setup{e, c, o})
			with := heededVerdict(t, e, c, p, o)
			bare := *o
			bare.Judgements = nil
			without := heededVerdict(t, e, c, p, &bare)
			if test.why != "" && (!found(&with, test.why) || !found(&with, "decides nothing: ")) {
				t.Errorf("want a finding with %q, got %q", test.why, with.Findings)
			}
			for _, ev := range []*Evaluation{&with, &without} {
				ev.Judged, ev.Findings, ev.ObservationDigest = nil, nil, ""
			}
			if diff := cmp.Diff(without, with); diff != "" {
				t.Errorf("it changed the verdict (-without +with):\n%s", diff)
			}
		})
	}
}

func answerAll(o *matrix.Observations, text string) {
	for i := range o.Trials {
		o.Trials[i].Answer = matrix.NewText(text)
	}
}

// TestJudgeHoldsInItsSlice: with labels enough for the case's own slice it decides, and a case that is 90 days old still counts.
func TestJudgeHoldsInItsSlice(t *testing.T) {
	t.Parallel()
	e, c, p, o := paraphrased(t, slices.Repeat([]string{dog}, 5), slices.Repeat([]matrix.ClaimWord{matrix.Entailed}, 5))
	e.Judge.Calibration.By = []string{"language"}
	*e.Judge.Calibration.Slice("language", "de") = matrix.LabelCounts{BothPass: 1, JudgePass: 20}
	*e.Judge.Calibration.Slice("language", "en") = matrix.LabelCounts{BothPass: 40, BothFail: 40}
	for i := range o.Judgements {
		o.Judgements[i].At = "2026-09-29T23:59:59.5Z"
	}
	if ev := heededVerdict(t, e, c, p, o); ev.Cells[0].ByJudge != 5 {
		t.Errorf("findings %q", ev.Findings)
	}
}

// TestErrorOfTheSlice: what a judge may err by in a case is what the labels of its slice leave open, however few they are of all.
func TestErrorOfTheSlice(t *testing.T) {
	t.Parallel()
	verdicts := map[bool]Evaluation{}
	for _, sliced := range []bool{false, true} {
		e, c, p, o := paraphrased(t, append(slices.Repeat([]string{dog}, 7), cat), append(slices.Repeat([]matrix.ClaimWord{matrix.Entailed}, 7), matrix.Absent))
		e.Judge.Calibration.Labels = matrix.LabelCounts{BothPass: 600, BothFail: 600}
		if sliced {
			e.Judge.Calibration.By = []string{"language"}
			*e.Judge.Calibration.Slice("language", "de") = matrix.LabelCounts{BothPass: 570, BothFail: 555}
			*e.Judge.Calibration.Slice("language", "en") = matrix.LabelCounts{BothPass: 30, JudgePass: 1, BothFail: 45}
		}
		verdicts[sliced] = heededVerdict(t, e, c, p, o)
	}
	whole, slice := verdicts[false], verdicts[true]
	if whole.Outcome != Pass || slice.Outcome != Inconclusive {
		t.Errorf("%s by all labels, and %s by those of its slice", whole.Outcome, slice.Outcome)
	}
	if !found(&whole, "passes at most 0.5 %") || !found(&slice, "passes at most 9.9 %") {
		t.Errorf("findings %q and %q", whole.Findings, slice.Findings)
	}
}

// TestUnjudgedCellsAreNotCompared: answers that a judge might have passed, and that it never saw, are held against none that it did.
func TestUnjudgedCellsAreNotCompared(t *testing.T) {
	t.Parallel()
	e, c, p, o := paraphrased(t, slices.Repeat([]string{dog}, 9), slices.Repeat([]matrix.ClaimWord{matrix.Entailed}, 9))
	e.Judge.Cells = []matrix.CellID{"A"}
	o.Judgements = o.Judgements[:9]
	p.Cells[1] = matrix.PlannedCell{Cell: "D/context-reversed", Base: "A", Expect: matrix.ExpectInvariant, Change: "the order is reversed", Repeats: 9}
	for i := range o.Trials[9:] {
		o.Trials[9+i].Cell = "D/context-reversed"
	}
	ev := heededVerdict(t, e, c, p, o)
	if ev.Outcome != Pass || ev.Cells[1].Held != matrix.Unknown || ev.Cells[1].Pass != 0 {
		t.Errorf("outcome %s, D %+v", ev.Outcome, ev.Cells[1])
	}
	e.Judge.Calibration = nil // then all is as the match has it
	if ev := heededVerdict(t, e, c, p, o); ev.Cells[1].Held == matrix.No {
		t.Errorf("D %+v", ev.Cells[1])
	}
}
