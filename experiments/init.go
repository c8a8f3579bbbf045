package experiments

import (
	"context"
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
}

// Init writes a first experiment into dir, which is made where it does not exist, and returns the files it wrote. The
// experiment runs as it is on the embedded backends. A file that is there already is never touched: then nothing is
// written, and the error names it.
func Init(dir string, o InitOptions) (files []string, err error) {
	name, err := experimentName(dir, o.Name)
	if err != nil {
		return nil, err
	}
	var contents []scaffolded
	if o.Documents == "" {
		for _, file := range []string{"experiment.yaml", "corpus.jsonl", "cases/first.yaml", "prompts/system.md", "prompts/user.md"} {
			text, err := template(file)
			if err != nil {
				return nil, err
			}
			contents = append(contents, scaffolded{file, strings.ReplaceAll(text, "{{name}}", name)})
		}
	} else if contents, err = documentScaffold(dir, name, o.Documents); err != nil {
		return nil, err
	}
	var taken []string
	for _, c := range contents {
		if target := filepath.Join(dir, filepath.FromSlash(c.name)); exists(target) {
			taken = append(taken, fmt.Sprintf("%q", target))
		}
	}
	if len(taken) > 0 {
		return nil, fmt.Errorf("%s: already there, and init overwrites nothing: choose another folder, or move it away", strings.Join(taken, ", "))
	}
	for _, c := range contents {
		target := filepath.Join(dir, filepath.FromSlash(c.name))
		if err := writeNew(target, c.text); err != nil {
			return files, err
		}
		files = append(files, target)
	}
	return files, nil
}

type scaffolded struct {
	name, text string
}

func template(name string) (string, error) {
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

// documentScaffold writes an experiment on the user's documents, with one case drafted from a sentence in them.
func documentScaffold(dir, name, documents string) ([]scaffolded, error) {
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding folder %q: %w", dir, err)
	}
	target, err := filepath.Abs(documents)
	if err != nil {
		return nil, fmt.Errorf("finding documents %q: %w", documents, err)
	}
	path, err := filepath.Rel(base, target)
	if err != nil {
		path = target
	}
	draft, err := draftCase(dir, filepath.Dir(target), filepath.Base(target))
	if err != nil {
		return nil, err
	}
	experiment, err := template("documents.yaml")
	if err != nil {
		return nil, err
	}
	outside, flag := "", ""
	if !filepath.IsLocal(path) {
		outside, flag = "The documents lie outside this folder, which has to be allowed. ", " --allow-outside"
	}
	experiment = strings.NewReplacer("{{name}}", name, "{{documents}}", quoteYAML(filepath.ToSlash(path)), "{{outside}}", outside, "{{flag}}", flag).Replace(experiment)
	return []scaffolded{{"experiment.yaml", experiment}, {"cases/first.yaml", draft}}, nil
}

// draftCase makes a case of the sentence in the documents that is fittest for one.
func draftCase(dir, folderDir, documents string) (string, error) {
	l := &loader{folder: &folder{dir: folderDir, allowOutside: true}}
	entry := &node{at: position{file: &file{name: dir, dir: "."}}, text: documents}
	set := &DocumentSet{folder: l.folder, inputs: l.documentFiles(entry), chunk: chunking{maxWords: defaultMaxWords}}
	if problems, _ := l.problems.split(); len(problems) > 0 {
		return "", errors.New(problems[0].Message)
	}
	best, found, seen := draft{}, false, 0
	err := set.read(context.Background(), visitor{ // local files
		document: func(d Document) bool {
			seen++
			if one, ok := draftOf(&d); ok && (!found || one.score > best.score) {
				best, found = one, true
			}
			return seen < 500
		},
		problem: func(Problem) bool { return true }, // check names it; a first case can be made of the rest
	})
	switch {
	case err != nil:
		return "", err
	case seen == 0:
		return "", fmt.Errorf("documents %q hold no text", documents)
	case !found:
		return "", fmt.Errorf("documents %q hold no whole sentence that a first case could be made of: write the experiment by hand, as the README shows", documents)
	}
	text, err := template("draft.yaml")
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("{{query}}", quoteYAML(best.query), "{{source}}", quoteYAML(best.source),
		"{{span}}", quoteYAML(best.span)).Replace(text), nil
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
