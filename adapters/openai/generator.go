package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

type generator struct {
	*client
	set        generatorSettings
	parameters *parameters
}

func openGenerator(_ context.Context, cfg adapters.Config) (adapters.Generator, error) {
	const op = "open"
	set, err := readGenerator(cfg.Settings, cfg.As)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	c, err := connect(&set.connection, cfg)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	return &generator{client: c, set: set, parameters: newParameters(&set)}, nil
}

// Describe makes no call: which model answers is told by each answer.
func (g *generator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	_, leave, err := g.Enter(ctx, "describe")
	if err != nil {
		return adapters.GeneratorInfo{}, err
	}
	defer leave()
	return adapters.GeneratorInfo{Adapter: Name, Model: g.set.Model, Deterministic: g.set.Deterministic, Formats: g.set.Structured != structuredNone}, nil
}

// Generate makes one call. A server that refuses a parameter by its name is asked once more without it.
func (g *generator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	const op = "generate"
	var none adapters.GenerateResponse
	if err := g.check(op, req); err != nil {
		return none, err
	}
	ctx, leave, err := g.Enter(ctx, op)
	if err != nil {
		return none, err
	}
	defer leave()
	for tries := 1; ; tries++ {
		asked := newChat(&g.set, g.parameters, req)
		x := &modelapi.Exchange{Limit: answerLimit, Unread: true, Idempotent: tries == 1} // the next is another request
		if x.Body, err = json.Marshal(asked.body); err != nil {
			return none, invalid(op, "the request cannot be written: %w", err)
		}
		// The library's own rules for models, and the zeros that it leaves out, are passed by: what is sent is x.Body.
		_, err = g.api.CreateChatCompletion(x.With(ctx), openai.ChatCompletionRequest{Model: "-"})
		const most = 8 // parameters that there are to refuse
		out, refused, err := g.came(ctx, op, x, asked, err, tries < most)
		if !refused {
			return out, err
		}
	}
}

// came reads what came of a request, or of failure. It reports whether the server refused a parameter that is left out of the next request,
// where there may be one. It stands apart from [generator.Generate] so that a call that waits holds no room for it.
func (g *generator) came(ctx context.Context, op string, x *modelapi.Exchange, asked *chat, failure error, next bool) (out adapters.GenerateResponse, refused bool, err error) {
	if x.Whole() && x.Status < http.StatusMultipleChoices {
		if a, ok := readAnswer(x.Answer); ok {
			if broke := g.broke(ctx, op, x, &a); broke != nil {
				return out, false, broke
			}
			out = g.response(x, &a, asked)
			err := g.hide(op, &out)
			return out, false, err
		}
		// The library tells an answer that was cut off from what is none.
		failure = json.NewDecoder(bytes.NewReader(x.Answer)).Decode(new(openai.ChatCompletionResponse))
	}
	if x.Whole() && (x.Status == http.StatusBadRequest || x.Status == http.StatusUnprocessableEntity) {
		said := modelapi.ReadComplaint(x.Answer)
		if said.Filtered() {
			out = adapters.GenerateResponse{
				FinishReason: adapters.FinishContentFilter, RequestID: requestID(x.Header), WireTime: x.Took, Quota: modelapi.Quota(x.Header),
				Notes: append(asked.notes, "the provider's filter refused the prompt: "+g.Short(said.Message)),
			}
			err := g.hide(op, &out)
			return out, false, err
		}
		if next && !said.TooLong() && g.parameters.learn(&said, asked.sent, g.Short(said.Message)) {
			return out, true, nil
		}
	}
	return out, false, g.Failed(ctx, op, x, failure)
}

// check refuses a request that cannot be sent as it is.
func (g *generator) check(op string, req adapters.GenerateRequest) error {
	if len(req.Messages) == 0 {
		return invalid(op, "a request without messages")
	}
	for _, m := range req.Messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return invalid(op, "there is no role %q", m.Role)
		}
	}
	if req.Format != nil && g.set.Structured == structuredNone {
		return fail(op, adapters.KindUnsupported, fmt.Errorf("the answer cannot be held to a form: backends.%s.structured is %q", g.set.role, structuredNone))
	}
	return nil
}
