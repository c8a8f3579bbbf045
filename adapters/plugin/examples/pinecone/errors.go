package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
)

func fail(op string, kind adapters.Kind, err error) error {
	return adapters.NewError(name, op, kind, err)
}

// kinds maps the codes of the data plane.
var kinds = map[codes.Code]adapters.Kind{
	codes.InvalidArgument:   adapters.KindInvalid,
	codes.OutOfRange:        adapters.KindInvalid,
	codes.NotFound:          adapters.KindNotFound,
	codes.Unauthenticated:   adapters.KindUnauthorised,
	codes.PermissionDenied:  adapters.KindUnauthorised,
	codes.Unimplemented:     adapters.KindUnsupported,
	codes.Unavailable:       adapters.KindTransient,
	codes.Aborted:           adapters.KindTransient,
	codes.Internal:          adapters.KindTransient, // Pinecone's 500
	codes.ResourceExhausted: adapters.KindRateLimited,
	codes.DeadlineExceeded:  adapters.KindTimeout,
	codes.Canceled:          adapters.KindCanceled,
}

// failed gives the error of a call its kind, and says which setting it may be about.
func (s *store) failed(op string, err error) error {
	var known *adapters.Error
	var rest *pinecone.PineconeError
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fail(op, adapters.KindPermanent, err)
	case errors.As(err, &rest):
		return s.refused(op, rest)
	}
	answer, ok := status.FromError(err)
	if !ok { // the control plane did not answer at all
		return fail(op, adapters.KindTransient, fmt.Errorf("setting control %q: %w", s.set.Control, err))
	}
	kind := cmp.Or(kinds[answer.Code()], adapters.KindPermanent)
	switch kind {
	case adapters.KindUnauthorised:
		return fail(op, kind, fmt.Errorf("the key of api_key_env is not accepted by index %q: %s", s.set.Index, answer.Message()))
	case adapters.KindTimeout:
		return fail(op, kind, fmt.Errorf("%w: %s", context.DeadlineExceeded, answer.Message()))
	case adapters.KindCanceled:
		return fail(op, kind, fmt.Errorf("%w: %s", context.Canceled, answer.Message()))
	}
	return fail(op, kind, fmt.Errorf("index %q: %s", s.set.Index, answer.Message()))
}

// refused is an answer of the control plane.
func (s *store) refused(op string, answer *pinecone.PineconeError) error {
	kind, why := adapters.KindPermanent, fmt.Errorf("setting index %q: the control plane answers %d", s.set.Index, answer.Code)
	switch code := answer.Code; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind, why = adapters.KindUnauthorised, fmt.Errorf("the key of api_key_env is not accepted: the control plane answers %d", code)
	case code == http.StatusNotFound:
		kind, why = adapters.KindNotFound, fmt.Errorf("setting index: the key's project has no index %q", s.set.Index)
	case code == http.StatusTooManyRequests:
		kind = adapters.KindRateLimited
	case code == http.StatusBadRequest || code == http.StatusUnprocessableEntity:
		kind = adapters.KindInvalid
	case code >= http.StatusInternalServerError:
		kind = adapters.KindTransient
	}
	return fail(op, kind, why)
}
