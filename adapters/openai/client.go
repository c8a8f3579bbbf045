package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/culprit-rag/culprit/adapters"
)

// client is the connection of one backend.
type client struct {
	set       *connection
	api       *openai.Client
	http      *http.Transport
	redact    *adapters.Redactor // for errors
	inAnswers *adapters.Redactor

	mu     sync.Mutex
	ended  context.Context // is done after Close
	end    context.CancelFunc
	closed bool
}

// What is read of one answer; a longer one is an error, and not kept.
const (
	answerLimit = 16 << 20
	vectorLimit = 256 << 20
)

// connect makes a client. It makes no call.
func connect(set *connection, cfg adapters.Config) (*client, error) {
	setting := "backends." + set.role + "."
	key, err := cfg.Secrets.Read("setting "+setting+"api_key", set.APIKeyEnv, set.APIKeyFile, cfg.Dir)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, value := range set.Headers {
		headers.Set(name, value)
	}
	secrets := []string{key}
	for name, variable := range set.HeadersEnv {
		value, err := cfg.Secrets.Read("setting "+setting+"headers", variable, "", cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", name, err)
		}
		headers.Set(name, value)
		secrets = append(secrets, value)
	}
	trust, err := set.TLS.Config(cfg.Dir)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "backends.store.", setting))
	}
	c := &client{set: set, http: transport(trust)}
	c.guardKeys(secrets)
	c.ended, c.end = context.WithCancel(context.Background())
	config := openai.DefaultConfig(key)
	if set.Azure != nil {
		config = openai.DefaultAzureConfig(key, set.BaseURL)
		config.APIVersion = set.Azure.APIVersion
		if config.APIVersion == "" {
			config.APIVersion = defaultAzureAPI
		}
		config.AzureModelMapperFunc = func(string) string { return set.Azure.Deployment }
	}
	config.BaseURL, config.OrgID = set.BaseURL, set.Org
	config.HTTPClient = &http.Client{
		Transport:     &wire{next: c.http, headers: headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // another address gets no key
	}
	c.api = openai.NewClientWithConfig(config)
	return c, nil
}

// transport keeps as many connections as there may be calls at once.
func transport(trust *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	}
}

// Close ends calls under way.
func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.end()
		c.http.CloseIdleConnections()
	}
	return nil
}

// enter begins a call: it fails after Close, and its context ends with Close.
func (c *client) enter(ctx context.Context, op string) (context.Context, func(), error) {
	if c.ended.Err() != nil {
		return nil, nil, fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fail(op, adapters.KindCanceled, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ended, func() { cancel(adapters.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// exchange is one call on the wire: what is sent in place of what the client library writes, and what came back.
type exchange struct {
	body   []byte // is sent; nil: what the library writes
	limit  int64
	status int // 0: no answer came
	header http.Header
	answer []byte
	took   time.Duration // from the request to the last byte of the answer
	err    error         // of reading the answer
}

// whole reports whether all of an answer came.
func (x *exchange) whole() bool { return x.status != 0 && x.err == nil }

type exchangeKey struct{}

// errTooLarge is the cause where an answer is longer than what is read.
var errTooLarge = errors.New("the answer is too large")

// wire sends an exchange's own body and reads the whole answer, so that what came can be told from what was made of it.
type wire struct {
	next    http.RoundTripper
	headers http.Header
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a call without an exchange")
	}
	if x.body != nil {
		if req.Body != nil {
			_ = req.Body.Close() // it was never read
		}
		body := x.body
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	for name, values := range w.headers {
		req.Header[name] = values
	}
	start := time.Now()
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		x.took = time.Since(start)
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	x.answer, x.err = readAll(resp.Body, resp.ContentLength, x.limit)
	x.took = time.Since(start)
	if x.err != nil {
		return nil, x.err
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.answer))
	return resp, nil
}

// readAll reads to the end or the limit. Where the length is told, memory is taken once.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return nil, fmt.Errorf("%w: %d bytes, where at most %d are read", errTooLarge, length, limit)
	}
	var b bytes.Buffer
	if length > 0 {
		b.Grow(int(length) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return b.Bytes(), err
	}
	if int64(b.Len()) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	return b.Bytes(), nil
}
