package experiments

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzYAML: reading ends, never panics, returns a tree or a problem or both, and every problem has a place in the file.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"id: a\nquery: q\n", "\ufeffid: 007\r\n", "a: &x [1]\nb: *x\n", "<<: {a: 1}\n", "a: !t 1\n", "a: 1\n---\nb: 2\n", "\ta: 1\n", "a: [1,\n", "a: 1\na: 2\n",
		"a: \x00\n", "a: \xff\n", "\xff\xfea\x00", "? [a]\n: b\n", "|\n x\n", "a: >\n  b\n\n  c\n", "%YAML 1.1\n---\na: 1\n", "# only\n", "", "{a: {b: [c, {d: e}]}}", "- a\nb\n", "a: \"\\u2028\"\u2028b: c\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c collector
		source := &file{name: "f.yaml", data: data}
		root := parse(source, &c)
		if root == nil && len(c.problems) == 0 {
			t.Fatalf("tree %v with problems %v", root != nil, c.problems)
		}
		lines := 2 + strings.Count(strings.NewReplacer("\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(data)), "\n")
		for _, p := range c.problems {
			if p.File != "f.yaml" || p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
				t.Errorf("problem without a place: %+v in %d lines", p, lines)
			}
		}
		if root == nil {
			return
		}
		root.value()
		root.each(func(p position) {
			if p.line < 1 || p.column < 1 {
				t.Errorf("value without a place: %+v", p)
			}
		})
		if from := root.source(); len(from) > len(data) {
			t.Errorf("the source has %d bytes of %d", len(from), len(data))
		}
	})
}

// FuzzCase: a case file is read or told wrong, and a case that is read is fit to be linted.
func FuzzCase(f *testing.F) {
	for _, seed := range []string{
		"id: a\nquery: q\nexpect: abstain\n", "cases: [{id: a, messages: [{role: user, text: q}], claims: [{id: 1, any: [/a/]}]}]",
		"id: a\nquery: q\nevidence: {required: [{any_of: [{source: 7, span: s, text: t}]}, {source: b, span: s}], distractors: [{source: b, kind: regional}]}\nclaims: [{id: x, cites: [b]}]",
		"id: a\nevidence:\nas: {a: [b, 1]}\ntags: {x: no}\n", "[a, [b], {id: ~}]", "id: {a: b}\nclaims: {x: y}\n", "query: [q]\nas: []\n",
	} {
		f.Add([]byte(seed))
	}
	l := &loader{folder: &folder{dir: "."}}
	if err := l.compile(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		one := &loader{folder: l.folder, caseShape: l.caseShape, experimentShape: l.experimentShape}
		root := parse(&file{name: "f.yaml", data: data}, &one.collector)
		if root == nil {
			return
		}
		items := []*node{root}
		if root.form == list {
			items = root.items
		}
		var cases []placedCase
		for _, item := range items {
			cases = append(cases, one.oneCase(item, data)...)
		}
		one.lintCases(cases)
		for _, p := range one.problems {
			if p.File != "" && (p.Line < 1 || p.Column < 1) {
				t.Errorf("problem without a place: %+v", p)
			}
		}
	})
}

// FuzzJSONL: a line is a document with an id, or a mistake at a column of the line.
func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		`{"id": "a", "text": "t"}`, `{"id": 9007199254740993, "text": "t", "n": 1e400}`, `{"id": "a"`, `{}`, `[]`, `{"id": "a", "text": "t"} x`, "{\"id\": \"\xff\"}",
		`{"id": "a", "text": "\ud800"}`, `{"id": "a", "text": "t", "vector": [1, 2]}`, `{"id": "a", "text": "t", "metadata": {"x": [1, true, null]}}`, `{"a": {"b": 1}}`, `{"id": "a", "id": "b"}`, `{"id":,}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		doc, mistake := parseDocument(line)
		if mistake != nil {
			if mistake.column < 1 || mistake.column > 1+utf8.RuneCount(line) || mistake.message == "" {
				t.Errorf("mistake without a place: %+v in %q", *mistake, line)
			}
			return
		}
		if doc.ID == "" || doc.Source == "" || !utf8.ValidString(doc.ID+doc.Text) {
			t.Errorf("document %+v", doc)
		}
		newDocumentHash().add(&doc)
	})
}

var fuzzWord = regexp.MustCompile(`[\p{L}\p{N}]+`)

// FuzzCut: every word of a text is in some chunk, chunks keep to their size, and cutting twice is cutting once.
func FuzzCut(f *testing.F) {
	for _, seed := range []string{
		"# A\n\nb c d. E f g.\n\n## H\n\n- i\n- j\n", "Title\n===\nx\n", "```\n# a\n```\nb", "a\n---\nb\n", "#\n# #\n## \n", "|a|b|\n|-|-|\n", "~~~\nx", "a b c d e f g h", "1. x\n2. y\n", "\u00a0\u2028x", "a\tb\r\nc",
	} {
		f.Add(seed, uint8(3), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, most, by uint8) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return // refused before
		}
		way := []string{"heading", "paragraph", "none"}[by%3]
		size := int(most)%40 + 1
		for _, markdown := range []bool{true, false} {
			chunks := cut(text, way, size, markdown)
			var all strings.Builder
			for _, c := range chunks {
				if strings.TrimSpace(c.text) == "" || c.line < 1 || c.line > 1+strings.Count(text, "\n") {
					t.Errorf("chunk %+v of %q", c, text)
				}
				all.WriteString(c.text + "\n")
			}
			whole := all.String()
			for _, word := range fuzzWord.FindAllString(text, -1) {
				if !strings.Contains(whole, word) {
					t.Errorf("word %q of %q is in no chunk: %q", word, text, whole)
				}
			}
		}
	})
}
