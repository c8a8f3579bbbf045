package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// longestMessage bounds the text of an error: it travels in a header.
const longestMessage = 8 << 10

// kinds are the kinds of error with their place on the wire and the status that tells them to whoever reads no details.
var kinds = []struct {
	kind adapters.Kind
	wire pluginv1.Kind
	code codes.Code
}{
	{adapters.KindPermanent, pluginv1.Kind_KIND_PERMANENT, codes.Internal},
	{adapters.KindTransient, pluginv1.Kind_KIND_TRANSIENT, codes.Unavailable},
	{adapters.KindRateLimited, pluginv1.Kind_KIND_RATE_LIMITED, codes.ResourceExhausted},
	{adapters.KindUnauthorised, pluginv1.Kind_KIND_UNAUTHORISED, codes.Unauthenticated},
	{adapters.KindNotFound, pluginv1.Kind_KIND_NOT_FOUND, codes.NotFound},
	{adapters.KindUnsupported, pluginv1.Kind_KIND_UNSUPPORTED, codes.Unimplemented},
	{adapters.KindInvalid, pluginv1.Kind_KIND_INVALID, codes.InvalidArgument},
	{adapters.KindTooLong, pluginv1.Kind_KIND_TOO_LONG, codes.FailedPrecondition},
	{adapters.KindTimeout, pluginv1.Kind_KIND_TIMEOUT, codes.DeadlineExceeded},
	{adapters.KindCanceled, pluginv1.Kind_KIND_CANCELED, codes.Canceled},
}

// Status returns err as the status of a call, with an Error among its details.
func Status(adapter, op string, err error) error {
	if err == nil {
		return nil
	}
	e := adapters.NewError(adapter, op, adapters.KindPermanent, err)
	message := err.Error()
	if whole, is := err.(*adapters.Error); is { //nolint:errorlint // what wraps it belongs to the message
		message = fmt.Sprint(whole.Err)
	}
	message = Text(message)
	if len(message) > longestMessage {
		message = Text(message[:longestMessage]) + "…"
	}
	detail := &pluginv1.Error{
		Adapter: Text(e.Adapter), Op: Text(e.Op), Kind: pluginv1.Kind_KIND_PERMANENT, RetryAfter: duration(e.RetryAfter), Message: message,
		Quota: quota(e.Quota), Closed: errors.Is(err, adapters.ErrClosed),
	}
	code := codes.Internal
	for _, k := range kinds {
		if k.kind == e.Kind {
			detail.Kind, code = k.wire, k.code
		}
	}
	plain := status.New(code, message)
	detailed, failed := plain.WithDetails(detail)
	if failed != nil {
		return plain.Err()
	}
	return detailed.Err()
}

// Error returns the status of a failed call as an error of package adapters: by the Error among its details, else by its code.
// The adapter and op stand where the plugin named none.
func Error(adapter, op string, err error) *adapters.Error {
	s := status.Convert(err)
	for _, detail := range s.Details() {
		if d, ok := detail.(*pluginv1.Error); ok {
			return detailed(adapter, op, d)
		}
	}
	e := &adapters.Error{Adapter: adapter, Op: op, Kind: adapters.KindPermanent, Err: adapters.Cause(errors.New(s.Message()))}
	if s.Message() == "" {
		e.Err = fmt.Errorf("the plugin answers %s", s.Code())
	}
	switch code := s.Code(); code {
	case codes.OutOfRange:
		e.Kind = adapters.KindInvalid
	case codes.PermissionDenied:
		e.Kind = adapters.KindUnauthorised
	case codes.Aborted:
		e.Kind = adapters.KindTransient
	case codes.FailedPrecondition: // what it means is told by the detail alone
	case codes.ResourceExhausted:
		e.Kind = adapters.KindRateLimited
		if strings.Contains(s.Message(), "larger than max") || strings.Contains(s.Message(), "larger_than_max") {
			e.Kind = adapters.KindPermanent
			e.Err = fmt.Errorf("a message is larger than the plugin takes: raise its limit of received messages: %s", s.Message())
		}
	case codes.DeadlineExceeded:
		e.Kind, e.Err = adapters.KindTimeout, fmt.Errorf("%w: %s", context.DeadlineExceeded, s.Message())
	default:
		for _, k := range kinds {
			if k.code == code {
				e.Kind = k.kind
			}
		}
	}
	return e
}

func detailed(adapter, op string, d *pluginv1.Error) *adapters.Error {
	e := &adapters.Error{
		Adapter: adapter, Op: op, Kind: adapters.KindPermanent, RetryAfter: max(0, d.GetRetryAfter().AsDuration()), Quota: QuotaOf(d.GetQuota()),
		Err: errors.New(d.GetMessage()),
	}
	if d.GetAdapter() != "" {
		e.Adapter = d.GetAdapter()
	}
	if d.GetOp() != "" {
		e.Op = d.GetOp()
	}
	for _, k := range kinds {
		if k.wire == d.GetKind() {
			e.Kind = k.kind
		}
	}
	switch {
	case d.GetClosed():
		e.Err = told{d.GetMessage(), adapters.ErrClosed}
	case e.Kind == adapters.KindTimeout:
		e.Err = told{d.GetMessage(), context.DeadlineExceeded}
	case e.Kind == adapters.KindCanceled:
		e.Err = told{d.GetMessage(), context.Canceled}
	}
	return e
}

// told is an error in the words of the plugin that is also another one.
type told struct {
	message string
	cause   error
}

func (t told) Error() string { return t.message }
func (t told) Unwrap() error { return t.cause }

func quota(q *adapters.Quota) *pluginv1.Quota {
	if q == nil {
		return nil
	}
	return &pluginv1.Quota{Requests: allowance(q.Requests), Tokens: allowance(q.Tokens)}
}

func allowance(a *adapters.Allowance) *pluginv1.Allowance {
	if a == nil {
		return nil
	}
	return &pluginv1.Allowance{Limit: int64(a.Limit), Left: int64(a.Left), Reset_: duration(a.Reset)}
}

// QuotaOf returns a quota that was told; nil stays nil.
func QuotaOf(q *pluginv1.Quota) *adapters.Quota {
	if q == nil {
		return nil
	}
	return &adapters.Quota{Requests: allowanceOf(q.GetRequests()), Tokens: allowanceOf(q.GetTokens())}
}

func allowanceOf(a *pluginv1.Allowance) *adapters.Allowance {
	if a == nil {
		return nil
	}
	var reset time.Duration
	if a.GetReset_() != nil {
		reset = a.GetReset_().AsDuration()
	}
	return &adapters.Allowance{Limit: int(a.GetLimit()), Left: int(a.GetLeft()), Reset: reset}
}
