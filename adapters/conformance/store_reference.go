package conformance

import (
	"cmp"
	"math"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// reference is the ranking that brute force gives.
type reference struct {
	id    string
	score float64
}

// bruteForce ranks those of the items that have a vector and that the conditions admit.
func (s *storeSuite) bruteForce(items []adapters.Item, query []float32, filter []adapters.Condition) []reference {
	var ranking []reference
	for _, item := range items {
		if item.Vector != nil && s.admitted(item, filter) {
			ranking = append(ranking, reference{item.ID, s.Score(compare(s.Distance, query, item.Vector))})
		}
	}
	slices.SortFunc(ranking, func(a, b reference) int {
		return cmp.Or(s.worse(a.score, b.score), cmp.Compare(a.id, b.id))
	})
	return ranking
}

// worse is positive where a is the worse score of a dense search.
func (s *storeSuite) worse(a, b float64) int {
	if s.LowerIsBetter {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// compare is what a distance says of two vectors: a similarity or a length, as its name says.
func compare(distance string, a, b []float32) float64 {
	sum := 0.0
	switch distance {
	case "euclid":
		for i := range a {
			sum += math.Pow(float64(a[i])-float64(b[i]), 2)
		}
		return math.Sqrt(sum)
	case "manhattan":
		for i := range a {
			sum += math.Abs(float64(a[i]) - float64(b[i]))
		}
		return sum
	case "dot":
		return dot(a, b)
	}
	return cosine(a, b)
}

func cosine(a, b []float32) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// admitted is the meaning of a filter.
func (s *storeSuite) admitted(item adapters.Item, filter []adapters.Condition) bool {
	for _, c := range filter {
		var values []string
		switch c.Field {
		case "id":
			values = []string{item.ID}
		case "source":
			values = present(item.Source)
		case "revision":
			values = present(item.Revision)
		case "access":
			values = item.Access
		default:
			if !s.Types || c.Typed == (FieldKind(c.Field) != KindString) {
				values = item.Metadata[c.Field]
			}
		}
		holds := slices.ContainsFunc(values, func(v string) bool { return slices.Contains(c.AnyOf, v) })
		if holds == c.Not {
			return false
		}
	}
	return true
}

func present(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// checkRanking holds for every ranking: no more than asked for, ranks from 1, none twice, best first, ties by id, no number
// that is not one.
func checkRanking(t T, req adapters.SearchRequest, response adapters.SearchResponse) {
	t.Helper()
	if len(response.Hits) > req.Limit {
		t.Errorf("Search(%s) returned %d hits", summary(req), len(response.Hits))
	}
	if response.Cap != 0 && (response.Cap >= req.Limit || response.Cap < len(response.Hits)) {
		t.Errorf("Search(%s) returned %d hits and says that the store never returns more than %d", summary(req), len(response.Hits), response.Cap)
	}
	seen := map[string]bool{}
	for i, hit := range response.Hits {
		if hit.Rank != i+1 {
			t.Errorf("hit %d has rank %d", i, hit.Rank)
		}
		if seen[hit.ID] {
			t.Errorf("hit %d is %q again", i, hit.ID)
		}
		seen[hit.ID] = true
		if hit.Score == nil {
			continue
		}
		if score := *hit.Score; math.IsNaN(score) || math.IsInf(score, 0) || score == 0 && math.Signbit(score) {
			t.Errorf("hit %q has score %v", hit.ID, score)
		}
		if i == 0 || response.Hits[i-1].Score == nil {
			continue
		}
		before := response.Hits[i-1]
		better := cmp.Compare(*before.Score, *hit.Score)
		if response.LowerIsBetter {
			better = -better
		}
		if better < 0 || better == 0 && before.ID > hit.ID {
			t.Errorf("%q (%v) is ranked before %q (%v)", before.ID, *before.Score, hit.ID, *hit.Score)
		}
	}
}

// checkAgainst compares a dense ranking with brute force. Items may change places only within the tolerance.
func (s *storeSuite) checkAgainst(t T, want []reference, response adapters.SearchResponse) {
	t.Helper()
	if len(response.Hits) != len(want) {
		t.Errorf("%d hits, want %d", len(response.Hits), len(want))
		return
	}
	if len(want) > 0 && response.LowerIsBetter != s.LowerIsBetter {
		t.Errorf("lower is better: %t, want %t", response.LowerIsBetter, s.LowerIsBetter)
	}
	exact := map[string]float64{}
	for _, r := range want {
		exact[r.id] = r.score
	}
	for i, hit := range response.Hits {
		score, ok := exact[hit.ID]
		if !ok {
			t.Errorf("hit %q does not belong in the ranking", hit.ID)
			continue
		}
		if !s.near(score, want[i].score) {
			t.Errorf("rank %d is %q, want %q", i+1, hit.ID, want[i].id)
		}
		if hit.Score == nil {
			t.Errorf("hit %q has no score", hit.ID)
		} else if !s.near(*hit.Score, score) {
			t.Errorf("hit %q has score %v, want %v", hit.ID, *hit.Score, score)
		}
	}
}

func (s *storeSuite) near(got, want float64) bool {
	return math.Abs(got-want) <= s.Tolerance*max(1, math.Abs(want))
}
