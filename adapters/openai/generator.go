package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"

	"github.com/culprit-rag/culprit/adapters"
)

type generator struct {
	*client
	set        generatorSettings
	parameters *parameters
}

func openGenerator(_ context.Context, cfg adapters.Config) (adapters.Generator, error) {
	const op = "open"
	set, err := readGenerator(cfg.Settings)
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
	_, leave, err := g.enter(ctx, "describe")
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
	if err := checkRequest(op, g.set.Structured, req); err != nil {
		return none, err
	}
	ctx, leave, err := g.enter(ctx, op)
	if err != nil {
		return none, err
	}
	defer leave()
	for tries := 1; ; tries++ {
		asked := newChat(&g.set, g.parameters, req)
		x := &exchange{limit: answerLimit}
		if x.body, err = json.Marshal(asked.body); err != nil {
			return none, invalid(op, "the request cannot be written: %w", err)
		}
		// The library's own rules for models, and the zeros that it leaves out, are passed by: what is sent is x.body.
		resp, err := g.api.CreateChatCompletion(context.WithValue(ctx, exchangeKey{}, x), openai.ChatCompletionRequest{Model: "-"})
		if err == nil && x.status < http.StatusMultipleChoices && len(resp.Choices) > 0 {
			return g.response(x, &resp, asked), nil
		}
		if x.status == http.StatusBadRequest || x.status == http.StatusUnprocessableEntity {
			said := readComplaint(x.answer)
			if said.filtered() {
				return adapters.GenerateResponse{FinishReason: adapters.FinishContentFilter, RequestID: requestID(x.header), WireTime: x.took, Notes: asked.notes, Quota: quota(x.header)}, nil
			}
			const most = 8 // parameters that there are to refuse
			if tries < most && g.parameters.learn(&said, asked.sent) {
				continue
			}
		}
		return none, g.failed(ctx, op, x, err)
	}
}

func checkRequest(op, structured string, req adapters.GenerateRequest) error {
	if len(req.Messages) == 0 {
		return invalid(op, "a request without messages")
	}
	for _, m := range req.Messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return invalid(op, "there is no role %q", m.Role)
		}
	}
	if req.Format != nil && structured == structuredNone {
		return fail(op, adapters.KindUnsupported, errNoForm)
	}
	return nil
}

// response turns an answer into the contract's form.
func (g *generator) response(x *exchange, resp *openai.ChatCompletionResponse, asked *chat) adapters.GenerateResponse {
	first := resp.Choices[0]
	out := adapters.GenerateResponse{
		Text: first.Message.Content, Refusal: first.Message.Refusal, FinishReason: finishReason(string(first.FinishReason)),
		ModelReported: resp.Model, SystemFingerprint: resp.SystemFingerprint, RequestID: requestID(x.header), WireTime: x.took,
		Notes: asked.notes, Quota: quota(x.header), Metadata: map[string]string{},
	}
	if out.Text == "" {
		out.Text = out.Refusal
	}
	if !utf8.Valid(x.answer) {
		out.Notes = append(out.Notes, "the answer held bytes that are no UTF-8, which were replaced")
	}
	var more struct {
		Usage *struct {
			Prompt     *int `json:"prompt_tokens"`
			Completion *int `json:"completion_tokens"`
			PromptOf   *struct {
				Cached *int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			CompletionOf *struct {
				Reasoning *int `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		} `json:"usage"`
		Provider    string `json:"provider"`
		ServiceTier string `json:"service_tier"`
	}
	if json.Unmarshal(x.answer, &more) == nil && more.Usage != nil { // the library makes zeros of what is not told
		out.InputTokens, out.OutputTokens = more.Usage.Prompt, more.Usage.Completion
		if more.Usage.PromptOf != nil {
			out.CachedInputTokens = more.Usage.PromptOf.Cached
		}
		if more.Usage.CompletionOf != nil {
			out.ReasoningTokens = more.Usage.CompletionOf.Reasoning
		}
	}
	for name, value := range map[string]string{"response_id": resp.ID, "provider": more.Provider, "service_tier": more.ServiceTier} {
		if value != "" {
			out.Metadata[name] = value
		}
	}
	if resp.Created > 0 {
		out.Metadata["created"] = strconv.FormatInt(resp.Created, 10)
	}
	if len(resp.Choices) > 1 {
		out.Notes = append(out.Notes, "the server sent "+strconv.Itoa(len(resp.Choices))+" choices where one was asked for: the first is taken")
	}
	if out.RequestID == "" {
		out.RequestID = resp.ID
	}
	return out
}

// finishReason maps the words of other servers to those of the contract.
func finishReason(s string) string {
	switch s {
	case "eos", "eos_token", "stop_sequence", "end_turn":
		return adapters.FinishStop
	case "max_tokens", "max_output_tokens":
		return adapters.FinishLength
	case "null":
		return ""
	}
	return s
}

// requestID is what the provider calls the call in its own logs.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "X-Ms-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}
