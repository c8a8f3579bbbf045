package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

const storesDoc = "../../docs/stores.md"

// section returns what a document has between a line that begins with the mark and the next end mark, with what is
// before and behind it.
func section(t *testing.T, doc, mark string) (head, body, tail string) {
	t.Helper()
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "<!-- "+mark)
	line, rest, closed := strings.Cut(rest, "\n")
	body, tail, ended := strings.Cut(rest, "<!-- end -->")
	if !ok || !closed || !ended {
		t.Fatalf("%s has no section %q", doc, mark)
	}
	return before + "<!-- " + mark + line + "\n", body, "<!-- end -->" + tail
}

// documented holds a section of docs/stores.md to what is true; -update writes it. What same says is the same stays as it is.
func documented(t *testing.T, mark, want string, same func(want, got string) bool) {
	t.Helper()
	documentedIn(t, storesDoc, mark, want, same)
}

func documentedIn(t *testing.T, doc, mark, want string, same func(want, got string) bool) {
	t.Helper()
	head, got, tail := section(t, doc, mark)
	if got == want || same != nil && same(want, got) {
		return
	}
	if *update {
		if err := os.WriteFile(doc, []byte(head+want+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is out of date; run this test with -update (-true +written):\n%s", doc, cmp.Diff(want, got))
}

// TestStoreSettingsAreDocumented makes the tables of settings out of the schemas, in their order.
func TestStoreSettingsAreDocumented(t *testing.T) {
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"qdrant", "weaviate"} {
		schema := registry.Schemas()[string(adapters.RoleStore)][name]
		table := "\n| setting | default | what it is |\n|---|---|---|\n" + settingRows(t, "", schema) + "\n"
		documented(t, "settings of "+name, table, nil)
	}
}

// TestStagingExampleIsValid checks the experiment that docs/stores.md shows for a nightly job.
func TestStagingExampleIsValid(t *testing.T) {
	text, err := os.ReadFile(storesDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	shown, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("%s shows no experiment", storesDoc)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "staging.yaml")
	one := "id: one\nquery: When?\nevidence: {required: [{source: a.md, span: from the first of May}]}\nclaims: [{id: day, any: [1 May]}]\n"
	if err := errors.Join(os.WriteFile(file, []byte(shown), 0o600), os.Mkdir(filepath.Join(dir, "cases"), 0o700),
		os.WriteFile(filepath.Join(dir, "cases", "one.yaml"), []byte(one), 0o600)); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := invoke(t.Context(), cached(t), "check", file); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestProbedChecksAreDocumented looks for each check of a probe in docs/stores.md.
func TestProbedChecksAreDocumented(t *testing.T) {
	text, err := os.ReadFile(storesDoc)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := invoke(t.Context(), cached(t), "probe", storesExample, "--json")
	var probe struct{ Checks []struct{ Name string } }
	if err := json.Unmarshal([]byte(stdout), &probe); err != nil || code != 3 {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	if len(probe.Checks) < 12 {
		t.Errorf("the example shows %d checks", len(probe.Checks))
	}
	for _, c := range probe.Checks {
		if !strings.Contains(string(text), "\n| `"+c.Name+"`") {
			t.Errorf("%s does not explain %q", storesDoc, c.Name)
		}
	}
}

// settingSchema is what a table shows of a schema.
type settingSchema struct {
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Enum        []any             `json:"enum"`
	Properties  json.RawMessage   `json:"properties"`
	OneOf       []json.RawMessage `json:"oneOf"`
	Required    []string          `json:"required"`
}

func settingRows(t *testing.T, path string, raw json.RawMessage) string {
	t.Helper()
	var schema settingSchema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, p := range inOrder(t, schema.Properties) {
		var s settingSchema
		if err := json.Unmarshal(p.value, &s); err != nil {
			t.Fatal(err)
		}
		fallback := "`" + string(s.Default) + "`"
		switch {
		case strings.Contains(" "+strings.Join(schema.Required, " ")+" ", " "+p.name+" "):
			fallback = "required"
		case len(s.Default) == 0:
			fallback = ""
		}
		says := s.Description
		if len(s.Enum) > 0 {
			var choices []string
			for _, choice := range s.Enum {
				choices = append(choices, fmt.Sprintf("`%v`", choice))
			}
			says += " One of " + strings.ReplaceAll(strings.Join(choices, ", "), "``", "`\"\"`") + "."
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", path+p.name, fallback, strings.ReplaceAll(says, "|", `\|`))
		rows.WriteString(settingRows(t, path+p.name+".", p.value))
		for _, form := range s.OneOf {
			rows.WriteString(settingRows(t, path+p.name+".", form))
		}
	}
	return rows.String()
}

type member struct {
	name  string
	value json.RawMessage
}

// inOrder reads the members of a JSON object in the order in which they are written.
func inOrder(t *testing.T, object json.RawMessage) []member {
	t.Helper()
	if len(object) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var list []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.value); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}
