package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
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
	return c.has("context_length_exceeded", "exceed_context_size", "maximum context length", "context size", "context window", "context length", "string_above_max_length", "too many tokens", "input is too long")
}

func (c *complaint) filtered() bool {
	return c.code == "content_filter" || c.has("responsibleaipolicyviolation", "content_policy_violation")
}

func (c *complaint) broke() bool {
	return c.has("insufficient_quota", "billing_hard_limit", "billing_not_active", "exceeded your current quota")
}

// failed makes an error of what happened to a call.
func (c *client) failed(ctx context.Context, op string, x *exchange, err error) *adapters.Error {
	base := "backends." + c.set.role + ".base_url"
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(context.Cause(ctx), adapters.ErrClosed):
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	case ctx.Err() != nil:
		return fail(op, adapters.KindCanceled, ctx.Err())
	case x.status == 0 && errors.As(err, &certificate):
		return c.says(op, adapters.KindPermanent, "the certificate of %s is not trusted: %v: see backends.%s.tls.ca_file", c.set.BaseURL, cause(err), c.set.role)
	case x.status == 0:
		return c.says(op, adapters.KindTransient, "no answer from %s: %v: is the server up, and is %s right?", c.set.BaseURL, cause(err), base)
	case errors.Is(x.err, errTooLarge):
		return c.says(op, adapters.KindPermanent, "status %d: %v", x.status, x.err)
	case x.err != nil:
		return c.says(op, adapters.KindTransient, "status %d: the answer broke off: %v", x.status, cause(x.err))
	}
	said := readComplaint(x.answer)
	e := c.classify(op, x, &said, err)
	e.Quota = quota(x.header)
	if e.Kind == adapters.KindRateLimited || e.Kind == adapters.KindTransient {
		e.RetryAfter = retryAfter(x.header, e.Quota)
	}
	return e
}

// classify looks at status and body.
func (c *client) classify(op string, x *exchange, said *complaint, err error) *adapters.Error {
	status := fmt.Sprintf("%d %s", x.status, http.StatusText(x.status))
	text := short(said.message)
	if text == "" {
		text = c.shape(x)
	}
	switch {
	case said.tooLong() && (x.status < 300 || x.status >= 400 && x.status < 500):
		return c.says(op, adapters.KindTooLong, "%s: %s: the prompt and max_tokens are longer than what the model reads", status, text)
	case said.broke():
		return c.says(op, adapters.KindUnauthorised, "%s: %s: the account behind %s may buy nothing more", status, text, c.set.keySetting())
	case x.status == http.StatusUnauthorized, x.status == http.StatusForbidden, said.has("invalid_api_key"):
		return c.says(op, adapters.KindUnauthorised, "%s: %s: see %s", status, text, c.set.keySetting())
	case x.status == http.StatusNotFound, said.has("model_not_found"):
		return c.says(op, adapters.KindNotFound, "%s: %s: is backends.%s.model %q known there, and does base_url %s hold the whole path?", status, text, c.set.role, c.set.Model, c.set.BaseURL)
	case x.status == http.StatusTooManyRequests, said.has("rate_limit_exceeded"):
		return c.says(op, adapters.KindRateLimited, "%s: %s", status, text)
	case x.status >= 300 && x.status < 400:
		return c.says(op, adapters.KindPermanent, "%s: the server sends on to %s, which is not followed: name the final address in backends.%s.base_url", status, place(x.header.Get("Location")), c.set.role)
	case x.status == http.StatusRequestTimeout, x.status == http.StatusConflict, x.status == http.StatusTooEarly, x.status >= 500:
		return c.says(op, adapters.KindTransient, "%s: %s", status, text)
	case x.status == http.StatusBadRequest, x.status == http.StatusUnprocessableEntity, x.status == http.StatusRequestEntityTooLarge:
		return c.says(op, adapters.KindInvalid, "%s: %s", status, text)
	case x.status >= 400:
		return c.says(op, adapters.KindPermanent, "%s: %s", status, text)
	}
	// The status is that of a success, and what came is none.
	switch {
	case said.told && said.has("overloaded", "server_error", "internal", "timeout", "unavailable", "try again", "503", "502", "500"):
		return c.says(op, adapters.KindTransient, "%s with an error in it: %s", status, text)
	case said.told:
		return c.says(op, adapters.KindPermanent, "%s with an error in it: %s", status, text)
	case len(bytes.TrimSpace(x.answer)) == 0, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return c.says(op, adapters.KindTransient, "%s, and the answer is cut off: %s", status, text)
	case err == nil:
		return c.says(op, adapters.KindPermanent, "%s, and the answer holds no choice: %s", status, text)
	}
	return c.says(op, adapters.KindPermanent, "%s, and what came is no answer of this API: %s", status, text)
}

// shape tells what a body is that is no error of this API.
func (c *client) shape(x *exchange) string {
	body := bytes.TrimSpace(x.answer)
	kind := x.header.Get("Content-Type")
	switch {
	case len(body) == 0:
		return "an empty body came"
	case body[0] == '<' || strings.Contains(kind, "text/html"):
		return fmt.Sprintf("a web page came (of a proxy, or its login?): %q", short(title(body)))
	case json.Valid(body):
		return fmt.Sprintf("JSON came: %q", short(string(body)))
	}
	return fmt.Sprintf("%q came", short(string(body)))
}

func title(page []byte) string {
	lower := bytes.ToLower(page)
	from := bytes.Index(lower, []byte("<title"))
	if from < 0 {
		return string(page)
	}
	rest := page[from:]
	start, end := bytes.IndexByte(rest, '>'), bytes.Index(bytes.ToLower(rest), []byte("</title"))
	if start < 0 || end < start {
		return string(page)
	}
	return string(rest[start+1 : end])
}

// short makes a server's text one line of a length that can be read.
func short(s string) string {
	const most = 300
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + " …"
}

// says makes an error without the keys of this connection.
func (c *client) says(op string, kind adapters.Kind, format string, args ...any) *adapters.Error {
	return &adapters.Error{Adapter: Name, Op: op, Kind: kind, Err: errors.New(c.redact.String(fmt.Sprintf(format, args...)))}
}

// cause is the error below that of the HTTP client, which repeats the method and the address.
func cause(err error) error {
	var outer *url.Error
	for errors.As(err, &outer) {
		err = outer.Err
	}
	return err
}

// place is where a server sends on to, without what may be a secret in it.
func place(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return "another path"
	}
	return u.Scheme + "://" + u.Host
}
