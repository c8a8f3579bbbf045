package verdict

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestClaimTable holds each row of the table in docs/experiments.md against the matcher.
func TestClaimTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- claims;")
	table, _, ok := strings.Cut(table, "<!-- end -->")
	if !ok {
		t.Fatal("no table of claims")
	}
	said := regexp.MustCompile(`“([^”]*)”(?: \(([a-z ]+)\))?`)
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows++
		claim := strings.Trim(cells[1], "` ")
		for i, prefix := range []string{2: isMet, 3: isMissing} {
			if i < 2 {
				continue
			}
			answers := said.FindAllStringSubmatch(cells[i], -1)
			if len(answers) == 0 {
				t.Errorf("no answers in %q", line)
			}
			for _, a := range answers {
				want := prefix
				if a[2] != "" {
					want += ": " + a[2]
				}
				if got := match(t, claim, strings.ReplaceAll(a[1], `\u00a0`, "\u00a0")); got != want {
					t.Errorf("claim %q in %q: want %q, got %q", claim, a[1], want, got)
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("read %d rows", rows)
	}
}
