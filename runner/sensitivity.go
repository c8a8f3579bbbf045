package runner

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// echoed is how many bytes of a restricted text an error may repeat: a word or two.
const echoed = 24

var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.){` + strconv.Itoa(echoed) + `,}"`)

// conceal takes what a backend repeats out of the error of a call that was made of restricted texts: pieces of those, and whatever is
// quoted at length, which may be an answer.
func (b *begun) conceal(e *matrix.CallError) *matrix.CallError {
	if e == nil || b.private == nil {
		return e
	}
	const withheld = "[withheld]"
	said := quotation.ReplaceAllString(e.Message, withheld)
	for at := 0; at+echoed <= len(said); {
		n := 0
		for _, text := range b.private {
			if strings.Contains(text, said[at:at+echoed]) {
				for n = max(n, echoed); at+n < len(said) && strings.Contains(text, said[at:at+n+1]); {
					n++
				}
			}
		}
		if n == 0 {
			at++
			continue
		}
		said = said[:at] + withheld + said[at+n:]
		at += len(withheld)
	}
	return &matrix.CallError{Kind: e.Kind, Message: strings.ToValidUTF8(said, "\uFFFD")}
}

// privately keeps what the call was made of, where that is restricted.
func (b *begun) privately(level matrix.Level, texts ...string) {
	if level == matrix.Restricted {
		b.private = append([]string{}, texts...)
	}
}

func packedTexts(packed []matrix.Packed) []string {
	texts := make([]string, len(packed))
	for i := range packed {
		texts[i] = packed[i].Text.Value
	}
	return texts
}
