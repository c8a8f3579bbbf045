package weaviate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/fault"

	"github.com/culprit-rag/culprit/adapters"
)

// unwrapFault takes the client's error type away, which does not unwrap, and returns what it was made from.
func unwrapFault(err error) error {
	for {
		var known *fault.WeaviateClientError
		if !errors.As(err, &known) || known.DerivedFromError == nil {
			return err
		}
		err = known.DerivedFromError
	}
}

// failure makes the error of an operation from whatever went wrong in it.
func (s *store) failure(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	err = unwrapFault(err)
	if s.life.Err() != nil {
		return &adapters.Error{Adapter: Name, Op: op, Kind: adapters.KindPermanent, Err: fmt.Errorf("%w: %v", adapters.ErrClosed, err)} //nolint:errorlint // it is the closing that cut it short
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	var known *adapters.Error
	if errors.As(err, &known) {
		return known
	}
	var status *statusError
	if errors.As(err, &status) {
		return s.statusFailure(op, status)
	}
	var settled *problem
	if errors.As(err, &settled) && ctx.Err() == nil {
		return fail(op, settled.kind, err)
	}
	kind, advice := s.network(err)
	if err = adapters.Cause(err); advice != "" {
		err = fmt.Errorf("%s: %w", advice, err)
	}
	if ctx.Err() == nil && kind == adapters.KindTimeout { // of the network, not of the call: its kind must not hang on the cause
		return &adapters.Error{Adapter: Name, Op: op, Kind: kind, Err: err}
	}
	return fail(op, kind, err)
}

// network classifies an error of the connection, and says what to look at.
func (s *store) network(err error) (kind adapters.Kind, advice string) {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalidC  x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		dns       *net.DNSError
		timeout   net.Error
	)
	text := err.Error()
	address := fmt.Sprintf("check backends.store.address (%q)", s.set.Address)
	switch {
	case errors.Is(err, errWrite):
		return adapters.KindUnsupported, ""
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return adapters.KindTimeout, "the server at backends.store.address (" + s.set.Address + ") did not answer in time"
	case errors.Is(err, errTooLarge):
		return adapters.KindPermanent, "ask for fewer items at once"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return adapters.KindInvalid, "the server speaks plain HTTP: set backends.store.tls to false"
	case errors.As(err, &hostname):
		return adapters.KindInvalid, "the certificate is for another name: set backends.store.tls.server_name, or check the address"
	case errors.As(err, &authority), errors.As(err, &invalidC), errors.As(err, &verify):
		return adapters.KindInvalid, "the certificate cannot be verified: name its authority in backends.store.tls.ca_file"
	case errors.As(err, &alert):
		return adapters.KindInvalid, "the TLS handshake was refused: check backends.store.tls"
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "readLoopPeekFailLocked: %!w(<nil>)"): // the other side spoke first
		return adapters.KindInvalid, address + ": this is no HTTP, perhaps the gRPC port, or one that wants backends.store.tls"
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return adapters.KindInvalid, address + ": there is no such host"
		}
		return adapters.KindTransient, address
	case errors.Is(err, syscall.ECONNREFUSED):
		return adapters.KindTransient, address + ": nothing listens there, or the server is down"
	case errors.As(err, &timeout) && timeout.Timeout():
		return adapters.KindTimeout, address
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return adapters.KindTransient, address + ": the connection was cut, as it is where the server speaks TLS and backends.store.tls is not set, or the other way round"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return adapters.KindTransient, address
	}
	return adapters.KindPermanent, ""
}

func (s *store) statusFailure(op string, e *statusError) error {
	out := &adapters.Error{Adapter: Name, Op: op, Kind: adapters.KindPermanent, RetryAfter: e.retryAfter, Err: e}
	switch {
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		out.Kind, out.Err = adapters.KindUnauthorised, fmt.Errorf("%s: %w", s.keyAdvice(e.status), e)
	case e.status == http.StatusNotFound:
		out.Kind = adapters.KindNotFound
		if !strings.Contains(e.message, "class") {
			out.Err = fmt.Errorf("check backends.store.address (%q): what answers there is no Weaviate server: %w", s.set.Address, e)
		}
	case e.status == http.StatusTooManyRequests:
		out.Kind = adapters.KindRateLimited
	case e.status == http.StatusRequestTimeout || e.status == http.StatusGatewayTimeout:
		out.Kind = adapters.KindTimeout
	case strings.Contains(e.message, "HTTP request to an HTTPS server"):
		out.Kind, out.Err = adapters.KindInvalid, fmt.Errorf("the server speaks HTTPS: set backends.store.tls to true: %w", e)
	case e.status == http.StatusBadRequest || e.status == http.StatusUnprocessableEntity:
		out.Kind = kindOfMessage(e.message, adapters.KindInvalid)
	case e.status >= 300 && e.status < 400:
		out.Kind, out.Err = adapters.KindInvalid, fmt.Errorf("a redirect is not followed: set backends.store.address and backends.store.tls to where it leads: %w", e)
	case e.status >= 500:
		out.Kind = adapters.KindTransient
	}
	return out
}

func (s *store) keyAdvice(status int) string {
	switch {
	case s.transport.key == "":
		return "no key was sent: set backends.store.api_key_env or backends.store.api_key_file"
	case status == http.StatusForbidden:
		return "the key of " + s.keySetting() + " may not read this"
	}
	return "the server does not accept the key of " + s.keySetting()
}

func (s *store) keySetting() string {
	if s.set.APIKeyEnv != "" {
		return fmt.Sprintf("backends.store.api_key_env (%q)", s.set.APIKeyEnv)
	}
	return "backends.store.api_key_file"
}

// kindOfMessage reads the kind out of the words of the server, which has no codes in GraphQL.
func kindOfMessage(message string, otherwise adapters.Kind) adapters.Kind {
	for _, known := range []struct {
		words string
		kind  adapters.Kind
	}{
		{"429", adapters.KindRateLimited},
		{"too many requests", adapters.KindRateLimited},
		{"forbidden", adapters.KindUnauthorised},
		{"tenant not found", adapters.KindNotFound},
		{"tenant not active", adapters.KindPermanent},
		{"vector lengths don't match", adapters.KindInvalid},
		{"target vector", adapters.KindInvalid},
		{"context deadline exceeded", adapters.KindTransient}, // a deadline of the server's own
		{"context canceled", adapters.KindTransient},
		{"memory pressure", adapters.KindTransient},
		{"not enough memory", adapters.KindTransient},
		{"shard is not ready", adapters.KindTransient},
	} {
		if strings.Contains(strings.ToLower(message), known.words) {
			return known.kind
		}
	}
	return otherwise
}
