package experiments

import (
	"encoding/json"

	"github.com/culprit-rag/culprit/matrix"
)

// lintRuns warns of repeats that are too few for any case to pass.
func (l *loader) lintRuns(root *node, e *matrix.Experiment) {
	lost := root.lost("runs") || root.lost("runs", "repeats") || root.lost("runs", "max_repeats") || root.lost("runs", "alpha")
	if lost || root.lost("backends") || mayBeDeterministic(e) {
		return
	}
	need := e.Runs.RepeatsToPass()
	switch alpha := matrix.NewDecimal(e.Runs.ErrorRate()); {
	case e.Runs.Repeats == matrix.Auto && e.Runs.MaxRepeats < need:
		l.warn(root.place("runs", "max_repeats"), "max_repeats is %d, and no case can be shown to pass: at alpha %s that takes %d repeats that all pass", e.Runs.MaxRepeats, alpha, need)
	case e.Runs.Repeats != matrix.Auto && int(e.Runs.Repeats) < need:
		l.warn(root.place("runs", "repeats"), "repeats is %s, and no case can be shown to pass: at alpha %s that takes %d that all pass, or write auto", e.Runs.Repeats, alpha, need)
	}
}

// mayBeDeterministic reports whether one generation of a cell may be enough: whoever answers says so in its settings, or is a plugin,
// which says so when it is started.
func mayBeDeterministic(e *matrix.Experiment) bool {
	by := e.Backends.Generator
	if e.Backends.Pipeline != nil {
		by = e.Backends.Pipeline
	}
	if by == nil || by.Adapter == "plugin" {
		return true
	}
	var set struct {
		Deterministic *bool           `json:"deterministic"`
		Flip          json.RawMessage `json:"flip"`
	}
	if err := json.Unmarshal(by.Settings, &set); err == nil && set.Deterministic != nil {
		return *set.Deterministic
	}
	return by.Free() && set.Flip == nil
}
