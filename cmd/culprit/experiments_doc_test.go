package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
)

const (
	experimentsDoc = "../../docs/experiments.md"
	examplesDir    = "../../experiments/examples/"
)

// generations is what culprit plan says of an example: the most generations, and those that are expected.
func generations(t *testing.T, args ...string) (most, expected int) {
	t.Helper()
	stdout, stderr, code := invoke(t.Context(), cached(t), append([]string{"plan", "--json"}, args...)...)
	var p plans
	if err := json.Unmarshal([]byte(stdout), &p); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	return p.Generations, p.Usual
}

// TestRunsAreDocumented holds the perturbations of docs/experiments.md, and the numbers, to what culprit plan says; -update writes them.
func TestRunsAreDocumented(t *testing.T) {
	var totals strings.Builder
	totals.WriteString("\n| `runs` | travel-policy: generations expected | at the most |\n|---|---|---|\n")
	for _, runs := range []string{"{}", "{repeats: 5}", "{repairs: false}", "{perturbations: [closed-book]}", "{perturbations: none}", "{repeats: 1, perturbations: none}"} {
		most, expected := generations(t, examplesDir+"travel-policy", "--set", "runs="+runs)
		fmt.Fprintf(&totals, "| `%s` | %d | %d |\n", runs, expected, most)
	}
	documentedIn(t, experimentsDoc, "what runs cost", totals.String()+"\n", nil)

	const mark = "perturbations"
	_, shown, _ := section(t, experimentsDoc, mark)
	says := map[string]string{} // what stands between the name and the number is written by hand
	for row := range strings.Lines(shown) {
		if cells := strings.Split(strings.TrimSpace(row), " | "); len(cells) == 5 {
			says[strings.Trim(cells[0], "| `")] = strings.Join(cells[1:4], " | ")
		}
	}
	table := "\n| perturbation | the one change | cells of a case | what it is for | handbook |\n|---|---|---|---|---|\n"
	_, without := generations(t, examplesDir+"handbook", "--set", "runs.perturbations=none")
	for _, name := range matrix.Perturbations() {
		_, with := generations(t, examplesDir+"handbook", "--set", "runs.perturbations=["+name+"]")
		table += fmt.Sprintf("| %#q | %s | +%d |\n", name, says[name], with-without)
		if says[name] == "" {
			t.Errorf("%s says nothing of %s", experimentsDoc, name)
		}
	}
	documentedIn(t, experimentsDoc, mark, table+"\n", nil)
}

// TestLimitsAreDocumented makes the table of limits out of the schema.
func TestLimitsAreDocumented(t *testing.T) {
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	data, err := experiments.Schema("experiment", registry.Schemas())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	documentedIn(t, experimentsDoc, "limits", "\n| `limits.` | default | what it is |\n|---|---|---|\n"+settingRows(t, "", schema.Defs["limits"])+"\n", nil)
}
