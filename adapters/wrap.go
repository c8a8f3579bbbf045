package adapters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// DefaultMaxWait is the longest wait between two tries of one call where a [Policy] names none.
const DefaultMaxWait = 30 * time.Second

// NoWait is how long a provider may ask to wait so that another try is made, after the longest wait there is: where it asks for more, a
// limit of the day or the account is used up.
const NoWait = time.Hour

// Policy says how calls to one backend are made. Its parts wrap a call in this order, outermost first: redact, retry, budget,
// pace, concurrency limit, timeout. The zero Policy adds nothing. Backends that share a limit share its value.
type Policy struct {
	Name    string        // the adapter's, for errors that arise before it is called
	Redact  *Redactor     // takes secrets out of errors; nil: nothing is taken out
	Retries int           // tries after the first, for transient, rate-limited and timeout errors only
	MaxWait time.Duration // the longest wait between two tries; 0: DefaultMaxWait
	Meter   *Meter        // what a try takes of a budget, which it reserves before it is made; nil: nothing
	Pace    *Pace         // how fast tries follow one another; nil: no limit
	Slots   chan struct{} // its capacity is how many tries may run at once; nil: no limit
	Timeout time.Duration // of one try, without its waits for the limits; 0: none

	// OnAttempt, where not nil, is told of each try just before it is made, when all waiting is over, and again when it has
	// ended. With TellEarly the try may still wait for a slot, so that what an announcement takes, a disk's time for one, takes no
	// slot: the caller bounds how many calls it makes at once. It gets the context of the call, and is called on the caller's goroutine. An error that it returns ends the
	// call: a try that could not be announced is not made, and one whose end could not be told has no result.
	OnAttempt func(ctx context.Context, a Attempt) error
	TellEarly bool

	Gate Gate // nil: it is always open
}

// Gate closes where a backend has shown that it will answer no call. A try asks it while it has its slot, before it is made and when it
// has ended, so that after the try that shows it no other is made but those under way.
type Gate interface {
	Refuse(op string) error      // why the try is not made, nil where it may be
	Saw(op string, result error) // what came of a try, without secrets; nil: it succeeded
}

// Attempt is one try of a call.
type Attempt struct {
	Op     string        // the method, lower case
	Number int           // from 1
	Done   bool          // it has ended; what follows is set only then
	Unmade bool          // it was given up before the backend was called
	Err    error         // without secrets; nil: it succeeded
	Kind   Kind          // of Err
	Again  bool          // another try follows, after Wait
	Wait   time.Duration // from the end of this try
	Took   time.Duration // by the backend: no wait for a limit is in it
	Used   Usage         // what the answer told
	Spent  Amount        // of a budget: what it took, and before it is made the most that it may take
	Billed bool          // it may have to be paid for: only a try that failed before the backend can have done any work is not
}

// caller makes calls under a policy.
type caller struct {
	policy Policy
}

// notMade is the error of a try that was given up before the backend was called.
type notMade struct {
	error
	told bool // it had been announced
}

func (e notMade) Unwrap() error { return e.error }

// shape is how a call differs from the plain one.
type shape struct {
	replayable   func() bool // where not nil, another try is made only while it holds
	keepsOwnTime bool        // f applies the timeout itself
	slot         *slot       // where not nil, the slot that a try takes, for f to give back meanwhile
	generates    bool        // it writes an answer, of tokens that count
	counts       bool        // a try is a call in the sense of a budget
	// worst is the most that a try takes, where count counts a text; nil: no tokens.
	worst func(count func(string) int) Usage
	told  *told // where f leaves what the answer told; nil: it tells nothing
}

