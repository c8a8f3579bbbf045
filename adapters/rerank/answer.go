package rerank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// answer is what is read of an answer, in Cohere's shape or as TEI's bare list of results.
type answer struct {
	Model   json.RawMessage `json:"model"`
	Results []item          `json:"results"`
	Usage   struct {
		Prompt json.RawMessage `json:"prompt_tokens"`
		Total  json.RawMessage `json:"total_tokens"`
	} `json:"usage"`
	Meta struct {
		Tokens struct {
			Input json.RawMessage `json:"input_tokens"`
		} `json:"tokens"`
		Warnings []json.RawMessage `json:"warnings"`
	} `json:"meta"`
}

// item is the result for one document.
type item struct {
	Index     json.RawMessage `json:"index"`
	Relevance json.RawMessage `json:"relevance_score"`
	Score     json.RawMessage `json:"score"` // TEI's name
	Truncated json.RawMessage `json:"truncated"`
}

// readAnswer reads an answer. One that is cut off is an [io.ErrUnexpectedEOF]; one without a result is no error here.
func readAnswer(body []byte) (answer, error) {
	var a answer
	dec := json.NewDecoder(bytes.NewReader(body))
	var err error
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		err = dec.Decode(&a.Results)
	} else {
		err = dec.Decode(&a)
	}
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something stands behind the answer")
		}
	}
	return a, err
}

// results checks the results for so many documents, of which the first is number base to the caller. A document without a result is
// left out.
func (a *answer) results(documents, base int) ([]adapters.RerankResult, error) {
	out := make([]adapters.RerankResult, 0, len(a.Results))
	seen := make([]bool, documents)
	for n, item := range a.Results {
		index := modelapi.Tokens(item.Index)
		switch {
		case index == nil:
			return nil, fmt.Errorf("result %d has the index %s, which is none", n+1, shown(item.Index))
		case *index >= documents:
			return nil, fmt.Errorf("a result has the index %d, and %d documents were sent", *index, documents)
		case seen[*index]:
			return nil, fmt.Errorf("two results have the index %d", *index)
		}
		seen[*index] = true
		value := item.Relevance
		if len(value) == 0 {
			value = item.Score
		}
		var score *float64
		if json.Unmarshal(value, &score) != nil || score == nil {
			return nil, fmt.Errorf("the result with the index %d has the score %s, which is no number", *index, shown(value))
		}
		cut := false
		_ = json.Unmarshal(item.Truncated, &cut)                                                          // what is no boolean tells nothing
		out = append(out, adapters.RerankResult{Index: base + *index, Score: *score + 0, Truncated: cut}) // + 0 makes -0 a 0
	}
	return out, nil
}

func shown(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(none)"
	}
	return string(raw)
}

// tokens are those that the model read; nil where that is not told. None at all is not believed.
func (a *answer) tokens() *int {
	for _, told := range []json.RawMessage{a.Usage.Prompt, a.Usage.Total, a.Meta.Tokens.Input} {
		if n := modelapi.Tokens(told); n != nil && *n > 0 {
			return n
		}
	}
	return nil
}

// warnings are what the server says beside the results, and whether one of them is about texts that were cut.
func (a *answer) warnings() (all []string, cut bool) {
	for _, raw := range a.Meta.Warnings {
		w := modelapi.Words(raw)
		if w == "" {
			continue
		}
		all = append(all, w)
		lower := strings.ToLower(w)
		cut = cut || strings.Contains(lower, "truncat") || strings.Contains(lower, "too long")
	}
	return all, cut
}
