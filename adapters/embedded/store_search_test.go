package embedded

import (
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

func TestIDsOnlyReadsNoTexts(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir(), `{}`, ports(), nil)
	req := adapters.SearchRequest{Mode: modeKeyword, Query: "port", Limit: 10}
	full, err := s.Search(t.Context(), req)
	if err != nil || len(full.Hits) == 0 {
		t.Fatalf("%d hits, %v", len(full.Hits), err)
	}
	req.IDsOnly = true
	bare, err := s.Search(t.Context(), req)
	if err != nil || len(bare.Hits) != len(full.Hits) {
		t.Fatalf("%d hits, %v, want %d", len(bare.Hits), err, len(full.Hits))
	}
	for i, hit := range bare.Hits {
		if hit.ID != full.Hits[i].ID || hit.Text != "" || full.Hits[i].Text == "" {
			t.Errorf("hit %d is %+v", i, hit)
		}
	}
}

// Documents have no types, so a condition finds the text that a number is written as, whether it is Typed or not.
func TestTypedConditionComparesTexts(t *testing.T) {
	t.Parallel()
	docs := ports()[:3]
	for i, pages := range []string{"3", "3.0", "30"} {
		docs[i].Metadata = map[string][]string{"pages": {pages}}
	}
	s := mustOpen(t, t.TempDir(), `{}`, docs, nil)
	for _, typed := range []bool{false, true} {
		response, err := s.Search(t.Context(), adapters.SearchRequest{
			Mode: modeKeyword, Query: "port", Limit: 10, Filter: []adapters.Condition{{Field: "pages", AnyOf: []string{"3"}, Typed: typed}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, hit := range response.Hits {
			got = append(got, hit.ID)
		}
		if !slices.Equal(got, []string{docs[0].ID}) {
			t.Errorf("typed %t finds %q, want %q", typed, got, docs[0].ID)
		}
	}
}
