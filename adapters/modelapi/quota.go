package modelapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Quota reads what is left of the provider's limits, nil where the answer does not tell.
func Quota(h http.Header) *adapters.Quota {
	q := adapters.Quota{Requests: allowance(h, "Requests"), Tokens: allowance(h, "Tokens")}
	if q.Requests == nil && q.Tokens == nil {
		return nil
	}
	return &q
}

func allowance(h http.Header, of string) *adapters.Allowance {
	for _, names := range [][3]string{ // what is left, of how many, and until when
		{"X-Ratelimit-Remaining-" + of, "X-Ratelimit-Limit-" + of, "X-Ratelimit-Reset-" + of},
		{"Anthropic-Ratelimit-" + of + "-Remaining", "Anthropic-Ratelimit-" + of + "-Limit", "Anthropic-Ratelimit-" + of + "-Reset"},
	} {
		said := h.Get(names[0])
		if said == "" {
			continue
		}
		left, err := strconv.Atoi(said)
		if err != nil || left < 0 {
			continue
		}
		a := &adapters.Allowance{Left: left, Reset: reset(h.Get(names[2]), h.Get("Date"))}
		if limit, err := strconv.Atoi(h.Get(names[1])); err == nil && limit > 0 {
			a.Limit = limit
		}
		return a
	}
	return nil
}

// reset reads the time until a limit is whole again: "6m0s", seconds, or a time, which is counted from the answer's date. What is no
// such time is not told.
func reset(s, date string) time.Duration {
	d, err := time.ParseDuration(s)
	if seconds, bare := strconv.ParseFloat(s, 64); bare == nil && seconds <= adapters.MaxRetryAfter.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if at, isTime := time.Parse(time.RFC3339, s); isTime == nil {
		from, undated := http.ParseTime(date)
		if undated != nil {
			from = time.Now()
		}
		d, err = at.Sub(from), nil
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
