package experiments

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// embedded stands for the adapter that the scaffold names.
func withEmbedded(t testing.TB) Options {
	s := schemas(t)
	s["store"]["embedded"], s["generator"]["embedded"] = s["store"]["plain"], json.RawMessage(`{"type": "object"}`)
	return Options{Schemas: s}
}

func TestInit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "My First")
	done, err := Init(dir, InitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files := done.Files
	if len(files) != 5 || files[0] != filepath.Join(dir, "experiment.yaml") || done.Survey != nil {
		t.Errorf("files %q, survey %v", files, done.Survey)
	}
	if text := read(t, files[0]); strings.Contains(text, "yaml-language-server") || strings.Contains(text, "{{modeline}}") {
		t.Errorf("a schema is named that is not there:\n%s", text)
	}
	loaded := load(t, dir, withEmbedded(t))
	if loaded.Experiment.Name != "my-first" || len(loaded.Cases) != 2 || len(loaded.Warnings) > 0 {
		t.Errorf("name %q, %d cases, warnings %v", loaded.Experiment.Name, len(loaded.Cases), loaded.Warnings)
	}
	if got := ids(t, loaded.Documents); got != "loans powered-tools late-fees opening-hours" {
		t.Errorf("documents %s", got)
	}
	before := read(t, files[0])
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	again, err := Init(dir, InitOptions{Name: "other"})
	if err == nil || len(again.Files) > 0 || !strings.Contains(err.Error(), "experiment.yaml") || !strings.Contains(err.Error(), "user.md") {
		t.Errorf("a second time: %q, %v", again.Files, err)
	}
	if read(t, files[0]) != before || exists(files[1]) {
		t.Error("a second time wrote something")
	}
}

func TestInitWithDocuments(t *testing.T) {
	t.Parallel()
	const page = "---\ntitle: Handbook\n---\n# Handbook\n\nShort. See https://example.org/a for more of the *same* thing here.\n\n" +
		"## Parental leave\n\nEmployees may take up to 16 weeks of parental leave\nafter the birth of a child. Ask HR.\n\n```\nSome code that is not a sentence of the page.\n```\n"
	for name, test := range map[string]struct {
		documents, outside, survey string
	}{
		"a folder inside":  {"own/docs", "", "1 file: 1 read as 2 chunks"},
		"a file inside":    {"own/docs/handbook.md", "", "1 file: 1 read as 2 chunks"},
		"a folder outside": {"docs", "--allow-outside", "6 files: 1 read as 2 chunks, 1 with mistakes that culprit check names, 4 skipped (.png 2, .py 1, without an ending 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			write(t, filepath.Join(parent, "own", "docs", "handbook.md"), page)
			write(t, filepath.Join(parent, "docs", "handbook.md"), page)
			write(t, filepath.Join(parent, "docs", "broken.md"), "caf\xe9")
			for _, other := range []string{"a.png", "b.PNG", "sub/c.py", "LICENSE", ".hidden"} {
				write(t, filepath.Join(parent, "docs", other), "x")
			}
			dir := filepath.Join(parent, "own")
			done, err := Init(dir, InitOptions{Documents: filepath.Join(parent, filepath.FromSlash(test.documents)), Name: "handbook"})
			if err != nil {
				t.Fatal(err)
			}
			files := done.Files
			if got := done.Survey.String(); got != test.survey {
				t.Errorf("want %q, got %q", test.survey, got)
			}
			if text := read(t, files[0]); strings.Contains(text, "--allow-outside") != (test.outside != "") || strings.Contains(text, "{{name}}") {
				t.Errorf("experiment:\n%s", text)
			}
			if test.outside != "" {
				if err := os.Remove(filepath.Join(parent, "docs", "broken.md")); err != nil {
					t.Fatal(err)
				}
			}
			options := withEmbedded(t)
			options.AllowOutside = test.outside != ""
			loaded := load(t, dir, options)
			c := loaded.Cases[0].Case
			gold := c.Evidence.Required[0].AnyOf[0]
			got := []string{c.Query, gold.Source, gold.Span, c.Claims[0].Any[0], string(c.Risk)}
			const span = "Employees may take up to 16 weeks of parental leave after the birth of a child."
			want := []string{"What do the docs say about Parental leave?", "handbook.md", span, span, "investigate"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("case (-want +got):\n%s", diff)
			}
			if len(loaded.Warnings) > 0 && test.outside == "" {
				t.Errorf("warnings %v", loaded.Warnings)
			}
		})
	}
}

