package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Regenerate with: go test ./results/report -update
var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
	checkScreen(t, got)
}

// checkScreen holds for every screen, whatever was put on it.
func checkScreen(t *testing.T, screen []byte) {
	t.Helper()
	for n, line := range bytes.Split(screen, []byte("\n")) {
		plain := sgr.ReplaceAll(line, nil)
		for _, r := range string(plain) {
			if invisible(r) {
				t.Errorf("line %d holds %U: %q", n+1, r, line)
			}
		}
		if bytes.HasPrefix(bytes.TrimSpace(plain), []byte("::")) || bytes.Contains(plain, []byte("##[")) {
			t.Errorf("line %d would command a build log: %q", n+1, line)
		}
		if w := columns(string(plain)); w > 2*defaultWidth { // an id or a path is never cut, everything else is
			t.Errorf("line %d has %d columns: %q", n+1, w, line)
		}
	}
}
