package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
)

// Options say how an experiment is read.
type Options struct {
	// Schemas are the settings of the known adapters: role → adapter → JSON Schema. A role that is absent takes anything.
	Schemas map[string]map[string]json.RawMessage
	// Profile is the name of the profile that is merged over the file; "" is none.
	Profile string
	// Set are overrides "path=value", such as "pipeline.search.k=3"; the value is read as YAML and null removes the key.
	Set []string
	// AllowOutside lets the experiment name files outside its own folder. Each is reported as a warning.
	AllowOutside bool
	// Check returns what is wrong with settings of a backend that its schema accepts; role is its key under backends, "judge" among them, and dir
	// the folder of the experiment. Nil: nothing is.
	Check func(role, adapter string, settings json.RawMessage, dir string) []SettingProblem
	// Env reads an environment variable that settings name; one that is not set is a warning. Nil: none is looked up.
	Env func(name string) (string, bool)
}

// SettingProblem is a mistake in the settings of a backend.
type SettingProblem struct {
	Path         []string // of the setting, as far as it is known
	Line, Column int      // inside its text, from 1, columns in characters; 0: all of it
	Message      string
	Warning      bool
}

// Loaded is an experiment that may be run.
type Loaded struct {
	Path       string // the experiment's file
	Dir        string // its folder
	Experiment matrix.Experiment
	Cases      []LoadedCase
	Documents  *DocumentSet // nil where the experiment names none
	Warnings   Problems
	Files      []string // that were read, each once, sorted, as the user would name them
}

// LoadedCase is a case with where it was written.
type LoadedCase struct {
	Case   matrix.Case
	File   string
	Line   int
	Source []byte // the bytes of its file, or of its own mapping where others stand in the file too
}

// Load reads an experiment: a file, or a folder that holds experiment.yaml. Every problem of every file is found in one
// pass; the error is then [Problems], and of Loaded only Path, Dir and Files are set. Another error means that the call
// itself was wrong.
func Load(name string, o Options) (*Loaded, error) {
	file, err := experimentFile(name)
	if err != nil {
		return nil, err
	}
	l := &loader{options: o, folder: &folder{dir: filepath.Dir(file), allowOutside: o.AllowOutside}}
	if err := l.compile(); err != nil {
		return nil, err
	}
	loaded := l.load(filepath.Base(file))
	problems, warnings := l.problems.sorted().split()
	if len(problems) > 0 {
		return &Loaded{Path: file, Dir: l.folder.dir, Files: l.filesRead()}, append(problems, warnings...).sorted()
	}
	loaded.Path, loaded.Dir, loaded.Warnings, loaded.Files = file, l.folder.dir, warnings, l.filesRead()
	return loaded, nil
}

// experimentFile returns the file that a user means by a path.
func experimentFile(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", Problems{{File: name, Message: explainPath(err).Error() + ": name an experiment file, or a folder that holds experiment.yaml"}}
	}
	if !info.IsDir() {
		return filepath.Clean(name), nil
	}
	for _, candidate := range []string{"experiment.yaml", "experiment.yml"} {
		if file := filepath.Join(name, candidate); exists(file) {
			return file, nil
		}
	}
	return "", Problems{{File: name, Message: "this folder holds no experiment.yaml: name an experiment file, or make one with culprit init"}}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// loader carries one Load.
type loader struct {
	collector
	options         Options
	folder          *folder
	files           []string
	experimentShape *shape
	caseShape       *shape
	ids             map[string]position // of the cases that were read
	promptless      bool                // a mistake in the prompt was reported, so that nothing is known of the whole
	reranks         bool                // the file or one of its profiles has pipeline.rerank, even where it does not apply
}

func (l *loader) filesRead() []string { return slices.Compact(slices.Sorted(slices.Values(l.files))) }

