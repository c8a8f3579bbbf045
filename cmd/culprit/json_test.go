package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/culprit-rag/culprit/results"
)

const travelPolicy = "../../experiments/examples/travel-policy"

// cached is an environment with a cache of its own.
func cached(t *testing.T) func(string) string {
	t.Helper()
	dir := t.TempDir()
	return func(name string) string { return map[string]string{"CULPRIT_CACHE": dir}[name] }
}

// The object that a run ends with, field by field as the design gives it.
func TestRunRecord(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "results")
	stdout, stderr, code := invoke(t.Context(), cached(t), "run", travelPolicy, "--json", "--results", folder)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, standard error %q", code, stderr)
	}
	type defect struct{ Stage, Label, Rule string }
	type cell struct{ Trials, Pass, Errors int }
	type record struct {
		ID, Outcome string
		Defects     []defect
		Cells       map[string]cell
		Retrieval   struct {
			Ranks  map[string]*int
			Recall map[string]*float64
		}
		Checks map[string]string
		Bundle string
	}
	var got struct {
		Schema, Execution string
		Exit              int
		Cases             []record
		Recall            map[string]*float64
		Totals            map[string]*int
		WallMS            *int `json:"wall_ms"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "culprit.execution/v1" || got.Exit != 0 || got.WallMS == nil || *got.WallMS < 0 {
		t.Errorf("schema %q, exit %d, wall_ms %v", got.Schema, got.Exit, got.WallMS)
	}
	if _, err := os.Stat(filepath.Join(folder, got.Execution, "execution.json")); err != nil {
		t.Error(err)
	}
	outcomes := map[string]string{}
	for _, c := range got.Cases {
		outcomes[c.ID] = c.Outcome
		for _, d := range c.Defects {
			outcomes[c.ID] += " " + d.Stage + "/" + d.Label
			if d.Rule == "" {
				t.Errorf("%s: %s/%s names no rule", c.ID, d.Stage, d.Label)
			}
		}
		if a := c.Cells["A"]; a.Trials < 1 || a.Errors != 0 || a.Pass > a.Trials {
			t.Errorf("%s: A %+v", c.ID, a)
		}
		for name, answer := range c.Checks {
			if answer != "yes" && answer != "no" && answer != "unknown" {
				t.Errorf("%s: check %s says %q", c.ID, name, answer)
			}
		}
		if want := filepath.Join(folder, got.Execution, c.ID+".bundle.zip"); c.Bundle != want {
			t.Errorf("%s: want bundle %q, got %q", c.ID, want, c.Bundle)
		}
		if _, err := results.Open(c.Bundle); err != nil {
			t.Error(err)
		}
	}
	want := map[string]string{
		"mileage-rate": "fail index/missing", "lie-flat-seat": "fail retrieve/vocabulary-miss", "long-haul-cabin": "fail retrieve/below-cutoff",
		"taxi-receipt": "fail assemble/budget-cut", "business-10h": "fail generate/position-sensitive",
		"zurich-hotel": "fail abstain/answered-unanswerable", "gym-fee": "pass", "per-diem-dinner": "pass",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	number := func(n float64) *float64 { return &n }
	wantRecall := map[string]*float64{"1": number(0.25), "2": number(0.5), "3": number(0.6667), "5": number(0.6667), "10": number(0.6667)}
	if diff := cmp.Diff(wantRecall, got.Recall, cmpopts.EquateApprox(0, 0.0001)); diff != "" {
		t.Errorf("recall (-want +got):\n%s", diff)
	}
	third := 3
	if diff := cmp.Diff(map[string]*int{"c08": &third}, got.Cases[2].Retrieval.Ranks); diff != "" {
		t.Errorf("ranks of %s (-want +got):\n%s", got.Cases[2].ID, diff)
	}
	if diff := cmp.Diff(map[string]*int{"c15": nil}, got.Cases[0].Retrieval.Ranks); diff != "" {
		t.Errorf("ranks of %s (-want +got):\n%s", got.Cases[0].ID, diff)
	}
	for _, total := range []string{"calls", "reused", "tokens_in", "tokens_out", "cost_micro"} {
		if n, ok := got.Totals[total]; !ok || n == nil {
			t.Errorf("totals have no %s", total)
		}
	}
	if n := got.Totals["cost_micro"]; n != nil && *n != 0 {
		t.Errorf("a run without a paid backend costs %d", *n)
	}
}

// An editor that is given the schemas accepts what ships, and refuses a mistake in it.
func TestSchemasAcceptTheExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../experiments/examples/*/experiment.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %q, %v", files, err)
	}
	experiment, cases := compileSchema(t, "experiment"), compileSchema(t, "case")
	for _, file := range files {
		if err := experiment.Validate(readYAML(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, file := range []string{travelPolicy + "/cases.yaml"} {
		if err := cases.Validate(readYAML(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	broken := readYAML(t, files[0]).(map[string]any)
	broken["backends"].(map[string]any)["store"].(map[string]any)["documens"] = "x"
	if experiment.Validate(broken) == nil {
		t.Error("an unknown setting of the embedded store is accepted")
	}
}

func compileSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	stdout, stderr, code := invoke(t.Context(), cached(t), "schema", kind)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, standard error %q", code, stderr)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(kind+".json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(kind + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// readYAML reads a file as the values that JSON has.
func readYAML(t *testing.T, file string) any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(value); err != nil {
		t.Fatal(err)
	}
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Escapes change how JSON looks and not what it says.
func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	text := "\x1b[31m \u009b31m \u202e ##vso[task] ### \u200b \U000e0041 \x7f <b> ✗ 🎉 \ufffd\n"
	var out bytes.Buffer
	if err := encode(&out, map[string]string{"text": text}, "  "); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Errorf("%U is left in %s", r, out.String())
		}
	}
	if strings.Contains(out.String(), "##") {
		t.Errorf("number signs are left in %s", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, back["text"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
