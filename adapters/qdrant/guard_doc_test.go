package qdrant

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAllowListIsDocumented holds the list of docs/stores.md to the methods that are let through.
func TestAllowListIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- allowed by qdrant")
	_, rest, opened := strings.Cut(rest, "```\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !ok || !opened || !closed {
		t.Fatal("docs/stores.md has no list of what is allowed")
	}
	documented := strings.Fields(block)
	slices.Sort(documented)
	var allowed []string
	for method, read := range reading {
		if read {
			allowed = append(allowed, strings.TrimPrefix(method, "/"))
		}
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(allowed, documented); diff != "" {
		t.Errorf("docs/stores.md lists other methods (-allowed +documented):\n%s", diff)
	}
}
