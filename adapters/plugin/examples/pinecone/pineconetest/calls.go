package pineconetest

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The limits of Pinecone's documentation.
const (
	mostHits    = 10_000
	mostFetched = 1000
	mostListed  = 100
)

// records returns copies of those of a namespace, by id.
func (s *Server) records(namespace string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.namespaces[namespace]
	var records []Record
	for _, id := range slices.Sorted(maps.Keys(held)) {
		records = append(records, held[id])
	}
	return records
}

func (s *Server) query(text []byte) (any, error) {
	var req struct {
		Namespace       string         `json:"namespace"`
		TopK            int            `json:"top_k"`
		Filter          map[string]any `json:"filter"`
		IncludeValues   bool           `json:"include_values"`
		IncludeMetadata bool           `json:"include_metadata"`
		Vector          []float32      `json:"vector"`
	}
	if err := json.Unmarshal(text, &req); err != nil {
		return nil, err
	}
	if req.TopK < 1 || req.TopK > mostHits || len(req.Vector) != Dimensions {
		return nil, status.Errorf(codes.InvalidArgument, "top_k %d, a vector of %d", req.TopK, len(req.Vector))
	}
	type match struct {
		ID    string  `json:"id"`
		Score float32 `json:"score"`
	}
	var matches []match
	for _, r := range s.records(req.Namespace) {
		admitted, err := admits(r.Metadata, req.Filter)
		if err != nil {
			return nil, err
		}
		if admitted {
			matches = append(matches, match{r.ID, score(or(s.options.Metric, "cosine"), req.Vector, r.Values)})
		}
	}
	slices.Reverse(matches) // equal scores come in no order that can be relied on
	slices.SortStableFunc(matches, func(a, b match) int {
		if s.options.Metric == "euclidean" {
			a, b = b, a
		}
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return map[string]any{"matches": matches[:min(req.TopK, len(matches))], "namespace": req.Namespace}, nil
}

func score(metric string, a, b []float32) float32 {
	var product, lengths, square float64
	var lengthA, lengthB float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		product += x * y
		lengthA += x * x
		lengthB += y * y
		square += (x - y) * (x - y)
	}
	lengths = math.Sqrt(lengthA * lengthB)
	switch metric {
	case "euclidean":
		return float32(square)
	case "dotproduct":
		return float32(product)
	}
	return float32(product / lengths)
}

// admits reads a filter as Pinecone's documentation describes it: an operator it does not know is refused.
func admits(metadata, filter map[string]any) (bool, error) {
	for key, wanted := range filter {
		holds := true
		switch key {
		case "$and", "$or":
			parts, _ := wanted.([]any)
			holds = key == "$and"
			for _, part := range parts {
				one, is := part.(map[string]any)
				if !is {
					return false, status.Error(codes.InvalidArgument, key+" takes a list of filters")
				}
				admitted, err := admits(metadata, one)
				if err != nil {
					return false, err
				}
				if key == "$and" {
					holds = holds && admitted
				} else {
					holds = holds || admitted
				}
			}
		default:
			operators, is := wanted.(map[string]any)
			if !is {
				return false, status.Errorf(codes.InvalidArgument, "the condition on %s is no object", key)
			}
			for operator, operand := range operators {
				admitted, err := compared(metadata, key, operator, operand)
				if err != nil {
					return false, err
				}
				holds = holds && admitted
			}
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

func compared(metadata map[string]any, key, operator string, operand any) (bool, error) {
	stored, there := metadata[key]
	values := []any{stored}
	if list, is := stored.([]any); is {
		values = list
	}
	list, isList := operand.([]any)
	switch operator {
	case "$exists":
		return there == (operand == true), nil
	case "$eq":
		return there && slices.Contains(values, operand), nil
	case "$in", "$nin":
		if !isList || slices.ContainsFunc(list, func(v any) bool { _, is := v.(bool); return is && operator == "$in" }) {
			return false, status.Error(codes.InvalidArgument, operator+" takes a list of strings or numbers")
		}
		found := there && slices.ContainsFunc(values, func(v any) bool { return slices.Contains(list, v) })
		return found == (operator == "$in") && (there || operator == "$in"), nil
	}
	return false, status.Error(codes.InvalidArgument, "there is no operator "+operator)
}

func (s *Server) fetch(text []byte) (any, error) {
	var req struct {
		IDs       []string `json:"ids"`
		Namespace string   `json:"namespace"`
	}
	if err := json.Unmarshal(text, &req); err != nil {
		return nil, err
	}
	if len(req.IDs) == 0 || len(req.IDs) > mostFetched {
		return nil, status.Errorf(codes.InvalidArgument, "%d ids", len(req.IDs))
	}
	vectors := map[string]Record{}
	for _, r := range s.records(req.Namespace) {
		if slices.Contains(req.IDs, r.ID) {
			vectors[r.ID] = r
		}
	}
	return map[string]any{"vectors": vectors, "namespace": req.Namespace}, nil
}

func (s *Server) list(text []byte) (any, error) {
	var req struct {
		Limit     int    `json:"limit"`
		Token     string `json:"pagination_token"`
		Namespace string `json:"namespace"`
	}
	if err := json.Unmarshal(text, &req); err != nil {
		return nil, err
	}
	if s.options.Pods {
		return nil, status.Error(codes.Unimplemented, "This operation is supported for serverless indexes only")
	}
	if req.Limit < 1 || req.Limit > mostListed {
		return nil, status.Errorf(codes.InvalidArgument, "limit %d", req.Limit)
	}
	listed := []map[string]string{}
	after, next := "", ""
	if req.Token != "" {
		var err error
		if after, err = strconv.Unquote(req.Token); err != nil {
			return nil, status.Error(codes.InvalidArgument, "no such token")
		}
	}
	for _, r := range s.records(req.Namespace) {
		if req.Token != "" && r.ID <= after {
			continue
		}
		if len(listed) == req.Limit {
			next = strconv.Quote(listed[len(listed)-1]["id"])
			break
		}
		listed = append(listed, map[string]string{"id": r.ID})
	}
	answer := map[string]any{"vectors": listed, "namespace": req.Namespace}
	if next != "" {
		answer["pagination"] = map[string]string{"next": next}
	}
	return answer, nil
}

func (s *Server) stats([]byte) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespaces := map[string]any{}
	total := 0
	for name, records := range s.namespaces {
		known := max(0, len(records)-s.options.Lag)
		namespaces[name] = map[string]int{"vector_count": known}
		total += known
	}
	return map[string]any{"namespaces": namespaces, "dimension": Dimensions, "total_vector_count": total}, nil
}
