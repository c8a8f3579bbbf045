package qdrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
)

// kinds maps what a server answers. ResourceExhausted without a wait is told apart below: it may be our own limit.
var kinds = map[codes.Code]adapters.Kind{
	codes.InvalidArgument:   adapters.KindInvalid,
	codes.OutOfRange:        adapters.KindInvalid,
	codes.NotFound:          adapters.KindNotFound,
	codes.Unauthenticated:   adapters.KindUnauthorised,
	codes.PermissionDenied:  adapters.KindUnauthorised,
	codes.Unimplemented:     adapters.KindUnsupported,
	codes.Unavailable:       adapters.KindTransient,
	codes.Aborted:           adapters.KindTransient,
	codes.DeadlineExceeded:  adapters.KindTimeout,
	codes.Canceled:          adapters.KindCanceled,
	codes.ResourceExhausted: adapters.KindRateLimited,
}

// tooLarge reports whether an answer was refused here for its size. The server's rate limit has the same code.
func tooLarge(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(status.Convert(err).Message(), "larger than max")
}

// failed gives the error of a call its kind, and says which setting it may be about.
func (s *store) failed(ctx context.Context, op string, err error) error {
	var known *adapters.Error
	var limited *qdrant.QdrantResourceExhaustedError
	var write *WriteError
	code := status.Code(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case s.closed.Load() && code == codes.Canceled:
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	case ctx.Err() != nil: // whatever the call says of it
		return fail(op, adapters.KindCanceled, fmt.Errorf("%w, while asking the server at %q", ctx.Err(), s.set.Address))
	case errors.As(err, &limited):
		return &adapters.Error{Adapter: Name, Op: op, Kind: adapters.KindRateLimited, RetryAfter: time.Duration(limited.RetryAfterS) * time.Second, Err: err}
	case errors.As(err, &write):
		return fail(op, adapters.KindUnsupported, err)
	case tooLarge(err):
		return fail(op, adapters.KindPermanent, fmt.Errorf("an answer of the server is larger than %d MiB: lower the limit of the search: %w", maxMessage>>20, err))
	case code == codes.DeadlineExceeded: // of a call, a moment before its context notices, or of the server
		return fail(op, adapters.KindTimeout, fmt.Errorf("the server at %q, the setting backends.store.address, does not answer in time: %w%s",
			s.set.Address, context.DeadlineExceeded, strings.TrimPrefix(": "+status.Convert(err).Message(), ": "+context.DeadlineExceeded.Error())))
	}
	if strings.Contains(err.Error(), "invalid UTF-8") { // found before it is sent
		return invalid(op, "the request holds a text that is not UTF-8: %w", err)
	}
	kind, ok := kinds[code]
	if !ok {
		kind = adapters.KindPermanent
	}
	hint, wrong := s.hint(code, err.Error())
	if wrong {
		kind = adapters.KindInvalid
	}
	err = adapters.Cause(err)
	if hint != "" {
		err = fmt.Errorf("%s: %w", hint, err)
	}
	return fail(op, kind, err)
}

// hint says what to do about an error, and whether a setting is certainly wrong.
func (s *store) hint(code codes.Code, text string) (hint string, wrong bool) {
	switch code {
	case codes.Unauthenticated, codes.PermissionDenied:
		return "the server does not let us read: check backends.store.api_key_env (or api_key_file, token_env, token_file)", false
	case codes.Unimplemented:
		return "the server is too old for this, or no Qdrant", false
	case codes.Unavailable:
	default:
		return "", false
	}
	at := fmt.Sprintf("at %q, the setting backends.store.address", s.set.Address)
	switch {
	case strings.Contains(text, "HTTP/1") || strings.Contains(text, "frame too large") || strings.Contains(text, "looked like an HTTP") || strings.Contains(text, "no application protocol"):
		return "an HTTP server and no gRPC server answers " + at + ": give the gRPC port, by default 6334", true
	case strings.Contains(text, "does not look like a TLS handshake"):
		return "the server does not speak TLS " + at + ": set backends.store.tls to false", true
	case strings.Contains(text, "x509") || strings.Contains(text, "certificate"):
		return "the certificate of the server is not accepted " + at + ": check backends.store.tls.ca_file and server_name", true
	case strings.Contains(text, "no such host") || strings.Contains(text, "produced zero addresses"):
		return "there is no such host " + at, true
	case strings.Contains(text, "connection refused"):
		return "no server answers " + at + ": check the host, the gRPC port (by default 6334) and that it runs", false
	case !s.set.TLS.On && (strings.Contains(text, "server preface") || strings.Contains(text, "EOF") || strings.Contains(text, "reset")):
		return "the connection breaks off " + at + ": if the server speaks TLS, set backends.store.tls; check that it is the gRPC port, by default 6334", false
	}
	return "the server does not answer " + at, false
}
