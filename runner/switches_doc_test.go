package runner_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSwitchesAreDocumented holds the table of docs/embedded.md to the switches that are tested; -update writes it.
func TestSwitchesAreDocumented(t *testing.T) {
	t.Parallel()
	const file, mark = "../docs/embedded.md", "-update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, got, ok := strings.Cut(string(text), mark)
	if !ok {
		t.Fatalf("%s has no line that ends in %q", file, mark)
	}
	var want strings.Builder
	want.WriteString("\n| what goes wrong | setting | verdict |\n|---|---|---|\n")
	for _, s := range switches() {
		fmt.Fprintf(&want, "| %s | `%s` | %s |\n", s.name, strings.ReplaceAll(strings.Join(s.set, "` `"), "|", `\|`), s.expected)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+mark+want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("%s is out of date; run this test with -update (-want +got):\n%s", file, diff)
	}
}
