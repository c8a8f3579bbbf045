package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/culprit-rag/culprit/matrix"
)

const caseFolder = "../experiments/cases"

// leastRun is how many of the reported failures must be told by their labels: all of them.
const leastRun = 54

// reported is what came of one case of a file.
type reported struct {
	file, id, reported, expected string
}

// TestReportedFailures runs every failure of experiments/cases and compares its verdict with the label that the report's
// cause has in this project. With its profile "healthy", where it has one, the same file must pass: then the label is due to
// the one thing that differs.
func TestReportedFailures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(caseFolder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	var mu sync.Mutex
	var all []reported
	t.Run("files", func(t *testing.T) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				found := runReported(t, file)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, found...)
			})
		}
	})
	slices.SortFunc(all, func(a, b reported) int { return strings.Compare(a.id, b.id) })
	ran := map[string]bool{}
	for _, r := range all {
		ran[r.file] = true
	}
	if len(ran) < leastRun {
		t.Errorf("%d files run, want at least %d", len(ran), leastRun)
	}
	compareGolden(t, caseFolder+"/README.md", caseTable(all, len(ran)))
}

func runReported(t *testing.T, file string) []reported {
	t.Helper()
	loaded := load(t, file, change{})
	bundles := run(t, loaded)
	var out []reported
	for _, lc := range loaded.Cases {
		c := &lc.Case
		r := reported{file: filepath.Base(file), id: c.ID, reported: c.Tags["reported"], expected: c.Tags["expected"]}
		if r.expected == "" || r.reported == "" {
			t.Errorf("case %s does not say what is expected, or what the report calls it", c.ID)
		}
		if c.Tags["source"] == "" {
			t.Errorf("case %s does not say where it was reported", c.ID)
		}
		e := bundles[c.ID].Evaluation
		consistent(t, e)
		got := verdictOf(e)
		t.Logf("%s: %s: %s", c.ID, got, e.Summary)
		if got != r.expected {
			t.Errorf("case %s: got %s, want %s\n    %s", c.ID, got, r.expected, explained(e))
		}
		if want := c.Tags["finding"]; want != "" && !slices.ContainsFunc(e.Findings, func(f string) bool { return strings.HasPrefix(f, want+":") }) {
			t.Errorf("case %s: findings %q, want one of %s", c.ID, e.Findings, want)
		}
		out = append(out, r)
	}
	if hasProfile(t, file, "healthy") {
		for id, b := range run(t, load(t, file, change{profile: "healthy"})) {
			if !strings.HasPrefix(verdictOf(b.Evaluation), "pass") || b.Evaluation.Qualifier == "without-evidence" {
				t.Errorf("case %s, healthy: got %s\n    %s", id, verdictOf(b.Evaluation), explained(b.Evaluation))
			}
		}
	} else if needsTwin(loaded.Cases[0].Case) {
		t.Errorf("%s has no profile \"healthy\" that switches its one defect off", file)
	}
	return out
}

// needsTwin reports whether a case fails by a defect that can be switched off.
func needsTwin(c matrix.Case) bool {
	expected := c.Tags["expected"]
	return !strings.HasPrefix(expected, "pass") && !strings.HasPrefix(expected, "fixture/")
}

func hasProfile(t *testing.T, file, name string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tree struct {
		Profiles map[string]any `yaml:"profiles"`
	}
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	_, ok := tree.Profiles[name]
	return ok
}

func caseTable(all []reported, ran int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Reported failures

Each file is a failure of a RAG system from a public report, in small form: invented documents, the one defect that the report found,
and the label that it must get. The tag source names the report, the comment the nearest wrong label and what decides. With
--profile healthy the defect is switched off, and the case passes. What the report calls it is another's word for the same cause: a label here
stands at the stage that can be mended, so that a template that loses the context is prompt and not assembly, and a query that is polluted
on its way retrieve and not seam.

    culprit run experiments/cases/RT-01.yaml

All %d files are run by the tests of the package runner, which write this table.

| case | what the report calls it | expected |
|---|---|---|
`, ran)
	for _, r := range all {
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", r.id, r.file, r.reported, r.expected)
	}
	return b.String()
}
