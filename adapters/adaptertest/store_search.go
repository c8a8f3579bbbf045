package adaptertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func (s *storeSuite) denseRanking(t *testing.T, store adapters.VectorStore) {
	s.need(t, dense)
	for seed := range uint64(5) {
		query := queryVector(seed)
		if seed == 0 {
			query = s.main[60].Vector // the vector of an item
		}
		response := search(t, store, adapters.SearchRequest{Mode: dense, Vector: query, Limit: all, Exact: s.Capabilities.Exact})
		s.checkAgainst(t, s.bruteForce(query, nil), response)
	}
	hits := search(t, store, adapters.SearchRequest{Mode: dense, Vector: queryVector(1), Limit: 3}).Hits
	for _, hit := range hits {
		i := slices.IndexFunc(s.main, func(item adapters.Item) bool { return item.ID == hit.ID })
		if diff := cmp.Diff(withoutVector(s.main[i]), withoutVector(hit.Item)); diff != "" {
			t.Errorf("hit %q (-want +got):\n%s", hit.ID, diff)
		}
	}
}

func (s *storeSuite) ties(t *testing.T, store adapters.VectorStore) {
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		req.Query = "tied"
		if mode != keyword {
			req.Vector = s.corpus.Items[50].Vector
		}
		first := ids(search(t, store, req).Hits)
		var tied []string
		for n := range tiedItems {
			tied = append(tied, s.corpus.Items[50+37*n].ID)
		}
		slices.Sort(tied)
		if mode != hybrid { // where ranks, not scores, are summed, equal items need not be equal
			if len(first) < tiedItems || !slices.Equal(first[:tiedItems], tied) {
				t.Errorf("%s: the tied items come as %q, want %q", mode, first[:min(len(first), tiedItems)], tied)
			}
		}
		for range 4 {
			if again := ids(search(t, store, req).Hits); !slices.Equal(again, first) {
				t.Fatalf("%s: the same search gives another order (-first +again):\n%s", mode, cmp.Diff(first, again))
			}
		}
	}
}

func (s *storeSuite) limits(t *testing.T, store adapters.VectorStore) {
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		full := ids(search(t, store, req).Hits)
		if len(full) < 11 {
			t.Fatalf("%s: only %d hits", mode, len(full))
		}
		for _, limit := range []int{1, 10, len(full), len(full) + 1, 5000} {
			req.Limit = limit
			if got, want := ids(search(t, store, req).Hits), full[:min(limit, len(full))]; !slices.Equal(got, want) {
				t.Errorf("%s, limit %d (-want +got):\n%s", mode, limit, cmp.Diff(want, got))
			}
		}
	}
}

