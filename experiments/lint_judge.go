package experiments

import (
	"encoding/json"

	"github.com/culprit-rag/culprit/matrix"
)

// lintJudge reports a judge that cannot judge, or that judges itself.
func (l *loader) lintJudge(root *node, e *matrix.Experiment) {
	judge := e.Judge
	if judge == nil {
		return
	}
	if e.Backends.Judge == nil {
		if !root.lost("backends", judgeRole) {
			l.fail(root.place("judge"), "judge needs a model to ask: add backends.judge, such as judge: {adapter: openai, model: …}, or take judge away")
		}
		return
	}
	if !judge.Asks() && !root.lost("judge", anything) {
		l.warn(root.place("judge"), "nothing is asked of this judge: turn claims or one of the metrics on, or take judge and backends.judge away")
	}
	if judge.AnswerRelevancy != nil && e.Backends.Embedder == nil && !root.lost("backends", "embedder") {
		l.fail(root.place("judge", "answer_relevancy"), "answer_relevancy compares questions by their vectors: add backends.embedder, or take answer_relevancy away")
	}
	l.lintCalibration(root, e)
	if model, same := sameModel(e.Backends.Judge, e.Backends.Generator); same && !root.lost("backends", "generator") {
		what := "the judge is the generator itself"
		if model != "" {
			what = "the judge's model " + show(model) + " is the generator's own"
		}
		l.warn(root.place("backends", judgeRole, "model"), "%s: a model is lenient with what it wrote itself, so name another one", what)
	}
}

// sameModel reports whether two backends name one model, or are one backend of no named model.
func sameModel(a, b *matrix.Backend) (model string, same bool) {
	if b == nil {
		return "", false
	}
	read := func(backend *matrix.Backend) string {
		var settings struct {
			Model string `json:"model"`
		}
		if json.Unmarshal(backend.Settings, &settings) != nil {
			return ""
		}
		return settings.Model
	}
	mine, theirs := read(a), read(b)
	return mine, mine == theirs && (mine != "" || a.Adapter == b.Adapter)
}
