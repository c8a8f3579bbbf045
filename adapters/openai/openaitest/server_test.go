package openaitest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// post asks a server and decodes what comes.
func post(t *testing.T, url string, body, into any) int {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return response.StatusCode
}

type completion struct {
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Error struct {
		Type string `json:"type"`
	} `json:"error"`
}

// TestGenerator holds the server to what other tests rely on.
func TestGenerator(t *testing.T) {
	t.Parallel()
	s := openaitest.StartGenerator(t)
	if s.Model != openaitest.GeneratorModel {
		t.Errorf("the model is %q", s.Model)
	}
	ask := func(model, text string, seed int, temperature float64) (int, completion) {
		var c completion
		status := post(t, s.URL+"/chat/completions", map[string]any{
			"model": model, "messages": []any{map[string]string{"role": "user", "content": text}}, "seed": seed, "temperature": temperature, "max_tokens": 12,
		}, &c)
		return status, c
	}
	for _, temperature := range []float64{0, 0.7} {
		_, once := ask(s.Model, "Name a colour.", 7, temperature)
		_, again := ask(s.Model, "Name a colour.", 7, temperature)
		if len(once.Choices) == 0 || len(again.Choices) == 0 || once.Choices[0].Message.Content != again.Choices[0].Message.Content || once.Choices[0].Message.Content == "" {
			t.Errorf("equal requests at temperature %v got %+v and %+v", temperature, once, again)
		}
	}
	if status, c := ask("no-such-model", "Name a colour.", 7, 0); status != http.StatusOK || c.Model != s.Model {
		t.Errorf("an unknown model is answered with %d by %q; tests rely on 200 by the one that is loaded", status, c.Model)
	}
	if status, c := ask(s.Model, string(bytes.Repeat([]byte("word "), 4000)), 7, 0); status != http.StatusBadRequest || c.Error.Type != "exceed_context_size_error" {
		t.Errorf("a prompt over the context is answered with %d %q", status, c.Error.Type)
	}
}

// TestEmbedder holds the two precisions of one model to be near and not the same, and the reversed model to be unrelated to both.
func TestEmbedder(t *testing.T) {
	t.Parallel()
	embed := func(s *openaitest.Server, model string) []float64 {
		t.Helper()
		var got struct {
			Data []struct {
				Embedding []float64 `json:"embedding"`
			} `json:"data"`
		}
		if status := post(t, s.URL+"/embeddings", map[string]any{"model": model, "input": []string{"The parental leave policy applies from September."}}, &got); status != http.StatusOK || len(got.Data) != 1 || len(got.Data[0].Embedding) != 384 {
			t.Fatalf("%s: status %d, %d vectors", model, status, len(got.Data))
		}
		return got.Data[0].Embedding
	}
	quantised, full := openaitest.StartEmbedder(t, openaitest.Int8), openaitest.StartEmbedder(t, openaitest.FP32)
	first := embed(quantised, openaitest.EmbedderModel)
	for _, tt := range []struct {
		name     string
		vector   []float64
		from, to float64
	}{
		{"fp32", embed(full, openaitest.EmbedderModel), 0.95, 0.99999},
		{"reversed", embed(quantised, openaitest.EmbedderModel+"-reversed"), -0.15, 0.15},
	} {
		dot := 0.0
		for i := range first {
			dot += first[i] * tt.vector[i]
		}
		if !(dot >= tt.from && dot <= tt.to) {
			t.Errorf("the cosine of int8 and %s is %v, want %v to %v", tt.name, dot, tt.from, tt.to)
		}
	}
}

// TestReranker asks in both shapes.
func TestReranker(t *testing.T) {
	t.Parallel()
	passages := []string{"Trains are free on Sundays.", "Parental leave begins in September.", "The pump needs oil."}
	const query = "When does parental leave begin?"
	s := openaitest.StartReranker(t)
	var cohere struct {
		Results []struct {
			Index int     `json:"index"`
			Score float64 `json:"relevance_score"`
		} `json:"results"`
	}
	post(t, s.URL, map[string]any{"model": s.Model, "query": query, "documents": passages}, &cohere)
	if len(cohere.Results) != 3 || cohere.Results[0].Index != 1 {
		t.Errorf("in Cohere's shape: %+v", cohere)
	}
	var tei []struct {
		Index int     `json:"index"`
		Score float64 `json:"score"`
	}
	s = openaitest.StartReranker(t, "--shape", "tei")
	post(t, s.URL, map[string]any{"query": query, "texts": passages}, &tei)
	if len(tei) != 3 || tei[0].Index != 1 || math.Abs(tei[0].Score-cohere.Results[0].Score) > 1e-4 {
		t.Errorf("in TEI's shape: %+v", tei)
	}
}
