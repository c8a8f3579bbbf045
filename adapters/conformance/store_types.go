package conformance

import (
	"errors"

	"github.com/culprit-rag/culprit/adapters"
)

// typedFilters asks for numbers and booleans, and for strings that look like them.
func (s *storeSuite) typedFilters(t T, store adapters.VectorStore) {
	if !s.Capabilities.Filter {
		t.Skip("the store has no filters")
	}
	s.need(t, dense)
	typed := func(field string, values ...string) adapters.Condition {
		return adapters.Condition{Field: field, AnyOf: values, Typed: true}
	}
	for _, test := range []struct {
		name   string
		filter adapters.Condition
	}{
		{"a number", typed("pages", "3")},
		{"zero", typed("pages", "0")},
		{"a number with a fraction, and one below zero", typed("pages", "2.5", "-2")},
		{"a large number", typed("pages", "1500000")},
		{"a number that is not there", typed("pages", "4")},
		{"not a number", adapters.Condition{Field: "pages", AnyOf: []string{"3"}, Not: true, Typed: true}},
		{"a number of a list", typed("sizes", "1.5")},
		{"another number of a list", typed("sizes", "0.25", "0")},
		{"true", typed("signed", "true")},
		{"false", typed("signed", "false")},
		{"not true", adapters.Condition{Field: "signed", AnyOf: []string{"true"}, Not: true, Typed: true}},
		{"a string that looks like a number", adapters.Condition{Field: "edition", AnyOf: []string{"3"}}},
		{"a string that looks like a boolean", adapters.Condition{Field: "edition", AnyOf: []string{"true"}}},
		{"a number of a field that does not exist", typed("no such field", "3")},
	} {
		t.Run(test.name, func(t T) {
			filter := []adapters.Condition{test.filter}
			response := search(t, store, adapters.SearchRequest{Mode: dense, Vector: queryVector(2), Limit: all, Filter: filter, Exact: s.Capabilities.Exact})
			s.checkAgainst(t, s.bruteForce(s.main, queryVector(2), filter), response)
		})
	}
	if !s.Types {
		return
	}
	for _, mixed := range []adapters.Condition{
		{Field: "pages", AnyOf: []string{"3"}},
		{Field: "signed", AnyOf: []string{"true"}},
		{Field: "sizes", AnyOf: []string{"1.5"}},
		typed("edition", "3"), typed("edition", "2.5"), typed("edition", "true"), typed("pages", "true"), typed("signed", "3"),
	} {
		req := adapters.SearchRequest{Mode: dense, Vector: queryVector(2), Limit: all, Filter: []adapters.Condition{mixed}}
		response, err := store.Search(t.Context(), req)
		if err != nil && !errors.Is(err, adapters.ErrInvalid) || len(response.Hits) > 0 {
			t.Errorf("%+v finds %q, %v; a value of another type holds for nothing, or is refused", mixed, ids(response.Hits), err)
		}
	}
}
