package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// documentsOf loads an experiment in dir whose store has these settings.
func documentsOf(t testing.TB, dir, settings string) *DocumentSet {
	t.Helper()
	write(t, filepath.Join(dir, "experiment.yaml"), "culprit: v1\nname: documents\nbackends:\n  generator: {adapter: plain}\n  store:\n    adapter: plain\n    "+
		settings+"\ncases: [{id: a, query: q, expect: abstain}]\n")
	return load(t, dir, Options{}).Documents
}

func all(t testing.TB, set *DocumentSet) []Document {
	t.Helper()
	var out []Document
	for d, err := range set.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func ids(t testing.TB, set *DocumentSet) string {
	t.Helper()
	var out []string
	for _, d := range all(t, set) {
		out = append(out, d.ID)
	}
	return strings.Join(out, " ")
}

func TestJSONL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "corpus.jsonl"), "\ufeff"+
		`{"id": 9007199254740993, "text": "first", "size": 1.10, "big": 18446744073709551615, "on": true, "none": null, "tags": ["x", 2]}`+"\r\n\r\n"+
		`{"id": "b", "source": "src", "revision": 1.10, "text": "zero\u200bwidth \u0007", "access": "hr", "collection": "old", "embed_model": "m",`+
		` "indexed_at": "2026-07-01", "updated_at": "2026-07-02T10:00:00+02:00", "vector": [1, -0.0, 0.5], "metadata": {"lang": "en"}}`)
	want := []Document{
		{
			ID: "9007199254740993", Source: "9007199254740993", Text: "first",
			Metadata: map[string][]string{"size": {"1.10"}, "big": {"18446744073709551615"}, "on": {"true"}, "tags": {"x", "2"}},
			File:     filepath.Join(dir, "corpus.jsonl"), Line: 1,
		},
		{
			ID: "b", Source: "src", Revision: "1.10", Text: "zero\u200bwidth \a", Access: []string{"hr"}, Collection: "old", EmbedModel: "m",
			IndexedAt: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), UpdatedAt: time.Date(2026, 7, 2, 8, 0, 0, 0, time.UTC),
			Vector: []float32{1, 0, 0.5}, Metadata: map[string][]string{"lang": {"en"}}, File: filepath.Join(dir, "corpus.jsonl"), Line: 3,
		},
	}
	if diff := cmp.Diff(want, all(t, documentsOf(t, dir, "documents: corpus.jsonl"))); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestInlineDocuments(t *testing.T) {
	t.Parallel()
	got := all(t, documentsOf(t, t.TempDir(), `documents: [{id: 007, text: no, n: 1.10, access: [hr], metadata: {on: true}}, {id: b, text: "", vector: [1, .5]}]`))
	for i := range got {
		got[i].File, got[i].Line = "", 0
	}
	want := []Document{
		{ID: "007", Source: "007", Text: "no", Access: []string{"hr"}, Metadata: map[string][]string{"n": {"1.10"}, "on": {"true"}}},
		{ID: "b", Source: "b", Vector: []float32{1, 0.5}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := func(id string, size int) string {
		return fmt.Sprintf(`{"id": %q, "text": %q}`+"\n", id, strings.Repeat("a", size))
	}
	write(t, filepath.Join(dir, "corpus.jsonl"), line("a", 10)+line("b", 70<<10)+line("c", 10<<20)+line("d", 10))
	if got := ids(t, documentsOf(t, dir, "documents: corpus.jsonl")); got != "a b c d" {
		t.Errorf("got %s", got)
	}
	write(t, filepath.Join(dir, "corpus.jsonl"), line("a", 10)+line("b", 16<<20)+line("c", 10)+strings.TrimSuffix(line("d", 17<<20), "\n"))
	if want, got := "corpus.jsonl:2:1: this line is longer than 16 MiB: split the document\ncorpus.jsonl:4:1: this line is longer than 16 MiB: split the document\n",
		problems(t, dir, Options{}); want != got {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, text, want string }{
		"UTF-16 YAML":           {"case.yaml", "\xff\xfei\x00d\x00", "case.yaml:1:1: this file is UTF-16: save it as UTF-8\n"},
		"UTF-16 without a mark": {"case.yaml", "\x00i\x00d\x00:\x00 ", "case.yaml:1:1: this file is UTF-16: save it as UTF-8\n"},
		"Latin-1 YAML":          {"case.yaml", "id: a\nquery: caf\xe9\nexpect: abstain\n", "case.yaml:2:11: byte 0xE9 is not valid UTF-8: save the file as UTF-8\n"},
		"NUL and escape in YAML": {
			"case.yaml", "id: a\nquery: \"\x00é\x1b\"\nexpect: abstain\n",
			"case.yaml:2:9: control character U+0000 (NUL): remove it, or write it as an escape in double quotes\n" +
				"case.yaml:2:11: control character U+001B (escape): remove it, or write it as an escape in double quotes\n",
		},
		"control characters as escapes": {"case.yaml", "id: a\nquery: \"\\u0000 \\e[31m\"\nexpect: abstain\n", ""},
		"no-break space before a key":   {"case.yaml", "id: a\n\u00a0query: q\nexpect: abstain\n", "case.yaml:2:1: unknown key \"\\u00a0query\": it holds U+00A0 (no-break space): did you mean \"query\"?\n"},
		"UTF-16 JSONL":                  {"corpus.jsonl", "\xfe\xff\x00{\x00}", "corpus.jsonl:1:1: this file is UTF-16: save it as UTF-8\n"},
		"Latin-1 JSONL":                 {"corpus.jsonl", "{\"id\": \"a\", \"text\": \"caf\xe9\"}", "corpus.jsonl:1:25: this line is not valid UTF-8: save the file as UTF-8\n"},
		"lone surrogate in JSONL":       {"corpus.jsonl", `{"id": "a", "text": "x\ud800y"}`, "corpus.jsonl:1:19: text holds half a surrogate pair, such as \\ud800: write the whole character\n"},
		"Latin-1 Markdown":              {"corpus.md", "# Caf\xe9\n", "corpus.md:1:6: byte 0xE9 is not valid UTF-8: save the file as UTF-8\n"},
		"NUL in Markdown":               {"corpus.md", "a\x00b\n", "corpus.md:1:2: control character U+0000 (NUL): remove it, or write it as an escape in double quotes\n"},
		"escape in Markdown":            {"corpus.md", "\ufeffa\x1b[31mb\x0cc\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folderOf(t, "-- case.yaml --\nid: a\nquery: q\nexpect: abstain\n-- corpus.jsonl --\n{\"id\": \"x\", \"text\": \"t\"}\n-- corpus.md --\ntext\n")
			write(t, filepath.Join(dir, "experiment.yaml"), "culprit: v1\nname: encodings\nbackends:\n  generator: {adapter: plain}\n"+
				"  store: {adapter: plain, documents: [corpus.jsonl, corpus.md]}\ncases: [case.yaml]\n")
			write(t, filepath.Join(dir, test.file), test.text)
			if diff := cmp.Diff(test.want, problems(t, dir, Options{})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "corpus.jsonl"), text)
		d, err := documentsOf(t, dir, "documents: corpus.jsonl").Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := digest(`{"id": "a", "text": "one", "x": "1", "y": "2"}`)
	if got := digest(`{"y": "2", "x": "1", "text": "one", "id": "a"}` + "\n\n"); got != base {
		t.Errorf("the same documents, written otherwise: %s and %s", base, got)
	}
	seen := map[string]string{base: "base"}
	for _, other := range []string{
		`{"id": "a", "text": "two", "x": "1", "y": "2"}`,
		`{"id": "a", "text": "one", "x": "12", "y": ""}`,
		`{"id": "a", "text": "one", "x": ["1", "2"]}`,
		`{"id": "a", "text": "one", "x": "1", "y": "2", "access": "1"}`,
		`{"id": "a", "text": "one", "x": "1", "y": "2", "vector": [1]}`,
		`{"id": "a", "text": "one", "x": "1", "y": "2", "indexed_at": "2026-07-01"}`,
		`{"id": "a", "text": "one", "x": "1", "y": "2"}` + "\n" + `{"id": "b", "text": ""}`,
	} {
		d := digest(other)
		if first, taken := seen[d]; taken {
			t.Errorf("%s and %s have one digest", first, other)
		}
		seen[d] = other
	}
}

func TestDigestReadsWhatIterationReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "docs", "a.md"), "# A\n\nBody.")
	set := documentsOf(t, dir, "documents: docs")
	kept, err := set.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set.digest = ""
	again, err := set.Digest(t.Context())
	if err != nil || again != kept {
		t.Errorf("Load keeps %s, reading gives %s, %v", kept, again, err)
	}
}

func TestDocumentsEndWithAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "corpus.jsonl"), "{\"id\": \"a\", \"text\": \"t\"}\n{\"id\": \"b\", \"text\": \"t\"}\n")
	set := documentsOf(t, dir, "documents: corpus.jsonl")
	write(t, filepath.Join(dir, "corpus.jsonl"), "{\"id\": \"a\", \"text\": \"t\"}\n{\"id\": \"a\", \"text\": \"t\"}\n{\"id\": \"c\", \"text\": \"t\"}\n")
	seen := 0
	var last error
	for _, err := range set.Documents(t.Context()) {
		seen++
		last = err
	}
	var p Problem
	if !errors.As(last, &p) || p.Line != 2 || seen != 2 {
		t.Errorf("after the check the file went bad: %d yields, the last %v", seen, last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range set.Documents(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled context yields %v", err)
		}
	}
	for _, err := range set.Documents(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		break // it must not yield again
	}
}

func TestEvidenceThatTheAskerMayNotSee(t *testing.T) {
	t.Parallel()
	got := problems(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: access
backends:
  generator: {adapter: plain}
  store:
    adapter: plain
    documents:
      - {id: open, text: for all}
      - {id: hr, text: for HR, access: [hr]}
      - {id: beta, text: of beta, tenant: beta}
      - {id: two#1, source: two, text: a copy of the rule, access: [hr]}
      - {id: two#2, source: two, text: "a copy\n of the rule", access: [all]}
cases:
  - id: some
    query: q
    as: {tenant: acme, groups: [all]}
    evidence:
      required:
        - {source: open, span: for all}
        - {source: hr, span: for HR}
        - {source: beta, span: of beta}
        - {source: two, span: copy of the rule}
        - {source: gone, span: not there}
    claims: [{id: x, any: [y]}]
  - {id: anybody, query: q, evidence: {required: [{source: hr, span: for HR}]}, claims: [{id: x, any: [y]}]}
`), Options{})
	want := "warning: experiment.yaml:20:20: case \"some\": the asker may not see \"hr\", which it requires: correct as, or the evidence\n" +
		"warning: experiment.yaml:21:20: case \"some\": the asker may not see \"beta\", which it requires: correct as, or the evidence\n" +
		"warning: experiment.yaml:23:20: case \"some\": no document has the source or id \"gone\": copy it from the documents, or give the item its text\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestEvidenceThatIsInNoDocument(t *testing.T) {
	t.Parallel()
	got := problems(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: nowhere
backends:
  generator: {adapter: plain}
  store: {adapter: plain, documents: corpus}
cases:
  - id: some
    query: q
    evidence:
      required:
        - {source: acme/leave.md, span: applies from May}
        - {source: acme/leave.md, revision: "2024", span: applies from May}
        - {source: leave.md, span: applies from May}
        - {source: corpus/acme/leave.md#2, span: applies from May}
        - {source: sickness, span: call the line}
        - {source: acme/leave.md, span: applies from June}
        - {source: sickness, span: call the line, text: Please call the line.}
        - any_of:
            - {source: acme/leave.md, span: applies from May}
            - {source: archive/leave.md, span: applies from May}
    claims: [{id: x, any: [y]}]
-- corpus/acme/leave.md --
# Leave

The policy applies from May.
`), Options{})
	want := "warning: experiment.yaml:13:20: case \"some\": no document has the source or id \"leave.md\" (did you mean \"acme/leave.md\"?): copy it from the documents, or give the item its text\n" +
		"warning: experiment.yaml:14:20: case \"some\": no document has the source or id \"corpus/acme/leave.md#2\" (did you mean \"acme/leave.md\"?): copy it from the documents, or give the item its text\n" +
		"warning: experiment.yaml:15:20: case \"some\": no document has the source or id \"sickness\": copy it from the documents, or give the item its text\n" +
		"warning: experiment.yaml:16:41: case \"some\": the span \"applies from June\" stands in no document of \"acme/leave.md\": copy it from there, or give the item its text\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// Vectors that no store can be filled with are told with their place, before anything is opened.
func TestVectors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ corpus, want string }{
		"one kind":                  {`[1, 0] [0.5, -1e-3] [0, 0] [-0.0, 1e3]`, ""},
		"another number":            {`[1, 0] [0, 1] [1, 0, 0] [1]`, "corpus.jsonl:3:1: the vector of document \"d3\" has 3 dimensions, and the one at corpus.jsonl:1:1 has 2: one index holds one kind\ncorpus.jsonl:4:1: the vector of document \"d4\" has 1 dimensions, and the one at corpus.jsonl:1:1 has 2: one index holds one kind\n"},
		"too long":                  {`[1e38, 1e38]`, "corpus.jsonl:1:21: vector has the length 1.41e+38, and no store can tell how near it is to another: write one of length 1\n"},
		"too short":                 {`[1, 0] [1e-45, 0]`, "corpus.jsonl:2:21: vector has the length 1.4e-45, and no store can tell how near it is to another: write one of length 1\n"},
		"as long as may be":         {`[1e15, 0] [1e-14, 0]`, ""},
		"out of range on its own":   {`[1e39]`, "corpus.jsonl:1:21: vector[0] is \"1e39\", which is out of range\n"},
		"an unfit one sets no size": {`[1e38] [1, 0] [0, 1]`, "corpus.jsonl:1:21: vector has the length 1e+38, and no store can tell how near it is to another: write one of length 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var corpus strings.Builder
			for i, v := range strings.Split(strings.TrimSuffix(test.corpus, "]"), "] ") {
				fmt.Fprintf(&corpus, `{"id":"d%d", "vector":%s], "text":"t"}`+"\n", i+1, v)
			}
			write(t, filepath.Join(dir, "corpus.jsonl"), corpus.String())
			write(t, filepath.Join(dir, "experiment.yaml"), "culprit: v1\nname: vectors\nbackends:\n  generator: {adapter: plain}\n"+
				"  store: {adapter: plain, documents: corpus.jsonl}\ncases: [{id: a, query: q, expect: abstain}]\n")
			if got := problems(t, dir, Options{}); got != test.want {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

// A store that does not fill itself need not know of documents: they are read for who fills it, and kept out of its settings.
func TestDocumentsOfAStoreThatDoesNotFillItself(t *testing.T) {
	t.Parallel()
	o := Options{Schemas: schemas(t)}
	o.Schemas["store"]["live"] = []byte(`{"type": "object", "additionalProperties": false, "properties": {"address": {"type": "string"}}}`)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id": "a", "text": "first"}`)
	write(t, filepath.Join(dir, "experiment.yaml"), "culprit: v1\nname: documents\nbackends:\n  generator: {adapter: plain}\n"+
		"  store: {adapter: live, address: here, documents: a.jsonl, chunk: {by: none}}\ncases: [{id: a, query: q, expect: abstain}]\n")
	loaded := load(t, dir, o)
	if got := ids(t, loaded.Documents); got != "a" {
		t.Errorf("the documents are %q", got)
	}
	if got := string(loaded.Experiment.Backends.Store.Settings); got != `{"address":"here"}` {
		t.Errorf("the store is told %s", got)
	}
}
