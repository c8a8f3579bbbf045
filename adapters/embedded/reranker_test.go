package embedded

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func TestRerankerSwitches(t *testing.T) {
	t.Parallel()
	// Content words of the query: seal, torque, pump. The documents hold 1, 3, 0 and 2 of them.
	const query = "What is the seal torque of the pump?"
	documents := []string{
		"The pump is blue.",
		"The seal torque of all pumps is 18 Nm, measured dry.",
		"Lunch is at noon.",
		"Order seals and a pump from Oslo.",
	}
	third := 1.0 / 3
	for _, tt := range []struct {
		name, settings string
		want           []adapters.RerankResult
	}{
		{"share of the query's words", `{}`, []adapters.RerankResult{hit(1, 1), hit(3, 2*third), hit(0, third), hit(2, 0)}},
		{"invert", `{"invert": true}`, []adapters.RerankResult{hit(2, 1), hit(0, 1-third), hit(3, 1-2*third), hit(1, 0)}},
		{"max_words", `{"max_words": 2}`, []adapters.RerankResult{hit(0, third), hit(1, third), hit(3, third), hit(2, 0)}},
		{"max_words, told", `{"max_words": 4, "reports_truncation": true}`, []adapters.RerankResult{cutHit(1, 2*third), hit(0, third), cutHit(3, third), hit(2, 0)}},
		{"constant_over", `{"constant_over": 7}`, []adapters.RerankResult{hit(3, 2*third), hit(1, 0.5), hit(0, third), hit(2, 0)}},
		{"by_position", `{"by_position": true}`, []adapters.RerankResult{hit(0, 1), hit(1, 2*third), hit(2, third), hit(3, 0)}},
		{"drops", `{"drops": 3}`, []adapters.RerankResult{hit(0, third)}},
		{"drops more than there are", `{"drops": 9}`, []adapters.RerankResult{}},
		{"unsorted", `{"unsorted": true}`, []adapters.RerankResult{hit(0, third), hit(1, 1), hit(2, 0), hit(3, 2*third)}},
		{"logits", `{"logits": true}`, []adapters.RerankResult{hit(1, 5), hit(3, float64(10*2*third)-5), hit(0, float64(10*third)-5), hit(2, -5)}},
		{
			"scores, by the longest beginning", `{"scores": {"The": 0.2, "The seal": -0.0, "Lunch is at noon.": 0.9}, "invert": true}`,
			[]adapters.RerankResult{hit(2, 0.9), hit(3, 1-2*third), hit(0, 0.2), hit(1, 0)},
		},
		{"inverted logits", `{"invert": true, "logits": true, "drops": 2}`, []adapters.RerankResult{hit(0, float64(10*(1-third))-5), hit(1, -5)}},
		{"mis-zip of a partial answer", `{"by_position": true, "drops": 2}`, []adapters.RerankResult{hit(0, 1), hit(1, third)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp := rerank(t, tt.settings, query, documents)
			if diff := cmp.Diff(tt.want, resp.Results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for _, result := range resp.Results {
				if result.Score == 0 && math.Signbit(result.Score) {
					t.Error("a score is negative zero")
				}
			}
		})
	}
}

func hit(index int, score float64) adapters.RerankResult {
	return adapters.RerankResult{Index: index, Score: score}
}

func cutHit(index int, score float64) adapters.RerankResult {
	return adapters.RerankResult{Index: index, Score: score, Truncated: true}
}

func rerank(t *testing.T, settings, query string, documents []string) adapters.RerankResponse {
	t.Helper()
	r, err := openReranker(t.Context(), adapters.Config{Settings: json.RawMessage(settings)})
	if err != nil {
		t.Fatalf("opening with %s: %v", settings, err)
	}
	t.Cleanup(func() { _ = r.Close() })
	resp, err := r.Rerank(t.Context(), adapters.RerankRequest{Query: query, Documents: documents})
	if err != nil {
		t.Fatalf("Rerank: %v", err)
	}
	return resp
}

func TestRerankerWithoutContentWords(t *testing.T) {
	t.Parallel()
	resp := rerank(t, `{"model": "m"}`, "what is the", []string{"The pump.", ""})
	want := adapters.RerankResponse{ModelReported: "m", Results: []adapters.RerankResult{{Index: 0}, {Index: 1}}}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestRerankerRefusesBadSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`{"max_words": -1}`: "0 (off) or more",
		`{"drops": -1}`:     "0 (off) or more",
		`{"top": 5}`:        `unknown field "top"`,
	} {
		_, err := openReranker(t.Context(), adapters.Config{Settings: json.RawMessage(settings)})
		if !errors.Is(err, adapters.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an invalid-argument error with %q", settings, err, want)
		}
	}
}
