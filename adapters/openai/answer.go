package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// answer is what is read of a chat completion. The library's types refuse a whole answer, which was paid for, where a field that
// nobody needs is of another type (a "created" with a fraction), and make zeros of what is not told.
type answer struct {
	ID          json.RawMessage `json:"id"`
	Model       json.RawMessage `json:"model"`
	Fingerprint json.RawMessage `json:"system_fingerprint"`
	Created     json.RawMessage `json:"created"`
	Provider    json.RawMessage `json:"provider"`
	ServiceTier json.RawMessage `json:"service_tier"`
	Choices     []choice        `json:"choices"`
	Usage       json.RawMessage `json:"usage"`
	Error       json.RawMessage `json:"error"`
}

type choice struct {
	Index        int             `json:"index"`
	Error        json.RawMessage `json:"error"` // where a gateway's provider broke off
	FinishReason json.RawMessage `json:"finish_reason"`
	Message      *struct {
		Content json.RawMessage `json:"content"`
		Refusal json.RawMessage `json:"refusal"`
	} `json:"message"`
}

// usage is what the answer cost, as far as it is told.
type usage struct {
	Prompt     json.RawMessage `json:"prompt_tokens"`
	Completion json.RawMessage `json:"completion_tokens"`
	PromptOf   struct {
		Cached json.RawMessage `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionOf struct {
		Reasoning json.RawMessage `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit json.RawMessage `json:"prompt_cache_hit_tokens"` // DeepSeek's name for the cached ones
}

// readAnswer reads a chat completion, its first choice in the first place; false: it is none, or one without a choice.
func readAnswer(body []byte) (answer, bool) {
	var a answer
	if json.Unmarshal(body, &a) != nil || len(a.Choices) == 0 {
		return a, false
	}
	slices.SortStableFunc(a.Choices, func(a, b choice) int { return a.Index - b.Index })
	return a, a.Choices[0].Message != nil || isError(a.Choices[0].Error)
}

func isError(raw json.RawMessage) bool {
	words := modelapi.Words(raw)
	return words != "" && words != "false" && words != "{}" && words != "[]"
}

// broke returns the error of an answer that its own words call none, nil where they do not. There is text in some of these.
func (g *generator) broke(ctx context.Context, op string, x *modelapi.Exchange, a *answer) *adapters.Error {
	first := a.Choices[0]
	reason := modelapi.Words(first.FinishReason)
	_, failed := modelapi.Finish(reason)
	switch {
	case isError(a.Error):
		return g.Failed(ctx, op, x, nil)
	case isError(first.Error):
		inner := *x
		inner.Answer = slices.Concat([]byte(`{"error":`), first.Error, []byte(`}`))
		return g.Failed(ctx, op, &inner, nil)
	case failed:
		return g.Says(op, adapters.KindTransient, "the provider broke off: it gives %q as the reason why the answer ends", reason)
	case strings.EqualFold(reason, "tool_calls"), strings.EqualFold(reason, "function_call"):
		return g.Says(op, adapters.KindUnsupported, "the model called a tool (finish reason %q), and none was offered to it: does the server add tools or a template for them?", reason)
	case reason == "" && content(first.Message.Content) == "" && content(first.Message.Refusal) == "":
		return g.Says(op, adapters.KindTransient, "an answer without text came, which does not say why it ends")
	}
	return nil
}

// response turns an answer into the contract's form.
func (g *generator) response(x *modelapi.Exchange, a *answer, asked *chat) adapters.GenerateResponse {
	first := a.Choices[0]
	finish, _ := modelapi.Finish(modelapi.Words(first.FinishReason))
	out := adapters.GenerateResponse{
		Text: content(first.Message.Content), Refusal: content(first.Message.Refusal), FinishReason: finish,
		ModelReported: modelapi.Words(a.Model), SystemFingerprint: modelapi.Words(a.Fingerprint), RequestID: requestID(x.Header), WireTime: x.Took,
		Notes: asked.notes, Quota: modelapi.Quota(x.Header), Metadata: map[string]string{},
	}
	if out.Text == "" {
		out.Text = out.Refusal
	}
	for name, value := range map[string]json.RawMessage{"response_id": a.ID, "provider": a.Provider, "service_tier": a.ServiceTier, "created": a.Created} {
		if text := modelapi.Words(value); text != "" {
			out.Metadata[name] = text
		}
	}
	if hit := modelapi.CacheHit(x.Header); hit != "" {
		out.Metadata["cache"] = hit
	}
	if out.RequestID == "" {
		out.RequestID = modelapi.Words(a.ID)
	}
	var u usage
	if json.Unmarshal(a.Usage, &u) == nil {
		out.InputTokens, out.OutputTokens = modelapi.Tokens(u.Prompt), modelapi.Tokens(u.Completion)
		out.CachedInputTokens, out.ReasoningTokens = modelapi.Tokens(u.PromptOf.Cached), modelapi.Tokens(u.CompletionOf.Reasoning)
		if out.CachedInputTokens == nil {
			out.CachedInputTokens = modelapi.Tokens(u.CacheHit)
		}
		if out.InputTokens != nil && *out.InputTokens == 0 { // no prompt is empty: some servers count nothing, and say so with 0
			out.InputTokens = nil
		}
	}
	if !utf8.Valid(x.Answer) {
		out.Notes = append(out.Notes, "the answer held bytes that are no UTF-8, which were replaced")
	}
	if loneSurrogate(first.Message.Content) {
		out.Notes = append(out.Notes, "the answer held halves of characters (lone surrogates), which were replaced")
	}
	if out.FinishReason == "" {
		out.Notes = append(out.Notes, "the server did not say why the answer ends")
	}
	if len(a.Choices) > 1 {
		out.Notes = append(out.Notes, "the server sent "+strconv.Itoa(len(a.Choices))+" choices where one was asked for: the first is taken")
	}
	return out
}

// content reads a text that is a string, or a list of parts.
func content(raw json.RawMessage) string {
	if text, ok := modelapi.Text(raw); ok {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // what is no text has none
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	return all.String()
}

// loneSurrogate reports whether JSON escapes half of a UTF-16 pair without the other half, which the decoder replaces silently.
func loneSurrogate(raw []byte) bool {
	unit := func(i int) (uint64, bool) {
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		return n, err == nil
	}
	for i := 0; i < len(raw); {
		step := bytes.IndexByte(raw[i:], '\\')
		if step < 0 {
			return false
		}
		i += step
		n, ok := unit(i)
		if !ok {
			i += 2 // another escape
			continue
		}
		i += 6
		switch {
		case n >= 0xDC00 && n <= 0xDFFF:
			return true
		case n >= 0xD800 && n <= 0xDBFF:
			if low, ok := unit(i); !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
	}
	return false
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
