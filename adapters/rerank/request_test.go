package rerank

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// TestWhatIsSent holds the bodies on the wire, call by call.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	const model = `"model": "` + openaitest.FakeModel + `", `
	for _, tt := range []struct {
		name, more string
		options    openaitest.FakeOptions
		want       []string
	}{
		{"auto", "", openaitest.FakeOptions{}, []string{`{` + model + `"query": "when?", "documents": ["a", "<b> & \u2028", "c"]}`}},
		{"cohere", `, "shape": "cohere", "max_tokens": 512`, openaitest.FakeOptions{}, []string{`{` + model + `"query": "when?", "documents": ["a", "<b> & \u2028", "c"], "max_tokens_per_doc": 512}`}},
		{"jina", `, "shape": "jina"`, openaitest.FakeOptions{}, []string{`{` + model + `"query": "when?", "documents": ["a", "<b> & \u2028", "c"], "return_documents": false}`}},
		{"vllm", `, "shape": "vllm", "max_tokens": 512`, openaitest.FakeOptions{}, []string{`{` + model + `"query": "when?", "documents": ["a", "<b> & \u2028", "c"], "truncate_prompt_tokens": 512}`}},
		{"tei", `, "shape": "tei"`, openaitest.FakeOptions{TEI: true}, []string{`{"query": "when?", "texts": ["a", "<b> & \u2028", "c"]}`}},
		{
			"tei with its parameters", `, "shape": "tei", "truncate": false, "raw_scores": true`,
			openaitest.FakeOptions{TEI: true},
			[]string{`{"query": "when?", "texts": ["a", "<b> & \u2028", "c"], "truncate": false, "raw_scores": true}`},
		},
		{
			"two batches", `, "batch": 2`,
			openaitest.FakeOptions{},
			[]string{`{` + model + `"query": "when?", "documents": ["a", "<b> & \u2028"]}`, `{` + model + `"query": "when?", "documents": ["c"]}`},
		},
		{
			"a server that wants texts is asked in its shape from then on", `, "batch": 2`,
			openaitest.FakeOptions{TEI: true},
			[]string{`{` + model + `"query": "when?", "documents": ["a", "<b> & \u2028"]}`, `{"query": "when?", "texts": ["a", "<b> & \u2028"]}`, `{"query": "when?", "texts": ["c"]}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, tt.options)
			r := newReranker(t, f, `, "api_key_env": "KEY", "headers": {"X-Team": "search"}`+tt.more)
			if _, err := r.Rerank(t.Context(), adapters.RerankRequest{Query: "when?", Documents: []string{"a", "<b> & \u2028", "c"}}); err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			for _, sent := range f.Requests() {
				got = append(got, sent.Body)
				if h := sent.Header; sent.Path != "/v1/rerank" || h.Get("Authorization") != "Bearer "+sentinel || h.Get("X-Team") != "search" || h.Get("Content-Type") != "application/json" {
					t.Errorf("sent to %s with %v", sent.Path, h)
				}
			}
			var want []map[string]any
			for _, text := range tt.want {
				var body map[string]any
				if err := json.Unmarshal([]byte(text), &body); err != nil {
					t.Fatal(err)
				}
				want = append(want, body)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeyIsOptional asks a server without a key: no header of one is sent.
func TestKeyIsOptional(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	if _, err := newReranker(t, f, "").Rerank(t.Context(), twoDocuments); err != nil {
		t.Fatal(err)
	}
	if got := f.Requests()[0].Header.Values("Authorization"); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}

// TestAFailedCallGivesNothing answers the first of two calls alone: half of the scores would be an order that nobody has.
func TestAFailedCallGivesNothing(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	f.Script(openaitest.FakeReply{Healthy: true}, openaitest.FakeReply{Status: 500})
	got, err := newReranker(t, f, `, "batch": 1`).Rerank(t.Context(), twoDocuments)
	checkError(t, err, adapters.KindTransient, "500")
	if got.Results != nil {
		t.Errorf("with it come %+v", got)
	}
}

// TestConnectionsAreReused asks a hundred times, by four at once.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Ratelimit-Remaining-Requests": {"7"}}
	f := openaitest.StartFake(t, openaitest.FakeOptions{Header: h})
	r := newReranker(t, f, "")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if got, err := r.Rerank(t.Context(), twoDocuments); err != nil || got.Quota == nil || got.Quota.Requests.Left != 7 {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	if n := f.Connections(); n > 8 { // a call that finds none free dials, and may get one that was given back meanwhile
		t.Errorf("%d connections for 100 calls", n)
	}
}
