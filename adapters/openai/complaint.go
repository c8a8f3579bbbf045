package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// complaint is what the body of an error says, in the forms of OpenAI, Azure, vLLM, llama.cpp, Ollama, TEI and FastAPI.
type complaint struct {
	message string
	code    string // also where the server sends a number
	kind    string // the field "type"
	param   string
	inner   string // Azure's innererror.code
	told    bool   // there was an error in the body
}

// readComplaint reads a body that should be an error. It never fails: what cannot be read says nothing.
func readComplaint(body []byte) complaint {
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
		return complaint{}
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
		return complaint{message: words(in.Message), code: words(in.Code), kind: words(in.Type), param: words(in.Param), inner: in.Inner.Code, told: true}
	case words(top.Error) != "":
		return complaint{message: words(top.Error), kind: top.Type, told: true}
	case words(top.Detail) != "":
		return complaint{message: words(top.Detail), told: true}
	case top.Object == "error", words(top.Message) != "":
		return complaint{message: words(top.Message), code: words(top.Code), kind: top.Kind, param: words(top.Param), told: true}
	}
	return complaint{}
}

// words returns a JSON value as text: strings and numbers as they are, lists and objects as JSON, null as nothing.
func words(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (c *complaint) has(texts ...string) bool {
	all := strings.ToLower(strings.Join([]string{c.message, c.code, c.kind, c.inner}, "\n"))
	for _, t := range texts {
		if strings.Contains(all, t) {
			return true
		}
	}
	return false
}

func (c *complaint) tooLong() bool {
	return c.has("context_length_exceeded", "exceed_context_size", "maximum context length", "context size", "context window", "context length", "string_above_max_length", "too many tokens", "input is too long",
		"prompt is too long", "must have less than") // the last is TEI's
}

func (c *complaint) filtered() bool {
	return c.code == "content_filter" || c.has("responsibleaipolicyviolation", "content_policy_violation")
}

func (c *complaint) broke() bool {
	return c.has("insufficient_quota", "billing_hard_limit", "billing_not_active", "exceeded your current quota")
}

// status returns what a body that came with a success says the status is, 0 where it does not: gateways send the error of the model's
// server with a status of their own.
func (c *complaint) status() int {
	if n, err := strconv.Atoi(c.code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	return 0
}
