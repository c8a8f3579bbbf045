package weaviate

import (
	"context"
	"math"
	"net/url"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// everything is a condition that holds for every object. A search over fewer objects than the index's cutoff compares all that
// a condition admits, and so becomes exact.
const everything = `{path:["id"],operator:Like,valueText:"*"}`

// comparesAll says whether the server compares all objects of the class once they are all admitted: it has few of them, keeps
// their vectors as they are, and has indexed all.
func (s *store) comparesAll(ctx context.Context, c *class, only int) (bool, error) {
	index := c.index(s.set.Vector)
	if len(index.compressed) > 0 || index.skipped || index.kind != "flat" && index.kind != "hnsw" {
		return false, nil
	}
	list, err := s.tenants(ctx, c)
	if err != nil {
		return false, err
	}
	if index.kind == "hnsw" && (only == 0 || only >= index.cutoff) {
		counts, err := overTenants(ctx, list.active, func(ctx context.Context, tenant string) (int, error) { return s.count(ctx, c, tenant) })
		if err != nil {
			return false, err
		}
		if len(counts) > 0 && slices.Max(counts) >= index.cutoff {
			return false, nil
		}
	}
	queued, err := overTenants(ctx, list.active, func(ctx context.Context, tenant string) (bool, error) { return s.queued(ctx, c, tenant) })
	return err == nil && !slices.Contains(queued, true), err
}

// queued says whether objects wait for the vector index.
func (s *store) queued(ctx context.Context, c *class, tenant string) (bool, error) {
	var shards []struct {
		VectorQueueSize int64 `json:"vectorQueueSize"`
	}
	path := "/schema/" + c.name + "/shards"
	if tenant != "" {
		path += "?tenant=" + url.QueryEscape(tenant)
	}
	if err := s.get(ctx, path, &shards); err != nil {
		return false, err
	}
	for _, shard := range shards {
		if shard.VectorQueueSize > 0 {
			return true, nil
		}
	}
	return false, nil
}

// exhaust ranks by comparing every object here, in flat memory: it reads all of the tenant with its vectors.
func (s *store) exhaust(ctx context.Context, r ranking, tenant string) (part, error) {
	distance := r.class.index(s.set.Vector).distance
	var only map[string]bool
	if r.Only != nil {
		only = map[string]bool{}
		for _, id := range r.Only {
			only[id] = true
		}
	}
	room := min(r.Limit, usualMost)
	var best []scored
	trim := func() {
		slices.SortFunc(best, r.order)
		best = best[:min(len(best), r.Limit)]
	}
	err := s.walk(ctx, r.class, tenant, true, func(o object) error {
		if o.vector == nil || only != nil && !only[o.id] || !s.admits(r.filter.every, o) {
			return nil
		}
		if len(o.vector) != len(r.Vector) {
			return invalid("object %q has a vector of %d dimensions, and the query one of %d", o.id, len(o.vector), len(r.Vector))
		}
		score := fromDistance(distance, between(distance, r.Vector, o.vector))
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return nil
		}
		o.vector = nil
		if r.IDsOnly {
			o.props = nil
		}
		if best = append(best, scored{o, score + 0}); len(best) >= r.Limit+room {
			trim()
		}
		return nil
	})
	trim()
	return part{hits: best}, err
}

// lowerIsBetter says in which direction scores of a distance go: those of cosine and dot are turned round, so that they are the
// similarity.
func lowerIsBetter(distance string) bool { return distance != "cosine" && distance != "dot" }

// fromDistance makes the score of what the server calls distance: 1 - cosine, the negative product, or a distance as it is.
func fromDistance(distance string, d float64) float64 {
	switch distance {
	case "cosine":
		return 1 - d
	case "dot":
		return -d
	}
	return d
}

// between is the distance of two vectors of equal length, as the server defines it.
func between(distance string, a, b []float32) float64 {
	var product, squares, lengthA, lengthB, absolute, differing float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		product += x * y
		lengthA += x * x
		lengthB += y * y
		squares += (x - y) * (x - y)
		absolute += math.Abs(x - y)
		if x != y {
			differing++
		}
	}
	switch distance {
	case "dot":
		return -product
	case "l2-squared":
		return squares
	case "manhattan":
		return absolute
	case "hamming":
		return differing
	}
	if lengthA == 0 || lengthB == 0 {
		return 1
	}
	return 1 - product/math.Sqrt(lengthA*lengthB)
}

// distanceName is the contract's name of a distance.
func distanceName(distance string) string {
	if distance == "l2-squared" {
		return "euclid"
	}
	return distance
}

// checkDimensions compares the query's vector with those that are stored. An empty class takes any.
func (s *store) checkDimensions(ctx context.Context, c *class, vector []float32) error {
	stored, err := s.storedDimensions(ctx, c)
	if err != nil || stored == 0 || stored == len(vector) {
		return err
	}
	name := "the vectors"
	if s.set.Vector != "" {
		name = "vectors " + quote(s.set.Vector)
	}
	return problemf(adapters.KindInvalid, "the query's vector has %d dimensions, and %s of class %q have %d: use the embedder that made them, or set backends.store.vector to another",
		len(vector), name, c.name, stored)
}

// withoutVector is how many objects of a tenant are looked at for one that has a vector.
const withoutVector = 200

// storedDimensions returns how long the vectors are, which no schema says: some are read, once. An empty class has those that
// it declares, or 0.
func (s *store) storedDimensions(ctx context.Context, c *class) (int, error) {
	s.mu.Lock()
	known := s.dimensions
	s.mu.Unlock()
	if known > 0 {
		return known, nil
	}
	list, err := s.tenants(ctx, c)
	if err != nil {
		return 0, err
	}
	for _, tenant := range list.active {
		seen := 0
		err := s.walk(ctx, c, tenant, true, func(o object) error {
			known = len(o.vector)
			if seen++; known > 0 || seen == withoutVector {
				return errEnough
			}
			return nil
		})
		if err != nil && !isEnough(err) {
			return 0, err
		}
		if known > 0 {
			s.mu.Lock()
			s.dimensions = known
			s.mu.Unlock()
			return known, nil
		}
	}
	index := c.index(s.set.Vector)
	if declared := number(index.module["dimensions"]); declared > 0 {
		return declared, nil
	}
	return c.declared().Dimensions, nil
}
