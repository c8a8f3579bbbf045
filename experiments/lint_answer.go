package experiments

import "github.com/culprit-rag/culprit/matrix"

// lintAnswer checks the expression that finds citations.
func (l *loader) lintAnswer(root *node, form *matrix.AnswerForm) {
	if form == nil || form.Citations == "" {
		return
	}
	at := root.place("pipeline", "answer", "citations")
	if _, err := form.CitationPattern(); err != nil {
		l.fail(at, "the expression for citations cannot be used: %v", err)
	} else if form.Structured() {
		l.warn(at, "a structured answer lists its citations, so that this expression finds none: take it away, or set format to plain")
	}
}
