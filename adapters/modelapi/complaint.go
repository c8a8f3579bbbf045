package modelapi

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Complaint is what the body of an error says, in the forms of OpenAI, Azure, vLLM, llama.cpp, Ollama, TEI and FastAPI.
type Complaint struct {
	Message string
	Code    string // also where the server sends a number
	Kind    string // the field "type"
	Param   string

	inner string // Azure's innererror.code
	told  bool   // there was an error in the body
}

// ReadComplaint reads a body that should be an error. It never fails: what cannot be read says nothing.
func ReadComplaint(body []byte) Complaint {
	var top struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message json.RawMessage `json:"message"`
		Object  string          `json:"object"`
		Type    string          `json:"error_type"`
		Code    json.RawMessage `json:"code"`
		Kind    string          `json:"type"`
		Param   json.RawMessage `json:"param"`
	}
	if json.Unmarshal(body, &top) != nil {
		return Complaint{}
	}
	var in struct {
		Message json.RawMessage `json:"message"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
		Param   json.RawMessage `json:"param"`
		Inner   struct {
			Code string `json:"code"`
		} `json:"innererror"`
	}
	switch {
	case len(top.Error) > 0 && json.Unmarshal(top.Error, &in) == nil && string(top.Error) != "null":
		return Complaint{Message: Words(in.Message), Code: Words(in.Code), Kind: Words(in.Type), Param: Words(in.Param), inner: in.Inner.Code, told: true}
	case Words(top.Error) != "":
		return Complaint{Message: Words(top.Error), Kind: top.Type, told: true}
	case Words(top.Detail) != "":
		return Complaint{Message: Words(top.Detail), told: true}
	case top.Object == "error", Words(top.Message) != "":
		return Complaint{Message: Words(top.Message), Code: Words(top.Code), Kind: top.Kind, Param: Words(top.Param), told: true}
	}
	return Complaint{}
}

// Words returns a JSON value as text: strings and numbers as they are, lists and objects as JSON, null as nothing.
func Words(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if s, ok := Text(raw); ok {
		return s
	}
	return string(raw)
}

// Text returns what a JSON string says, "" for null; false: it is another value.
func Text(raw json.RawMessage) (s string, ok bool) {
	if n := len(raw); n > 1 && raw[0] == '"' && bytes.IndexByte(raw[1:], '"') == n-2 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : n-1]), true // as it is written
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// Has reports whether one of the texts, in lower case, stands in it.
func (c *Complaint) Has(texts ...string) bool {
	all := strings.ToLower(strings.Join([]string{c.Message, c.Code, c.Kind, c.inner}, "\n"))
	for _, t := range texts {
		if strings.Contains(all, t) {
			return true
		}
	}
	return false
}

// TooLong reports whether it says that a text is longer than what the model reads.
func (c *Complaint) TooLong() bool {
	return c.Has("context_length_exceeded", "exceed_context_size", "maximum context length", "context size", "context window", "context length", "string_above_max_length", "too many tokens", "input is too long",
		"prompt is too long", "must have less than", "is too large to process") // the last are TEI's, and llama.cpp's of texts to embed and rerank
}

// Filtered reports whether it is of the provider's filter of content.
func (c *Complaint) Filtered() bool {
	return c.Code == "content_filter" || c.Has("responsibleaipolicyviolation", "content_policy_violation")
}

func (c *Complaint) broke() bool {
	return c.Has("insufficient_quota", "billing_hard_limit", "billing_not_active", "exceeded your current quota")
}

// status returns what a body that came with a success says the status is, 0 where it does not: gateways send the error of the model's
// server with a status of their own.
func (c *Complaint) status() int {
	if n, err := strconv.Atoi(c.Code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	return 0
}

// Tokens reads a count; nil where there is none that makes sense.
func Tokens(raw json.RawMessage) *int {
	if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 && n <= 1e12 {
		return &n
	}
	var f *float64
	if json.Unmarshal(raw, &f) != nil || f == nil || *f < 0 || *f > 1e12 || *f != math.Trunc(*f) {
		return nil
	}
	n := int(*f)
	return &n
}
