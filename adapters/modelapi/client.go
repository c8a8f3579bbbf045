// Package modelapi asks the servers of models, and of whole pipelines, by JSON over HTTP, for their adapters: the settings that they share, a client that
// keeps connections and keys to itself, and what an answer that is none is called.
//
// Start from [Connect]. A call is an [Exchange]: it holds what was sent and all of what came back, and [Client.Failed] makes of it an
// error of the right kind, one line long, which names the setting that it is about and never a key.
package modelapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Client is the connection of one backend. It is safe for concurrent use.
type Client struct {
	HTTP *http.Client // every call through it needs an [Exchange]
	Key  string       // "": none

	to        Server
	transport *http.Transport
	redact    *adapters.Redactor

	mu     sync.Mutex
	ended  context.Context // is done after Close
	end    context.CancelFunc
	closed bool
}

// Connect makes a client. It reads the keys, and makes no call. More secrets are those that the adapter has beside them.
func Connect(to *Server, cfg adapters.Config, more ...string) (*Client, error) {
	key, err := cfg.Secrets.Read(Setting(to.Role, "api_key"), to.APIKeyEnv, to.APIKeyFile, cfg.Dir)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, value := range to.Headers {
		headers.Set(name, value)
	}
	secrets := append(cfg.Secrets.Proxies(), more...)
	secrets = append(secrets, key)
	for name, variable := range to.HeadersEnv {
		value, err := cfg.Secrets.Read(Setting(to.Role, "headers"), variable, "", cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("header %q: %w", name, err)
		}
		headers.Set(name, value)
		secrets = append(secrets, value)
	}
	trust, err := to.TLS.Config(cfg.Dir)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "backends.store.", "backends."+to.Role+"."))
	}
	c := Bare(to, secrets...)
	c.Key, c.transport = key, transport(trust)
	c.HTTP = &http.Client{
		Transport:     &recorder{next: c.transport, headers: headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // another address gets no key
	}
	return c, nil
}

// Bare makes a client without a connection, which only reads what came.
func Bare(to *Server, secrets ...string) *Client {
	c := &Client{to: *to, transport: &http.Transport{}, redact: adapters.NewRedactor(secrets...)}
	c.ended, c.end = context.WithCancel(context.Background())
	return c
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
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.end()
		c.transport.CloseIdleConnections()
	}
	return nil
}

// Enter begins a call: it fails after Close, and its context ends with Close. The caller leaves when the call has ended.
func (c *Client) Enter(ctx context.Context, op string) (within context.Context, leave func(), err error) {
	if c.ended.Err() != nil {
		return nil, nil, c.fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, c.fail(op, adapters.KindCanceled, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ended, func() { cancel(adapters.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

func (c *Client) fail(op string, kind adapters.Kind, err error) *adapters.Error {
	return adapters.NewError(c.to.Adapter, op, kind, err)
}
