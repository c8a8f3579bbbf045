package experiments

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, by string
		most     int
		plain    bool // text, not Markdown
		want     []chunk
	}{
		"headings above each chunk": {
			text: "Before.\n\n# One #\n\nFirst.\nStill first.\n\nSecond.\n\n## Two\nUnder two.\n### Three\n# Four\n\nLast.\n", by: "heading", most: 50,
			want: []chunk{{"Before.", 1}, {"One\nFirst.\nStill first.\nSecond.", 5}, {"One > Two\nUnder two.", 11}, {"One > Two > Three", 12}, {"Four\nLast.", 15}},
		},
		"underlined headings": {
			text: "Title\n=====\nBody.\n\nPart\n----\nMore.\n\nnot a\nheading\n---\n", by: "heading", most: 50,
			want: []chunk{{"Title\nBody.", 3}, {"Title > Part\nMore.\nnot a\nheading\n---", 7}},
		},
		"code is not cut at #": {
			text: "# A\n```sh\n# comment\n\nrun\n````\nAfter.\n~~~\n# open to the end\n", by: "heading", most: 50,
			want: []chunk{{"A\n```sh\n# comment\n\nrun\n````\nAfter.\n~~~\n# open to the end\n", 2}},
		},
		"a level that is skipped": {
			text: "### Deep\na\n# Top\nb\n### Below\nc\n## Between\nd\n", by: "heading", most: 50,
			want: []chunk{{"Deep\na", 2}, {"Top\nb", 4}, {"Top > Below\nc", 6}, {"Top > Between\nd", 8}},
		},
		"what is no heading": {
			text: "#hash\n\n####### seven\n\n    # indented\n", by: "heading", most: 50,
			want: []chunk{{"#hash\n####### seven\n    # indented", 1}},
		},
		"a heading without words": {text: "#\n\nBody.\n", by: "heading", most: 50, want: []chunk{{"Body.", 3}}},
		"paragraphs":              {text: "# A\n\none\n\ntwo\n", by: "paragraph", most: 50, want: []chunk{{"A\none", 3}, {"A\ntwo", 5}}},
		"text has no headings":    {text: "# A\n\none\n", by: "paragraph", most: 50, plain: true, want: []chunk{{"# A", 1}, {"one", 3}}},
		"the whole file":          {text: "\n\n # A\n\none\n", by: "none", most: 1, want: []chunk{{"# A\n\none", 3}}},
		"nothing":                 {text: " \n\n", by: "none", most: 1},
		"nothing by heading":      {text: " \n\n", by: "heading", most: 1},
		"blocks are kept whole":   {text: "a b c\n\nd e f\n\ng\n", by: "heading", most: 4, want: []chunk{{"a b c", 1}, {"d e f\ng", 3}}},
		"long blocks are cut between sentences": {
			text: "One two three. Four five!\nSix seven eight? \"Nine.\" Ten.\n", by: "heading", most: 5,
			want: []chunk{{"One two three. Four five!", 1}, {"Six seven eight? \"Nine.\" Ten.", 2}},
		},
		"entries of a list are kept whole": {
			text: "- one two three\n- four five\n- six\n  seven\n", by: "heading", most: 5,
			want: []chunk{{"- one two three", 1}, {"- four five", 2}, {"- six\n  seven", 3}},
		},
		"a sentence that is too long is cut between words": {
			text: "a b c d e f g\n", by: "heading", most: 3, want: []chunk{{"a b c", 1}, {"d e f", 1}, {"g", 1}},
		},
		"code is cut between lines": {
			text: "```\na b c\nd e f\n```\n", by: "heading", most: 4, want: []chunk{{"```\na b c", 1}, {"d e f\n```", 3}},
		},
		"text without spaces": {text: "上海市\n\n北京市\n", by: "heading", most: 1, want: []chunk{{"上海市", 1}, {"北京市", 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cut(test.text, test.by, test.most, !test.plain)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(chunk{})); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdownDocuments(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, `
-- docs/guide/Über uns & more.md --
---
title: About us
revision: 2026-07-01
access: [staff, hr]
updated_at: 2026-07-01
nested: {a: 1}
tags: [1.10, no]
id: 7
draft:
---
# About

We are three.
-- docs/empty.md --
-- docs/only-front-matter.md --
---
title: x
---
-- docs/rule.md --
---
A rule above, and none below.
-- docs/source.markdown --
---
source: handbook
---
Text.
-- docs/b.txt --
One.

# Two.
-- docs/notes.jsonl --
{"id": "j", "text": "t"}
-- docs/ignored.rst --
x
-- docs/.hidden/x.md --
x
`)
	type brief struct {
		id, source, text, revision string
		line                       int
	}
	var got []brief
	for _, d := range all(t, documentsOf(t, dir, "documents: docs")) {
		got = append(got, brief{d.ID, d.Source, d.Text, d.Revision, d.Line})
		if d.Revision != "" {
			if diff := cmp.Diff(map[string][]string{"title": {"About us"}, "tags": {"1.10", "no"}, "front_matter_id": {"7"}}, d.Metadata); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if strings.Join(d.Access, " ") != "staff hr" || d.UpdatedAt.Year() != 2026 {
				t.Errorf("front matter: access %q, updated at %s", d.Access, d.UpdatedAt)
			}
		}
	}
	want := []brief{
		{"b.txt#1", "b.txt", "One.", "", 1},
		{"b.txt#2", "b.txt", "# Two.", "", 3},
		{"guide/Über-uns---more.md#1", "guide/Über uns & more.md", "About\nWe are three.", "2026-07-01", 13},
		{"j", "j", "t", "", 1},
		{"rule.md#1", "rule.md", "---\nA rule above, and none below.", "", 1},
		{"source.markdown#1", "handbook", "Text.", "", 4},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(brief{})); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}
