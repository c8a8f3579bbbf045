package experiments

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden sections of testdata again")

// schemas returns the settings of the adapters that the tests know.
func schemas(t testing.TB) map[string]map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// folderOf writes the files of an archive into a new folder.
func folderOf(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range parseArchive(text).files {
		write(t, filepath.Join(dir, f.name), f.text)
	}
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// problems returns what Load says of a folder, errors before warnings, with the folder's name taken away.
func problems(t testing.TB, dir string, o Options) string {
	t.Helper()
	if o.Schemas == nil {
		o.Schemas = schemas(t)
	}
	loaded, err := Load(dir, o)
	var found Problems
	switch err := err.(type) { //nolint:errorlint // Load promises this very type
	case nil:
		found = loaded.Warnings
	case Problems:
		found = err
	default:
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range found {
		if p.Message == "" || strings.Contains(p.Message, "%!") {
			t.Errorf("a message is not fit to be read: %q", p.Message)
		}
		if p.Warning {
			b.WriteString("warning: ")
		}
		b.WriteString(p.String() + "\n")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), real+string(filepath.Separator), "")
	text = strings.ReplaceAll(text, filepath.Dir(real), "PARENT")
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+string(filepath.Separator), ""), dir, "DIR")
}

// TestProblems loads the archives of testdata/problems and compares what is said of them with the section "problems".
func TestProblems(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			a, want := parseArchive(string(data)), ""
			if last := len(a.files) - 1; a.files[last].name == "problems" {
				want, a.files = a.files[last].text, a.files[:last]
			}
			options := Options{}
			for line := range strings.Lines(a.comment) {
				if set, ok := strings.CutPrefix(line, "set: "); ok {
					options.Set = append(options.Set, strings.TrimSpace(set))
				}
				if profile, ok := strings.CutPrefix(line, "profile: "); ok {
					options.Profile = strings.TrimSpace(profile)
				}
			}
			got := problems(t, folderOf(t, a.String()), options)
			if *update {
				a.files = append(a.files, archived{"problems", got})
				write(t, name, a.String())
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// golden compares got with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		write(t, name, got)
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func unmarshal(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func sprint(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprint(&b, p)
	}
	return b.String()
}
