package measure

import "github.com/culprit-rag/culprit/matrix"

// NewAgreement reads labels.
func NewAgreement(l matrix.LabelCounts) Agreement {
	return Agreement{BothPass: l.BothPass, JudgePass: l.JudgePass, HumanPass: l.HumanPass, BothFail: l.BothFail}
}

// NewJudgeRecord reads a calibration; when it is held against a run, and whether it is of the same judge, is for the caller to add.
func NewJudgeRecord(c *matrix.Calibration) JudgeRecord {
	r := JudgeRecord{
		Labels: NewAgreement(c.Labels), Recent: NewAgreement(c.Recent), Unparsable: Count{c.Void, c.Judgements},
		Changed: len(c.Judge.Reported) > 1, // between one label and another
		Pinned:  c.Judge.Model != "" && c.Judge.Prompt != "" && c.Judge.Settings != "",
	}
	for _, w := range c.Repeated {
		for range min(w.Questions, maxRepeated) {
			r.Repeated = append(r.Repeated, Count{w.Passes, w.Of})
		}
	}
	if c.Humans != nil {
		r.HumanAC1, _ = NewAgreement(*c.Humans).AC1()
	}
	return r
}

// maxRepeated bounds what a file that was not written by this program may ask for.
const maxRepeated = 100_000

// Bounds are the one-sided lower bounds of sensitivity and specificity at 1-alpha, none without a label of the class.
func (g Agreement) Bounds(alpha float64) (sensitivity, specificity Value) {
	sensitivity, specificity = g.lower(alpha)
	if g.Sensitivity().N == 0 {
		sensitivity = none(NoLabels)
	}
	if g.Specificity().N == 0 {
		specificity = none(NoLabels)
	}
	return sensitivity, specificity
}