func (s *storeSuite) keywordRanking(t *testing.T, store adapters.VectorStore) {
	s.need(t, keyword)
	want := []string{s.corpus.Items[40].ID, s.corpus.Items[140].ID}
	slices.Sort(want)
	for _, query := range []string{RareWord, strings.ToUpper(RareWord), "“" + RareWord + "”?"} {
		got := ids(search(t, store, adapters.SearchRequest{Mode: keyword, Query: query, Limit: all}).Hits)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("query %q finds %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"", " ", "?!", "unheardof"} {
		if got := ids(search(t, store, adapters.SearchRequest{Mode: keyword, Query: query, Limit: all}).Hits); len(got) > 0 {
			t.Errorf("query %q finds %q, want nothing", query, got)
		}
	}
	if got := search(t, store, adapters.SearchRequest{Mode: keyword, Query: "Invoices?", Limit: 1}).Received; got != "Invoices?" {
		t.Errorf("the store received %q, want the query as it was sent", got)
	}
}

func (s *storeSuite) hybridRanking(t *testing.T, store adapters.VectorStore) {
	s.need(t, keyword, dense, hybrid)
	rare := s.corpus.Items[140]
	req := adapters.SearchRequest{Mode: hybrid, Query: RareWord, Vector: rare.Vector, Limit: all}
	both := ids(search(t, store, req).Hits)
	if len(both) == 0 || both[0] != rare.ID {
		t.Errorf("the item that both rankings have at the top is not at the top of %q", both[:min(len(both), 3)])
	}
	req.Mode = keyword
	single := ids(search(t, store, req).Hits)
	req.Mode = dense
	single = append(single, ids(search(t, store, req).Hits)...)
	for _, id := range both {
		if !slices.Contains(single, id) {
			t.Errorf("%q is in neither ranking", id)
		}
	}
	if !slices.Contains(both, s.corpus.Items[40].ID) {
		t.Errorf("%q, which has the query's word, is not in the hybrid ranking", s.corpus.Items[40].ID)
	}
	req.Mode, req.Query = hybrid, "unheardof"
	if got := search(t, store, req).Hits; len(got) == 0 || got[0].ID != rare.ID {
		t.Error("a query without a match loses the dense ranking")
	}
}

func (s *storeSuite) exact(t *testing.T, store adapters.VectorStore) {
	if !s.Capabilities.Exact {
		t.Skip("the store cannot be told to be exact")
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		req.Exact = true
		if !search(t, store, req).Exact {
			t.Errorf("%s: an exact search does not say that it was", mode)
		}
	}
}

func (s *storeSuite) threshold(t *testing.T, store adapters.VectorStore) {
	if !s.Capabilities.Threshold {
		t.Skip("the store has no threshold")
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		full := search(t, store, req).Hits
		req.Threshold = full[len(full)/2].Score
		var want []string
		for _, hit := range full {
			if *hit.Score >= *req.Threshold {
				want = append(want, hit.ID)
			}
		}
		if got := ids(search(t, store, req).Hits); !slices.Equal(got, want) {
			t.Errorf("%s (-want +got):\n%s", mode, cmp.Diff(want, got))
		}
		above := *full[0].Score + 1
		req.Threshold = &above
		if got := search(t, store, req).Hits; len(got) > 0 {
			t.Errorf("%s: %d hits above the best score", mode, len(got))
		}
	}
}

func (s *storeSuite) only(t *testing.T, store adapters.VectorStore) {
	if !s.Capabilities.Only {
		t.Skip("a search cannot be restricted to ids")
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		full := search(t, store, req).Hits
		some := []adapters.Hit{full[len(full)-1], full[0], full[len(full)/2]}
		req.Only = append(ids(some), "no such id")
		got := search(t, store, req).Hits
		if want := []string{some[1].ID, some[2].ID, some[0].ID}; !slices.Equal(ids(got), want) {
			t.Errorf("%s: %q, want %q", mode, ids(got), want)
			continue
		}
		for i, hit := range []adapters.Hit{some[1], some[2], some[0]} {
			if *got[i].Score != *hit.Score {
				t.Errorf("%s: the score of %q is %v, and %v in the full ranking", mode, hit.ID, *got[i].Score, *hit.Score)
			}
		}
		req.Only = []string{"no such id"}
		if got := search(t, store, req).Hits; len(got) > 0 {
			t.Errorf("%s: restricted to an id that does not exist, it finds %q", mode, ids(got))
		}
	}
}

func (s *storeSuite) filters(t *testing.T, store adapters.VectorStore) {
	if !s.Capabilities.Filter {
		t.Skip("the store has no filters")
	}
	s.need(t, dense)
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
		{"a value that does not exist", []adapters.Condition{{Field: "tenant", AnyOf: []string{"nobody"}}}},
		{"values are compared whole", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acm"}}}},
		{"values are compared by case", []adapters.Condition{{Field: "tenant", AnyOf: []string{"ACME"}}}},
		{"a field that does not exist", []adapters.Condition{{Field: "no such field", AnyOf: []string{"x"}}}},
		{"not, of a field that does not exist", []adapters.Condition{{Field: "no such field", AnyOf: []string{"x"}, Not: true}}},
		{"no value", []adapters.Condition{{Field: "tenant"}}},
		{"not, of no value", []adapters.Condition{{Field: "tenant", Not: true}}},
		{"an attempt to break out", []adapters.Condition{{Field: "tenant' OR 1=1 --", AnyOf: []string{"') OR 1=1 --"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			query := queryVector(2)
			response := search(t, store, adapters.SearchRequest{Mode: dense, Vector: query, Limit: all, Filter: test.filter, Exact: s.Capabilities.Exact})
			s.checkAgainst(t, s.bruteForce(query, test.filter), response)
			for _, mode := range s.Capabilities.Modes {
				req := s.request(mode)
				req.Filter = test.filter
				for _, hit := range search(t, store, req).Hits {
					if !admitted(hit.Item, test.filter) {
						t.Errorf("%s: %q is not admitted", mode, hit.ID)
					}
				}
			}
		})
	}
}

// strangeQueries must be answered, or refused as an argument, but never be read as syntax.
func (s *storeSuite) strangeQueries(t *testing.T, store adapters.VectorStore) {
	queries := append([]string{
		`"`, `""`, `"unbalanced`, `it's`, `a AND`, `OR`, `NOT x`, `NEAR(a b, 2)`, `text:invoice`, `^invoice`, `invoice*`, `(invoice`, `)`, `{a b}: c`,
		`-invoice`, `+`, `\`, `%`, "a\x00b", "\x00", "\xff\xfe invalid", "\u202einvoice", "'; DROP TABLE item; --", "{{query}}", "🇨🇭",
		strings.Repeat("invoice ", 130_000), strings.Repeat("x", 1<<20), strings.Repeat(`"(`, 10_000),
	}, awkward...)
	for _, query := range queries {
		for _, mode := range s.Capabilities.Modes {
			req := s.request(mode)
			req.Query = query
			response, err := store.Search(t.Context(), req)
			if err != nil && adapters.KindOf(err) != adapters.KindInvalid {
				t.Errorf("%s: %v", summary(req), err)
			}
			checkRanking(t, req, response)
		}
	}
}
