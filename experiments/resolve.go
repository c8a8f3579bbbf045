package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// The prompt of a pipeline that names none.
const (
	defaultSystem = "Answer the question from the context only. Cite the id of what you use in square brackets. " +
		"If the context does not hold the answer, say: I don't know."
	defaultUser = "Context:\n{{#context}}[{{id}}] {{text}}\n{{/context}}\nQuestion: {{query}}"
)

// resolve turns a tree that the schema accepts, but for keys that are missing, into the experiment: defaults applied, prompts
// read in, and every shorthand written out.
func (l *loader) resolve(root *node, prompt map[string]any, rewrite string, into *matrix.Experiment) bool {
	value := root.value().(map[string]any)
	for _, key := range []string{"include", "cases", "profiles"} {
		delete(value, key)
	}
	if backends, _ := value["backends"].(map[string]any); backends[judgeRole] != nil && value["judge"] == nil {
		value["judge"] = map[string]any{} // a judge that is named is asked what is asked by default
	}
	l.experimentShape.fill(l.experimentShape.root, value)
	ok := l.resolveBackends(root, value)
	ok = l.calibration(root, value) && ok
	pipeline := value["pipeline"].(map[string]any)
	search := pipeline["search"].(map[string]any)
	if filter, given := search["filter"].(map[string]any); given {
		search["filter"] = conditions(filter)
	}
	assemble := pipeline["assemble"].(map[string]any)
	if budget, given := assemble["budget"].(string); given && assemble["tokenizer"] == nil {
		assemble["tokenizer"] = "words"
		if strings.HasSuffix(budget, "tokens") {
			assemble["tokenizer"] = "o200k_base"
		}
	}
	runs := value["runs"].(map[string]any)
	switch runs["perturbations"] {
	case "default":
		runs["perturbations"] = matrix.Perturbations()
	case "none":
		runs["perturbations"] = []string{}
	}
	pipeline["prompt"] = prompt
	if given, ok := pipeline["rewrite"].(map[string]any); ok {
		given["prompt"] = rewrite
	}
	if err := decodeStrict(wholeNumbers(value), into); err != nil {
		if problems, _ := l.problems.split(); len(problems) == 0 { // else it may follow from one of them
			l.unreadable(root, err)
		}
		return false
	}
	if checks := value["checks"].(map[string]any); checks["second_look"] == nil && !into.Backends.Store.Free() {
		into.Checks.SecondLook = matrix.Duration(secondLook)
	}
	return ok
}

// secondLook is how long a store that does not live in this process is given to show what was written to it.
const secondLook = 2 * time.Second

// unreadable reports what the schema lets pass and our types cannot hold.
func (l *loader) unreadable(root *node, err error) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if at, found := root.find(strings.Split(wrong.Field, ".")...); found && at.form == scalar {
			l.fail(at.at, "%s is %s, which is more than any use of it can be: write a smaller number", wrong.Field, at.shown())
			return
		}
	}
	l.fail(root.at, "this experiment cannot be read: %s", err)
}

// wholeNumbers writes the whole numbers that have an exponent in digits, as readers of integers want them: 1e3 is 1000.
func wholeNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = wholeNumbers(v)
		}
	case []any:
		for i, v := range value {
			value[i] = wholeNumbers(v)
		}
	case json.Number:
		if !strings.ContainsAny(value.String(), "eE") {
			return value
		}
		if r, ok := new(big.Rat).SetString(value.String()); ok && r.IsInt() && r.Num().IsInt64() {
			return json.Number(r.Num().String())
		}
	}
	return value
}

// decodeStrict converts through JSON, so that the wire names are the only ones.
func decodeStrict(value, into any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// conditions writes a filter out, in the order of the fields' names.
func conditions(filter map[string]any) []any {
	out := make([]any, 0, len(filter))
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		condition := map[string]any{"field": name}
		forms, ok := filter[name].(map[string]any)
		if !ok {
			forms = map[string]any{"": filter[name]}
		}
		for form, values := range forms { // the schema lets one pass
			condition["any_of"] = texts(values)
			if strings.HasPrefix(form, "not") {
				condition["not"] = true
			}
			if strings.HasSuffix(form, "typed") {
				condition["typed"] = true
			}
		}
		out = append(out, condition)
	}
	return out
}

// texts makes a list of a text or a list of texts.
func texts(v any) []any {
	if many, ok := v.([]any); ok {
		return many
	}
	return []any{v}
}

