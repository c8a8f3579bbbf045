package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func liveConfig(s *openaitest.Server, more string) adapters.Config {
	return adapters.Config{Settings: json.RawMessage(fmt.Sprintf(`{"model": %q, "base_url": %q%s}`, s.Model, s.URL, more))}
}

// TestLiveGeneratorSuite holds the adapter to the contract over a real model.
func TestLiveGeneratorSuite(t *testing.T) {
	t.Parallel()
	s := openaitest.StartGenerator(t)
	adaptertest.TestGenerator(t, adaptertest.GeneratorHarness{Harness: adaptertest.Harness[adapters.Generator]{
		Open: func(ctx context.Context) (adapters.Generator, error) {
			g, err := openGenerator(ctx, liveConfig(s, `, "deterministic": true`))
			return pinned{g}, err
		},
	}})
}

// pinned asks for what llama.cpp needs to give equal answers, and for a few words alone: the suite asks some forty times.
type pinned struct{ adapters.Generator }

func (p pinned) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	if req.Seed == nil {
		req.Temperature, req.Seed = new(float64), new(int64)
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = 60
	}
	req.Stop = append(req.Stop, ".", "\n", " is", " the")
	return p.Generator.Generate(ctx, req)
}

// TestLiveEmbedderSuite holds the adapter to the contract over a real embedder, in both encodings.
func TestLiveEmbedderSuite(t *testing.T) {
	t.Parallel()
	s := openaitest.StartEmbedder(t, openaitest.Int8)
	for _, encoding := range []string{encodingFloat, encodingBase64} {
		adaptertest.TestEmbedder(t, adaptertest.EmbedderHarness{
			Harness: adaptertest.Harness[adapters.Embedder]{Open: func(ctx context.Context) (adapters.Embedder, error) {
				return openEmbedder(ctx, liveConfig(s, fmt.Sprintf(`, "encoding": %q`, encoding)))
			}},
			Unit: true,
		})
	}
}

// TestLiveGenerator looks at what llama.cpp tells of a generation, and at what it does with what it does not know.
func TestLiveGenerator(t *testing.T) {
	t.Parallel()
	s := openaitest.StartGenerator(t)
	g, err := openGenerator(t.Context(), liveConfig(s, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	req := full()
	req.Messages[1].Text, req.MaxTokens = "Name a colour.", 12
	first, err := g.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if first.Text == "" || first.InputTokens == nil || first.OutputTokens == nil || first.SystemFingerprint == "" || first.ModelReported != s.Model || len(first.Notes) != 0 {
		t.Errorf("%+v", first)
	}
	if first.RequestID == again.RequestID || first.RequestID == "" {
		t.Errorf("two calls have the request ids %q and %q", first.RequestID, again.RequestID)
	}
	if diff := cmp.Diff(first, again, cmpopts.IgnoreFields(first, "RequestID", "WireTime", "Metadata")); diff != "" {
		t.Errorf("at temperature 0 with a seed (-first +again):\n%s", diff)
	}

	short := req
	short.MaxTokens, short.Stop = 1, nil
	if cut, err := g.Generate(t.Context(), short); err != nil || cut.FinishReason != adapters.FinishLength || cut.OutputTokens == nil || *cut.OutputTokens != 1 {
		t.Errorf("of one token: %+v, %v", cut, err)
	}

	form := req
	form.Stop, form.MaxTokens, form.Format = nil, 40, &adapters.Format{Name: "colour", Schema: json.RawMessage(
		`{"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}, "required": ["colour"], "additionalProperties": false}`)}
	held, err := g.Generate(t.Context(), form)
	var answer struct {
		Colour string `json:"colour"`
	}
	if err != nil || json.Unmarshal([]byte(held.Text), &answer) != nil || answer.Colour != "red" && answer.Colour != "green" {
		t.Errorf("held to a form it answers %q, %v", held.Text, err)
	}

	other := liveConfig(s, "")
	other.Settings = json.RawMessage(fmt.Sprintf(`{"model": "no-such-model", "base_url": %q}`, s.URL))
	unknown, err := openGenerator(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer unknown.Close()
	if got, err := unknown.Generate(t.Context(), req); err != nil || got.ModelReported != s.Model {
		t.Errorf("asked for a model that it has not, it answers as %q, %v; a trace tells by that", got.ModelReported, err)
	}
	asEmbedder, err := openEmbedder(t.Context(), liveConfig(s, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer asEmbedder.Close()
	_, err = asEmbedder.Embed(t.Context(), queries("a"))
	checkError(t, err, adapters.KindUnsupported, "501")
}