// Short documents make a first case, too: it runs, and says that it only holds the place of one.
func TestInitOnShortDocuments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, text, query, span string }{
		"a list":             {"list.md", "- one\n- two three\n", "What do the docs say about three?", "two three"},
		"a heading":          {"a/title.md", "# Opening hours\n", "What do the docs say about opening and hours?", "Opening hours"},
		"a line":             {"line.txt", "tea: 4 €\n", "What do the docs say about line?", "tea: 4"},
		"a section":          {"s.md", "# Fees\n\n## Late\n\n1 euro a day\n", "What do the docs say about Late in Fees?", "1 euro a day"},
		"one object":         {"c.jsonl", `{"id": "d1", "text": "Closed on Monday."}`, "What do the docs say about closed and monday?", "Closed on Monday"},
		"no full stop":       {"s.md", "# Fees\n\nThe late fee is one euro for every single day\n", "What do the docs say about Fees and single?", "The late fee is one euro for every single day"},
		"a very long line":   {"l.txt", strings.Repeat("word ", 40), "What do the docs say about l?", strings.TrimSpace(strings.Repeat("word ", 12))},
		"digits in brackets": {"n.md", "[1] (2)\n", "What do the docs say about n?", "1] (2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "docs", filepath.FromSlash(test.file)), test.text)
			done, err := Init(dir, InitOptions{Documents: filepath.Join(dir, "docs"), Name: "short"})
			if err != nil {
				t.Fatal(err)
			}
			if text := read(t, done.Files[1]); !strings.HasPrefix(text, "# A placeholder, made from a line of ") {
				t.Errorf("the case does not say what it is:\n%s", text)
			}
			loaded := load(t, dir, withEmbedded(t))
			c := loaded.Cases[0].Case
			got := []string{c.Query, c.Evidence.Required[0].AnyOf[0].Span, c.Claims[0].Any[0]}
			if diff := cmp.Diff([]string{test.query, test.span, test.span}, got); diff != "" || len(loaded.Warnings) > 0 {
				t.Errorf("case (-want +got), warnings %v:\n%s", loaded.Warnings, diff)
			}
		})
	}
}

// The draft rests on words that stand in one place only, and on a heading that says what they are about.
func TestInitPrefersWhatStandsInOnePlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const footer = "Contact the people department within 3 working days whenever something remains unclear.\n"
	write(t, filepath.Join(dir, "docs", "a.md"), "# Leave\n\n"+footer)
	write(t, filepath.Join(dir, "docs", "b.md"), "# Travel\n\n"+footer)
	write(t, filepath.Join(dir, "docs", "c.md"), "# Meals\n\nThe canteen offers several vegetarian dishes every single day.\n")
	if _, err := Init(dir, InitOptions{Documents: filepath.Join(dir, "docs")}); err != nil {
		t.Fatal(err)
	}
	if got := load(t, dir, withEmbedded(t)).Cases[0].Case.Evidence.Required[0].AnyOf[0].Source; got != "c.md" {
		t.Errorf("the draft is made from %s", got)
	}
}

// With the schemas of the adapters, the file that the first line names is there.
func TestInitWritesTheSchemaThatItNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := withEmbedded(t)
	write(t, filepath.Join(dir, "docs", "a.md"), "# Leave\n\nText.\n")
	for _, documents := range []string{"", filepath.Join(dir, "docs")} {
		target := filepath.Join(t.TempDir(), "x")
		done, err := Init(target, InitOptions{Schemas: options.Schemas, Documents: documents})
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(read(t, done.Files[0]), "$schema=")
		named, _, _ := strings.Cut(after, "\n")
		if !ok || !json.Valid([]byte(read(t, filepath.Join(target, named)))) {
			t.Errorf("the experiment names %q", named)
		}
	}
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "docs", "list.md"), "- …\n")
	write(t, filepath.Join(dir, "none", "a.rst"), "x")
	for name, o := range map[string]InitOptions{
		"no such documents":              {Documents: filepath.Join(dir, "gone")},
		"documents without a word":       {Documents: filepath.Join(dir, "docs")},
		"a folder without documents":     {Documents: filepath.Join(dir, "none")},
		"a name that is no name":         {Name: "Über uns"},
		"a name that is longer than fit": {Name: strings.Repeat("a", 65)},
	} {
		target := filepath.Join(dir, "new")
		if done, err := Init(target, o); err == nil || len(done.Files) > 0 || exists(target) {
			t.Errorf("%s: wrote %q, %v", name, done.Files, err)
		}
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
