package runner

import (
	"errors"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// answerFormat is the form that answers are asked for in; nil: free text.
func answerFormat(form *matrix.AnswerForm) *adapters.Format {
	if !form.Structured() {
		return nil
	}
	return &adapters.Format{Name: "answer", Schema: matrix.AnswerSchema()}
}

// checkForm refuses to ask a generator for a form that it cannot be held to, before anything is asked of it.
func checkForm(e *matrix.Experiment, info adapters.GeneratorInfo) error {
	if !e.Pipeline.Answer.Structured() || info.Formats {
		return nil
	}
	return &adapters.Error{Adapter: e.Backends.Generator.Adapter, Op: "open", Kind: adapters.KindInvalid, Err: errors.New(
		"pipeline.answer.format is structured, and the generator cannot be held to a form: set it to plain, or let backends.generator name one that can")}
}
