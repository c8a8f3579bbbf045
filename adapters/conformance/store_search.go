package conformance

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func (s *storeSuite) denseRanking(t T, store adapters.VectorStore) {
	s.need(t, dense)
	for seed := range uint64(5) {
		query := queryVector(seed)
		if seed == 0 {
			query = s.main[60].Vector // the vector of an item
		}
		response := search(t, store, adapters.SearchRequest{Mode: dense, Vector: query, Limit: all, Exact: s.Capabilities.Exact})
		s.checkAgainst(t, s.bruteForce(s.main, query, nil), response)
	}
	hits := search(t, store, adapters.SearchRequest{Mode: dense, Vector: queryVector(1), Limit: 3}).Hits
	for _, hit := range hits {
		i := slices.IndexFunc(s.main, func(item adapters.Item) bool { return item.ID == hit.ID })
		if i < 0 {
			t.Fatalf("hit %q is not in the collection", hit.ID)
		}
		if diff := s.diffItems([]adapters.Item{withoutVector(s.main[i])}, []adapters.Item{withoutVector(hit.Item)}); diff != "" {
			t.Errorf("hit %q (-want +got):\n%s", hit.ID, diff)
		}
	}
}

func (s *storeSuite) ties(t T, store adapters.VectorStore) {
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

func (s *storeSuite) limits(t T, store adapters.VectorStore) {
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		full := ids(search(t, store, req).Hits)
		if len(full) < 11 {
			t.Fatalf("%s: only %d hits", mode, len(full))
		}
		for _, limit := range []int{1, 10, len(full), len(full) + 1, 5000, 1_000_000} {
			req.Limit = limit
			got, want := ids(search(t, store, req).Hits), full[:min(limit, len(full))]
			if s.loose(mode) {
				if len(got) != len(want) {
					t.Errorf("%s, limit %d: %d hits, want %d", mode, limit, len(got), len(want))
				}
				continue
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, limit %d (-want +got):\n%s", mode, limit, cmp.Diff(want, got))
			}
		}
	}
}

func (s *storeSuite) keywordRanking(t T, store adapters.VectorStore) {
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

func (s *storeSuite) hybridRanking(t T, store adapters.VectorStore) {
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

func (s *storeSuite) exact(t T, store adapters.VectorStore) {
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

// strangeQueries must be answered, or refused as an argument, but never be read as syntax.
func (s *storeSuite) strangeQueries(t T, store adapters.VectorStore) {
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
