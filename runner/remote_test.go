package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// What a service tells of its searches is recorded as it is told: several each by itself, one as the retrieval.
func TestRecordSearches(t *testing.T) {
	t.Parallel()
	declared := matrix.Filter{{Field: "tenant", AnyOf: []string{"acme"}}}
	own := matrix.Filter{{Field: "lang", AnyOf: []string{"de", "en"}, Not: true}}
	filters := []adapters.Condition{{Field: "lang", AnyOf: []string{"de", "en"}, Not: true}}
	found := []adapters.TraceItem{{ID: "a"}}
	hits := []matrix.Hit{{Rank: 1, ID: "a"}}
	for _, tt := range []struct {
		name  string
		trace adapters.Trace
		want  matrix.Retrieval
	}{
		{"nothing", adapters.Trace{}, matrix.Retrieval{QueryEffective: "as typed", Filter: declared}},
		{"the query alone", adapters.Trace{QueryEffective: "x"}, matrix.Retrieval{QueryEffective: "x", Filter: declared}},
		{"one", adapters.Trace{Retrievals: []adapters.TraceSearch{{Query: "x", Filters: filters, Candidates: found}}}, matrix.Retrieval{QueryEffective: "x", Filter: own}},
		{"one that tells nothing but what it found", adapters.Trace{Retrievals: []adapters.TraceSearch{{Candidates: found}}}, matrix.Retrieval{QueryEffective: "as typed", Filter: declared}},
		{
			"two, whose order was not told",
			adapters.Trace{Union: true, Retrievals: []adapters.TraceSearch{{Query: "x", Filters: filters, Candidates: found}, {Query: "y"}}},
			matrix.Retrieval{
				QueryEffective: "x\ny", Filter: declared, Merge: matrix.MergedAsTold,
				Searches: []matrix.Searched{{Query: "x", Filter: own, Candidates: hits}, {Query: "y"}},
			},
		},
		{
			"two, in the service's own order",
			adapters.Trace{QueryEffective: "xy", Retrievals: []adapters.TraceSearch{{}, {Candidates: []adapters.TraceItem{}}}},
			matrix.Retrieval{
				QueryEffective: "xy", Filter: declared, Merge: matrix.MergedByService,
				Searches: []matrix.Searched{{}, {Candidates: []matrix.Hit{}}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := matrix.Retrieval{QueryEffective: "as typed", Filter: declared}
			recordSearches(nil, &got, &tt.trace)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
