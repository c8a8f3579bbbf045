package experiments

import (
	"slices"
	"strconv"
	"strings"
)

// overridden lays the chosen profile and the overrides of the command line over the file. The profiles that were not chosen
// are checked too: a mistake in the one for production must not wait for the night it is used.
func (l *loader) overridden(whole *node) *node {
	profiles := whole.get("profiles")
	root := whole.without("profiles")
	l.reranks = root.reranks()
	chosen := root
	var names []string
	if profiles != nil && profiles.form == mapping {
		for _, f := range profiles.fields {
			names = append(names, f.key)
			l.reranks = l.reranks || f.value.reranks()
			switch {
			case f.value.form != mapping:
				l.fail(f.value.at, "profile %s is %s: it must be a mapping that is laid over the experiment", show(f.key), f.value.shown())
			case f.key == l.options.Profile:
				chosen = merge(root, f.value)
			default:
				l.checkProfile(merge(root, f.value).pruned(), f.value)
			}
		}
	} else if profiles != nil && !profiles.null() {
		l.fail(profiles.at, "profiles is %s: it must be a mapping of names to overrides", profiles.shown())
	}
	if name := l.options.Profile; name != "" && !slices.Contains(names, name) {
		at := whole.at
		if f := whole.field("profiles"); f != nil {
			at = f.at
		}
		if len(names) == 0 {
			l.fail(at, "there is no profile %s: this experiment has no profiles", show(name))
		} else {
			l.fail(at, "there is no profile %s%s", show(name), meant(name, names))
		}
		l.experimentShape.partial = true
	}
	for _, set := range l.options.Set {
		if next, ok := l.set(chosen, set); ok {
			chosen = next
		}
	}
	return chosen.pruned()
}

// reranks reports whether a part of an experiment says how to rerank.
func (n *node) reranks() bool {
	rerank := n.get("pipeline").get("rerank")
	return rerank != nil && !rerank.null()
}

// checkProfile reports the mistakes that stand in the profile itself.
func (l *loader) checkProfile(merged, profile *node) {
	places := map[position]bool{}
	profile.each(func(p position) { places[p] = true })
	var found collector
	l.experimentShape.check(merged, "experiment", &found)
	for _, p := range found.problems {
		if places[position{file: profile.at.file, line: p.Line, column: p.Column}] && p.File == profile.at.file.name {
			l.add(p)
		}
	}
}

// each calls visit for the place of every value and key at and below n.
func (n *node) each(visit func(position)) {
	visit(n.at)
	for _, item := range n.items {
		item.each(visit)
	}
	for _, f := range n.fields {
		visit(f.at)
		f.value.each(visit)
	}
}

// set applies one "path=value".
func (l *loader) set(root *node, override string) (*node, bool) {
	source := &file{name: "--set " + override, dir: "."}
	at := position{file: source}
	name, value, ok := strings.Cut(override, "=")
	if !ok || name == "" {
		l.fail(at, "an override is written path=value, such as pipeline.search.k=3")
		return nil, false
	}
	if strings.HasPrefix(name, "backends") { // what is wrong with it may be that it holds a password
		source.name = "--set " + name
	}
	source.data = []byte(value)
	if strings.TrimSpace(value) == "" {
		source.data = []byte(`""`)
	}
	var found collector
	parsed := parse(source, &found)
	for _, p := range found.problems {
		l.fail(at, "%s", p.Message)
	}
	if parsed == nil || len(found.problems) > 0 {
		return nil, false
	}
	parsed.relocate(at)
	out, message := put(root, strings.Split(name, "."), parsed, at)
	if message != "" {
		l.fail(at, "%s", message)
		return nil, false
	}
	return out, true
}

// relocate gives every value below n one place.
func (n *node) relocate(at position) {
	n.at = at
	for _, item := range n.items {
		item.relocate(at)
	}
	for i := range n.fields {
		n.fields[i].at = at
		n.fields[i].value.relocate(at)
	}
}

// put returns root with the value at steps; the message says what is wrong with the path.
func put(root *node, steps []string, value *node, at position) (*node, string) {
	if len(steps) == 0 {
		return value, ""
	}
	step := steps[0]
	if step == "" {
		return nil, "the path has an empty step: write it like pipeline.search.k"
	}
	if root == nil || root.null() {
		root = &node{at: at, form: mapping}
	}
	out := *root
	switch root.form {
	case list:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(root.items) {
			return nil, "step " + strconv.Quote(step) + " leads into a list of " + strconv.Itoa(len(root.items)) + ": give the index of an entry, from 0"
		}
		changed, message := put(root.items[i], steps[1:], value, at)
		out.items = slices.Clone(root.items)
		out.items[i] = changed
		return &out, message
	case mapping:
		changed, message := put(root.get(step), steps[1:], value, at)
		out.fields = slices.Clone(root.fields)
		for i := range out.fields {
			if out.fields[i].key == step {
				out.fields[i] = field{key: step, at: at, value: changed}
				return &out, message
			}
		}
		out.fields = append(out.fields, field{key: step, at: at, value: changed})
		return &out, message
	}
	return nil, "step " + strconv.Quote(step) + " leads into a plain value"
}
