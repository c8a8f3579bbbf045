package modelapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Exchange is one call: what is sent, and what came back.
type Exchange struct {
	Body       []byte // is sent; nil: the request's own
	Idempotent bool   // the server is told the id of the try, a hint that two requests may be one
	Limit      int64  // the most that is read of the answer; a longer one is an error, and not kept
	Unread     bool   // of an answer that is a success, the library is handed no body: the caller reads Answer alone

	Status int // 0: no answer came
	Header http.Header
	Answer []byte
	Took   time.Duration // from the request to the last byte of the answer
	Err    error         // of reading the answer

	unsent bool // it failed before the server was sent anything
}

// Whole reports whether all of an answer came.
func (x *Exchange) Whole() bool { return x.Status != 0 && x.Err == nil }

type exchangeKey struct{}

// With makes the next call by [Client.HTTP] that has this context the exchange's.
func (x *Exchange) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// Post sends the exchange's body to the server's URL, with the key as a bearer's. Without an error, all of an answer of any status came.
func (c *Client) Post(ctx context.Context, x *Exchange) error {
	req, err := http.NewRequestWithContext(x.With(ctx), http.MethodPost, c.to.URL, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// errTooLarge is the cause where an answer is longer than what is read.
var errTooLarge = errors.New("the answer is too large")

// recorder sends an exchange's own body and reads the whole answer, so that what came can be told from what was made of it.
type recorder struct {
	next    http.RoundTripper
	headers http.Header
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return nil, errors.New("a call without an exchange")
	}
	if x.Body != nil {
		if req.Body != nil {
			_ = req.Body.Close() // it was never read
		}
		body := x.Body
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	for name, values := range r.headers {
		req.Header[name] = values
	}
	if id := adapters.CallID(req.Context()); id != "" && x.Idempotent {
		req.Header.Set("Idempotency-Key", id)
	}
	var sent atomic.Bool // where a kept connection turns out to be closed it is sent twice, and once is enough to be in doubt
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}))
	start := time.Now()
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		x.Took, x.unsent = time.Since(start), !sent.Load()
		return nil, err
	}
	defer resp.Body.Close()
	x.Status, x.Header = resp.StatusCode, resp.Header
	x.Answer, x.Err = readAll(resp.Body, resp.ContentLength, x.Limit)
	x.Took = time.Since(start)
	if x.Err != nil {
		return nil, x.Err
	}
	if resp.Body = http.NoBody; !x.Unread || x.Status >= http.StatusMultipleChoices {
		resp.Body = io.NopCloser(bytes.NewReader(x.Answer))
	}
	return resp, nil
}

// readAll reads to the end or the limit. Where the length is told, memory is taken once.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	if length > limit {
		return nil, fmt.Errorf("%w: %d bytes, where at most %d are read", errTooLarge, length, limit)
	}
	var b bytes.Buffer
	if length > 0 {
		b.Grow(int(length) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return b.Bytes(), err
	}
	if int64(b.Len()) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	return b.Bytes(), nil
}
