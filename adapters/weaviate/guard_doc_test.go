package weaviate

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAllowListIsDocumented holds the list of docs/stores.md to the requests that are let through.
func TestAllowListIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- allowed by weaviate")
	_, rest, opened := strings.Cut(rest, "```\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !ok || !opened || !closed {
		t.Fatal("docs/stores.md has no list of what is allowed")
	}
	documented := strings.Split(strings.TrimSpace(block), "\n")
	slices.Sort(documented)
	allowed := []string{http.MethodPost + " " + graphQLPath}
	for _, path := range alternatives(strings.TrimSuffix(strings.TrimPrefix(reads.String(), "^"), "$")) {
		allowed = append(allowed, http.MethodGet+" "+strings.ReplaceAll(path, "[^/]+", "{name}"))
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(allowed, documented); diff != "" {
		t.Errorf("docs/stores.md lists other requests (-allowed +documented):\n%s", diff)
	}
}

// alternatives writes out the groups of a pattern, the innermost first.
func alternatives(pattern string) []string {
	group := regexp.MustCompile(`\(([^()]*)\)`)
	place := group.FindStringSubmatchIndex(pattern)
	if place == nil {
		return []string{pattern}
	}
	inner := strings.Split(pattern[place[2]:place[3]], "|")
	if outer := pattern[:place[0]]; strings.Contains(outer, "(") { // it belongs to one alternative of the group around it
		from := strings.LastIndexAny(outer, "(|") + 1
		to := len(pattern)
		if end := strings.IndexAny(pattern[place[1]:], "|)"); end >= 0 {
			to = place[1] + end
		}
		var written []string
		for _, choice := range inner {
			written = append(written, pattern[from:place[0]]+choice+pattern[place[1]:to])
		}
		return alternatives(pattern[:from] + strings.Join(written, "|") + pattern[to:])
	}
	var all []string
	for _, choice := range inner {
		all = append(all, alternatives(pattern[:place[0]]+choice+pattern[place[1]:])...)
	}
	return all
}
