package modelapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/culprit-rag/culprit/adapters"
)

// Failed makes an error of what happened to a call. An answer that came whole is judged, even where its time is over by now.
func (c *Client) Failed(ctx context.Context, op string, x *Exchange, err error) *adapters.Error {
	e := c.failed(ctx, op, x, err)
	e.Unsent = x.unsent
	return e
}

func (c *Client) failed(ctx context.Context, op string, x *Exchange, err error) *adapters.Error {
	switch {
	case x.Whole():
	case errors.Is(context.Cause(ctx), adapters.ErrClosed):
		return c.fail(op, adapters.KindPermanent, adapters.ErrClosed)
	case ctx.Err() != nil && x.Status == 0:
		return c.fail(op, adapters.KindCanceled, fmt.Errorf("%w, while waiting for an answer of %s", ctx.Err(), c.to.URL))
	case ctx.Err() != nil:
		return c.fail(op, adapters.KindCanceled, fmt.Errorf("%w, while reading the answer (status %d) of %s", ctx.Err(), x.Status, c.to.URL))
	case errors.Is(x.Err, errTooLarge):
		return c.Says(op, adapters.KindPermanent, "status %d: %v", x.Status, x.Err)
	case x.Err != nil:
		return c.Says(op, adapters.KindTransient, "status %d: the answer broke off: %v", x.Status, x.Err)
	default:
		return c.unreached(op, cause(err))
	}
	said := ReadComplaint(x.Answer)
	e := c.classify(op, x, &said, err)
	e.Quota = Quota(x.Header)
	if e.Kind == adapters.KindRateLimited || e.Kind == adapters.KindTransient {
		e.RetryAfter = retryAfter(x.Header, e.Quota)
	}
	return e
}

// unreached makes an error where no answer came.
func (c *Client) unreached(op string, err error) *adapters.Error {
	base := c.to.field(c.to.URLField)
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var name *net.DNSError
	switch {
	case errors.As(err, &certificate):
		return c.Says(op, adapters.KindPermanent, "the certificate of %s is not trusted: %v: see %s", c.to.URL, err, c.to.field("tls.ca_file"))
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return c.Says(op, adapters.KindInvalid, "%s answers without TLS: %s must begin with http://", c.to.URL, base)
	case errors.As(err, &name) && name.IsNotFound:
		return c.Says(op, adapters.KindInvalid, "there is no host %q: is %s right?", name.Name, base)
	case strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)):
		return c.Says(op, adapters.KindPermanent, "the proxy of HTTPS_PROXY wants a login: %v", err)
	}
	hint := ""
	if strings.HasPrefix(c.to.URL, "http:") && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		hint = " Where the server speaks TLS it begins with https://"
	}
	return c.Says(op, adapters.KindTransient, "no answer from %s: %v: is the server up, and is %s right?%s", c.to.URL, adapters.Cause(err), base, hint)
}

// kindsSaid are the names of errors in bodies whose status does not tell: a success, or the status of a gateway.
var kindsSaid = map[string]adapters.Kind{
	"authentication_error": adapters.KindUnauthorised, "permission_error": adapters.KindUnauthorised, "invalid_api_key": adapters.KindUnauthorised,
	"model_not_found": adapters.KindNotFound, "not_found_error": adapters.KindNotFound, "deploymentnotfound": adapters.KindNotFound,
	"rate_limit_exceeded": adapters.KindRateLimited, "rate_limit_error": adapters.KindRateLimited, "too_many_requests": adapters.KindRateLimited,
	"server_error": adapters.KindTransient, "internal_server_error": adapters.KindTransient, "internal_error": adapters.KindTransient,
	"api_error": adapters.KindTransient, "overloaded_error": adapters.KindTransient, "overloaded": adapters.KindTransient,
	"timeout": adapters.KindTransient, "timeout_error": adapters.KindTransient, "service_unavailable": adapters.KindTransient, "unavailable_error": adapters.KindTransient,
	"invalid_request_error": adapters.KindInvalid, "badrequesterror": adapters.KindInvalid, "not_supported_error": adapters.KindUnsupported,
}

