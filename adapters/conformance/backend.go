package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// check is one thing that a suite asks of a backend. It returns what is wrong, so that the suites can be tested themselves:
// a suite that no broken backend fails proves nothing.
type check[H any] struct {
	name string
	run  func(ctx context.Context, h H) error
}

// skipped says why a check does not apply.
type skipped string

func (s skipped) Error() string { return string(s) }

func runChecks[H any](t T, h H, checks []check[H]) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t T) {
			err := c.run(t.Context(), h)
			var why skipped
			if errors.As(err, &why) {
				t.Skip(why)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Harness is what the suites for embedders, generators, rerankers and pipelines need of a backend B.
type Harness[B io.Closer] struct {
	// Open returns a healthy backend of its own for the caller, who closes it.
	Open func(ctx context.Context) (B, error)
	// Fail returns a backend whose every call, Describe and Close apart, fails with an error of this kind; ErrCannot where
	// the kind cannot be provoked. Nil: none can.
	Fail func(ctx context.Context, kind adapters.Kind) (B, error)
	// Leak returns a backend whose every call, Describe and Close apart, fails in a way that would show the secret: a server
	// that echoes a header, say. Nil: that cannot be provoked.
	Leak func(ctx context.Context, secret string) (B, error)
}

// ErrCannot is returned by a harness for what it cannot provoke.
var ErrCannot = errors.New("the harness cannot provoke that")

// method is one method of a backend, with what it answered.
type method[B any] struct {
	name string
	call func(ctx context.Context, backend B) (answer any, err error)
	same func(a, b any) bool // whether two answers are the same, as far as the contract promises
}

// common returns the checks that are the same for all kinds of backend. The first method is Describe.
func common[B io.Closer](methods []method[B]) []check[Harness[B]] {
	return []check[Harness[B]]{
		{"a cancelled context stops every method", func(ctx context.Context, h Harness[B]) error {
			return with(ctx, h.Open, func(backend B) error {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return everyFails(ctx, backend, methods, adapters.KindCanceled, context.Canceled)
			})
		}},
		{"a passed deadline is a timeout", func(ctx context.Context, h Harness[B]) error {
			return with(ctx, h.Open, func(backend B) error {
				ctx, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
				defer cancel()
				return everyFails(ctx, backend, methods, adapters.KindTimeout, context.DeadlineExceeded)
			})
		}},
		{"Close may be called twice and ends everything", func(ctx context.Context, h Harness[B]) error {
			backend, err := h.Open(ctx)
			if err != nil {
				return err
			}
			for range 2 {
				if err := backend.Close(); err != nil {
					return fmt.Errorf("closing: %w", err)
				}
			}
			return everyFails(ctx, backend, methods, "", adapters.ErrClosed)
		}},
		{"a backend that was never used can be closed", func(ctx context.Context, h Harness[B]) error {
			return with(ctx, h.Open, func(B) error { return nil })
		}},
		{"concurrent calls answer as single ones", func(ctx context.Context, h Harness[B]) error {
			return with(ctx, h.Open, func(backend B) error { return concurrent(ctx, backend, methods) })
		}},
		{"failures have their kinds", func(ctx context.Context, h Harness[B]) error { return kinds(ctx, h, methods[1:]) }},
		{"no error shows a secret", func(ctx context.Context, h Harness[B]) error { return secrets(ctx, h, methods[1:]) }},
	}
}

// with opens a backend, lets use have it, and closes it.
func with[B io.Closer](ctx context.Context, open func(context.Context) (B, error), use func(B) error) error {
	backend, err := open(ctx)
	if errors.Is(err, ErrCannot) {
		return skipped(err.Error())
	}
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	err = use(backend)
	if closeErr := backend.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("closing: %w", closeErr))
	}
	return err
}

func everyFails[B any](ctx context.Context, backend B, methods []method[B], kind adapters.Kind, target error) error {
	var wrong []error
	for _, m := range methods {
		_, err := m.call(ctx, backend)
		if why := fails(m.name, err, kind); why != nil {
			wrong = append(wrong, why)
		} else if !errors.Is(err, target) {
			wrong = append(wrong, fmt.Errorf("%s: %w, for which errors.Is does not find: %w", m.name, err, target))
		}
	}
	return errors.Join(wrong...)
}

