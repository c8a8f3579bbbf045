package adapters

import (
	"errors"
	"testing"
)

func TestCause(t *testing.T) {
	t.Parallel()
	//nolint:misspell // gRPC spells "dialing" so
	for text, want := range map[string]string{
		"":                        "",
		"the answer has no items": "the answer has no items",
		"rpc error: code = NotFound desc = Not found: Collection `docs` doesn't exist!":                                                                                    "Not found: Collection `docs` doesn't exist!",
		`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`:                "connect: connection refused",
		`rpc error: code = Unavailable desc = connection error: desc = "error reading server preface: read tcp 127.0.0.1:40->127.0.0.1:2: read: connection reset by peer"`: "read: connection reset by peer",
		`rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake failed: tls: first record does not look like a TLS handshake"`: "tls: first record does not look like a TLS handshake",
		"rpc error: code = Unavailable desc = name resolver error: produced zero addresses":                                                                                "produced zero addresses",
		`reading collection "docs": rpc error: code = Internal desc = disk full`:                                                                                           `reading collection "docs": disk full`,
		"Upsert() failed: rpc error: code = Unauthenticated desc = no key":                                                                                                 "no key",
		"dial tcp [::1]:6334: connect: connection refused":                                                                                                                 "connect: connection refused",
		`Get "http://127.0.0.1:1/v1/meta": dial tcp 127.0.0.1:1: connect: connection refused`:                                                                              "connect: connection refused",
		`Post "https://a.invalid/v1/graphql": dial tcp: lookup a.invalid on 127.0.0.53:53: no such host`:                                                                   "no such host",
		`a field is named "transport"`: `a field is named "transport"`,
	} {
		err := errors.New(text)
		got := Cause(err)
		if got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
