package experiments

import (
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// lintBackends reports what the adapters say of their settings, and the variables that the settings name and nobody has set.
func (l *loader) lintBackends(root *node, e *matrix.Experiment) {
	b := &e.Backends
	backends := map[string]*matrix.Backend{"store": b.Store, "embedder": b.Embedder, "generator": b.Generator, "reranker": b.Reranker, "service": b.Pipeline, judgeRole: b.Judge}
	for _, name := range slices.Concat(roles, []string{judgeRole}) {
		spec, at := backends[name], root.get("backends").get(name)
		if spec == nil || at == nil || root.lost("backends", name) {
			continue
		}
		if l.options.Check != nil {
			for _, p := range l.options.Check(name, spec.Adapter, spec.Settings, l.folder.dir) {
				l.addSetting(at, p)
			}
		}
		if l.options.Env != nil {
			l.lintVariables(at)
		}
	}
}

// addSetting reports a mistake that an adapter found. One that the schema found first is not told twice.
func (l *loader) addSetting(backend *node, p SettingProblem) {
	if backend.lost(p.Path...) {
		return
	}
	found, whole := backend.find(p.Path...)
	at := found.at
	if whole && p.Line > 0 {
		at = found.inside(p.Line, p.Column)
	}
	problem := at.problem(p.Message)
	problem.Warning = p.Warning
	l.add(problem)
}

// lintVariables warns of environment variables that are not set. Whoever runs the experiment may set them.
func (l *loader) lintVariables(n *node) {
	for _, f := range n.fields {
		switch {
		case strings.HasSuffix(f.key, "_env"), f.key == "env":
			for _, named := range scalars(f.value) {
				if value, set := l.options.Env(named.text); named.text != "" && (!set || strings.TrimSpace(value) == "") {
					l.warn(named.at, "%s names the variable %s, which is not set or empty: before a run, export %s=…", f.key, show(named.text), named.text)
				}
			}
		case f.value.form == mapping:
			l.lintVariables(f.value)
		}
	}
}

// scalars lists a value, or those of a list or mapping.
func scalars(n *node) []*node {
	switch n.form {
	case list:
		return n.items
	case mapping:
		var out []*node
		for _, f := range n.fields {
			out = append(out, f.value)
		}
		return out
	}
	return []*node{n}
}