// told is what an answer says of itself.
type told struct {
	used  Usage
	quota *Quota
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

// turns lets [backoff.Retry] wait as it was announced.
type turns struct {
	*backoff.ExponentialBackOff
	wait time.Duration // until the next try; backoff.Stop: there is none
}

func (t *turns) NextBackOff() time.Duration { return t.wait }

// call makes one call of op. The value is that of the last try: a scan that failed says how far it came.
func call[T any](ctx context.Context, c *caller, op string, how shape, f func(context.Context) (T, error)) (T, error) {
	var value, none T
	ended, err := c.tries(ctx, op, how, func(ctx context.Context) (err error) {
		value, err = f(ctx)
		return err
	})
	if !ended {
		return none, err
	}
	return value, err
}

// tries makes the tries of one call. It reports whether the last of them has ended, with its error. Answers do not pass through it: hundreds
// of calls wait in here, and the stack of each is as large as what it holds.
func (c *caller) tries(ctx context.Context, op string, how shape, f func(context.Context) error) (ended bool, _ error) {
	var last, early, untold error // of the last try; of a try that was not made; of an announcement
	number := 0
	turns := &turns{ExponentialBackOff: newBackOff()}
	_, err := backoff.Retry(ctx, func() (none struct{}, _ error) {
		number++
		turns.wait = backoff.Stop
		attempt, err := c.try(ctx, op, number, how, f)
		if before := (notMade{}); errors.As(err, &before) {
			if early = before.error; before.told { // so that nobody takes it for one that may have been made
				given := c.policy.Redact.Error(c.givenUp(op, early, nil))
				untold = c.tell(ctx, op, Attempt{Op: op, Number: number, Done: true, Unmade: true, Err: given, Kind: KindOf(given)})
			}
			return none, err
		}
		last = err
		attempt.Op, attempt.Number, attempt.Done, attempt.Err = op, number, true, last
		if last != nil {
			attempt.Kind = KindOf(last)
			attempt.Wait, attempt.Again = c.next(ctx, number, turns.ExponentialBackOff, last)
			attempt.Again = attempt.Again && (how.replayable == nil || how.replayable())
			if !attempt.Again {
				attempt.Wait = 0
			}
		}
		if err := c.tell(ctx, op, attempt); err != nil {
			untold = err
			return none, err
		}
		if attempt.Again {
			turns.wait = attempt.Wait
		}
		return none, last
	}, backoff.WithBackOff(turns), backoff.WithMaxElapsedTime(0))
	switch {
	case untold != nil:
		return false, untold
	case early != nil:
		return false, c.policy.Redact.Error(c.givenUp(op, early, last))
	case last != nil && turns.wait != backoff.Stop: // it ended in the wait
		return false, c.policy.Redact.Error(c.givenUp(op, err, last))
	}
	return true, last
}

// try makes one try: it reserves what the try may take, waits for the limits, announces the try, and calls f under the timeout. The error
// is without secrets, but for that of a try that was not made.
func (c *caller) try(ctx context.Context, op string, number int, how shape, f func(context.Context) error) (a Attempt, err error) {
	if err := ctx.Err(); err != nil {
		return a, notMade{err, false}
	}
	reserved, err := c.policy.Meter.reserve(ctx, how)
	if err != nil {
		return a, notMade{err, false}
	}
	spent := Amount{} // a try that is not made takes nothing
	defer func() { c.policy.Meter.settle(reserved.amount, spent) }()
	place := how.slot
	if place == nil {
		place = &slot{pool: c.policy.Slots}
	}
	defer place.give()
	announced, err := c.admit(ctx, op, number, place, reserved)
	if err == nil && ctx.Err() != nil { // it ended while the try was announced
		announced, err = true, ctx.Err()
	}
	if err == nil && c.policy.Gate != nil {
		announced, err = true, c.policy.Gate.Refuse(op)
	}
	if err != nil {
		return a, notMade{err, announced}
	}
	callCtx, cancel := ctx, func() {}
	if c.policy.Timeout > 0 && !how.keepsOwnTime {
		callCtx, cancel = context.WithTimeout(ctx, c.policy.Timeout)
	}
	defer cancel()
	if how.told != nil {
		*how.told = told{}
	}
	start := time.Now()
	err = f(callCtx)
	a.Took, a.Billed = time.Since(start), mayBeBilled(err)
	err = c.policy.Redact.Error(c.classify(ctx, op, err))
	if c.policy.Gate != nil {
		c.policy.Gate.Saw(op, err)
	}
	if how.told != nil && (err == nil || KindOf(err) == KindSecret) {
		a.Used = how.told.used
	}
	spent = c.policy.Meter.spent(reserved, a)
	a.Spent = spent
	c.heed(how, reserved.worst, a, err)
	return a, err
}

// admit waits for the limits and announces the try. It reports whether the try was announced before the error.
func (c *caller) admit(ctx context.Context, op string, number int, place *slot, reserved reservation) (announced bool, err error) {
	if err := c.policy.Pace.wait(ctx, reserved.worst.Tokens()); err != nil {
		return false, fmt.Errorf("waiting for the rate limit: %w", err)
	}
	tell := func() error { return c.tell(ctx, op, Attempt{Op: op, Number: number, Spent: reserved.amount}) }
	if c.policy.TellEarly {
		if err := tell(); err != nil {
			return false, err
		}
		return true, place.take(ctx)
	}
	if err := place.take(ctx); err != nil {
		return false, err
	}
	return false, tell()
}

// heed lets the pace of the backend follow what an answer said of its limits.
func (c *caller) heed(how shape, worst Usage, a Attempt, err error) {
	var quota *Quota
	var retryAfter time.Duration
	var known *Error
	switch {
	case errors.As(err, &known):
		quota = known.Quota
		if known.Kind == KindRateLimited {
			retryAfter = known.RetryAfter
		}
	case how.told != nil:
		quota = how.told.quota
	}
	longest := c.longestWait()
	c.policy.Pace.heed(time.Now(), quota, min(retryAfter, longest), longest)
	if used := a.Used.Tokens(); !a.Billed || a.Used.Reported() {
		c.policy.Pace.correct(worst.Tokens(), used)
	}
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
func (c *caller) next(ctx context.Context, number int, waits backoff.BackOff, err error) (wait time.Duration, again bool) {
	switch KindOf(err) {
	case KindTransient, KindRateLimited, KindTimeout:
	default:
		return 0, false
	}
	if number > c.policy.Retries || ctx.Err() != nil {
		return 0, false
	}
	wait = waits.NextBackOff()
	var known *Error
	if errors.As(err, &known) {
		if known.RetryAfter > NoWait {
			return 0, false
		}
		wait = max(wait, known.RetryAfter)
	}
	wait = min(wait, c.longestWait())
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false // the caller would be gone: what went wrong is worth more to it than a timeout
	}
	return wait, true
}

func (c *caller) longestWait() time.Duration {
	if c.policy.MaxWait <= 0 {
		return DefaultMaxWait
	}
	return c.policy.MaxWait
}

// newBackOff gives waits that double from a quarter of a second to a minute, each between half of that and half as much again by
// a jitter, so that calls which fail together do not come back together.
func newBackOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval, b.RandomizationFactor = 250*time.Millisecond, 2, time.Minute, 0.5
	b.Reset()
	return b
}

// kept returns an error where an answer holds a secret.
func (c *caller) kept(op string, texts ...string) error {
	if slices.ContainsFunc(texts, func(text string) bool { return c.policy.Redact.HoldsText(text) }) {
		return SecretInOutput(c.policy.Name, op)
	}
	return nil
}

// closing makes the error of a Close like that of any other method.
func (c *caller) closing(err error) error {
	return c.policy.Redact.Error(c.classify(context.Background(), "close", err))
}
