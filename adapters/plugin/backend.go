package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

const (
	mostExits = 3               // ends of a plugin without an answered call in between
	farewell  = 2 * time.Second // for the plugin's own Close, and for the news of an end to arrive
)

// service is the part of the protocol that differs by role.
type service struct {
	role   adapters.Role
	open   func(context.Context, *grpc.ClientConn, *pluginv1.OpenRequest) error
	close  func(context.Context, *grpc.ClientConn) error
	opened func(context.Context, *grpc.ClientConn) (any, error) // what must be the same after another start; nil: nothing
}

// backend is a plugin in one role: a process, or the next one where it died.
type backend struct {
	set  settings
	cfg  adapters.Config
	kind service

	life  context.Context // ended by Close
	stop  context.CancelFunc
	once  sync.Once
	lock  chan struct{} // held by whoever starts or ends the process
	now   atomic.Pointer[session]
	exits atomic.Int32
	about any // what opened returned first
}

func openBackend(ctx context.Context, cfg adapters.Config, kind service) (*backend, error) {
	set, err := readSettings(cfg.Settings, cmp.Or(cfg.As, string(kind.role)))
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, err)
	}
	b := &backend{set: set, cfg: cfg, kind: kind, lock: make(chan struct{}, 1)}
	b.life, b.stop = context.WithCancel(context.Background())
	s, about, err := b.start(ctx)
	if err != nil {
		b.stop()
		return nil, cfg.Secrets.Redactor().Error(err)
	}
	b.about = about
	b.now.Store(s)
	return b, nil
}

// start runs the plugin and opens it within start_timeout.
func (b *backend) start(ctx context.Context) (*session, any, error) {
	const op = "open"
	if err := ctx.Err(); err != nil {
		return nil, nil, fail(op, adapters.KindCanceled, err)
	}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(b.set.StartTimeout))
	defer cancel()
	s, err := start(bounded, &b.set, b.cfg)
	if err != nil {
		return nil, nil, err
	}
	about, err := b.enter(bounded, s)
	if err == nil {
		return s, about, nil
	}
	if ctx.Err() == nil && bounded.Err() != nil {
		err = fail(op, adapters.KindTimeout, fmt.Errorf("the plugin %q does not open within %s: %w; %s",
			s.proc.name, b.set.at("start_timeout"), bounded.Err(), s.proc.lastWords(b.cfg.Secrets.Redactor())))
	} else {
		err = b.failed(ctx, s, op, err)
	}
	s.end()
	return nil, nil, err
}

// enter opens the backend of a running plugin.
func (b *backend) enter(ctx context.Context, s *session) (any, error) {
	const op = "open"
	schema, err := s.role(b.kind.role)
	if err != nil {
		return nil, fail(op, adapters.KindUnsupported, err)
	}
	wrong, broken := fits(schema, b.set.Settings, b.set.at("settings"))
	if broken != nil {
		return nil, fail(op, adapters.KindPermanent, broken)
	}
	if wrong != nil {
		return nil, fail(op, adapters.KindInvalid, wrong)
	}
	dir, err := filepath.Abs(b.cfg.Dir) // the plugin runs there, where a relative one would lead elsewhere
	if err != nil {
		return nil, fail(op, adapters.KindPermanent, err)
	}
	req := &pluginv1.OpenRequest{Settings: b.set.Settings, Dir: dir, CacheDir: b.cfg.CacheDir}
	if err := b.kind.open(ctx, s.conn, req); err != nil {
		return nil, err
	}
	if b.kind.opened == nil {
		return nil, nil
	}
	return b.kind.opened(ctx, s.conn)
}

