package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func newEmbedder(t *testing.T, f *openaitest.Fake, more string) adapters.Embedder {
	t.Helper()
	e, err := openEmbedder(t.Context(), fakeConfig(f, more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func queries(texts ...string) adapters.EmbedRequest {
	return adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForQuery}
}

// TestBatches holds long lists to their order over several calls, and adds up what they cost.
func TestBatches(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	e := newEmbedder(t, f, `, "batch": 4, "query_prefix": "q: "`)
	texts := make([]string, 10)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	all, err := e.Embed(t.Context(), queries(texts...))
	if err != nil || len(all.Vectors) != len(texts) {
		t.Fatalf("%d vectors, %v", len(all.Vectors), err)
	}
	var sizes []int
	for _, r := range f.Requests() {
		sizes = append(sizes, len(r.Body["input"].([]any)))
	}
	if diff := cmp.Diff([]int{4, 4, 2}, sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if first := f.Requests()[0].Body["input"].([]any)[0]; first != "q: text number 0" {
		t.Errorf("sent %q, want the prefix before it", first)
	}
	if want := 10 * (4 + 2); all.InputTokens == nil || *all.InputTokens != want {
		t.Errorf("%v tokens, want %d", all.InputTokens, want)
	}
	for i, text := range texts {
		alone, err := e.Embed(t.Context(), queries(text))
		if err != nil || cmp.Diff(alone.Vectors[0], all.Vectors[i]) != "" {
			t.Errorf("%q has another vector alone (%v)", text, err)
		}
	}
}

// TestVectorsThatAreNone refuses answers that give a text no vector, or another text's.
func TestVectorsThatAreNone(t *testing.T) {
	t.Parallel()
	const packed = "AACAPwAAAAA=" // 1, 0
	for _, tt := range []struct {
		name, settings, body string
		says                 string // empty: they are vectors
		notes                int
	}{
		{"in another order", "", `{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}`, "", 0},
		{"one too few", "", `{"data": [{"index": 0, "embedding": [1, 0]}]}`, "text 2 of 2: the server sent no vector for it", 0},
		{"one too many", "", `{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]}`, "a vector for text 3 of 2", 0},
		{"one twice", "", `{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}`, "two vectors for text 1", 0},
		{"below zero", "", `{"data": [{"index": -1, "embedding": [1]}, {"index": 0, "embedding": [1]}]}`, "a vector for text 0", 0},
		{"none", "", `{"data": []}`, "there is nothing in the answer", 0},
		{"an empty one", "", `{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": [1]}]}`, "text 1 of 2: the server sent no vector", 0},
		{"two lengths", "", `{"data": [{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1]}]}`, "its vector has 1 dimensions, and those before it 2", 0},
		{"a number that is null", "", `{"data": [{"index": 0, "embedding": [1, null]}, {"index": 1, "embedding": [1, 0]}]}`, "null in place of a number", 0},
		{"a vector that is null", "", `{"data": [{"index": 0, "embedding": null}, {"index": 1, "embedding": [1, 0]}]}`, "null in place of a number", 0},
		{"null elsewhere", "", `{"usage": null, "data": [{"index": 0, "embedding": [1, 0], "object": null}, {"index": 1, "embedding": [1, 0]}]}`, "", 0},
		{"no number", `, "encoding": "base64"`, `{"data": [{"index": 0, "embedding": "AADAfwAAAAA="}, {"index": 1, "embedding": "` + packed + `"}]}`, "its vector holds NaN", 0},
		{"base64 that was not asked for", "", `{"data": [{"index": 0, "embedding": "` + packed + `"}, {"index": 1, "embedding": "` + packed + `"}]}`, "", 1},
		{"numbers that were not asked for", `, "encoding": "base64"`, `{"data": [{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [0, 1]}]}`, "", 1},
		{"neither", "", `{"data": [{"index": 0, "embedding": {"x": 1}}, {"index": 1, "embedding": {}}]}`, "no answer of this API", 0},
		{"base64 that is none", `, "encoding": "base64"`, `{"data": [{"index": 0, "embedding": "!!"}, {"index": 1, "embedding": "!!"}]}`, "no answer of this API", 0},
		{"too large a number", "", `{"data": [{"index": 0, "embedding": [1e60]}, {"index": 1, "embedding": [1]}]}`, "no answer of this API", 0},
		{"fewer dimensions than were asked for", `, "dimensions": 4`, `{"data": [{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1, 0]}]}`, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(openaitest.FakeReply{Body: tt.body})
			got, err := newEmbedder(t, f, tt.settings).Embed(t.Context(), queries("a", "b"))
			if tt.says != "" {
				checkError(t, err, adapters.KindPermanent, tt.says)
				return
			}
			if err != nil || len(got.Vectors) != 2 || len(got.Notes) != tt.notes || got.InputTokens != nil {
				t.Errorf("%+v, %v; want %d notes", got, err, tt.notes)
			}
			if got.Vectors[0][0] != 1 {
				t.Errorf("the first text has the vector %v", got.Vectors[0])
			}
		})
	}
}

// TestAnotherModel tells a server that has another model from one that only says so.
func TestAnotherModel(t *testing.T) {
	t.Parallel()
	req := queries("a")
	req.Model = "older-model"
	own, others := `{"model": "older-model", "data": [{"index": 0, "embedding": [1, 0]}]}`, `{"model": "older-model", "data": [{"index": 0, "embedding": [0, 1, 0]}]}`
	for name, tt := range map[string]struct {
		replies []openaitest.FakeReply
		kind    adapters.Kind // empty: it has
	}{
		"it has":      {[]openaitest.FakeReply{{Body: others}, {Body: own}}, ""},
		"it says so":  {[]openaitest.FakeReply{{Body: own}, {Body: own}}, adapters.KindUnsupported},
		"it has not":  {[]openaitest.FakeReply{{Healthy: true}}, adapters.KindUnsupported},
		"it is down":  {[]openaitest.FakeReply{{Status: 503}}, adapters.KindTransient},
		"a wrong key": {[]openaitest.FakeReply{{Status: 401}}, adapters.KindUnauthorised},
	} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(tt.replies...)
		got, err := newEmbedder(t, f, `, "dimensions": 2`).Embed(t.Context(), req)
		if tt.kind != "" {
			var typed *adapters.Error
			if !errors.As(err, &typed) || typed.Kind != tt.kind {
				t.Errorf("%s: %v, want kind %q", name, err, tt.kind)
			}
			continue
		}
		if err != nil || len(got.Vectors[0]) != 3 || got.ModelReported != "older-model" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if _, sent := f.Requests()[0].Body["dimensions"]; sent {
			t.Errorf("%s: another model was asked for the dimensions of this one", name)
		}
	}
}

// TestEmbedderFaults looks at those whose answer an embedder reads differently.
func TestEmbedderFaults(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{Context: 10})
	e := newEmbedder(t, f, "")
	_, err := e.Embed(t.Context(), queries(strings.Repeat("word ", 20)))
	checkError(t, err, adapters.KindTooLong, "you requested 22 tokens.: a text is longer than what the model reads")
	_, err = e.Embed(t.Context(), queries("a", ""))
	checkError(t, err, adapters.KindInvalid, "text 2 is empty")
	_, err = e.Embed(t.Context(), adapters.EmbedRequest{Texts: []string{"a"}})
	checkError(t, err, adapters.KindInvalid, "purpose")
	if got, err := e.Embed(t.Context(), queries()); err != nil || len(got.Vectors) != 0 {
		t.Errorf("no texts: %+v, %v", got, err)
	}
	f.Script(openaitest.FakeError(400, "This model does not support specifying dimensions.", "", ""))
	_, err = e.Embed(t.Context(), queries("a"))
	checkError(t, err, adapters.KindInvalid, "does not support specifying dimensions")
	f.Script(openaitest.FakeReply{Status: 422, Body: `{"error": "batch size 2 > maximum allowed batch size 1", "error_type": "Validation"}`}) // as TEI says it
	_, err = e.Embed(t.Context(), queries("a", "b"))
	checkError(t, err, adapters.KindInvalid, "maximum allowed batch size 1: 2 texts were sent in one call: is backends.embedder.batch too large?")
	f.Script(openaitest.FakeReply{Status: 429, Body: `{"error": {"message": "slow down"}}`})
	_, err = newEmbedder(t, f, `, "encoding": "base64"`).Embed(t.Context(), queries("a"))
	checkError(t, err, adapters.KindRateLimited, "slow down")
}
