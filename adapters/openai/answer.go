package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
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
}

type choice struct {
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

// readAnswer reads a chat completion; false: it is none, or one without a choice.
func readAnswer(body []byte) (answer, bool) {
	var a answer
	if json.Unmarshal(body, &a) != nil || len(a.Choices) == 0 || a.Choices[0].Message == nil {
		return a, false
	}
	return a, true
}

// response turns an answer into the contract's form.
func (g *generator) response(x *modelapi.Exchange, a *answer, asked *chat) adapters.GenerateResponse {
	first := a.Choices[0]
	out := adapters.GenerateResponse{
		Text: content(first.Message.Content), Refusal: content(first.Message.Refusal), FinishReason: finishReason(modelapi.Words(first.FinishReason)),
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
	g.hide(&out)
	return out
}

// content reads a text that is a string, or a list of parts.
func content(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
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

// finishReason maps the words of other servers to those of the contract.
func finishReason(s string) string {
	switch strings.ToLower(s) {
	case "stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete":
		return adapters.FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_length":
		return adapters.FinishLength
	case "content_filter", "content_filtered", "safety":
		return adapters.FinishContentFilter
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
