package verdict

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/labels.md from the table of rules")

// TestLabelsAreDocumented holds docs/labels.md to the table of rules; -update writes it.
func TestLabelsAreDocumented(t *testing.T) {
	t.Parallel()
	const file = "../../docs/labels.md"
	var want strings.Builder
	want.WriteString("# Labels\n\nEvery verdict that names a stage names one of these, in the order in which they are asked. The first that fires explains the\n" +
		"loss; a rule that cannot be answered stops the walk instead of blaming a later stage. Each label has a page, which\n" +
		"`culprit labels LABEL` prints: what decides, what to try first, what would be wasted, what it is taken for, and an example.\n" +
		"Written by `go test ./matrix/verdict -run TestLabelsAreDocumented -update`.\n\n| label | what has happened |\n|---|---|\n")
	seen := map[string]bool{}
	for _, r := range Rules() {
		for name, text := range map[string]string{"label": r.Label, "needs": r.Needs, "says": r.Says, "decides": r.Decides, "try first": r.TryFirst, "wasted effort": r.Wasted} {
			if text == "" {
				t.Errorf("rule %s has no text for %q", r.ID(), name)
			}
		}
		if (r.gold == nil) == (r.once == nil) {
			t.Errorf("rule %s must be about the gold or about the case", r.ID())
		}
		if seen[r.ID()+r.Says] {
			t.Errorf("rule %s stands twice", r.ID())
		}
		seen[r.ID()+r.Says] = true
		fmt.Fprintf(&want, "| [%s](labels/%s) | %s |\n", r.ID(), PageFile(r.ID()), r.Says)
	}
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("%s is out of date; run this test with -update (-want +got):\n%s", file, diff)
	}
}

// TestEveryLabelHasAPage: a label without neighbours or without an example cannot be told from others, and a page without a label is
// read by nobody.
func TestEveryLabelHasAPage(t *testing.T) {
	t.Parallel()
	labels := Labels()
	for _, label := range labels {
		page := pages()[label]
		if len(page.Near) == 0 || (page.Example.File == "") == (page.Example.None == "") {
			t.Errorf("label %s: its page has no neighbours or no example: %+v", label, page)
		}
		for _, near := range page.Near {
			if near == label || !slices.Contains(labels, near) {
				t.Errorf("label %s: %q is no neighbour", label, near)
			}
		}
	}
	if len(pages()) != len(labels) {
		t.Errorf("%d pages, %d labels", len(pages()), len(labels))
	}
	if got := LabelPage("index/lost", func(s string) string { return s }); got != "" {
		t.Errorf("a page of no label: %s", got)
	}
}