// session returns the running process, or starts another where it died.
func (b *backend) session(ctx context.Context, op string) (*session, error) {
	if b.life.Err() != nil {
		return nil, fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, fail(op, adapters.KindCanceled, err)
	}
	if s := b.now.Load(); s != nil && !s.proc.ended() {
		return s, nil
	}
	select {
	case b.lock <- struct{}{}:
		defer func() { <-b.lock }()
	case <-ctx.Done():
		return nil, fail(op, adapters.KindCanceled, ctx.Err())
	case <-b.life.Done():
		return nil, fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	old := b.now.Load()
	switch {
	case b.life.Err() != nil:
		return nil, fail(op, adapters.KindPermanent, adapters.ErrClosed)
	case old != nil && !old.proc.ended():
		return old, nil // somebody else was first
	case old != nil:
		b.exits.Add(1)
		old.end()
		b.now.Store(nil)
	}
	if n := b.exits.Load(); n >= mostExits {
		return nil, fail(op, adapters.KindPermanent, fmt.Errorf("%w %d times without an answer in between, and is not started again: %s", ErrPluginExited, n, b.set.Path))
	}
	return b.again(ctx, op)
}

// again starts the next process; the lock is held.
func (b *backend) again(ctx context.Context, op string) (*session, error) {
	s, about, err := b.start(ctx)
	if err != nil {
		if b.life.Err() == nil && ctx.Err() == nil {
			b.exits.Add(1)
		}
		return nil, err
	}
	if before, ok := b.about.(proto.Message); ok {
		if after, is := about.(proto.Message); !is || !proto.Equal(before, after) {
			s.end()
			return nil, fail(op, adapters.KindPermanent, fmt.Errorf("the plugin %q declares other capabilities after it was started again than before", s.proc.name))
		}
	}
	b.now.Store(s)
	return s, nil
}

// ask makes one call of op. f gets a context that also ends with the backend.
func ask[T any](ctx context.Context, b *backend, op string, f func(context.Context, *session) (T, error)) (T, error) {
	var none T
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)() //nolint:contextcheck // the life of the backend is a second end
	s, err := b.session(bounded, op)
	if err == nil {
		var answer T
		if answer, err = f(bounded, s); err == nil {
			if b.exits.Load() != 0 {
				b.exits.Store(0)
			}
			return answer, nil
		}
	}
	return none, b.failed(ctx, s, op, err)
}

// failed gives the error of a call its kind. s may be nil.
func (b *backend) failed(ctx context.Context, s *session, op string, err error) error {
	var known *adapters.Error
	redact := b.cfg.Secrets.Redactor()
	_, fromCall := status.FromError(err)
	switch {
	case b.life.Err() != nil:
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	case ctx.Err() != nil: // whatever the plugin says of it
		return fail(op, adapters.KindCanceled, fmt.Errorf("%w, while asking the plugin %q", ctx.Err(), b.set.Path))
	case errors.As(err, &known):
		return redact.Error(err)
	case !fromCall:
		return redact.Error(fail(op, adapters.KindPermanent, err))
	}
	e := wire.Error(Name, op, err)
	if len(status.Convert(err).Details()) > 0 { // an answer, too
		b.exits.Store(0)
		return redact.Error(e)
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.Internal, codes.Unknown:
		if s != nil && gone(s) {
			return redact.Error(fail(op, adapters.KindTransient, fmt.Errorf("%w during the call: %q; %s", ErrPluginExited, s.proc.name, s.proc.exit(redact))))
		}
		if strings.Contains(err.Error(), "invalid UTF-8") {
			e.Err = fmt.Errorf("the answer of the plugin holds a text that is not UTF-8: %w", e.Err)
		}
	default:
	}
	return redact.Error(e)
}

// gone says whether the process has ended; the end of its connection may be known a moment before.
func gone(s *session) bool {
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-s.proc.done:
		return true
	case <-timer.C:
		return false
	}
}

// broken is the error of an answer that breaks the contract.
func (b *backend) broken(op, format string, args ...any) error {
	b.exits.Store(0) // it is an answer
	return fail(op, adapters.KindPermanent, fmt.Errorf("the plugin %q breaks the contract: %s", b.set.Path, printable(fmt.Sprintf(format, args...))))
}

// Close ends the calls that are under way, tells the plugin, and ends its process.
func (b *backend) Close() error {
	var err error
	b.once.Do(func() {
		b.stop()
		b.lock <- struct{}{} // no start is under way: its context has ended
		defer func() { <-b.lock }()
		s := b.now.Swap(nil)
		if s == nil {
			return
		}
		if !s.proc.ended() {
			ctx, cancel := context.WithTimeout(context.Background(), farewell)
			defer cancel()
			if failed := b.kind.close(ctx, s.conn); failed != nil && ctx.Err() == nil && len(status.Convert(failed).Details()) > 0 {
				err = b.cfg.Secrets.Redactor().Error(wire.Error(Name, "close", failed))
			}
		}
		s.end()
	})
	return err
}
