package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode"
)

// chunking says how Markdown and text are cut.
type chunking struct {
	by       string // "none", "paragraph", "heading"; "" goes by the kind of file
	maxWords int
}

const defaultMaxWords = 150

// documents finds the files that backends.store.documents names.
func (l *loader) documents(root *node) *DocumentSet {
	store := root.get("backends").get("store")
	named := store.get("documents")
	if named == nil {
		return nil
	}
	set := &DocumentSet{folder: l.folder, chunk: chunking{maxWords: defaultMaxWords}}
	if by := store.get("chunk").get("by"); by != nil {
		set.chunk.by = by.text
	}
	if most := store.get("chunk").get("max_words"); most != nil {
		if _, err := fmt.Sscan(most.text, &set.chunk.maxWords); err != nil || set.chunk.maxWords < 1 {
			set.chunk.maxWords = defaultMaxWords // the schema has said so
		}
	}
	entries := []*node{named}
	if named.form == list {
		entries = named.items
	}
	for _, entry := range entries {
		switch {
		case entry.form == mapping:
			set.inputs = append(set.inputs, input{at: entry.at, inline: entry})
		case entry.form == scalar && entry.text != "":
			set.inputs = append(set.inputs, l.documentFiles(entry)...)
		}
	}
	return set
}

// documentFiles returns the files that one path stands for.
func (l *loader) documentFiles(entry *node) []input {
	name := l.folder.resolve(entry.dir(), entry.text)
	info, err := l.folder.stat(name)
	if err != nil {
		l.fail(entry.at, "documents %s: %s %s", show(entry.text), show(l.folder.shown(name)), explainPath(err))
		return nil
	}
	l.noteOutside(name, entry.at)
	if !info.IsDir() {
		if !isDocument(name) {
			l.fail(entry.at, "documents %s: the file must be .jsonl, .md, .markdown or .txt", show(entry.text))
			return nil
		}
		return []input{{name: name, source: path.Base(name), at: entry.at}}
	}
	var out []input
	err = l.folder.walk(name, func(file string) {
		if isDocument(file) {
			out = append(out, input{name: file, source: strings.TrimPrefix(strings.TrimPrefix(file, name), "/"), at: entry.at})
		}
	})
	if err != nil {
		l.fail(entry.at, "documents %s: %s", show(entry.text), err)
	} else if len(out) == 0 {
		l.fail(entry.at, "documents %s: the folder holds no .md, .markdown, .txt or .jsonl file", show(entry.text))
	}
	return out
}

func isDocument(name string) bool { return isMarkdown(name) || isText(name) || isJSONL(name) }

func isMarkdown(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension == ".md" || extension == ".markdown"
}

func isText(name string) bool { return strings.EqualFold(path.Ext(name), ".txt") }

func isJSONL(name string) bool { return strings.EqualFold(path.Ext(name), ".jsonl") }

// input reads one input, whatever its kind.
func (r *documentReader) input(ctx context.Context, i int) error {
	switch in := r.set.inputs[i]; {
	case in.inline != nil:
		return r.inline(i)
	case isJSONL(in.name):
		return r.jsonl(ctx, i)
	default:
		return r.prose(i)
	}
}

// inline reads a document that stands in the experiment.
func (r *documentReader) inline(index int) error {
	n := r.set.inputs[index].inline
	data, err := json.Marshal(n.value())
	if err != nil {
		return r.report(n.at.problem("this document cannot be read: " + err.Error()))
	}
	doc, mistake := parseDocument(data)
	if mistake != nil {
		return r.report(n.at.problem(mistake.message))
	}
	doc.File, doc.Line = n.at.file.name, n.at.line
	return r.emit(index, n.at, doc)
}

// prose reads a Markdown or text file and cuts it.
func (r *documentReader) prose(index int) error {
	in := r.set.inputs[index]
	data, err := r.set.folder.read(in.name, maxLine)
	if err != nil {
		return r.report(in.at.problem("document " + show(r.set.folder.shown(in.name)) + " " + err.Error()))
	}
	f := &file{name: r.set.folder.shown(in.name)}
	var found collector
	text, ok := decodeProse(f, data, &found)
	var about Document
	first := 1
	if ok && isMarkdown(in.name) {
		about, text, first = frontMatter(f, text, &found)
	}
	for _, p := range found.problems {
		if err := r.report(p); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	by := r.set.chunk.by
	if by == "" {
		by = "paragraph"
		if isMarkdown(in.name) {
			by = "heading"
		}
	}
	for i, c := range cut(text, by, r.set.chunk.maxWords, isMarkdown(in.name) || by == "heading") {
		doc := about
		doc.ID = fmt.Sprintf("%s#%d", slug(in.source), i+1)
		if doc.Source == "" {
			doc.Source = in.source
		}
		doc.Text, doc.File, doc.Line = c.text, f.name, first+c.line-1
		if err := r.emit(index, position{file: f, line: doc.Line, column: 1}, doc); err != nil {
			return err
		}
	}
	return nil
}

// decodeProse takes text as people store it: a byte order mark and any line ends.
func decodeProse(f *file, data []byte, c *collector) (string, bool) {
	text, ok := decodeText(f, data, true, c)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), ok
}

// slug makes a path fit for an id that is shown in brackets: letters, digits and a few signs, everything else a hyphen.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/", r) {
			return r
		}
		return '-'
	}, name)
}
