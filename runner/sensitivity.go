package runner

import (
	"maps"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// level returns how sensitive a stored item is.
func (s *session) level(access []string, metadata map[string][]string) matrix.Level {
	return s.experiment.Sensitivity.Of(access, metadata)
}

// rightsOf names the fields that the rights of all askers and the filter are held against.
func rightsOf(e *matrix.Experiment, cases []*matrix.Case) []string {
	fields := e.Pipeline.Search.Filter.Fields()
	for _, c := range cases {
		fields = slices.AppendSeq(fields, maps.Keys(c.As))
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// classify says how sensitive a trial is, by its context. Of a context that is not told anything may be in it.
func (r *caseRun) classify(t *matrix.Trial) {
	rules := r.experiment.Sensitivity
	t.Sensitivity = rules.Prompt(t.Packed)
	if r.serves(t.Cell) && given(t) == nil && t.Unseen(matrix.PackedUnobserved) {
		t.Sensitivity = rules.Unseen()
	}
	t.AnswerSensitivity = rules.Answer(t.Sensitivity)
}

// judgedLevel is how sensitive a question to the judge is: as the answer that it shows, or the context.
func (r *caseRun) judgedLevel(t *matrix.Trial, kind matrix.JudgementKind) matrix.Level {
	switch kind {
	case matrix.JudgeFaithfulness, matrix.JudgeContextPrecision, matrix.JudgeContextRecall:
		return t.Sensitivity.Max(t.AnswerSensitivity)
	}
	return t.AnswerSensitivity
}
