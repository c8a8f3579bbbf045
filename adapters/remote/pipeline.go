package remote

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
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/remote/tap"
)

type pipeline struct {
	set      settings
	http     *http.Client
	own      *http.Transport
	headers  http.Header
	redact   *adapters.Redactor
	request  *program
	response *program
	tap      *tap.Client

	ended context.Context // is done after Close
	end   context.CancelFunc
}

// answerLimit is the most of one answer that is read.
const answerLimit = 64 << 20

func openPipeline(_ context.Context, cfg adapters.Config) (adapters.Pipeline, error) {
	p, err := connect(cfg)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, "%w", err)
	}
	return p, nil
}

// connect reads the settings. It makes no call.
func connect(cfg adapters.Config) (*pipeline, error) {
	set, err := readSettings(cfg.Settings)
	if err != nil {
		return nil, err
	}
	p := &pipeline{set: set, headers: http.Header{}}
	if p.request, err = compile("request", set.Map.Request); err != nil {
		return nil, err
	}
	if p.response, err = compile("response", set.Map.Response); err != nil {
		return nil, err
	}
	key, err := cfg.Secrets.Read(setting+"api_key", set.APIKeyEnv, set.APIKeyFile, cfg.Dir)
	if err != nil {
		return nil, err
	}
	secrets := []string{key}
	for name, value := range set.Headers {
		p.headers.Set(name, value)
	}
	for name, variable := range set.HeadersEnv {
		value, err := cfg.Secrets.Read(setting+"headers", variable, "", cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", name, err)
		}
		p.headers.Set(name, value)
		secrets = append(secrets, value)
	}
	if key != "" {
		p.headers.Set("Authorization", "Bearer "+key)
	}
	trust, err := set.TLS.Config(cfg.Dir)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "backends.store.", "backends.service."))
	}
	p.own = transport(trust)
	p.http = &http.Client{Transport: p.own, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // another address gets no key
	if t := set.Tap; t != nil {
		tapKey, err := cfg.Secrets.Read(setting+"tap.key", t.KeyEnv, "", cfg.Dir)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, tapKey)
		p.tap = &tap.Client{URL: t.URL, Key: tapKey, HTTP: p.http}
	}
	p.redact = adapters.NewRedactor(secrets...)
	p.ended, p.end = context.WithCancel(context.Background())
	return p, nil
}

func transport(trust *tls.Config) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	if trust != nil {
		t.TLSClientConfig = trust
	}
	return t
}

// Close ends calls under way.
func (p *pipeline) Close() error {
	p.end()
	p.own.CloseIdleConnections()
	return nil
}

