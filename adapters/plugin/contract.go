package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// ranking says how a ranking breaks the contract, if it does.
func ranking(req adapters.SearchRequest, response adapters.SearchResponse) error {
	hits := response.Hits
	if len(hits) > req.Limit {
		return fmt.Errorf("%d hits for a limit of %d", len(hits), req.Limit)
	}
	if req.Exact && !response.Exact {
		return errors.New("it declares exact searches, and answers one without saying that it is exact")
	}
	if response.Cap < 0 || response.Cap >= req.Limit && response.Cap != 0 {
		return fmt.Errorf("it caps a limit of %d at %d", req.Limit, response.Cap)
	}
	seen := make(map[string]bool, len(hits))
	for i, hit := range hits {
		switch {
		case hit.ID == "":
			return fmt.Errorf("hit %d has no id", i+1)
		case seen[hit.ID]:
			return fmt.Errorf("the item %q is ranked twice", hit.ID)
		case hit.Rank != i+1:
			return fmt.Errorf("hit %d has the rank %d", i+1, hit.Rank)
		case hit.Score != nil && (math.IsNaN(*hit.Score) || math.IsInf(*hit.Score, 0)):
			return fmt.Errorf("the item %q has the score %v", hit.ID, *hit.Score)
		case len(req.Only) > 0 && !slices.Contains(req.Only, hit.ID):
			return fmt.Errorf("the item %q is none of those that the search was restricted to", hit.ID)
		}
		seen[hit.ID] = true
		if i > 0 && !inOrder(hits[i-1], hit, response.LowerIsBetter) {
			return fmt.Errorf("rank %d (%q, score %v) does not come before rank %d (%q, score %v); equal scores are ordered by id",
				i, hits[i-1].ID, *hits[i-1].Score, i+1, hit.ID, *hit.Score)
		}
	}
	return nil
}

// inOrder holds where a may stand before b.
func inOrder(a, b adapters.Hit, lowerIsBetter bool) bool {
	if a.Score == nil || b.Score == nil {
		return true
	}
	order := cmp.Compare(*b.Score, *a.Score)
	if lowerIsBetter {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(a.ID, b.ID)) < 0
}

// fetched says how the items for ids break the contract, if they do.
func fetched(ids []string, items []adapters.Item) error {
	next := 0
	for _, item := range items {
		i := slices.Index(ids[next:], item.ID)
		if i < 0 {
			return fmt.Errorf("the item %q was not asked for, or not in this place", item.ID)
		}
		next += i + 1
	}
	return nil
}

// visited are the items of a scan. It keeps eight bytes for each, so that two of a million are mistaken for one by a chance of
// less than one in ten million.
type visited struct {
	seed maphash.Seed
	ids  map[uint64]struct{}
	n    int
}

func newVisited() *visited { return &visited{seed: maphash.MakeSeed(), ids: map[uint64]struct{}{}} }

func (v *visited) add(id string) error {
	if id == "" {
		return fmt.Errorf("item %d of the scan has no id", v.n+1)
	}
	sum := maphash.String(v.seed, id)
	if _, twice := v.ids[sum]; twice {
		return fmt.Errorf("the item %q is scanned twice", id)
	}
	v.ids[sum] = struct{}{}
	v.n++
	return nil
}

// embedded says how vectors break the contract, if they do.
func embedded(n int, response adapters.EmbedResponse) error {
	if len(response.Vectors) != n {
		return fmt.Errorf("%d vectors for %d texts", len(response.Vectors), n)
	}
	for i, vector := range response.Vectors {
		if len(vector) == 0 || len(vector) != len(response.Vectors[0]) {
			return fmt.Errorf("vector %d has %d dimensions, vector 0 has %d", i, len(vector), len(response.Vectors[0]))
		}
		for _, x := range vector {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("vector %d holds %v", i, f)
			}
		}
	}
	for i, tokens := range response.Truncated {
		if i < 0 || i >= n || tokens < 0 {
			return fmt.Errorf("text %d of %d is said to be read to token %d", i, n, tokens)
		}
	}
	return counted(response.InputTokens)
}

// generated says how a generation breaks the contract, if it does.
func generated(response adapters.GenerateResponse) error {
	if response.FinishReason == "" {
		return errors.New("the generation has no finish reason")
	}
	if response.WireTime < 0 {
		return fmt.Errorf("the generation took %v", response.WireTime)
	}
	return counted(response.InputTokens, response.OutputTokens, response.CachedInputTokens, response.ReasoningTokens)
}

// reranked says how scores break the contract, if they do.
func reranked(n int, response adapters.RerankResponse) error {
	seen := make(map[int]bool, len(response.Results))
	for _, result := range response.Results {
		switch {
		case result.Index < 0 || result.Index >= n:
			return fmt.Errorf("a score for document %d of %d", result.Index, n)
		case seen[result.Index]:
			return fmt.Errorf("two scores for document %d", result.Index)
		case math.IsNaN(result.Score) || math.IsInf(result.Score, 0):
			return fmt.Errorf("document %d has the score %v", result.Index, result.Score)
		}
		seen[result.Index] = true
	}
	return counted(response.InputTokens)
}

func counted(tokens ...*int) error {
	for _, n := range tokens {
		if n != nil && *n < 0 {
			return fmt.Errorf("it counts %d tokens", *n)
		}
	}
	return nil
}
