package experiments

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// rewritePrompt reads the template of pipeline.rewrite in and reports the mistakes in it; "" where there is none to read.
func (l *loader) rewritePrompt(root *node) string {
	n := root.get("pipeline").get("rewrite").get("prompt")
	if n == nil || n.form != scalar {
		return ""
	}
	text, place, ok := l.template(n)
	if !ok {
		return ""
	}
	_, mistakes := matrix.ParseRewriteTemplate(text)
	l.templateProblems(mistakes, matrix.RewriteTemplateNames(), place)
	if names := variables(text); len(mistakes) == 0 && !slices.Contains(names, "query") && !slices.Contains(names, "#messages") {
		l.warn(n.at, "the rewriting never sees the question: add {{query}}, or {{#messages}}{{role}}: {{text}}{{/messages}} for conversations")
	}
	return text
}

// lintRewrite reports a rewriting that cannot be made, or that does nothing.
func (l *loader) lintRewrite(root *node, e *matrix.Experiment) {
	rewrite := e.Pipeline.Rewrite
	if rewrite == nil {
		return
	}
	at := root.place("pipeline", "rewrite")
	if e.Pipeline.Query != "" {
		l.fail(at, "pipeline.query and pipeline.rewrite both say what is searched for: keep one of them")
	}
	if e.Backends.Pipeline != nil {
		l.fail(at, "the user's own pipeline rewrites its queries itself: take pipeline.rewrite away")
	}
	given := root.get("pipeline").get("rewrite")
	if given.get("most") != nil && !rewrite.Several {
		l.warn(root.place("pipeline", "rewrite", "most"), "most is of several queries, and one is asked for: add several: true, or take most away")
	}
	if given.get("merge") != nil && !rewrite.Many() {
		l.warn(root.place("pipeline", "rewrite", "merge"), "there is one search, and nothing to merge: add several: true or keep_original: true, or take merge away")
	}
}
