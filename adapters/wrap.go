package adapters

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// DefaultMaxWait is the longest wait between two tries of one call where a [Policy] names none.
const DefaultMaxWait = 30 * time.Second

// Policy says how calls to one backend are made. Its parts wrap a call in this order, outermost first: redact, retry, rate
// limit, concurrency limit, timeout. The zero Policy adds nothing. Backends that share a limit share its value.
type Policy struct {
	Name    string        // the adapter's, for errors that arise before it is called
	Redact  *Redactor     // takes secrets out of errors; nil: nothing is taken out
	Retries int           // tries after the first, for transient, rate-limited and timeout errors only
	MaxWait time.Duration // the longest wait between two tries; 0: DefaultMaxWait
	Seed    uint64        // of the jitter in those waits
	Limiter *rate.Limiter // each try takes one; nil: no limit
	Slots   chan struct{} // its capacity is how many tries may run at once; nil: no limit
	Timeout time.Duration // of one try, without its waits for Limiter and Slots; 0: none

	// OnAttempt, where not nil, is told of each try just before it is made, when all waiting is over, and again when it has
	// ended. It gets the context of the call, and is called on the caller's goroutine. An error that it returns ends the
	// call: a try that could not be announced is not made, and one whose end could not be told has no result.
	OnAttempt func(ctx context.Context, a Attempt) error
}

// Attempt is one try of a call.
type Attempt struct {
	Op     string        // the method, lower case
	Number int           // from 1
	Done   bool          // it has ended; what follows is set only then
	Err    error         // without secrets; nil: it succeeded
	Kind   Kind          // of Err
	Again  bool          // another try follows, after Wait
	Wait   time.Duration // from the end of this try
	Took   time.Duration // by the backend: no wait for a limit is in it
}

// caller makes calls under a policy.
type caller struct {
	policy Policy
	calls  atomic.Uint64 // so that calls which fail together do not come back together
}

// notMade is the error of a try that was given up before the backend was called.
type notMade struct{ error }

func (e notMade) Unwrap() error { return e.error }

// shape is how a call differs from the plain one.
type shape struct {
	replayable   func() bool // where not nil, another try is made only while it holds
	keepsOwnTime bool        // f applies the timeout itself
	slot         *slot       // where not nil, the slot that a try takes, for f to give back meanwhile
}

// slot is a place among the tries that may run at once.
type slot struct {
	pool chan struct{} // nil: no limit
	held bool
}

func (s *slot) take(ctx context.Context) error {
	if s.pool == nil {
		return nil
	}
	select {
	case s.pool <- struct{}{}:
		s.held = true
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for one of %d slots: %w", cap(s.pool), ctx.Err())
	}
}

func (s *slot) give() {
	if s.held {
		s.held = false
		<-s.pool
	}
}

// call makes one call of op.
func call[T any](ctx context.Context, c *caller, op string, how shape, f func(context.Context) (T, error)) (T, error) {
	var none T
	seed := c.policy.Seed + c.calls.Add(1)
	var last error
	for number := 1; ; number++ {
		value, took, err := try(ctx, c, op, number, how, f)
		var early notMade
		if errors.As(err, &early) {
			return none, c.policy.Redact.Error(c.givenUp(op, early.error, last))
		}
		last = c.policy.Redact.Error(err)
		attempt := Attempt{Op: op, Number: number, Done: true, Err: last, Took: took}
		if last != nil {
			attempt.Kind = KindOf(last)
			attempt.Wait, attempt.Again = c.next(ctx, number, seed, last)
			attempt.Again = attempt.Again && (how.replayable == nil || how.replayable())
			if !attempt.Again {
				attempt.Wait = 0
			}
		}
		if err := c.tell(ctx, op, attempt); err != nil {
			return none, err
		}
		if last == nil {
			return value, nil
		}
		if !attempt.Again {
			return value, last // a scan that failed says how far it came
		}
		if err := sleep(ctx, attempt.Wait); err != nil {
			return none, c.policy.Redact.Error(c.givenUp(op, err, last))
		}
	}
}

