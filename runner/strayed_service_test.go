package runner_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// TestServiceThatStrays holds a service that says it takes a context to what its trace shows of it.
func TestServiceThatStrays(t *testing.T) {
	t.Parallel()
	type item struct {
		ID     string `json:"id"`
		Source string `json:"source,omitempty"`
		Text   string `json:"text,omitempty"`
	}
	own := []item{{ID: "lunch", Text: "Lunch is at noon."}, {ID: "fee", Text: "A berth for the night costs 60 crowns."}}
	for _, test := range []struct {
		name   string
		pack   func(given []item) []item
		right  bool   // it answers right from what it is given
		strays string // what the error of B's trials says; "": none
		want   string
	}{
		{name: "what is given", pack: func(given []item) []item { return given }, want: "generate/ignored-evidence"},
		{name: "what is given, and the answer is right", pack: func(given []item) []item { return given }, right: true, want: "seam/isolated-parts-pass"},
		{name: "another order", pack: func(given []item) []item { slices.Reverse(given); return given }, want: "generate/ignored-evidence"},
		{name: "ids of its own", pack: func(given []item) []item {
			for i := range given {
				given[i].ID, given[i].Text = fmt.Sprint(i), " "+given[i].Text+"\n"
			}
			return given
		}, want: "generate/ignored-evidence"},
		{name: "no packed", pack: func([]item) []item { return nil }, want: "inconclusive"},
		{name: "its own search", pack: func([]item) []item { return own }, strays: `"fee" was given, and "lunch", "fee" packed`, want: "inconclusive"},
		{name: "other items", pack: func([]item) []item { return own[:1] }, strays: `"fee" was given, and "lunch" packed`, want: "inconclusive"},
		{name: "nothing", pack: func([]item) []item { return []item{} }, strays: `"fee" was given, and nothing packed`, want: "inconclusive"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					fmt.Fprint(w, `{"name":"faq","context":true}`)
					return
				}
				var asked struct {
					ID      string  `json:"request_id"`
					Context *[]item `json:"context"`
				}
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
					t.Error(err)
				}
				trace := map[string]any{"request_id": asked.ID, "answer": "It is 90 crowns.", "packed": own, "candidates": own}
				if asked.Context != nil {
					delete(trace, "candidates")
					delete(trace, "packed")
					if packed := test.pack(slices.Clone(*asked.Context)); packed != nil {
						trace["packed"] = packed
					}
					if test.right {
						trace["answer"] = "It is 60 crowns."
					}
				}
				if err := json.NewEncoder(w).Encode(trace); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(service.Close)
			result := run(t, written(t, fmt.Sprintf(`backends:
  service: {adapter: remote, url: %q, deterministic: true}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - id: c
    query: What does a berth cost for the night?
    evidence: {required: [{source: fee, span: 60 crowns}]}
    claims: [{id: fee, any: [60 crowns]}]
`, service.URL+"/ask")))["c"]
			e := result.Evaluation
			consistent(t, e)
			if got := verdictOf(e); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s\n    %s", got, test.want, explained(e))
			}
			for _, trial := range result.Observations.Trials {
				if trial.Cell != matrix.CellB {
					continue
				}
				switch strayed := trial.Status == matrix.StatusError; {
				case strayed != (test.strays != ""):
					t.Errorf("B is %s (%v)", trial.Status, trial.Error)
				case strayed && (trial.Error.Kind != string(adapters.KindInvalid) || !strings.Contains(trial.Error.Message, test.strays) || !strings.Contains(trial.Error.Message, `capability "context"`)):
					t.Errorf("B's error is %+v, want %q in it", *trial.Error, test.strays)
				}
			}
			if test.strays != "" && !strings.Contains(strings.Join(e.Missing, "\n"), test.strays) {
				t.Errorf("missing %q, want %q in it", e.Missing, test.strays)
			}
		})
	}
}
