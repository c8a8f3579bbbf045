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
	files, err := Init(dir, InitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 || files[0] != filepath.Join(dir, "experiment.yaml") {
		t.Errorf("files %q", files)
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
	if err == nil || len(again) > 0 || !strings.Contains(err.Error(), "experiment.yaml") || !strings.Contains(err.Error(), "user.md") {
		t.Errorf("a second time: %q, %v", again, err)
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
		documents, outside string
	}{
		"a folder inside":  {"own/docs", ""},
		"a file inside":    {"own/docs/handbook.md", ""},
		"a folder outside": {"docs", "--allow-outside"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			write(t, filepath.Join(parent, "own", "docs", "handbook.md"), page)
			write(t, filepath.Join(parent, "docs", "handbook.md"), page)
			write(t, filepath.Join(parent, "docs", "broken.md"), "caf\xe9")
			dir := filepath.Join(parent, "own")
			files, err := Init(dir, InitOptions{Documents: filepath.Join(parent, filepath.FromSlash(test.documents)), Name: "handbook"})
			if err != nil {
				t.Fatal(err)
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
			want := []string{"Parental leave: what is said about employees weeks parental leave birth child?", "handbook.md", span, span, "investigate"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("case (-want +got):\n%s", diff)
			}
			if len(loaded.Warnings) > 0 && test.outside == "" {
				t.Errorf("warnings %v", loaded.Warnings)
			}
		})
	}
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "docs", "list.md"), "- one\n- two\n")
	write(t, filepath.Join(dir, "none", "a.rst"), "x")
	for name, o := range map[string]InitOptions{
		"no such documents":              {Documents: filepath.Join(dir, "gone")},
		"documents without a sentence":   {Documents: filepath.Join(dir, "docs")},
		"a folder without documents":     {Documents: filepath.Join(dir, "none")},
		"a name that is no name":         {Name: "Über uns"},
		"a name that is longer than fit": {Name: strings.Repeat("a", 65)},
	} {
		target := filepath.Join(dir, "new")
		if files, err := Init(target, o); err == nil || len(files) > 0 || exists(target) {
			t.Errorf("%s: wrote %q, %v", name, files, err)
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
