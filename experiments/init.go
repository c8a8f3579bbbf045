package experiments

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

//go:embed scaffold
var scaffold embed.FS

// InitOptions say what a first experiment is about.
type InitOptions struct {
	Documents string // a file or folder of the user's own documents; "": a small corpus is written too
	Name      string // of the experiment; "": the folder's name
	// Schemas are the settings of the known adapters. With them the schema is written that an editor completes from.
	Schemas map[string]map[string]json.RawMessage
}

// Initial is what Init did.
type Initial struct {
	Files  []string // that were written
	Survey *Survey  // of the user's documents; nil without them
}

// schemaFile is what the first line of a written experiment names.
const schemaFile = "experiment.schema.json"

// Init writes a first experiment into dir, which is made where it does not exist. The experiment runs as it is on the
// embedded backends. A file that is there already is never touched: then nothing is written, and the error names it. After
// another error, Initial says what had been written before.
func Init(dir string, o InitOptions) (Initial, error) {
	var done Initial
	name, err := experimentName(dir, o.Name)
	if err != nil {
		return done, err
	}
	var contents []scaffolded
	if o.Documents == "" {
		contents, err = corpusScaffold()
	} else {
		contents, done.Survey, err = documentScaffold(dir, o.Documents)
	}
	if err != nil {
		return Initial{}, err
	}
	modeline := ""
	if o.Schemas != nil {
		schema, err := Schema("experiment", o.Schemas)
		if err != nil {
			return Initial{}, err
		}
		modeline = "# yaml-language-server: $schema=" + schemaFile + "\n#\n"
		contents = append(contents, scaffolded{schemaFile, string(schema)})
	}
	contents[0].text = strings.NewReplacer("{{name}}", name, "{{modeline}}", modeline).Replace(contents[0].text)
	if err := allNew(dir, contents); err != nil {
		return Initial{}, err
	}
	for _, c := range contents {
		target := filepath.Join(dir, filepath.FromSlash(c.name))
		if err := writeNew(target, c.text); err != nil {
			return done, err
		}
		done.Files = append(done.Files, target)
	}
	return done, nil
}

// allNew names the files that are there already.
func allNew(dir string, contents []scaffolded) error {
	var taken []string
	for _, c := range contents {
		if target := filepath.Join(dir, filepath.FromSlash(c.name)); exists(target) {
			taken = append(taken, fmt.Sprintf("%q", target))
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("%s: already there, and init overwrites nothing: choose another folder, or move it away", strings.Join(taken, ", "))
	}
	return nil
}

// corpusScaffold is an experiment with documents of its own.
func corpusScaffold() ([]scaffolded, error) {
	var contents []scaffolded
	for _, name := range []string{"experiment.yaml", "corpus.jsonl", "cases/first.yaml", "prompts/system.md", "prompts/user.md"} {
		text, err := template(name)
		if err != nil {
			return nil, err
		}
		contents = append(contents, scaffolded{name, text})
	}
	return contents, nil
}

type scaffolded struct {
	name, text string
}

// template reads a file of the scaffold. Those in YAML have another ending there, so that nobody takes them for experiments.
func template(name string) (string, error) {
	if isYAML(name) {
		name += ".tmpl"
	}
	data, err := scaffold.ReadFile("scaffold/" + name)
	if err != nil {
		return "", fmt.Errorf("reading the scaffold: %w", err)
	}
	return string(data), nil
}

// writeNew writes a file that must not exist.
func writeNew(name, text string) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("making the folder of %q: %w", name, err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing %q: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(text)
	return err
}

// experimentName checks a given name, or makes one of the folder's.
func experimentName(dir, name string) (string, error) {
	if name != "" {
		if fit := fitName(name); fit != name {
			return "", fmt.Errorf("name %q must be lower-case letters, digits, dots, hyphens or underscores, such as %q", name, fit)
		}
		return name, nil
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the name of folder %q: %w", dir, err)
	}
	return fitName(filepath.Base(path)), nil
}

// fitName makes a text fit to be a name.
func fitName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return unicode.ToLower(r)
		}
		return '-'
	}, s)
	if s = strings.Trim(s, "._-"); s == "" {
		return "first"
	}
	return s[:min(len(s), 64)]
}

// quoteYAML writes a text in double quotes, as JSON does, which YAML reads too.
func quoteYAML(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSpace(b.String())
}
