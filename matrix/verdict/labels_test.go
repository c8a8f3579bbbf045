package verdict

import (
	"flag"
	"fmt"
	"os"
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
		"loss; a rule that cannot be answered stops the walk instead of blaming a later stage.\n" +
		"Written by `go test ./matrix/verdict -run TestLabelsAreDocumented -update`.\n")
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
		fmt.Fprintf(&want, "\n## %s\n\n%s\n\n- needs: %s\n- decided by: %s\n- try first: %s\n- wasted effort: %s\n", r.ID(), r.Says, r.Needs, r.Decides, r.TryFirst, r.Wasted)
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