// kindOf is the one table of statuses and what bodies say.
func kindOf(status int, said *Complaint) adapters.Kind {
	success := status < http.StatusMultipleChoices
	if n := said.status(); success && n != 0 {
		status, success = n, false
	}
	named, known := kindsSaid[strings.ToLower(said.Code)]
	if !known {
		named, known = kindsSaid[strings.ToLower(said.Kind)]
	}
	switch {
	case said.broke(), status == http.StatusPaymentRequired:
		return adapters.KindUnauthorised
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return adapters.KindUnauthorised
	case status == http.StatusTooManyRequests:
		return adapters.KindRateLimited
	case said.TooLong():
		return adapters.KindTooLong
	case status == http.StatusNotFound:
		return adapters.KindNotFound
	case status == http.StatusNotImplemented:
		return adapters.KindUnsupported
	case known && (success || status >= 400 && (named == adapters.KindNotFound || named == adapters.KindUnauthorised || named == adapters.KindRateLimited)):
		return named
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return adapters.KindTransient
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity, status == http.StatusRequestEntityTooLarge:
		return adapters.KindInvalid
	}
	return adapters.KindPermanent
}

// classify looks at status and body of an answer that is none.
func (c *Client) classify(op string, x *Exchange, said *Complaint, err error) *adapters.Error {
	status := fmt.Sprintf("%d %s", x.Status, http.StatusText(x.Status))
	text := c.Short(said.Message)
	if text == "" {
		text = c.shape(x)
	}
	success := x.Status < http.StatusMultipleChoices
	if success && said.told {
		status += " with an error in it"
	}
	switch kind := kindOf(x.Status, said); {
	case kind == adapters.KindTooLong:
		return c.Says(op, kind, "%s: %s: %s longer than what the model reads", status, text, c.to.TooLong)
	case kind == adapters.KindUnauthorised && (said.broke() || x.Status == http.StatusPaymentRequired):
		return c.Says(op, kind, "the account behind %s may buy nothing more, and another try is no help: %s: %s", c.to.keySetting(), status, text)
	case kind == adapters.KindUnauthorised:
		return c.Says(op, kind, "the server does not accept the key of %s: %s: %s", c.to.keySetting(), status, text)
	case kind == adapters.KindNotFound:
		return c.Says(op, kind, "%s: %s: is %s known there, and does %s %s hold the whole path?", status, text, c.to.Asked, c.to.URLField, c.to.URL)
	case x.Status >= 300 && x.Status < 400:
		return c.Says(op, kind, "%s: the server sends on to %s, which is not followed: name the final address in %s", status, place(x.Header.Get("Location")), c.to.field(c.to.URLField))
	case !success, said.told:
		return c.Says(op, kind, "%s: %s", status, text)
	// The status is that of a success, and what came is none.
	case len(bytes.TrimSpace(x.Answer)) == 0, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return c.Says(op, adapters.KindTransient, "%s, and the answer is cut off: %s", status, text)
	case err == nil:
		return c.Says(op, adapters.KindPermanent, "%s, and there is nothing in the answer: %s", status, text)
	}
	return c.Says(op, adapters.KindPermanent, "%s, and what came is no answer of this API: %s", status, text)
}

// shape tells what a body is that is no error of this API.
func (c *Client) shape(x *Exchange) string {
	body := bytes.TrimSpace(x.Answer)
	kind := x.Header.Get("Content-Type")
	switch {
	case len(body) == 0:
		return "an empty body came"
	case body[0] == '<' || strings.Contains(kind, "text/html"):
		return fmt.Sprintf("a web page came (of a proxy, or its login?): %q", c.Short(title(body)))
	case strings.Contains(kind, "event-stream") || bytes.HasPrefix(body, []byte("data:")):
		return "a stream came, which was not asked for"
	case json.Valid(body):
		return fmt.Sprintf("JSON came: %q", c.Short(string(body)))
	}
	return fmt.Sprintf("%q came", c.Short(string(body)))
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

// Says makes an error without the keys of this connection.
func (c *Client) Says(op string, kind adapters.Kind, format string, args ...any) *adapters.Error {
	return &adapters.Error{Adapter: c.to.Adapter, Op: op, Kind: kind, Err: errors.New(c.redact.String(fmt.Sprintf(format, args...)))}
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