// try makes one try: it waits for the limits, announces the try, and calls f under the timeout.
func try[T any](ctx context.Context, c *caller, op string, number int, how shape, f func(context.Context) (T, error)) (value T, took time.Duration, err error) {
	place := how.slot
	if place == nil {
		place = &slot{pool: c.policy.Slots}
	}
	if err := c.admit(ctx, place); err != nil {
		return value, 0, notMade{err}
	}
	defer place.give()
	if err := c.tell(ctx, op, Attempt{Op: op, Number: number}); err != nil {
		return value, 0, notMade{err}
	}
	callCtx, cancel := ctx, func() {}
	if c.policy.Timeout > 0 && !how.keepsOwnTime {
		callCtx, cancel = context.WithTimeout(ctx, c.policy.Timeout)
	}
	defer cancel()
	start := time.Now()
	value, err = f(callCtx)
	return value, time.Since(start), c.classify(ctx, op, err)
}

// admit waits for the limits.
func (c *caller) admit(ctx context.Context, place *slot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.policy.Limiter != nil {
		if err := c.policy.Limiter.Wait(ctx); err != nil {
			if ctx.Err() == nil && c.policy.Limiter.Burst() > 0 { // it saw that the wait would end after the deadline, and did not start it
				err = fmt.Errorf("%w: %w", err, context.DeadlineExceeded)
			}
			return fmt.Errorf("waiting for the rate limit: %w", err)
		}
	}
	return place.take(ctx)
}

func (c *caller) tell(ctx context.Context, op string, a Attempt) error {
	if c.policy.OnAttempt == nil {
		return nil
	}
	if err := c.policy.OnAttempt(ctx, a); err != nil {
		return NewError(c.policy.Name, op, KindPermanent, fmt.Errorf("recording try %d: %w", a.Number, err))
	}
	return nil
}

// classify makes err an *Error. A try that its own timeout ended has timed out, even where the adapter can say only that
// its context was cancelled.
func (c *caller) classify(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if !errors.As(err, &known) {
		known = NewError(c.policy.Name, op, KindPermanent, err)
		err = known
	}
	if known.Kind == KindCanceled && ctx.Err() == nil {
		timedOut := *known
		timedOut.Kind = KindTimeout
		return &timedOut
	}
	return err
}

// givenUp is the error of a call that ended between two tries or before the first, with what the last try said.
func (c *caller) givenUp(op string, err, last error) error {
	e := NewError(c.policy.Name, op, KindPermanent, err)
	if last == nil {
		return e
	}
	return &Error{Adapter: e.Adapter, Op: e.Op, Kind: e.Kind, Err: fmt.Errorf("%w, after: %w", err, last)}
}

// next says whether the call is worth another try, and after what wait.
func (c *caller) next(ctx context.Context, number int, seed uint64, err error) (wait time.Duration, again bool) {
	switch KindOf(err) {
	case KindTransient, KindRateLimited, KindTimeout:
	default:
		return 0, false
	}
	if number > c.policy.Retries || ctx.Err() != nil {
		return 0, false
	}
	wait = Backoff(number, seed)
	var known *Error
	if errors.As(err, &known) {
		wait = max(wait, known.RetryAfter)
	}
	longest := c.policy.MaxWait
	if longest <= 0 {
		longest = DefaultMaxWait
	}
	wait = min(wait, longest)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false // the caller would be gone: what went wrong is worth more to it than a timeout
	}
	return wait, true
}

const (
	firstBackoff   = 250 * time.Millisecond
	longestBackoff = time.Minute
)

// Backoff is the wait after failed try number attempt, from 1: it doubles each time, and lies between half of that and the
// whole by a jitter. It depends on its arguments alone.
func Backoff(attempt int, seed uint64) time.Duration {
	wait := longestBackoff
	if doublings := max(attempt, 1) - 1; doublings < 8 {
		wait = min(firstBackoff<<doublings, longestBackoff)
	}
	// One step of SplitMix64 spreads neighbouring seeds over all values.
	x := seed + uint64(max(attempt, 1))*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	half := uint64(wait / 2)
	return time.Duration(half + x%half)
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closing makes the error of a Close like that of any other method.
func (c *caller) closing(err error) error {
	return c.policy.Redact.Error(c.classify(context.Background(), "close", err))
}
