package conformance

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func (s *storeSuite) threshold(t T, store adapters.VectorStore) {
	if !s.Capabilities.Threshold {
		t.Skip("the store has no threshold")
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		response := search(t, store, req)
		full := response.Hits
		better := 1.0
		if response.LowerIsBetter {
			better = -1
		}
		req.Threshold = full[len(full)/2].Score
		var want []string
		for _, hit := range full {
			if better*(*hit.Score-*req.Threshold) >= 0 {
				want = append(want, hit.ID)
			}
		}
		if got := ids(search(t, store, req).Hits); !slices.Equal(got, want) {
			t.Errorf("%s (-want +got):\n%s", mode, cmp.Diff(want, got))
		}
		above := *full[0].Score + better
		req.Threshold = &above
		if got := search(t, store, req).Hits; len(got) > 0 {
			t.Errorf("%s: %d hits above the best score", mode, len(got))
		}
	}
}

// only looks for items by their ids, as one does who asks where a named item stands in a ranking.
func (s *storeSuite) only(t T, store adapters.VectorStore) {
	if !s.Capabilities.Only {
		t.Skip("a search cannot be restricted to ids")
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		full := search(t, store, req).Hits
		some := []adapters.Hit{full[len(full)-1], full[0], full[len(full)/2]}
		want := []adapters.Hit{some[1], some[2], some[0]}
		req.Only = append(ids(some), "no such id")
		s.checkScores(t, mode, want, search(t, store, req).Hits)
		for _, hit := range some {
			req.Only = []string{hit.ID}
			s.checkScores(t, mode, []adapters.Hit{hit}, search(t, store, req).Hits)
		}
		req.Only = []string{"no such id"}
		if got := search(t, store, req).Hits; len(got) > 0 {
			t.Errorf("%s: restricted to an id that does not exist, it finds %q", mode, ids(got))
		}
	}
	s.need(t, dense)
	req := s.request(dense)
	req.Only = []string{s.corpus.Items[vectorless].ID}
	if got := search(t, store, req).Hits; len(got) > 0 && !s.NeedsVectors {
		t.Errorf("dense: it scores %q, which has no vector", ids(got))
	}
	if !s.Capabilities.Filter {
		return
	}
	req.Only = []string{s.corpus.Items[60].ID, s.corpus.Items[61].ID} // of one tenant and of the other
	req.Filter = []adapters.Condition{{Field: "tenant", AnyOf: []string{"globex"}}}
	if got := ids(search(t, store, req).Hits); !slices.Equal(got, req.Only[1:]) {
		t.Errorf("dense: restricted to %q and to a filter, it finds %q, want %q", req.Only, got, req.Only[1:])
	}
}

// checkScores compares hits that are restricted with those of the full ranking.
func (s *storeSuite) checkScores(t T, mode string, want, got []adapters.Hit) {
	t.Helper()
	if s.loose(mode) {
		slices.SortFunc(want, func(a, b adapters.Hit) int { return strings.Compare(a.ID, b.ID) })
		slices.SortFunc(got, func(a, b adapters.Hit) int { return strings.Compare(a.ID, b.ID) })
	}
	if !slices.Equal(ids(got), ids(want)) {
		t.Errorf("%s: %q, want %q", mode, ids(got), ids(want))
		return
	}
	if s.loose(mode) {
		return
	}
	for i, hit := range want {
		if got[i].Score == nil || hit.Score == nil || !s.near(*got[i].Score, *hit.Score) {
			t.Errorf("%s: the score of %q is not that of the full ranking", mode, hit.ID)
		}
	}
}

func (s *storeSuite) idsOnly(t T, store adapters.VectorStore) {
	type place struct {
		ID    string
		Rank  int
		Score float64
	}
	places := func(req adapters.SearchRequest) (list []place) {
		for _, hit := range search(t, store, req).Hits {
			p := place{ID: hit.ID, Rank: hit.Rank}
			if hit.Score != nil {
				p.Score = *hit.Score
			}
			list = append(list, p)
		}
		return list
	}
	for _, mode := range s.Capabilities.Modes {
		req := s.request(mode)
		want := places(req)
		req.IDsOnly = true
		if diff := cmp.Diff(want, places(req)); diff != "" {
			t.Errorf("%s (-with texts +without):\n%s", mode, diff)
		}
	}
}
