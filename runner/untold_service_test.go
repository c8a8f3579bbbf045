package runner_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// TestServiceThatTellsLittle holds what is said of a service that takes no context to what its answers tell.
func TestServiceThatTellsLittle(t *testing.T) {
	t.Parallel()
	const right, wrong, gold, lunch = "It is 60 crowns.", "It is 90 crowns.", "A berth for the night costs 60 crowns, all in.", "Lunch is at noon."
	for _, test := range []struct {
		name, answers, response string
		status                  int
		want                    string
		inContext               matrix.Answer
		story                   string
	}{
		{name: "the answer alone", answers: fmt.Sprintf(`{"a":%q}`, right), response: "{answer: .a}", want: "pass", inContext: matrix.Unknown, story: "whether the evidence reached the prompt was not seen"},
		{name: "a wrong answer alone", answers: fmt.Sprintf(`{"a":%q}`, wrong), response: "{answer: .a}", want: "inconclusive", inContext: matrix.Unknown, story: "does not decide"},
		{name: "texts alone", answers: fmt.Sprintf(`{"a":%q,"texts":[%q]}`, right, gold), response: "{answer: .a, packed: .texts}", want: "pass", inContext: matrix.Yes, story: "in the context that the service tells"},
		{name: "texts without a name", answers: fmt.Sprintf(`{"a":%q,"texts":[%q,%q]}`, right, lunch, gold), response: "{answer: .a, packed: [.texts[] | {text: .}], candidates: [.texts[] | {text: .}]}", want: "pass", inContext: matrix.Yes, story: "in the context that the service tells"},
		{name: "the text of another item", answers: fmt.Sprintf(`{"a":%q,"texts":[%q]}`, right, lunch), response: "{answer: .a, packed: .texts}", want: "pass/without-evidence", inContext: matrix.No, story: "or took it from another item"},
		{name: "a wrong answer with the text", answers: fmt.Sprintf(`{"a":%q,"texts":[%q]}`, wrong, gold), response: "{answer: .a, packed: .texts}", want: "inconclusive", inContext: matrix.Yes, story: "does not decide"},
		{name: "a mapping of another key", answers: fmt.Sprintf(`{"a":%q,"texts":[%q]}`, right, gold), response: "{answer: .a, packd: .texts}", want: "environment", inContext: matrix.Unknown, story: "no stage is blamed"},
		{name: "an error", answers: `{}`, status: http.StatusUnprocessableEntity, response: "{answer: .a}", want: "environment", inContext: matrix.Unknown, story: "no stage is blamed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.WriteHeader(max(test.status, http.StatusOK))
				fmt.Fprint(w, test.answers)
			}))
			t.Cleanup(service.Close)
			result := run(t, written(t, fmt.Sprintf(`backends:
  service: {adapter: remote, url: %q, deterministic: true, map: {response: %q}}
  store:
    adapter: embedded
    documents:
      - {id: fee, text: What a berth costs for the night is 60 crowns.}
      - {id: lunch, text: Lunch is at noon.}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 1}}
cases:
  - id: c
    query: What does a berth cost for the night?
    evidence: {required: [{source: fee, span: 60 crowns}]}
    claims: [{id: fee, any: [60 crowns]}]
`, service.URL+"/ask", test.response)))["c"]
			e := result.Evaluation
			consistent(t, e)
			if got := verdictOf(e); got != test.want || !strings.Contains(e.Story, test.story) {
				t.Errorf("got %s, %q, want %s, %q\n    %s", got, e.Story, test.want, test.story, explained(e))
			}
			i := slices.IndexFunc(e.Checks, func(c verdict.Check) bool { return c.Name == "gold_in_context" })
			if i < 0 || e.Checks[i].Result != test.inContext {
				t.Errorf("checks %+v, want gold_in_context %s", e.Checks, test.inContext)
			}
			for _, s := range e.Stages {
				if s.Stage == verdict.StagePrompt && s.State != verdict.Unobserved {
					t.Errorf("the stage prompt is %s (%s), which nobody saw", s.State, s.Tested)
				}
			}
		})
	}
}