func (p *pipeline) enter(ctx context.Context, op string) (context.Context, func(), error) {
	if p.ended.Err() != nil {
		return nil, nil, fail(op, adapters.KindPermanent, "%w", adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fail(op, adapters.KindCanceled, "%w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ended, func() { cancel(adapters.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// Describe asks the service what it can be asked for, unless the settings say so. A service that has no such place can do the
// least: answer.
func (p *pipeline) Describe(ctx context.Context) (adapters.PipelineInfo, error) {
	const op = "describe"
	ctx, leave, err := p.enter(ctx, op)
	if err != nil {
		return adapters.PipelineInfo{}, err
	}
	defer leave()
	can := p.set.Capabilities
	if can == nil {
		address, _ := url.Parse(p.set.URL) // it was parsed before
		address.Path, address.RawQuery = strings.TrimSuffix(address.Path, "/")+capabilitiesSuffix, ""
		can = &capabilities{}
		body, err := p.call(ctx, op, http.MethodGet, address.String(), nil, "")
		switch {
		case errors.Is(err, adapters.ErrNotFound):
		case err != nil:
			return adapters.PipelineInfo{}, err
		default:
			if err := json.Unmarshal(body, can); err != nil {
				return adapters.PipelineInfo{}, p.says(op, adapters.KindPermanent, "what %s answers cannot be read as capabilities: %v: say in backends.service.capabilities what the service can do", address, err)
			}
		}
	}
	info := adapters.PipelineInfo{Adapter: Name, Name: can.Name, Version: can.Version, Context: can.Context, Retrieval: can.Retrieval, Deterministic: p.set.Deterministic}
	if !info.Context && p.tap != nil && (p.set.Tap.Begin != "" || p.set.Tap.End != "") {
		info.Context, info.Through = true, "the tap at "+p.set.Tap.URL
	}
	if info.Name == "" {
		address, _ := url.Parse(p.set.URL)
		info.Name = address.Host
	}
	return info, nil
}

// Ask makes one request. With a tap, the prompt is read there, and the context put in there where the service takes none.
func (p *pipeline) Ask(ctx context.Context, req adapters.PipelineRequest) (adapters.Trace, error) {
	const op = "ask"
	ctx, leave, err := p.enter(ctx, op)
	if err != nil {
		return adapters.Trace{}, err
	}
	defer leave()
	if req.RequestID == "" {
		return adapters.Trace{}, fail(op, adapters.KindInvalid, "a request without an id")
	}
	if p.tap != nil && req.Answer {
		return p.tapped(ctx, op, req)
	}
	return p.ask(ctx, op, req)
}

// ask makes the request to the service itself.
func (p *pipeline) ask(ctx context.Context, op string, req adapters.PipelineRequest) (adapters.Trace, error) {
	var none adapters.Trace
	plain, err := json.Marshal(newRequest(req))
	if err != nil {
		return none, fail(op, adapters.KindInvalid, "%w", err)
	}
	body, err := p.request.run(ctx, plain)
	if err != nil {
		return none, p.says(op, adapters.KindInvalid, "%v", err)
	}
	start := time.Now()
	answer, err := p.call(ctx, op, http.MethodPost, p.set.URL, body, req.RequestID)
	took := time.Since(start)
	if err != nil {
		return none, err
	}
	mapped, err := p.response.run(ctx, answer)
	if ctx.Err() != nil {
		return none, p.failed(ctx, op, ctx.Err())
	}
	if err != nil {
		return none, p.says(op, adapters.KindPermanent, "the answer cannot be mapped: %v: it was %q", err, short(string(answer)))
	}
	w, err := decodeTrace(mapped)
	var told *toldError
	switch {
	case errors.As(err, &told):
		return none, p.says(op, adapters.KindTransient, "%v", told)
	case err != nil:
		return none, p.says(op, adapters.KindPermanent, "the answer is no trace: %v: see backends.service.map.response; it was %q", err, short(string(mapped)))
	case w.RequestID != "" && w.RequestID != req.RequestID:
		return none, p.says(op, adapters.KindPermanent, "the trace is of request %q, and %q was asked: the service mixes up its requests, or serves an answer from a cache", w.RequestID, req.RequestID)
	case req.Answer && w.Answer == nil:
		return none, p.says(op, adapters.KindPermanent, "the trace holds no answer: see backends.service.map.response; it was %q", short(string(mapped)))
	}
	t := w.trace()
	t.WireTime = took
	if w.RequestID == "" {
		t.Notes = append(t.Notes, "the service does not repeat the request id, so that its trace is taken on trust")
	}
	return t, nil
}

// call makes one HTTP call and returns the body of a success.
func (p *pipeline) call(ctx context.Context, op, method, address string, body []byte, id string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, "%w", err)
	}
	for name, values := range p.headers {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Cache-Control", "no-store")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if id != "" {
		req.Header.Set(p.set.RequestHeader, id)
	}
	response, err := p.http.Do(req)
	if err != nil {
		return nil, p.failed(ctx, op, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
	switch {
	case err != nil:
		return nil, p.failed(ctx, op, err)
	case len(data) > answerLimit:
		return nil, p.says(op, adapters.KindPermanent, "the answer is longer than %d bytes", answerLimit)
	case response.StatusCode/100 != 2:
		return nil, p.status(op, response, data)
	case !json.Valid(data):
		kind := adapters.KindPermanent
		if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] == '[' {
			kind = adapters.KindTransient // it broke off
		}
		return nil, p.says(op, kind, "status %d, and what came is no JSON: %q", response.StatusCode, short(string(data)))
	}
	return data, nil
}

// status makes an error of an answer that is no success.
func (p *pipeline) status(op string, response *http.Response, data []byte) *adapters.Error {
	said := short(string(data))
	kind, next := adapters.KindPermanent, ""
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		kind, next = adapters.KindUnauthorised, ": see backends.service.api_key_env and headers_env"
	case code == http.StatusNotFound, code == http.StatusGone:
		kind, next = adapters.KindNotFound, ": is backends.service.url right?"
	case code == http.StatusTooManyRequests:
		kind = adapters.KindRateLimited
	case code/100 == 3:
		next = ": it sends on to another address, which is not followed: name the final one in backends.service.url"
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		kind, next = adapters.KindInvalid, ": see backends.service.map.request"
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code >= 500:
		kind = adapters.KindTransient
	}
	e := p.says(op, kind, "the service answers %d %s: %q%s", response.StatusCode, http.StatusText(response.StatusCode), said, next)
	if kind == adapters.KindTransient || kind == adapters.KindRateLimited {
		date, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			date = time.Time{}
		}
		e.RetryAfter = adapters.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now(), date)
	}
	return e
}

// failed makes an error of a call that got no answer.
func (p *pipeline) failed(ctx context.Context, op string, err error) *adapters.Error {
	switch {
	case errors.Is(context.Cause(ctx), adapters.ErrClosed):
		return fail(op, adapters.KindPermanent, "%w", adapters.ErrClosed)
	case ctx.Err() != nil:
		return fail(op, adapters.KindCanceled, "%w", ctx.Err())
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return p.says(op, adapters.KindTransient, "no answer from %s: %v: is the service up, and is backends.service.url right?", p.set.URL, err)
}

func (p *pipeline) says(op string, kind adapters.Kind, format string, args ...any) *adapters.Error {
	return &adapters.Error{Adapter: Name, Op: op, Kind: kind, Err: errors.New(p.redact.String(fmt.Sprintf(format, args...)))}
}
