package rerank

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func liveConfig(s *openaitest.Server, more string) adapters.Config {
	return adapters.Config{Settings: json.RawMessage(fmt.Sprintf(`{"model": %q, "url": %q%s}`, s.Model, s.URL, more))}
}

// TestLiveSuite holds the adapter to the contract over a real model.
func TestLiveSuite(t *testing.T) {
	t.Parallel()
	s := openaitest.StartReranker(t, "--most", "100")
	adaptertest.TestReranker(t, adaptertest.RerankerHarness{
		MaxWords: 256,
		Harness: adaptertest.Harness[adapters.Reranker]{Open: func(ctx context.Context) (adapters.Reranker, error) {
			return open(ctx, liveConfig(s, `, "batch": 100`))
		}},
	})
}

// TestLiveShapes asks the same of one model in both shapes, the second one found out, and looks at what each does with what is too long.
func TestLiveShapes(t *testing.T) {
	t.Parallel()
	cohere, tei := openaitest.StartReranker(t), openaitest.StartReranker(t, "--shape", "tei", "--most", "2")
	documents := []string{"Trains are free on Sundays.", "Parental leave begins in September.", "The pump needs oil."}
	long := []string{strings.Repeat("The pump needs oil. ", 200)}
	ask := func(s *openaitest.Server, more string, documents []string) (adapters.RerankResponse, error) {
		t.Helper()
		r, err := open(t.Context(), liveConfig(s, more))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Rerank(t.Context(), adapters.RerankRequest{Query: "When does parental leave begin?", Documents: documents})
	}

	first, err := ask(cohere, "", documents)
	if err != nil || len(first.Results) != 3 || first.Results[0].Index != 1 || first.InputTokens == nil || first.ModelReported != cohere.Model {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := ask(tei, `, "batch": 2`, documents)
	if err != nil || len(second.Results) != 3 {
		t.Fatalf("%+v, %v", second, err)
	}
	for i, r := range second.Results {
		if want := first.Results[i]; r.Index != want.Index || math.Abs(r.Score-want.Score) > 1e-6 {
			t.Errorf("result %d is %+v in TEI's shape and %+v in Cohere's", i, r, want)
		}
	}

	if cut, err := ask(cohere, "", long); err != nil || !cut.Results[0].Truncated {
		t.Errorf("of what is too long: %+v, %v", cut, err)
	}
	_, err = ask(tei, "", long)
	checkError(t, err, adapters.KindTooLong, "backends.reranker.truncate: true")
	if read, err := ask(tei, `, "shape": "tei", "truncate": true`, long); err != nil || read.Results[0].Truncated {
		t.Errorf("TEI reads the beginning and does not say so: %+v, %v", read, err)
	}
	_, err = ask(tei, "", documents)
	checkError(t, err, adapters.KindInvalid, "3 documents were sent in one call: is backends.reranker.batch too large?")
}
