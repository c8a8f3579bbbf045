package openai

import (
	"net/http"
	"strconv"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// quota reads what is left of the provider's limits, nil where the answer does not tell.
func quota(h http.Header) *adapters.Quota {
	q := adapters.Quota{Requests: allowance(h, "requests"), Tokens: allowance(h, "tokens")}
	if q.Requests == nil && q.Tokens == nil {
		return nil
	}
	return &q
}

func allowance(h http.Header, of string) *adapters.Allowance {
	left, err := strconv.Atoi(h.Get("X-Ratelimit-Remaining-" + of))
	if err != nil || left < 0 {
		return nil
	}
	a := &adapters.Allowance{Left: left, Reset: reset(h.Get("X-Ratelimit-Reset-" + of))}
	if limit, err := strconv.Atoi(h.Get("X-Ratelimit-Limit-" + of)); err == nil && limit > 0 {
		a.Limit = limit
	}
	return a
}

// reset reads the time until a limit is whole again: "6m0s", or seconds. What is no such time is not told.
func reset(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if seconds, bare := strconv.ParseFloat(s, 64); bare == nil && seconds < adapters.MaxRetryAfter.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > adapters.MaxRetryAfter {
		return 0
	}
	return d
}

// retryAfter reads how long a server asks to wait: Retry-After, or the longest reset of a limit of which nothing is left.
func retryAfter(h http.Header, q *adapters.Quota) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < float64(adapters.MaxRetryAfter.Milliseconds()) {
		return time.Duration(ms * float64(time.Millisecond))
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = time.Time{}
	}
	if wait := adapters.ParseRetryAfter(h.Get("Retry-After"), time.Now(), date); wait > 0 || q == nil {
		return wait
	}
	var wait time.Duration
	for _, a := range []*adapters.Allowance{q.Requests, q.Tokens} {
		if a != nil && a.Left == 0 {
			wait = max(wait, a.Reset)
		}
	}
	return wait
}
