package runner_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// berths is a service that answers with the first item of its context, and finds what a test lets it find.
type berths struct {
	effective string // the query that it says it searched for
	found     []string
}

func berthText(id string) string {
	return map[string]string{
		"fee": "The mooring fee for one night is 60 crowns.", "crane-fee": "The crane fee for one lift is 300 crowns.", "lunch": "Lunch is served at noon.",
	}[id]
}

func (h berths) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		fmt.Fprint(w, `{"context":true,"retrieval":true}`)
		return
	}
	type item struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	var asked struct {
		Query   string `json:"query"`
		Context []item `json:"context"`
	}
	if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var candidates []item
	for _, id := range h.found {
		candidates = append(candidates, item{id, berthText(id)})
	}
	packed := candidates[:1]
	if asked.Context != nil {
		packed = asked.Context
	}
	answer, prompt := "I don't know.", asked.Query
	if len(packed) > 0 {
		answer, prompt = packed[0].Text, packed[0].Text+"\n"+prompt
	}
	trace := map[string]any{
		"query_effective": h.effective, "candidates": candidates, "packed": packed, "answer": answer, "finish_reason": "stop",
		"prompt": []map[string]string{{"role": "user", "text": prompt}},
	}
	if err := json.NewEncoder(w).Encode(trace); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// TestServiceThatRewrites holds the query that a service says it searched for against the question as typed, in the store. Where its
// search is not the declared one, nothing is said of why it misses what is stored.
func TestServiceThatRewrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		service berths
		want    string
	}{
		{"to another question", berths{"crane lift", []string{"crane-fee"}}, "retrieve/query-altered"},
		{"not at all", berths{"What is the mooring fee for one night?", []string{"fee", "crane-fee"}}, "pass"},
		{"and tells nothing of it", berths{"", []string{"crane-fee"}}, "inconclusive"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := httptest.NewServer(test.service)
			t.Cleanup(service.Close)
			result := run(t, written(t, fmt.Sprintf(`backends:
  service: {adapter: remote, url: %q, deterministic: true}
  store:
    adapter: embedded
    documents:
      - {id: fee, text: %s}
      - {id: crane-fee, text: %s}
      - {id: lunch, text: %s}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 1}}
runs: {perturbations: none}
cases:
  - id: c
    query: What is the mooring fee for one night?
    evidence: {required: [{source: fee, span: 60 crowns}]}
    claims: [{id: fee, any: [60 crowns]}]
`, service.URL+"/ask", berthText("fee"), berthText("crane-fee"), berthText("lunch"))))["c"]
			e := result.Evaluation
			consistent(t, e)
			if got := verdictOf(e); got != test.want {
				t.Errorf("got %s, want %s\n    %s", got, test.want, explained(e))
			}
		})
	}
}
