package adapters_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// scripted is a generator, embedder and reranker that fails as its script says, and then succeeds.
type scripted struct {
	takes  time.Duration // each call, or less where the context ends before
	script []error

	mu      sync.Mutex // orders the calls
	calls   int
	running int
	most    int // calls at once
}

func (s *scripted) call(ctx context.Context) error {
	s.mu.Lock()
	number := s.calls
	s.calls++
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return adapters.NewError("scripted", "call", adapters.KindPermanent, ctx.Err())
		}
	}
	if number < len(s.script) {
		return s.script[number]
	}
	return nil
}

func (s *scripted) Generate(ctx context.Context, _ adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	return adapters.GenerateResponse{Text: "done"}, s.call(ctx)
}

func (s *scripted) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{Model: "scripted"}, s.call(ctx)
}

func (s *scripted) Close() error { return s.call(context.Background()) }

func failure(kind adapters.Kind, retryAfter time.Duration) error {
	return &adapters.Error{Adapter: "scripted", Op: "generate", Kind: kind, RetryAfter: retryAfter, Err: errors.New("as scripted")}
}

// log keeps what OnAttempt is told, one line each.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) attempt(_ context.Context, a adapters.Attempt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf("%s %d", a.Op, a.Number)
	if a.Done {
		line = fmt.Sprintf("%s %d took %v", a.Op, a.Number, a.Took)
		if a.Err != nil {
			line += " " + string(a.Kind)
		}
		if a.Again {
			line += " again"
			if a.Wait >= time.Second { // shorter ones have a jitter
				line += fmt.Sprintf(" after %v", a.Wait)
			}
		}
	}
	l.lines = append(l.lines, line)
	return nil
}

func (l *log) is(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(l.lines, want) {
		t.Errorf("attempts:\n got %q\nwant %q", l.lines, want)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	const second, first = time.Second, 250 * time.Millisecond
	for _, tt := range []struct {
		name    string
		script  []error
		policy  adapters.Policy
		want    adapters.Kind // "" for success
		calls   int
		elapsed time.Duration // or, with jitter, between half of it and half as much again
		jitter  bool
	}{
		{"transient, then fine", []error{failure(adapters.KindTransient, 0)}, adapters.Policy{Retries: 2}, "", 2, first, true},
		{"the wait doubles", []error{failure(adapters.KindTransient, 0), failure(adapters.KindTimeout, 0)}, adapters.Policy{Retries: 2}, "", 3, 3 * first, true},
		{"no tries left", []error{failure(adapters.KindTransient, 0), failure(adapters.KindRateLimited, 5*second)}, adapters.Policy{Retries: 1}, adapters.KindRateLimited, 2, first, true},
		{"retry-after is honoured", []error{failure(adapters.KindRateLimited, 7*second)}, adapters.Policy{Retries: 1}, "", 2, 7 * second, false},
		{"retry-after is clamped", []error{failure(adapters.KindRateLimited, time.Hour)}, adapters.Policy{Retries: 1, MaxWait: 2 * second}, "", 2, 2 * second, false},
		{"retry-after is clamped by default", []error{failure(adapters.KindRateLimited, time.Hour)}, adapters.Policy{Retries: 1}, "", 2, adapters.DefaultMaxWait, false},
		{"a retry-after of another day", []error{failure(adapters.KindRateLimited, 2*time.Hour)}, adapters.Policy{Retries: 1}, adapters.KindRateLimited, 1, 0, false},
		{"a shorter retry-after", []error{failure(adapters.KindRateLimited, time.Millisecond)}, adapters.Policy{Retries: 1}, "", 2, first, true},
		{"no retries", []error{failure(adapters.KindTransient, 0)}, adapters.Policy{}, adapters.KindTransient, 1, 0, false},
		{"permanent", []error{failure(adapters.KindPermanent, 0)}, adapters.Policy{Retries: 2}, adapters.KindPermanent, 1, 0, false},
		{"too long", []error{failure(adapters.KindTooLong, 0)}, adapters.Policy{Retries: 2}, adapters.KindTooLong, 1, 0, false},
		{"unauthorised", []error{failure(adapters.KindUnauthorised, 0)}, adapters.Policy{Retries: 2}, adapters.KindUnauthorised, 1, 0, false},
		{"unsupported", []error{failure(adapters.KindUnsupported, 0)}, adapters.Policy{Retries: 2}, adapters.KindUnsupported, 1, 0, false},
		{"invalid", []error{failure(adapters.KindInvalid, 0)}, adapters.Policy{Retries: 2}, adapters.KindInvalid, 1, 0, false},
		{"not found", []error{failure(adapters.KindNotFound, 0)}, adapters.Policy{Retries: 2}, adapters.KindNotFound, 1, 0, false},
		{"closed", []error{adapters.ErrClosed}, adapters.Policy{Retries: 2}, adapters.KindPermanent, 1, 0, false},
		{"an error that no adapter may return", []error{io.EOF}, adapters.Policy{Retries: 2}, adapters.KindPermanent, 1, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{script: tt.script}
				start := time.Now()
				resp, err := adapters.WrapGenerator(s, tt.policy).Generate(t.Context(), adapters.GenerateRequest{})
				if tt.want == "" && (err != nil || resp.Text != "done") {
					t.Errorf("response %+v, error %v; want success", resp, err)
				}
				var known *adapters.Error
				if tt.want != "" && (!errors.As(err, &known) || known.Kind != tt.want) {
					t.Errorf("error %v, want kind %s", err, tt.want)
				}
				least, most := tt.elapsed, tt.elapsed
				if tt.jitter {
					least, most = tt.elapsed/2, tt.elapsed*3/2
				}
				if took := time.Since(start); s.calls != tt.calls || took < least || took > most {
					t.Errorf("%d calls in %v, want %d in %v to %v", s.calls, took, tt.calls, least, most)
				}
			})
		})
	}
}

func TestRetriesNeverOutliveTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{script: []error{failure(adapters.KindRateLimited, 10*time.Second), failure(adapters.KindRateLimited, 10*time.Second)}}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		start := time.Now()
		_, err := adapters.WrapGenerator(s, adapters.Policy{Retries: 5}).Generate(ctx, adapters.GenerateRequest{})
		if adapters.KindOf(err) != adapters.KindRateLimited || s.calls != 2 || time.Since(start) != 10*time.Second {
			t.Errorf("after %v and %d calls: %v; want the rate limit itself, after 10s and 2", time.Since(start), s.calls, err)
		}
	})
}

func TestCancelDuringAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		s := &scripted{script: []error{failure(adapters.KindRateLimited, 10*time.Second)}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, err := adapters.WrapGenerator(s, adapters.Policy{Name: "api", Retries: 5, OnAttempt: l.attempt}).Generate(ctx, adapters.GenerateRequest{})
		if adapters.KindOf(err) != adapters.KindCanceled || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "as scripted") {
			t.Errorf("error %v, want canceled, with what the last try said", err)
		}
		if time.Since(start) != 3*time.Second || s.calls != 1 {
			t.Errorf("after %v and %d calls, want 3s and 1", time.Since(start), s.calls)
		}
		l.is(t, "generate 1", "generate 1 took 0s rate-limited again after 10s")
	})
}

func TestTimeoutIsForOneTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		s := &scripted{takes: time.Minute}
		_, err := adapters.WrapGenerator(s, adapters.Policy{Timeout: time.Second, Retries: 1, OnAttempt: l.attempt}).Generate(t.Context(), adapters.GenerateRequest{})
		if adapters.KindOf(err) != adapters.KindTimeout {
			t.Errorf("error %v, want a timeout", err)
		}
		l.is(t, "generate 1", "generate 1 took 1s timeout again", "generate 2", "generate 2 took 1s timeout")
	})
}

func TestWaitsAreNotWireTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		s := &scripted{takes: time.Second}
		g := adapters.WrapGenerator(s, adapters.Policy{
			Timeout: 1500 * time.Millisecond, // less than any of the waits
			Pace:    adapters.NewPace(20, 0), Slots: make(chan struct{}, 1), OnAttempt: l.attempt,
		})
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				resp, err := g.Generate(t.Context(), adapters.GenerateRequest{})
				if err != nil || resp.WireTime != time.Second {
					t.Errorf("wire time %v, error %v; want 1s", resp.WireTime, err)
				}
			})
		}
		wg.Wait()
		if time.Since(start) != 7*time.Second {
			t.Errorf("three calls took %v, want 7s: one every 3s, of 1s each", time.Since(start))
		}
		l.is(t, "generate 1", "generate 1 took 1s", "generate 1", "generate 1 took 1s", "generate 1", "generate 1 took 1s")
	})
}

func TestSlotsBoundWhatRunsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{takes: time.Second}
		slots := make(chan struct{}, 2)
		one, two := adapters.WrapGenerator(s, adapters.Policy{Slots: slots}), adapters.WrapGenerator(s, adapters.Policy{Slots: slots})
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			for _, g := range []adapters.Generator{one, two} {
				wg.Go(func() {
					if _, err := g.Generate(t.Context(), adapters.GenerateRequest{}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if s.most != 2 || time.Since(start) != 3*time.Second || len(slots) != 0 {
			t.Errorf("%d ran at once for %v, %d slots are still taken; want 2, 3s, 0", s.most, time.Since(start), len(slots))
		}
	})
}

func TestGivingUpBeforeATry(t *testing.T) {
	t.Parallel()
	full := make(chan struct{}, 1)
	full <- struct{}{}
	slow := adapters.NewPace(1, 0)
	paced := adapters.WrapGenerator(&scripted{}, adapters.Policy{Pace: slow})
	if _, err := paced.Generate(t.Context(), adapters.GenerateRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		policy adapters.Policy
		want   adapters.Kind
	}{
		{"no slot", adapters.Policy{Slots: full}, adapters.KindTimeout},
		{"no room in the rate", adapters.Policy{Pace: slow}, adapters.KindTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			policy := tt.policy
			l := &log{}
			policy.OnAttempt, policy.Name, policy.Retries = l.attempt, "api", 3
			s := &scripted{}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, err := adapters.WrapGenerator(s, policy).Generate(ctx, adapters.GenerateRequest{})
			var known *adapters.Error
			if !errors.As(err, &known) || known.Kind != tt.want || known.Adapter != "api" || known.Op != "generate" {
				t.Errorf("error %v, want %s of api: generate", err, tt.want)
			}
			if l.is(t); s.calls != 0 {
				t.Errorf("%d calls, want none", s.calls)
			}
		})
	}
}

