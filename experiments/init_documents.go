package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Survey is what was found where a user's documents are.
type Survey struct {
	Read    int            // files that were read
	Chunks  int            // that they were cut into
	Broken  int            // files with mistakes, which check names
	Skipped map[string]int // other files, by the ending of their names
}

// String returns "33 files: 15 read as 483 chunks, 18 skipped (.png 10, .py 8)".
func (s *Survey) String() string {
	skipped := 0
	kinds := slices.Collect(maps.Keys(s.Skipped))
	for _, n := range s.Skipped {
		skipped += n
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(s.Skipped[b]-s.Skipped[a], cmp.Compare(a, b)) })
	out := fmt.Sprintf("%s: %d read as %s", counted(s.Read+s.Broken+skipped, "file"), s.Read, counted(s.Chunks, "chunk"))
	if s.Broken > 0 {
		out += fmt.Sprintf(", %d with mistakes that culprit check names", s.Broken)
	}
	if skipped == 0 {
		return out
	}
	const most = 6
	var parts []string
	for i, kind := range kinds {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", kind, s.Skipped[kind]))
	}
	return out + fmt.Sprintf(", %d skipped (%s)", skipped, strings.Join(parts, ", "))
}

// counted writes "1 file" and "2 files".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// documentScaffold is an experiment on the user's documents, with one case drafted from them.
func documentScaffold(dir, documents string) ([]scaffolded, *Survey, error) {
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("finding folder %q: %w", dir, err)
	}
	target, err := filepath.Abs(documents)
	if err != nil {
		return nil, nil, fmt.Errorf("finding documents %q: %w", documents, err)
	}
	place, err := filepath.Rel(base, target)
	if err != nil {
		place = target
	}
	survey, found, err := surveyDocuments(dir, target)
	if err != nil {
		return nil, nil, err
	}
	if found.span == "" {
		return nil, nil, fmt.Errorf("documents %q hold no text", documents)
	}
	text, err := template("draft.yaml")
	if err != nil {
		return nil, nil, err
	}
	about := "A draft, made from a sentence of " + quoteYAML(found.source) + "."
	if found.score == 0 {
		about = "A placeholder, made from a line of " + quoteYAML(found.source) + ": no sentence there is fit to be asked for."
	}
	first := strings.NewReplacer("{{about}}", about, "{{query}}", quoteYAML(found.query), "{{source}}", quoteYAML(found.source),
		"{{span}}", quoteYAML(found.span)).Replace(text)
	experiment, err := template("documents.yaml")
	if err != nil {
		return nil, nil, err
	}
	outside, flag := "", ""
	if !filepath.IsLocal(place) {
		outside, flag = "The documents lie outside this folder, which has to be allowed. ", " --allow-outside"
	}
	experiment = strings.NewReplacer("{{documents}}", quoteYAML(filepath.ToSlash(place)), "{{outside}}", outside, "{{flag}}", flag).Replace(experiment)
	return []scaffolded{{"experiment.yaml", experiment}, {"cases/first.yaml", first}}, survey, nil
}

// surveyDocuments reads the documents and makes a case of the sentence in them that is fittest for one.
func surveyDocuments(dir, target string) (*Survey, draft, error) {
	l := &loader{folder: &folder{dir: filepath.Dir(target), allowOutside: true}}
	entry := &node{at: position{file: &file{name: dir, dir: "."}}, text: filepath.Base(target)}
	set := &DocumentSet{folder: l.folder, inputs: l.documentFiles(entry), chunk: chunking{maxWords: defaultMaxWords}}
	if problems, _ := l.problems.split(); len(problems) > 0 {
		return nil, draft{}, errors.New(problems[0].Message)
	}
	survey := &Survey{Skipped: map[string]int{}}
	if info, err := l.folder.stat(entry.text); err == nil && info.IsDir() {
		err := l.folder.walk(entry.text, func(name string) {
			if !isDocument(name) {
				survey.Skipped[cmp.Or(strings.ToLower(path.Ext(name)), "without an ending")]++
			}
		})
		if err != nil {
			return nil, draft{}, fmt.Errorf("looking through %q: %w", target, err)
		}
	}
	var drafts drafting
	err := survey.read(set, drafts.see)
	if err != nil {
		return nil, draft{}, err
	}
	again := &Survey{}
	if err := again.read(set, drafts.count); err != nil { // now that it is known what to look for
		return nil, draft{}, err
	}
	return survey, drafts.best(), nil
}

// read calls visit for every document, and counts. What is wrong with a document does not keep the others from being used:
// check names it.
func (s *Survey) read(set *DocumentSet, visit func(*Document)) error {
	broken := false
	r := &documentReader{set: set, seen: map[[16]byte]documentPlace{}, visitor: visitor{
		document: func(d Document) bool {
			s.Chunks++
			visit(&d)
			return true
		},
		problem: func(p Problem) bool {
			broken = broken || !p.Warning
			return true
		},
	}}
	for i := range set.inputs {
		broken = false
		if err := r.input(context.Background(), i); err != nil { // local files
			return err
		}
		if broken {
			s.Broken++
		} else {
			s.Read++
		}
	}
	return nil
}