// resolveBackends rewrites the paths in backend settings, which are relative to the file they stand in: those that the
// adapter's schema marks with "format": "path", and the one called file.
func (l *loader) resolveBackends(root *node, value map[string]any) bool {
	ok := true
	backends, _ := value["backends"].(map[string]any)
	for _, role := range append(slices.Clone(roles), judgeRole) {
		settings, given := backends[role].(map[string]any)
		if !given {
			continue
		}
		adapter, named := settings["adapter"].(string)
		if !named { // as was reported; the role is filled all the same
			settings["adapter"] = ""
		}
		plays := role
		if role == judgeRole {
			plays = "generator"
		}
		schema := l.experimentShape.follow(map[string]any{"$ref": "#/$defs/" + escapePointer(plays+"."+adapter)})
		properties, _ := schema["properties"].(map[string]any)
		for key, p := range properties {
			property, _ := p.(map[string]any)
			text, isText := settings[key].(string)
			if property["format"] != "path" && key != "file" || !isText || text == "" {
				continue
			}
			at, _ := root.find("backends", role, key)
			name := l.folder.resolve(at.dir(), text)
			if target, out := l.folder.outside(name); out && !l.options.AllowOutside {
				l.fail(at.at, "%s %s %s", key, show(text), &outsideError{resolved: target})
				ok = false
			}
			settings[key] = filepath.ToSlash(l.folder.shown(name))
		}
	}
	if store, given := backends["store"].(map[string]any); given && store["documents"] != nil {
		at, _ := root.find("backends", "store", "documents")
		store["documents"] = l.documentPaths(at)
	}
	l.dropCorpus(backends)
	return ok
}

// dropCorpus takes the documents out of the settings of a store that does not fill itself: it knows nothing of them, and what
// it answers does not follow from them.
func (l *loader) dropCorpus(backends map[string]any) {
	store, _ := backends["store"].(map[string]any)
	adapter, _ := store["adapter"].(string)
	own, err := decodeSchema(l.options.Schemas["store"][adapter])
	if err != nil {
		return // an adapter that is not known takes any settings
	}
	properties, _ := own["properties"].(map[string]any)
	for _, key := range corpusKeys {
		if _, known := properties[key]; !known {
			delete(store, key)
		}
	}
}

// dir is the folder that relative paths of this value start from.
func (n *node) dir() string {
	if n.at.file == nil {
		return "."
	}
	return n.at.file.dir
}

// documentPaths returns the documents setting with every path relative to the experiment's folder.
func (l *loader) documentPaths(n *node) any {
	switch n.form {
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = l.documentPaths(item)
		}
		return out
	case scalar:
		return l.folder.resolve(n.dir(), n.text)
	}
	return n.value()
}

// prompt reads the templates in and reports the mistakes in them. Where it cannot tell a whole prompt, lintPrompt is silent.
func (l *loader) prompt(root *node) map[string]any {
	out := map[string]any{"user": defaultUser}
	given := root.get("pipeline").get("prompt")
	if given == nil {
		out["system"] = defaultSystem
		l.promptless = root.lost("pipeline", "prompt")
		return out
	}
	l.promptless = given.form != mapping || given.lost("user") || given.lost("system")
	for _, part := range []string{"system", "user"} {
		n := given.get(part)
		if n == nil || n.form != scalar {
			continue
		}
		text, place, ok := l.template(n)
		if !ok {
			l.promptless = true
			continue
		}
		out[part] = text
		_, mistakes := matrix.ParseTemplate(text)
		l.promptless = l.promptless || len(mistakes) > 0
		l.templateProblems(mistakes, matrix.TemplateNames(), place)
	}
	return out
}

// template returns the text of a prompt, from a file or as it stands, and how to find a place in it.
func (l *loader) template(n *node) (text string, place func(line, column int) position, ok bool) {
	if n.text == "" || strings.Contains(n.text, "\n") || strings.Contains(n.text, "{{") {
		return n.text, n.inside, true
	}
	name := l.folder.resolve(n.dir(), n.text)
	if _, err := l.folder.stat(name); errors.Is(err, fs.ErrNotExist) {
		l.fail(n.at, "prompt file %s does not exist: correct the path, or give a text of one line a line break (system: |)", show(n.text))
		return "", nil, false
	}
	f, ok := l.read(name, n.at, "prompt file", n.text, maxFile)
	if !ok {
		return "", nil, false
	}
	data, ok := decodeText(f, f.data, false, &l.collector)
	if !ok {
		return "", nil, false
	}
	place = func(line, column int) position { return position{file: f, line: line, column: column} }
	return strings.ReplaceAll(string(data), "\r\n", "\n"), place, true
}

// templateProblems reports mistakes of a template in which names resolve.
func (l *loader) templateProblems(mistakes []*matrix.TemplateError, names []string, place func(line, column int) position) {
	for _, m := range mistakes {
		message := m.Problem
		if guess := near(m.Name, names); m.Name != "" && guess != "" && strings.HasSuffix(message, "does not resolve") {
			message += ": did you mean " + show(guess) + "?"
		}
		l.fail(place(m.Line, m.Column), "%s", message)
	}
}

// inside returns the place of a line and column of a scalar's text in its file, as near as the way it is written allows.
func (n *node) inside(line, column int) position {
	at := n.at
	if at.line == 0 {
		return at
	}
	switch {
	case n.style == literalStyle:
		lines := bytes.Split(at.file.data, []byte("\n"))
		indent := -1
		for i := at.line; i < len(lines) && indent < 0; i++ { // the text begins on the line after the sign
			if text := bytes.TrimSpace(lines[i]); len(text) > 0 {
				indent = len(lines[i]) - len(bytes.TrimLeft(lines[i], " "))
			}
		}
		at.line, at.column = at.line+line, max(indent, 0)+column
	case line == 1 && n.style == plainStyle:
		at.column += column - 1
	case line == 1 && n.style == quotedStyle:
		at.column += column
	}
	return at
}
