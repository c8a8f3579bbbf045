package weaviate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// transport lets reads alone through, adds the key, bounds what comes back, and makes an error of every status that is not a
// success, so that no client has to.
type transport struct {
	next  http.RoundTripper
	key   string
	limit int64 // of the bytes of a response

	redact *adapters.Redactor // for what is cut: half a key is found no more
}

const (
	responseLimit = 256 << 20
	errorLimit    = 64 << 10
)

// reads are the requests that change nothing; a GET of a path may be nothing else in a REST interface, but what is not known
// here is not asked for either.
var reads = regexp.MustCompile(`^/v1/(meta|schema|schema/[^/]+|schema/[^/]+/(tenants|shards)|objects|nodes/[^/]+)$`)

const (
	graphQLPath = "/v1/graphql"
	objectsPath = "/v1/objects"
)

// errWrite is the cause of every error for a request that is no read.
var errWrite = errors.New("refused: this adapter only reads")

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // what is sent is read first, and copied
	}
	req = req.Clone(req.Context())
	if err := permit(req); err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost {
		req.Header["Idempotency-Key"] = nil // is not sent; a query may be sent again where a kept connection turns out to be closed
	}
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, newStatusError(resp, t.redact)
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: t.limit, limit: t.limit}
	return resp, nil
}

// CloseIdleConnections is what a client's method of that name calls.
func (t *transport) CloseIdleConnections() {
	if idle, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// permit returns nil for a request that reads.
func permit(req *http.Request) error {
	path := req.URL.EscapedPath()
	switch {
	case req.Method == http.MethodGet && reads.MatchString(path):
		return nil
	case req.Method == http.MethodPost && path == graphQLPath:
		return permitQuery(req)
	}
	return fmt.Errorf("%s %s: %w", req.Method, path, errWrite)
}

// permitQuery lets one anonymous query of Get or Aggregate through. Such a document cannot hold a mutation.
func permitQuery(req *http.Request) error {
	if req.Body == nil {
		return fmt.Errorf("a query without a body: %w", errWrite)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("reading a query: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var query struct {
		Query         string         `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
	}
	if err := json.Unmarshal(body, &query); err != nil {
		return fmt.Errorf("a query that is no JSON: %w", errWrite)
	}
	if query.OperationName != "" || query.Variables != nil || !readsOnly(query.Query) {
		return fmt.Errorf("a query that is not one {Get…} or {Aggregate…}: %w", errWrite)
	}
	return nil
}

// readsOnly says whether the document is one selection of Get or Aggregate with nothing behind it. Braces in strings do not
// count; a comment or a block string, which we never write, is refused.
func readsOnly(document string) bool {
	if !strings.HasPrefix(document, "{Get{") && !strings.HasPrefix(document, "{Aggregate{") || strings.Contains(document, `"""`) {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '#':
			return false
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i == len(document)-1
			}
		}
	}
	return false
}

// bounded is a body that may not be longer than the limit.
type bounded struct {
	io.ReadCloser

	left, limit int64
}

// errTooLarge is the cause where a response is longer than what is read at once.
var errTooLarge = errors.New("the response is too large")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, b.limit)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// statusError is a response that is no success.
type statusError struct {
	status     int
	message    string
	retryAfter time.Duration
}

func (e *statusError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("status %d", e.status)
	}
	return fmt.Sprintf("status %d: %s", e.status, e.message)
}

func newStatusError(resp *http.Response, redact *adapters.Redactor) *statusError {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		date = time.Time{}
	}
	e := &statusError{status: resp.StatusCode, retryAfter: adapters.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now(), date)}
	body, err := io.ReadAll(io.LimitReader(resp.Body, errorLimit))
	if err != nil {
		return e // the status says the most
	}
	e.message = messageOf(body, redact)
	return e
}

const longestMessage = 500

// messageOf returns what the body of an error says: Weaviate's own form, or the start of any other.
func messageOf(body []byte, redact *adapters.Redactor) string {
	var own struct {
		Error []struct {
			Message string `json:"message"`
		} `json:"error"`
		Message string `json:"message"`
	}
	text := string(body)
	if json.Unmarshal(body, &own) == nil {
		switch {
		case len(own.Error) > 0 && own.Error[0].Message != "":
			text = own.Error[0].Message
		case own.Message != "":
			text = own.Message
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(redact.String(text), "�")), " ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "…"
	}
	return text
}
