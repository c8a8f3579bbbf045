package adapters

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error once, at the boundary where the vendor's codes are known.
type Kind string

// The kinds of error.
const (
	KindPermanent    Kind = "permanent"    // the same request will fail again
	KindTransient    Kind = "transient"    // worth another try
	KindRateLimited  Kind = "rate-limited" // worth another try after RetryAfter
	KindUnauthorised Kind = "unauthorised"
	KindNotFound     Kind = "not-found"
	KindUnsupported  Kind = "unsupported"
	KindInvalid      Kind = "invalid-argument"
	KindTooLong      Kind = "too-long"         // the prompt and the answer it may get are longer than the model's context
	KindSecret       Kind = "secret_in_output" // the answer repeats a secret; nothing of it is kept
	KindTimeout      Kind = "timeout"          // the deadline of the call passed
	KindCanceled     Kind = "canceled"         // the caller gave up
)

// Error is what every adapter returns. Its text must not hold secrets; the redacting wrapper is the second net.
type Error struct {
	Adapter    string
	Op         string // the method, lower case: "search"
	Kind       Kind
	RetryAfter time.Duration // 0: the backend named no wait
	Quota      *Quota        // what is left of the backend's limits, where its answer told
	Unsent     bool          // the backend never got the request, which nobody can have to pay for
	Err        error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s: %v", e.Adapter, e.Op, e.Kind, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrUnsupported) and the like hold by kind.
func (e *Error) Is(target error) bool {
	kind, ok := target.(kindError)
	return ok && e.Kind == Kind(kind)
}

type kindError Kind

func (k kindError) Error() string { return string(k) }

// Sentinels for errors.Is. The first four match every [Error] of their kind; ErrClosed is the cause inside of one.
var (
	ErrNotFound     error = kindError(KindNotFound)         // what was named is not there: a collection, a model
	ErrUnsupported  error = kindError(KindUnsupported)      // the backend cannot do it, and its capabilities say so
	ErrInvalid      error = kindError(KindInvalid)          // a setting or a request is wrong, and another try is no help
	ErrUnauthorised error = kindError(KindUnauthorised)     // the backend does not accept the credentials, or what they may do
	ErrClosed             = errors.New("adapter is closed") // a method was called after Close, or was cut short by it
)

// NewError wraps err for the adapter and operation. An err that is already an *Error is returned as it is; a cancelled or
// expired context takes its own kind whatever kind is given.
func NewError(adapter, op string, kind Kind, err error) *Error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		kind = KindTimeout
	case errors.Is(err, context.Canceled):
		kind = KindCanceled
	}
	return &Error{Adapter: adapter, Op: op, Kind: kind, Err: err}
}

// SecretInOutput is the error of an answer that repeats a secret.
func SecretInOutput(adapter, op string) *Error {
	return &Error{Adapter: adapter, Op: op, Kind: KindSecret, Err: errors.New(
		"the answer repeats a key or password that was read for this run, and nothing of it was kept: find out how it got there, and change the key")}
}

// KindOf returns the kind of err: that of an *Error in its chain, else by its context, else permanent.
func KindOf(err error) Kind { return NewError("", "", KindPermanent, err).Kind }
