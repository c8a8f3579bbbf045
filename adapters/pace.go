package adapters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace holds the calls to one backend to its limits of requests and of tokens a minute, and to what the backend says of them: it
// rests where the backend said that nothing is left or when to come back, and it is never quicker than the limit that the backend
// names. A call waits until those before it are paid off. It is safe for concurrent use; the nil Pace holds nothing up.
type Pace struct {
	mu       sync.Mutex // orders the calls, so that each waits for the ones before it
	requests paced
	tokens   paced
	credit   int64     // tokens that calls were reckoned to take and did not
	rest     time.Time // no call is made before
}

// paced is one limit; a nil limiter is none.
type paced struct {
	*rate.Limiter
	own rate.Limit // what the user set; 0: none
}

// NewPace returns a pace of so many requests and tokens a minute; 0 is no limit. They go out evenly.
func NewPace(requestsPerMinute, tokensPerMinute int) *Pace {
	p := &Pace{}
	if requestsPerMinute > 0 {
		p.requests.own = perMinute(requestsPerMinute)
		p.requests.Limiter = rate.NewLimiter(p.requests.own, 1)
	}
	if tokensPerMinute > 0 {
		p.tokens.own = perMinute(tokensPerMinute)
		p.tokens.Limiter = rate.NewLimiter(p.tokens.own, tokenBurst)
	}
	return p
}

const (
	tokenBurst = 1 << 8  // of a user's limit: so many tokens go out without a wait
	mostDrawn  = 1 << 24 // tokens of one call
)

func perMinute(n int) rate.Limit { return rate.Limit(float64(n) / 60) }

// learnt is the rate that a provider's allowance stands for. One that fills up as it is used says how fast; else its window is
// taken to be a minute. A window that is longer makes the rate too high, and the rest at its end keeps it.
func learnt(a *Allowance) rate.Limit {
	limit := perMinute(a.Limit)
	if used := a.Limit - a.Left; used > 0 && a.Reset > 0 {
		limit = max(limit, rate.Limit(float64(used)/a.Reset.Seconds()))
	}
	return limit
}

// wait waits until a call of so many tokens may be made. It fails at once where the context's deadline is nearer.
func (p *Pace) wait(ctx context.Context, tokens int64) error {
	if p == nil {
		return ctx.Err()
	}
	at, cancel := p.draw(time.Now(), tokens)
	for {
		now := time.Now()
		at = p.notBefore(at)
		delay := at.Sub(now)
		if delay <= 0 {
			return nil
		}
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(at) {
			cancel()
			return fmt.Errorf("the turn comes in %v: %w", delay.Round(time.Millisecond), context.DeadlineExceeded)
		}
		if err := sleep(ctx, delay); err != nil {
			cancel()
			return err
		}
	}
}

// draw takes a request and the tokens out of the limits. It returns when the call may be made, and what gives them back.
func (p *Pace) draw(now time.Time, tokens int64) (at time.Time, cancel func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at = now
	var drawn []*rate.Reservation
	take := func(l paced, n int) time.Time {
		r := l.ReserveN(now, n)
		drawn = append(drawn, r)
		return now.Add(r.DelayFrom(now))
	}
	if p.requests.Limiter != nil {
		at = take(p.requests, 1)
	}
	if p.tokens.Limiter != nil && tokens > 0 {
		// The call waits for the tokens of the others, not for its own: those are what the next one waits for.
		if free := take(p.tokens, 0); free.After(at) {
			at = free
		}
		tokens = min(tokens, mostDrawn)
		paid := min(tokens, p.credit)
		p.credit -= paid
		for _, n := range p.tokens.steps(tokens - paid) {
			take(p.tokens, n)
		}
	}
	return at, func() {
		for _, r := range drawn {
			r.CancelAt(now)
		}
	}
}

func (p *Pace) notBefore(at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rest.After(at) {
		return p.rest
	}
	return at
}

// heed learns from an answer: quota is what it says is left, retryAfter when to come back. No rest is longer than longest.
func (p *Pace) heed(now time.Time, quota *Quota, retryAfter, longest time.Duration) {
	if p == nil || quota == nil && retryAfter <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := max(retryAfter, 0)
	if quota != nil {
		rest = max(rest, min(restOf(quota.Requests), longest), min(restOf(quota.Tokens), longest))
		p.requests.follow(quota.Requests, now)
		p.tokens.follow(quota.Tokens, now)
	}
	if until := now.Add(rest); rest > 0 && until.After(p.rest) {
		p.rest = until
	}
}

// restOf is how long nothing is left of an allowance.
func restOf(a *Allowance) time.Duration {
	if a == nil || a.Left > 0 {
		return 0
	}
	return a.Reset
}

// follow keeps a limit to what a provider names. What it does not name, and what the user set lower, stays.
func (l *paced) follow(a *Allowance, now time.Time) {
	if a == nil || a.Limit <= 0 {
		return
	}
	limit := learnt(a)
	switch {
	case l.Limiter == nil:
		l.Limiter = rate.NewLimiter(limit, a.Limit) // as much may go out at once as the provider grants
		if used := a.Limit - a.Left; used > 0 {
			l.ReserveN(now, min(used, a.Limit))
		}
	case l.own > 0:
		l.SetLimitAt(now, min(l.own, limit))
	default:
		l.SetLimitAt(now, limit)
	}
}

// steps splits an amount into what the limiter takes at once.
func (l *paced) steps(amount int64) []int {
	var out []int
	step := int64(l.Burst())
	for ; amount > 0; amount -= step {
		out = append(out, int(min(amount, step)))
	}
	return out
}

// correct makes up for an estimate: what was reckoned and not used pays for the next calls, what was used beyond it is owed.
func (p *Pace) correct(reckoned, used int64) {
	if p == nil || reckoned == used {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.tokens.Limiter == nil:
	case used < reckoned:
		p.credit = plus(p.credit, reckoned-used)
	default:
		for _, n := range p.tokens.steps(min(used-reckoned, mostDrawn)) {
			p.tokens.ReserveN(time.Now(), n)
		}
	}
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