// closing is a gate that the first failure closes.
type closing struct {
	mu   sync.Mutex
	shut error
}

func (c *closing) Refuse(string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut
}

func (c *closing) Saw(_ string, result error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = cmp.Or(c.shut, result)
}

// TestGateLetsNoWaitingCallThrough: of calls that wait for the slot of one that closes the gate none is made, also where they were announced
// before; a call that waits to be tried again is not either.
func TestGateLetsNoWaitingCallThrough(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{takes: time.Second, script: []error{failure(adapters.KindTransient, 0), failure(adapters.KindUnauthorised, 0)}}
			var mu sync.Mutex
			open, unmade := 0, 0
			g := adapters.WrapGenerator(s, adapters.Policy{
				Name: "api", Retries: 1, Slots: make(chan struct{}, 2), Gate: &closing{}, TellEarly: early, OnAttempt: func(_ context.Context, a adapters.Attempt) error {
					mu.Lock()
					defer mu.Unlock()
					if !a.Done {
						open++
						return nil
					}
					open--
					if a.Unmade {
						unmade++
						if a.Took != 0 || a.Billed || a.Again || a.Err == nil {
							t.Errorf("a try that was not made is told as %+v", a)
						}
					}
					return nil
				},
			})
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					if _, err := g.Generate(t.Context(), adapters.GenerateRequest{}); err == nil || !strings.Contains(err.Error(), "as scripted") {
						t.Errorf("error %v, want what closed the gate", err)
					}
				})
			}
			wg.Wait()
			if s.calls != 2 || open != 0 || unmade != 5 { // those that wait, and the second try of the first
				t.Errorf("announced early %t: %d calls, %d tries without an end, %d not made; want 2, 0, 5", early, s.calls, open, unmade)
			}
		})
	}
}

func TestOnAttemptCanRefuse(t *testing.T) {
	t.Parallel()
	diskFull := errors.New("disk full")
	for _, tt := range []struct {
		name  string
		done  bool // which of the two it refuses
		calls int
	}{{"before", false, 0}, {"after", true, 1}} {
		s := &scripted{}
		type key struct{}
		g := adapters.WrapGenerator(s, adapters.Policy{Name: "api", Retries: 3, OnAttempt: func(ctx context.Context, a adapters.Attempt) error {
			if ctx.Value(key{}) != "case 7" {
				t.Errorf("%s: it is told of another context", tt.name)
			}
			if a.Done == tt.done {
				return diskFull
			}
			return nil
		}})
		resp, err := g.Generate(context.WithValue(t.Context(), key{}, "case 7"), adapters.GenerateRequest{})
		if !errors.Is(err, diskFull) || adapters.KindOf(err) != adapters.KindPermanent || resp.Text != "" || s.calls != tt.calls {
			t.Errorf("%s: %+v, %v after %d calls; want the refusal after %d", tt.name, resp, err, s.calls, tt.calls)
		}
	}
}

func TestWrappedErrorsAreRedacted(t *testing.T) {
	t.Parallel()
	leak := fmt.Errorf("401 for key %s", canary)
	var told error
	g := adapters.WrapGenerator(&scripted{script: []error{adapters.NewError("api", "generate", adapters.KindUnauthorised, leak), leak, leak}},
		adapters.Policy{Redact: adapters.NewRedactor(canary), OnAttempt: func(_ context.Context, a adapters.Attempt) error {
			told = errors.Join(told, a.Err)
			return nil
		}})
	_, generate := g.Generate(t.Context(), adapters.GenerateRequest{})
	_, describe := g.Describe(t.Context())
	for name, err := range map[string]error{"generate": generate, "describe": describe, "close": g.Close(), "told": told} {
		if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), adapters.Redacted) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "told" && adapters.KindOf(err) == "" {
			t.Errorf("%s: %v has no kind", name, err)
		}
	}
	if !errors.Is(generate, adapters.ErrUnauthorised) {
		t.Errorf("%v lost its kind", generate)
	}
}