// compile compiles both schemas, at the same time: it is a good part of what a command takes before its first call.
func (l *loader) compile() error {
	var forCases error
	var both sync.WaitGroup
	both.Go(func() {
		source, err := readSchema("case")
		if err == nil {
			l.caseShape, err = newShape(source, "case")
		}
		if err != nil {
			forCases = fmt.Errorf("compiling the schema of cases: %w", err)
		}
	})
	source, err := experimentSchema(l.options.Schemas)
	if err == nil {
		l.experimentShape, err = newShape(source, "")
	}
	both.Wait()
	if err != nil {
		return fmt.Errorf("compiling the schema of experiments: %w", err)
	}
	return forCases
}

func (l *loader) load(name string) *Loaded {
	whole := l.tree(name, position{}, nil)
	if whole == nil {
		return nil
	}
	root := l.overridden(whole)
	valid := l.experimentShape.check(root, "experiment", &l.collector)
	prompt := l.prompt(root)
	rewrite := l.rewritePrompt(root)
	l.lintQuery(root.get("pipeline").get("query"))
	cases := l.cases(root.get("cases"))
	documents := l.documents(root)
	out := &Loaded{Documents: documents}
	if !valid {
		root = l.experimentShape.sound(root)
	}
	if root != nil && !l.experimentShape.partial && l.resolve(root, prompt, rewrite, &out.Experiment) {
		l.lintExperiment(root, &out.Experiment)
		l.lintFilter(root, &out.Experiment, cases)
		l.lintRefusal(root, &out.Experiment, cases)
	}
	l.lintCases(cases)
	if documents != nil {
		if n := l.checkDocuments(context.Background(), documents, cases); n > 0 { // these are local files
			l.lintProbes(root, &out.Experiment.Runs, n)
		}
	}
	for _, c := range cases {
		out.Cases = append(out.Cases, c.LoadedCase)
	}
	return out
}

// read reads a file that stands at some place of another; what is said of it follows the noun and the path as written.
func (l *loader) read(name string, at position, noun, written string, limit int64) (*file, bool) {
	data, err := l.folder.read(name, limit)
	if err != nil {
		l.fail(at, "%s %s %s", noun, show(written), err)
		return nil, false
	}
	l.files = append(l.files, l.folder.shown(name))
	l.noteOutside(name, at)
	return &file{name: l.folder.shown(name), dir: path.Dir(name), data: data}, true
}

// noteOutside warns of a file outside the folder, with the path that it really has.
func (l *loader) noteOutside(name string, at position) {
	if target, out := l.folder.outside(name); out {
		l.warn(at, "this is read from outside the experiment's folder: %s", show(target))
	}
}

// maxIncludes is how deep includes may nest.
const maxIncludes = 16

// tree reads a file and lays it over the files that it includes.
func (l *loader) tree(name string, at position, chain []string) *node {
	noun := "included file"
	if len(chain) == 0 {
		at, noun = position{file: &file{name: l.folder.shown(name)}, line: 1, column: 1}, "the experiment's file"
	}
	for _, above := range chain {
		if above == name {
			l.fail(at, "file %s includes itself", show(name))
			return nil
		}
	}
	if len(chain) > maxIncludes {
		l.fail(at, "includes nest more than %d deep", maxIncludes)
		return nil
	}
	f, ok := l.read(name, at, noun, name, maxFile)
	if !ok {
		return nil
	}
	own := parse(f, &l.collector)
	if own == nil {
		return nil
	}
	if own.form != mapping {
		l.fail(own.at, "an experiment file is a mapping that begins with culprit: v1")
		return nil
	}
	include := own.get("include")
	if include == nil || include.form != list {
		return own
	}
	var below *node
	for _, item := range include.items {
		if item.form != scalar || item.text == "" {
			continue // the schema says so
		}
		part := l.tree(l.folder.resolve(f.dir, item.text), item.at, append(chain, name))
		if part == nil {
			l.experimentShape.partial = true
			continue
		}
		below = merge(below, part.without("include"))
	}
	if below == nil {
		return own
	}
	return merge(below, own)
}
