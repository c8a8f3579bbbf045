package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The README shows what its first command prints, to the letter but for the execution's id and the time it took; -update
// writes it there.
func TestReadme(t *testing.T) {
	readme, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs("../../experiments/examples/travel-policy")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	const before = "<!-- what it prints; checked by a test -->\n\n```\n"
	head, rest, ok := strings.Cut(string(text), before)
	shown, tail, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("README.md has no block behind %q", before)
	}
	t.Chdir(t.TempDir())
	cache := t.TempDir()
	a, out, errs := testApp(t, func(name string) string {
		if name == "COLUMNS" {
			return "110" // as on a terminal
		}
		return cache
	})
	if code := a.main(t.Context(), []string{"run", example}); code != 0 || errs.String() != "" {
		t.Fatalf("exit %d, %s", code, errs.String())
	}
	want, got := steady(shown), steady(out.String())
	if *update && want != got {
		if err := os.WriteFile(readme, []byte(head+before+out.String()+"```\n"+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("README.md does not show what is printed; run this test with -update (-shown +printed):\n%s", diff)
	}
}