// fails says what is wrong with err as the error of a call that must fail with this kind; "" is any.
func fails(name string, err error, kind adapters.Kind) error {
	var typed *adapters.Error
	switch {
	case err == nil:
		return fmt.Errorf("%s succeeds, want an error of kind %q", name, kind)
	case !errors.As(err, &typed):
		return fmt.Errorf("%s: %w is no *adapters.Error", name, err)
	case typed.Adapter == "" || typed.Op == "":
		return fmt.Errorf("%s: %w names no adapter or operation", name, err)
	case kind != "" && typed.Kind != kind:
		return fmt.Errorf("%s: %w is of kind %q, want %q", name, err, typed.Kind, kind)
	}
	return nil
}

func concurrent[B any](ctx context.Context, backend B, methods []method[B]) error {
	want := make([]any, len(methods))
	for i, m := range methods {
		answer, err := m.call(ctx, backend)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		want[i] = answer
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards wrong
		wrong []error
	)
	for range 16 {
		wg.Go(func() {
			for i, m := range methods {
				answer, err := m.call(ctx, backend)
				if err == nil && !m.same(want[i], answer) {
					err = fmt.Errorf("%+v, and alone %+v", answer, want[i])
				}
				if err != nil {
					mu.Lock()
					wrong = append(wrong, fmt.Errorf("%s: %w", m.name, err))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(wrong...)
}

func kinds[B io.Closer](ctx context.Context, h Harness[B], methods []method[B]) error {
	if h.Fail == nil {
		return skipped("the harness provokes no failures")
	}
	sentinels := map[adapters.Kind]error{
		adapters.KindNotFound: adapters.ErrNotFound, adapters.KindUnsupported: adapters.ErrUnsupported,
		adapters.KindInvalid: adapters.ErrInvalid, adapters.KindUnauthorised: adapters.ErrUnauthorised,
	}
	provoked := 0
	for _, kind := range []adapters.Kind{
		adapters.KindPermanent, adapters.KindTransient, adapters.KindRateLimited, adapters.KindUnauthorised,
		adapters.KindNotFound, adapters.KindUnsupported, adapters.KindInvalid, adapters.KindTimeout,
	} {
		err := with(ctx, func(ctx context.Context) (B, error) { return h.Fail(ctx, kind) }, func(backend B) error {
			provoked++
			for _, m := range methods {
				_, err := m.call(ctx, backend)
				if err := fails(m.name, err, kind); err != nil {
					return err
				}
				for of, sentinel := range sentinels {
					if errors.Is(err, sentinel) != (of == kind) {
						return fmt.Errorf("%s: %w: errors.Is with the sentinel of %q is %v", m.name, err, of, of != kind)
					}
				}
			}
			return nil
		})
		var why skipped
		if err != nil && !errors.As(err, &why) {
			return err
		}
	}
	if provoked == 0 {
		return errors.New("the harness has Fail, and provokes nothing with it")
	}
	return nil
}

func secrets[B io.Closer](ctx context.Context, h Harness[B], methods []method[B]) error {
	if h.Leak == nil {
		return skipped("the harness provokes no leak")
	}
	const secret = "sk-canary-7f3a9e"
	return with(ctx, func(ctx context.Context) (B, error) { return h.Leak(ctx, secret) }, func(backend B) error {
		for _, m := range methods {
			_, err := m.call(ctx, backend)
			if err := fails(m.name, err, ""); err != nil {
				return err
			}
			if err := shows(err, secret); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		return nil
	})
}

// shows looks for the secret in err and all that it wraps.
func shows(err error, secret string) error {
	if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, secret) {
		return fmt.Errorf("the secret stands in %q", text)
	}
	var causes []error
	switch e := err.(type) { //nolint:errorlint // level by level
	case interface{ Unwrap() error }:
		causes = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	}
	for _, cause := range causes {
		if cause == nil {
			continue
		}
		if err := shows(cause, secret); err != nil {
			return err
		}
	}
	return nil
}

// also lifts checks of the harness that a suite's own harness holds.
func also[H any, B io.Closer](of func(H) Harness[B], checks []check[Harness[B]]) []check[H] {
	var lifted []check[H]
	for _, c := range checks {
		lifted = append(lifted, check[H]{c.name, func(ctx context.Context, h H) error { return c.run(ctx, of(h)) }})
	}
	return lifted
}
