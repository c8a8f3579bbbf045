package weaviate

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/connection"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/graphql"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"

	"github.com/culprit-rag/culprit/adapters"
)

// store reads one class. The class is looked up when the store is opened and with every Describe.
type store struct {
	set       storeSettings
	base      string // scheme://host:port
	transport *transport
	http      *http.Client
	conn      *connection.Connection
	graphql   *graphql.API
	schema    *schema.API
	life      context.Context // ends with Close
	end       context.CancelFunc

	mu         sync.Mutex // of what follows, which is learnt from the server
	version    string
	class      *class
	dimensions int // of the vectors; 0: not known
	maxResults int // the most that one query returns; 0: not known
}

const (
	openTime   = 30 * time.Second // where the settings do not bound it
	idleTime   = 90 * time.Second
	perHost    = 32 // idle connections that are kept
	allAtOnce  = 4  // requests that one call makes at the same time, over tenants
	dialPeriod = 10 * time.Second
)

func openStore(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
	settings, err := readSettings(cfg.Settings)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, err)
	}
	key, err := cfg.Secrets.Read("api_key", settings.APIKeyEnv, settings.APIKeyFile, cfg.Dir)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, err)
	}
	secure, err := settings.TLS.Config(cfg.Dir)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, err)
	}
	s := newStore(settings, key, secure)
	s.transport.redact = cfg.Secrets.Redactor()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(cfg.Timeout, openTime))
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(s.failure(ctx, "open", err), s.Close())
	}
	return s, nil
}

func newStore(settings storeSettings, key string, secure *tls.Config) *store {
	s := &store{set: settings}
	s.transport = &transport{key: key, limit: responseLimit, next: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialPeriod, KeepAlive: idleTime}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: dialPeriod,
		MaxIdleConnsPerHost: perHost,
		IdleConnTimeout:     idleTime,
		ForceAttemptHTTP2:   true,
	}}
	s.http = &http.Client{
		Transport:     s.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key goes to the address alone
	}
	scheme := "http"
	if settings.TLS.On {
		scheme = "https"
	}
	s.base = scheme + "://" + settings.Address
	s.conn = connection.NewConnection(scheme, settings.Address, s.http, 0, nil)
	// Its finalizer waits for a goroutine that only logins by OAuth start, and would hold up every other finalizer for good.
	runtime.SetFinalizer(s.conn, nil)
	s.graphql, s.schema = graphql.New(s.conn), schema.New(s.conn)
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// connect sees that there is a server, and that it has what the settings name.
func (s *store) connect(ctx context.Context) error {
	if err := s.readMeta(ctx); err != nil {
		return err
	}
	c, err := s.refresh(ctx)
	if err != nil {
		return err
	}
	_, err = s.tenants(ctx, c)
	return err
}

func (s *store) readMeta(ctx context.Context) error {
	var meta struct {
		Version string `json:"version"`
	}
	if err := s.get(ctx, "/meta", &meta); err != nil {
		return err
	}
	if meta.Version == "" {
		return problemf(adapters.KindInvalid, "%s/v1/meta names no version: backends.store.address (%q) is no Weaviate server", s.base, s.set.Address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = meta.Version
	return nil
}

// told returns the version that the server told last.
func (s *store) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// refresh looks the class up again, and forgets what was learnt of it before.
func (s *store) refresh(ctx context.Context) (*class, error) {
	c, err := s.lookUp(ctx, s.set.Collection)
	if err == nil {
		err = c.serves(s.set)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.class == nil || string(s.class.raw) != string(c.raw) {
		s.dimensions = 0
	}
	s.class = c
	return c, nil
}

func (s *store) current() *class {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.class
}

// Capabilities declares what every class can do; hybrid search without an exact vector index says that it is not exact.
func (s *store) Capabilities() adapters.StoreCapabilities {
	return adapters.StoreCapabilities{
		Modes: []string{modeKeyword, modeDense, modeHybrid}, Exact: true, Threshold: true, Filter: true, Vectors: true, Collections: true, Only: true,
	}
}

// Close ends the store, and what is under way in it.
func (s *store) Close() error {
	s.end()
	s.http.CloseIdleConnections()
	return nil
}

// enter is the first thing that a method does. The context that it returns ends with the store as well.
func (s *store) enter(ctx context.Context, op string) (_ context.Context, leave func(), err error) {
	if s.life.Err() != nil {
		return nil, nil, fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fail(op, adapters.KindCanceled, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel() }, nil
}
