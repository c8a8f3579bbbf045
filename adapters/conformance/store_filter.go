package conformance

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func (s *storeSuite) filters(t T, store adapters.VectorStore) {
	if !s.Capabilities.Filter {
		t.Skip("the store has no filters")
	}
	s.need(t, dense)
	var every []string
	for _, item := range s.main {
		every = append(every, item.ID)
	}
	for _, test := range []struct {
		name   string
		filter []adapters.Condition
	}{
		{"one value", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}}},
		{"any of two values", []adapters.Condition{{Field: "tag", AnyOf: []string{"blue", "größe"}}}},
		{"not", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}, Not: true}}},
		{"not any of", []adapters.Condition{{Field: "tag", AnyOf: []string{"red", "blue"}, Not: true}}},
		{"two conditions", []adapters.Condition{{Field: "tenant", AnyOf: []string{"globex"}}, {Field: "revision", AnyOf: []string{"2026-01", "2026-02"}}}},
		{"contradiction", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}, {Field: "tenant", AnyOf: []string{"globex"}}}},
		{"a value of one list and no other", []adapters.Condition{{Field: "access", AnyOf: []string{"employees"}}}},
		{"an awkward value", []adapters.Condition{{Field: "access", AnyOf: []string{"Board: \"A\""}}}},
		{"not, of a list that may be empty", []adapters.Condition{{Field: "access", AnyOf: []string{"managers"}, Not: true}}},
		{"source", []adapters.Condition{{Field: "source", AnyOf: []string{"source-3", "source-7"}}}},
		{"not source", []adapters.Condition{{Field: "source", AnyOf: []string{"source-3"}, Not: true}}},
		{"id", []adapters.Condition{{Field: "id", AnyOf: []string{s.main[3].ID, s.main[9].ID}}}},
		{"not id", []adapters.Condition{{Field: "id", AnyOf: []string{s.main[3].ID}, Not: true}}},
		{"many ids", []adapters.Condition{{Field: "id", AnyOf: every}}},
		{"an id that cannot exist", []adapters.Condition{{Field: "id", AnyOf: []string{"no such id"}}}},
		{"not an id that cannot exist", []adapters.Condition{{Field: "id", AnyOf: []string{"no such id"}, Not: true}}},
		{"a value that does not exist", []adapters.Condition{{Field: "tenant", AnyOf: []string{"nobody"}}}},
		{"values are compared whole", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acm"}}}},
		{"values are compared by case", []adapters.Condition{{Field: "tenant", AnyOf: []string{"ACME"}}}},
		{"a field that does not exist", []adapters.Condition{{Field: "no such field", AnyOf: []string{"x"}}}},
		{"not, of a field that does not exist", []adapters.Condition{{Field: "no such field", AnyOf: []string{"x"}, Not: true}}},
		{"no value", []adapters.Condition{{Field: "tenant"}}},
		{"not, of no value", []adapters.Condition{{Field: "tenant", Not: true}}},
		{"an attempt to break out", []adapters.Condition{{Field: "tenant' OR 1=1 --", AnyOf: []string{"') OR 1=1 --"}}}},
	} {
		t.Run(test.name, func(t T) {
			query := queryVector(2)
			response := search(t, store, adapters.SearchRequest{Mode: dense, Vector: query, Limit: all, Filter: test.filter, Exact: s.Capabilities.Exact})
			s.checkAgainst(t, s.bruteForce(s.main, query, test.filter), response)
			for _, mode := range s.Capabilities.Modes {
				req := s.request(mode)
				req.Filter = test.filter
				s.checkAdmitted(t, mode, test.filter, search(t, store, req).Hits)
			}
		})
	}
}

// checkAdmitted asks the corpus, and not the hits, what they are.
func (s *storeSuite) checkAdmitted(t T, mode string, filter []adapters.Condition, hits []adapters.Hit) {
	t.Helper()
	for _, hit := range hits {
		i := slices.IndexFunc(s.main, func(item adapters.Item) bool { return item.ID == hit.ID })
		if i < 0 || !s.admitted(s.main[i], filter) {
			t.Errorf("%s: %q is not admitted by %v", mode, hit.ID, filter)
		}
	}
}

// tenants holds a collection that several parties share apart by a filter: all that is found without one falls into their
// parts, without a rest and without an overlap.
func (s *storeSuite) tenants(t T, store adapters.VectorStore) {
	if !s.Capabilities.Filter {
		t.Skip("the store has no filters")
	}
	parts := [][]adapters.Condition{
		{{Field: "tenant", AnyOf: []string{"acme"}}},
		{{Field: "tenant", AnyOf: []string{"globex"}}},
		{{Field: "tenant", AnyOf: []string{"acme", "globex"}, Not: true}}, // nobody's, since the field is not there
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		req.IDsOnly = true
		want := ids(search(t, store, req).Hits)
		var got []string
		for _, part := range parts {
			req.Filter = part
			hits := search(t, store, req).Hits
			s.checkAdmitted(t, mode, part, hits)
			got = append(got, ids(hits)...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the parts are not the whole (-whole +parts):\n%s", mode, cmp.Diff(want, got))
		}
		req.Filter = []adapters.Condition{{Field: "tenant", AnyOf: []string{"nobody"}}}
		if hits := search(t, store, req).Hits; len(hits) > 0 {
			t.Errorf("%s: a tenant that does not exist sees %q", mode, ids(hits))
		}
	}
}
