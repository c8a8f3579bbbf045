package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// rerank scores a document by the share of the query's words that it holds, in the shape of Cohere or of TEI, the best first.
func (f *Fake) rerank(request FakeRequest) FakeReply {
	var ask struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
		Texts     []string `json:"texts"`
		Truncate  bool     `json:"truncate"`
	}
	if json.Unmarshal(request.Raw, &ask) != nil {
		return FakeError(http.StatusBadRequest, "invalid JSON", "", "")
	}
	documents := ask.Documents
	if f.options.TEI {
		documents = ask.Texts
	}
	switch most := f.options.Batch; {
	case f.options.TEI && ask.Texts == nil:
		return FakeReply{Status: http.StatusUnprocessableEntity, Body: "Failed to deserialize the JSON body into the target type: missing field `texts` at line 1 column 57"}
	case len(documents) == 0:
		return FakeError(http.StatusUnprocessableEntity, "documents must not be empty", "", "documents")
	case !f.options.TEI && ask.Model != f.options.Model:
		return FakeError(http.StatusNotFound, fmt.Sprintf("model %q not found", ask.Model), "", "")
	case most > 0 && len(documents) > most:
		return FakeReply{Status: http.StatusRequestEntityTooLarge, Body: fmt.Sprintf(`{"error": "batch size %d > maximum allowed batch size %d", "error_type": "Validation"}`, len(documents), most)}
	}
	type result struct {
		Index     int      `json:"index"`
		Relevance *float64 `json:"relevance_score,omitempty"`
		Score     *float64 `json:"score,omitempty"`
		Truncated bool     `json:"truncated,omitempty"`
	}
	words, asked := 0, fakeWords(ask.Query)
	results := make([]result, len(documents))
	for i, text := range documents {
		held := fakeWords(text)
		cut := f.options.Context > 0 && len(held) > f.options.Context
		if cut && f.options.TEI && !ask.Truncate {
			return FakeReply{Status: http.StatusRequestEntityTooLarge, Body: fmt.Sprintf("{\"error\": \"Input validation error: `inputs` must have less than %d tokens. Given: %d\", \"error_type\": \"Validation\"}", f.options.Context, len(held))}
		}
		if cut {
			held = held[:f.options.Context]
		}
		words += len(held) + len(asked)
		shared := 0
		for _, word := range asked {
			if slices.Contains(held, word) {
				shared++
			}
		}
		score := float64(shared) / float64(max(len(asked), 1))
		results[i] = result{Index: i, Relevance: &score, Truncated: cut}
		if f.options.TEI {
			results[i] = result{Index: i, Score: &score}
		}
	}
	slices.SortStableFunc(results, func(a, b result) int {
		if f.options.TEI {
			return cmp.Compare(*b.Score, *a.Score)
		}
		return cmp.Compare(*b.Relevance, *a.Relevance)
	})
	var answer any = results
	if !f.options.TEI {
		answer = map[string]any{"id": "rerank-1", "model": f.options.Model, "results": results, "usage": map[string]any{"total_tokens": words}}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return FakeError(http.StatusInternalServerError, err.Error(), "", "")
	}
	return FakeReply{Body: string(body)}
}

func fakeWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" \n?.,", r) })
}
