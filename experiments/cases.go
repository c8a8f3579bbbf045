package experiments

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// placedCase is a case beside the tree it was read from.
type placedCase struct {
	LoadedCase
	node *node // what could be read of it
	id   string
}

// name is how a message names the case.
func (c *placedCase) name() string {
	if c.id == "" {
		return "this case"
	}
	return "case " + show(c.id)
}

// cases reads the case files that the globs match and the cases that stand in the experiment itself. A case that cannot
// be read does not keep the others from being checked.
func (l *loader) cases(entries *node) []placedCase {
	if entries == nil || entries.form != list {
		return nil
	}
	var out []placedCase
	read := map[string]bool{}
	for _, entry := range entries.items {
		switch {
		case entry.form == mapping:
			out = append(out, l.oneCase(entry, entry.source())...)
		case entry.form == scalar && entry.text != "":
			for _, name := range l.match(entry) {
				if !read[name] {
					read[name] = true
					out = append(out, l.caseFile(name, entry)...)
				}
			}
		}
	}
	return out
}

// match returns the files of one glob.
func (l *loader) match(entry *node) []string {
	pattern := l.folder.resolve(entry.dir(), entry.text)
	names, err := l.folder.glob(pattern)
	if errors.Is(err, path.ErrBadPattern) {
		l.fail(entry.at, "%s is not a pattern: a [ is not closed", show(entry.text))
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.fail(entry.at, "case file %s %s", show(entry.text), err)
		return nil
	}
	if len(names) == 0 {
		l.fail(entry.at, "%s matches no file: write cases there, or correct the path, which is relative to %s", show(entry.text), show(l.folder.shown(entry.dir())))
	}
	return names
}

// caseFile reads one file: a case, a list of cases, or a mapping with the key cases.
func (l *loader) caseFile(name string, entry *node) []placedCase {
	f, ok := l.read(name, entry.at, "case file", name, maxFile)
	if !ok {
		return nil
	}
	all := f.data // parse takes off what no case is in
	whole := parse(f, &l.collector)
	if whole == nil {
		return nil
	}
	root, items := whole, []*node{whole}
	if inner := root.get("cases"); root.form == mapping && inner != nil {
		for _, f := range root.fields {
			if f.key != "cases" {
				l.fail(f.at, "unknown key %s: a file with a list of cases holds the key \"cases\" alone", show(f.key))
			}
		}
		root = inner
		items = []*node{root}
	}
	if root.form == list {
		items = root.items
		if len(items) == 0 && len(root.cut) == 0 {
			l.fail(root.at, "this file holds no case: write one, or take the file away")
		}
	}
	var out []placedCase
	for _, item := range items {
		source := all
		if item != whole && item.form == mapping {
			source = item.source()
		}
		out = append(out, l.oneCase(item, source)...)
	}
	return out
}

// oneCase returns what can be read of the case, or nothing. Its mistakes are reported, so that a case which is not whole is
// never run.
func (l *loader) oneCase(n *node, source []byte) []placedCase {
	if n.form != mapping {
		l.fail(n.at, "a case is %s: it must be a mapping that begins with its id", n.shown())
		return nil
	}
	id := ""
	if given := n.get("id"); given != nil && given.form == scalar {
		id = given.text
	}
	l.about = id
	defer func() { l.about = "" }()
	l.noteID(n.get("id"))
	if !l.caseShape.check(n, "case", &l.collector) {
		if n = l.caseShape.sound(n); n == nil {
			return nil
		}
	}
	value := n.value().(map[string]any)
	l.caseShape.fill(l.caseShape.root, value)
	evidence := value["evidence"].(map[string]any)
	if required, ok := evidence["required"].([]any); ok {
		for i, item := range required {
			if _, alternatives := item.(map[string]any)["any_of"]; !alternatives {
				required[i] = map[string]any{"any_of": []any{item}}
			}
		}
	}
	if as, ok := value["as"].(map[string]any); ok {
		for attribute := range as {
			as[attribute] = texts(as[attribute])
		}
	}
	var c matrix.Case
	if err := decodeStrict(value, &c); err != nil {
		l.fail(n.at, "this case cannot be read: %s", err)
		return nil
	}
	loaded := LoadedCase{Case: c, File: n.at.file.name, Line: n.at.line, Source: source}
	return []placedCase{{LoadedCase: loaded, node: n, id: id}}
}

// noteID reports an id that another case has, also where one of the two cannot be read.
func (l *loader) noteID(n *node) {
	if n == nil || n.form != scalar || n.text == "" {
		return
	}
	if first, taken := l.ids[n.text]; taken {
		l.fail(n.at, "id %s is taken by %s: ids must be unique in an experiment", show(n.text), first)
		return
	}
	if l.ids == nil {
		l.ids = map[string]position{}
	}
	l.ids[n.text] = n.at
}

// source returns the bytes in which the value is written, without what follows it.
func (n *node) source() []byte {
	data := n.at.file.data
	from := n.at.file.offset(n.at)
	to := len(data)
	if n.end.file == n.at.file && n.end.line > 0 {
		to = n.at.file.offset(n.end)
	}
	if from < len(data) && data[from] == '{' { // written in one line: what follows the brace belongs to the list around it
		if brace := bytes.LastIndexByte(data[from:max(from, to)], '}'); brace >= 0 {
			return slices.Clone(data[from : from+brace+1])
		}
	}
	lines := strings.SplitAfter(string(data[from:max(from, to)]), "\n")
	for len(lines) > 1 { // the sign of the next entry, empty lines and comments belong to what follows
		last := strings.TrimSpace(lines[len(lines)-1])
		if last != "" && last != "-" && !strings.HasPrefix(last, "#") {
			break
		}
		lines = lines[:len(lines)-1]
	}
	return []byte(strings.TrimRight(strings.Join(lines, ""), " \t\r\n"))
}

// offset returns where a place begins in the data of the file.
func (f *file) offset(at position) int {
	if f.lines == nil {
		f.lines = []int{0}
		for i, c := range f.data {
			if c == '\n' {
				f.lines = append(f.lines, i+1)
			}
		}
	}
	switch {
	case at.line < 1: // of --set, which is one line
		return 0
	case at.line > len(f.lines):
		return len(f.data)
	}
	from := f.lines[at.line-1]
	for column := 1; column < at.column && from < len(f.data); column++ {
		_, size := utf8.DecodeRune(f.data[from:])
		from += size
	}
	return from
}
