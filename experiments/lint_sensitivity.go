package experiments

import "github.com/culprit-rag/culprit/matrix"

// lintSensitivity warns of levels that say nothing, or more than is meant.
func (l *loader) lintSensitivity(root *node, e *matrix.Experiment) {
	s := e.Sensitivity
	if s == nil || root.lost("sensitivity", "default") || root.lost("sensitivity", "access") {
		return
	}
	for _, document := range root.get("backends").get("store").get("documents").entries() {
		if document.form == mapping {
			l.warn(document.at, "a document that is written here stands in every bundle, and in every redacted copy: put it in a file")
			break
		}
	}
	at := func(key ...string) position { return root.place(append([]string{"sensitivity"}, key...)...) }
	switch {
	case s.Field != "" && e.Backends.Pipeline != nil:
		l.warn(at("field"), "the trace of a service tells no fields of its items, so that all of them count as restricted: take field away where access lists say enough")
	case s.Field == "" && s.Default != matrix.Restricted && s.Access != matrix.Restricted:
		l.warn(at(), "nothing can be restricted: name the field of the items that says so, or set access: restricted or default: restricted")
	}
	if s.Answers != "" && s.Answers != matrix.Restricted && s.Default == matrix.Restricted {
		l.warn(at("answers"), "answers: %s keeps answers readable, and whatever they repeat of restricted items, in every redacted bundle", s.Answers)
	}
}
