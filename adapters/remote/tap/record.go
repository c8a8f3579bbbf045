package tap

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// How a call was bound to its request.
const (
	ByHeader   = "header"   // the service handed the id on in a header
	ByMetadata = "metadata" // the id stands in the body, as metadata.request_id
	ByOrder    = "order"    // no id came, and one request alone was open
)

// Call is one call of a service to its model, as the model received it.
type Call struct {
	Path     string                     `json:"path"`
	Bound    string                     `json:"bound,omitempty"` // By…; "" for a call of no known request
	At       string                     `json:"at"`              // RFC 3339
	Model    string                     `json:"model,omitempty"`
	Messages []Message                  `json:"messages"`
	Params   map[string]json.RawMessage `json:"params,omitempty"`
	// Context is what stood between the markers when the service sent it; nil where no substitution was asked for or the prompt
	// has no such place. Substituted: the model received another context instead.
	Context     *string `json:"context,omitempty"`
	Substituted bool    `json:"substituted,omitempty"`
	Refused     string  `json:"refused,omitempty"` // why the call was not sent to the model

	Done              bool   `json:"done"` // the answer came to its end
	Status            int    `json:"status,omitempty"`
	Answer            string `json:"answer,omitempty"`
	FinishReason      string `json:"finish_reason,omitempty"`
	ModelReported     string `json:"model_reported,omitempty"`
	SystemFingerprint string `json:"system_fingerprint,omitempty"`
	ResponseID        string `json:"response_id,omitempty"`
	PromptTokens      *int   `json:"prompt_tokens,omitempty"`
	CompletionTokens  *int   `json:"completion_tokens,omitempty"`
	CachedTokens      *int   `json:"cached_tokens,omitempty"`
	TookMS            int64  `json:"took_ms,omitempty"`
	Error             string `json:"error,omitempty"`
}

// chunk is a whole answer of a chat or completions endpoint, or one event of a streamed one.
type chunk struct {
	ID                string `json:"id"`
	Model             string `json:"model"`
	SystemFingerprint string `json:"system_fingerprint"`
	Choices           []struct {
		Text           string                            `json:"text"`
		Message, Delta struct{ Content json.RawMessage } // content is a string or null
		FinishReason   string                            `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     *int `json:"prompt_tokens"`
		CompletionTokens *int `json:"completion_tokens"`
		Details          *struct {
			CachedTokens *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Output []struct { // of /responses
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"output"`
}

func (c *chunk) addTo(call *Call) {
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set(&call.ResponseID, c.ID)
	set(&call.ModelReported, c.Model)
	set(&call.SystemFingerprint, c.SystemFingerprint)
	if len(c.Choices) > 0 {
		first := c.Choices[0]
		call.Answer += first.Text + asText(first.Message.Content) + asText(first.Delta.Content)
		set(&call.FinishReason, first.FinishReason)
	}
	for _, item := range c.Output {
		for _, part := range item.Content {
			call.Answer += part.Text
		}
	}
	if c.Usage != nil {
		call.PromptTokens, call.CompletionTokens = c.Usage.PromptTokens, c.Usage.CompletionTokens
		if c.Usage.Details != nil {
			call.CachedTokens = c.Usage.Details.CachedTokens
		}
	}
}

func asText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// readAnswer fills in what a model's answer says. An answer that cannot be read is no error of the proxy, which has passed it on.
func readAnswer(call *Call, body []byte, encoding, kind string) {
	switch encoding {
	case "":
	case "gzip":
		plain, err := gunzip(body)
		if err != nil {
			call.Error = "the answer could not be read: " + err.Error()
			return
		}
		body = plain[:min(len(plain), maxBody)]
	default:
		call.Error = "the answer could not be read: it came in the encoding " + encoding
		return
	}
	if strings.HasPrefix(kind, "text/event-stream") {
		for line := range bytes.Lines(body) {
			data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
			var c chunk
			if ok && json.Unmarshal(data, &c) == nil { // [DONE] is none
				c.addTo(call)
			}
		}
		return
	}
	var c chunk
	if err := json.Unmarshal(body, &c); err != nil {
		call.Error = "the answer could not be read: " + err.Error()
		return
	}
	c.addTo(call)
}

// gunzip reads no further than a byte behind maxBody.
func gunzip(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxBody+1))
}

// withoutAsked takes what the redactor knows out of what a call asks, before it is kept. All else of it is evidence and stays as it is.
func (c *Call) withoutAsked(r *adapters.Redactor) {
	for i := range c.Messages {
		c.Messages[i].Text = r.Answer(c.Messages[i].Text)
	}
	for name, value := range c.Params {
		if r.Answer(string(value)) != string(value) {
			c.Params[name] = json.RawMessage(`"` + adapters.Redacted + `"`)
		}
	}
	redactAll(r, &c.Path, &c.Model, &c.Refused, c.Context)
}

// withoutAnswered does the same for what came back.
func (c *Call) withoutAnswered(r *adapters.Redactor) {
	c.Error = r.String(c.Error)
	redactAll(r, &c.Answer, &c.FinishReason, &c.ModelReported, &c.SystemFingerprint, &c.ResponseID)
}

func redactAll(r *adapters.Redactor, texts ...*string) {
	for _, s := range texts {
		if s != nil {
			*s = r.Answer(*s)
		}
	}
}
