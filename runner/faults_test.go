package runner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// faulty is a generator of elsewhere that answers every request in the same bad way.
type faulty struct {
	adapters.Generator
	answer func(ctx context.Context) (adapters.GenerateResponse, error)
	calls  *atomic.Int64
}

func (f *faulty) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{Adapter: "embedded", Model: "m-2025-04-14"}, nil
}

func (f *faulty) Generate(ctx context.Context, _ adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	f.calls.Add(1)
	return f.answer(ctx)
}

func faultyRegistry(t *testing.T, answer func(context.Context) (adapters.GenerateResponse, error)) (*adapters.Registry, *atomic.Int64) {
	t.Helper()
	calls := &atomic.Int64{}
	f := embedded.Factory()
	open := f.OpenGenerator
	f.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		g, err := open(ctx, cfg)
		return &faulty{g, answer, calls}, err
	}
	r, err := adapters.NewRegistry(f)
	if err != nil {
		t.Fatal(err)
	}
	return r, calls
}

// faultyRun runs two cases, the second like the first, one call at a time.
func faultyRun(t *testing.T, registry *adapters.Registry, more ...string) (*results.Summary, []*results.Bundle) {
	t.Helper()
	return faultyRunWithin(t, registry, "20s", more...)
}

// faultyRunWithin gives each call so long: the searches too, which on a busy machine may take many times what they do alone.
func faultyRunWithin(t *testing.T, registry *adapters.Registry, timeout string, more ...string) (*results.Summary, []*results.Bundle) {
	t.Helper()
	_, second, _ := strings.Cut(fees, "  - id: c\n")
	loaded := written(t, fees+"  - id: d\n"+second+"runs: {repeats: 2, perturbations: []}\nlimits: {retries: 1, timeout: "+timeout+", concurrency: 1}\n"+strings.Join(more, ""))
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var bundles []*results.Bundle
	for _, c := range summary.Cases {
		b, err := results.Open(c.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		judgeAgain(t, b)
		consistent(t, b.Evaluation)
		bundles = append(bundles, b)
	}
	return summary, bundles
}

// journalled returns how many tries the journals announce, and holds each of them to an outcome.
func journalled(t *testing.T, bundles []*results.Bundle) (generations int) {
	t.Helper()
	for _, b := range bundles {
		journal, err := results.ReadJournal(b.Path)
		if err != nil {
			t.Fatal(err)
		}
		open := map[string]int{}
		steps := map[string]string{}
		for _, r := range journal.Records {
			switch r.Type {
			case results.RecordIntent:
				open[r.CallKey]++
				steps[r.CallKey] = r.Call.Step
				if r.Call.Step == "generate" {
					generations++
				}
			case results.RecordResult, results.RecordFailure:
				open[r.CallKey]--
			}
		}
		for key, n := range open {
			if n != 0 {
				t.Errorf("case %s: %d tries of the %s call %s have no outcome", b.Case.ID, n, steps[key], key)
			}
		}
	}
	return generations
}

// TestFaultsOfTheGenerator holds a run to what a generator does wrong: nothing of it is a failed answer, nothing is asked for again
// without end, and what came of each call stands in the journal.
func TestFaultsOfTheGenerator(t *testing.T) {
	t.Parallel()
	fails := func(kind adapters.Kind, says string) func(context.Context) (adapters.GenerateResponse, error) {
		return func(context.Context) (adapters.GenerateResponse, error) {
			return adapters.GenerateResponse{}, &adapters.Error{Adapter: "embedded", Op: "generate", Kind: kind, RetryAfter: time.Millisecond, Err: errors.New(says)}
		}
	}
	answers := func(r adapters.GenerateResponse) func(context.Context) (adapters.GenerateResponse, error) {
		return func(context.Context) (adapters.GenerateResponse, error) { return r, nil }
	}
	const generations = 8 // of A and B, twice in each of two cases
	for _, test := range []struct {
		name      string
		answer    func(context.Context) (adapters.GenerateResponse, error)
		calls     int64
		qualifier string
		status    matrix.Status
		says      string // in the summary of each case
		timeout   string // of a call; "": 20s
	}{
		{name: "429", answer: fails(adapters.KindRateLimited, "429 Too Many Requests"), calls: 2 * generations, status: matrix.StatusError, says: "429 Too Many Requests"},
		{name: "500", answer: fails(adapters.KindTransient, "500 Internal Server Error"), calls: 2 * generations, status: matrix.StatusError, says: "500"},
		{name: "a broken or reset connection", answer: fails(adapters.KindTransient, "the answer broke off: unexpected EOF"), calls: 2 * generations, status: matrix.StatusError, says: "broke off"},
		{name: "a login page", answer: fails(adapters.KindPermanent, `a web page came: "Sign in"`), calls: generations, status: matrix.StatusError, says: "Sign in"},
		{name: "no choice", answer: fails(adapters.KindPermanent, "the answer holds no choice"), calls: generations, status: matrix.StatusError, says: "no choice"},
		{
			name: "context length exceeded", answer: fails(adapters.KindTooLong, "400: maximum context length is 20"), calls: generations, status: matrix.StatusError,
			qualifier: verdict.ContextLengthExceeded, says: "tokens by local count",
		},
		{name: "blocked", answer: answers(adapters.GenerateResponse{FinishReason: adapters.FinishContentFilter}), calls: generations, status: matrix.StatusFiltered, says: "content filter"},
		{name: "cut off", answer: answers(adapters.GenerateResponse{Text: "It is", FinishReason: adapters.FinishLength}), calls: generations, status: matrix.StatusTruncated, says: "output limit"},
		{
			name: "a hung connection", calls: 2 * generations, status: matrix.StatusError, says: "timeout", timeout: "1s",
			answer: func(ctx context.Context) (adapters.GenerateResponse, error) {
				<-ctx.Done()
				return adapters.GenerateResponse{}, adapters.NewError("embedded", "generate", adapters.KindTransient, ctx.Err())
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			registry, calls := faultyRegistry(t, test.answer)
			summary, bundles := faultyRunWithin(t, registry, cmp.Or(test.timeout, "20s"))
			if got := calls.Load(); got != test.calls {
				t.Errorf("want %d calls, got %d", test.calls, got)
			}
			if got := journalled(t, bundles); int64(got) != test.calls {
				t.Errorf("want %d tries in the journals, got %d", test.calls, got)
			}
			if summary.Exit != 5 || len(bundles) != 2 {
				t.Errorf("exit %d with %d cases", summary.Exit, len(bundles))
			}
			for _, b := range bundles {
				e := b.Evaluation
				if e.Outcome != verdict.Environment || e.Qualifier != test.qualifier || len(e.Defects) > 0 || !strings.Contains(e.Summary, test.says) {
					t.Errorf("want environment %q that says %q, got\n    %s", test.qualifier, test.says, explained(e))
				}
				for _, trial := range b.Observations.Trials {
					if trial.Status != test.status {
						t.Errorf("want status %s, got %s", test.status, trial.Status)
					}
				}
			}
		})
	}
}

// TestOff: where no call of the run can be answered, no other is made in the whole of it; a backend that has answered is asked on.
func TestOff(t *testing.T) {
	t.Parallel()
	fails := func(kind adapters.Kind, unsent bool) *adapters.Error {
		return &adapters.Error{Adapter: "embedded", Op: "generate", Kind: kind, Unsent: unsent, Err: errors.New("see backends.generator.setting")}
	}
	const generations = 8 // of A and B, twice in each of two cases
	for _, test := range []struct {
		name     string
		err      *adapters.Error
		answered int64 // calls before the first that fails
		calls    int64 // with the second try of each that may be tried again
		reason   string
	}{
		{name: "the key is refused", err: fails(adapters.KindUnauthorised, false), calls: 1, reason: "the key was refused: "},
		{name: "the key is refused later", err: fails(adapters.KindUnauthorised, false), answered: 2, calls: 3, reason: "the key was refused: "},
		{name: "an unknown model", err: fails(adapters.KindNotFound, false), calls: 1, reason: "what was asked for is not there: "},
		{name: "an unknown model after an answer", err: fails(adapters.KindNotFound, false), answered: 1, calls: generations},
		{name: "a limit of the day", err: &adapters.Error{Adapter: "embedded", Op: "generate", Kind: adapters.KindRateLimited, RetryAfter: 5 * time.Hour, Err: errors.New("see backends.generator.setting")}, answered: 2, calls: 3, reason: "it asks to wait for longer than an hour: "},
		{name: "nobody listens", err: fails(adapters.KindTransient, true), calls: 2, reason: "no call ever reached it: "},
		{name: "no such host", err: fails(adapters.KindInvalid, true), calls: 1, reason: "no call ever reached it: "},
		{name: "nobody listens any more", err: fails(adapters.KindTransient, true), answered: 1, calls: 1 + 2*(generations-1)},
		{name: "a connection that breaks", err: fails(adapters.KindTransient, false), calls: 2 * generations},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var made atomic.Int64
			registry, calls := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
				if made.Add(1) <= test.answered {
					return adapters.GenerateResponse{Text: "It is forty crowns [gold].", FinishReason: adapters.FinishStop}, nil
				}
				return adapters.GenerateResponse{}, test.err
			})
			summary, bundles := faultyRun(t, registry)
			if got := calls.Load(); got != test.calls {
				t.Errorf("want %d calls, got %d", test.calls, got)
			}
			if got := journalled(t, bundles); int64(got) != test.calls {
				t.Errorf("want %d tries in the journals, got %d", test.calls, got)
			}
			if summary.Exit != 5 || len(bundles) != 2 {
				t.Errorf("exit %d with %d cases", summary.Exit, len(bundles))
			}
			warned := strings.Count(strings.Join(summary.Warnings, "\n"), "the generator was not asked any more, since "+test.reason+"see backends.generator.setting; ")
			if off := test.reason != ""; off && warned != 1 || !off && warned != 0 {
				t.Errorf("warnings: %q", summary.Warnings)
			}
			failed := 0
			for _, b := range bundles {
				verified(t, b.Path)
				if e := b.Evaluation; test.answered == 0 && (e.Outcome != verdict.Environment || len(e.Defects) > 0 || !strings.HasPrefix(e.Summary, test.reason) && !strings.HasPrefix(e.Summary, "see backends")) {
					t.Error(explained(e))
				}
				for _, trial := range b.Observations.Trials {
					switch {
					case trial.Status == matrix.StatusError:
						failed++
					case trial.Status == matrix.StatusNotRun && trial.Reason != test.reason+"see backends.generator.setting":
						t.Errorf("%s %d: %s, %q", trial.Cell, trial.Rep, trial.Status, trial.Reason)
					}
				}
			}
			if test.reason != "" && failed != 1 {
				t.Errorf("%d trials failed", failed)
			}
		})
	}
}

// TestOffMakesNoFurtherCall: when a backend shows that it answers none, those calls alone are made that were under way. Calls that wait for a
// slot or to be tried again are not, and the journal says so of each that it has announced.
func TestOffMakesNoFurtherCall(t *testing.T) {
	t.Parallel()
	const slots = 4
	refusal := func(kind adapters.Kind) *adapters.Error {
		return &adapters.Error{Adapter: "embedded", Op: "generate", Kind: kind, RetryAfter: 5 * time.Hour, Err: errors.New("see backends.generator.setting")}
	}
	for _, test := range []struct {
		name  string
		err   *adapters.Error
		retry int64 // calls that fail first, and are to be tried again
	}{
		{name: "the key is refused", err: refusal(adapters.KindUnauthorised)},
		{name: "a limit of the day", err: refusal(adapters.KindRateLimited)},
		{name: "while others wait to be tried again", err: refusal(adapters.KindUnauthorised), retry: 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var made atomic.Int64
			full := make(chan struct{}) // closed when all slots are held
			registry, calls := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
				switch n := made.Add(1); {
				case n <= test.retry:
					return adapters.GenerateResponse{}, &adapters.Error{Adapter: "embedded", Op: "generate", Kind: adapters.KindTransient, Err: errors.New("500")}
				case n == test.retry+slots:
					close(full)
				}
				<-full
				return adapters.GenerateResponse{}, test.err
			})
			_, second, _ := strings.Cut(fees, "  - id: c\n")
			loaded := written(t, fees+"  - id: d\n"+second+fmt.Sprintf("runs: {repeats: 5, perturbations: []}\nlimits: {retries: 1, timeout: 20s, concurrency: %d}\n", slots))
			summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if got := calls.Load(); got != test.retry+slots {
				t.Errorf("%d calls were made, want %d", got, test.retry+slots)
			}
			if got := int64(summary.Totals.Generation); got != calls.Load() {
				t.Errorf("the summary counts %d generations, and %d calls were made", got, calls.Load())
			}
			announced, unmade := int64(0), int64(0)
			for _, c := range summary.Cases {
				verified(t, c.Bundle)
				journal, err := results.ReadJournal(c.Bundle)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range journal.Records {
					switch {
					case r.Type == results.RecordIntent && r.Call.Step == "generate":
						announced++
					case r.Unmade:
						unmade++
						if r.Spent.Calls != 0 || r.Observed != "" {
							t.Errorf("a try that was not made has spent %+v and shows %q", r.Spent, r.Observed)
						}
					}
				}
			}
			if announced-unmade != calls.Load() {
				t.Errorf("%d tries were announced and %d of them not made, but %d were made", announced, unmade, calls.Load())
			}
			if unmade < test.retry-1 { // one takes the slot that is left
				t.Errorf("%d tries were given up: the second tries of %d calls are not among them", unmade, test.retry-1)
			}
		})
	}
}

// TestAnsweredAs: where another model answers than was asked, the run says so once.
func TestAnsweredAs(t *testing.T) {
	t.Parallel()
	const asked = "m-2025-04-14"
	for _, test := range []struct {
		name, reported, more string
		another              int // of 8 generations
	}{
		{name: "the one that was asked", reported: asked},
		{name: "not told"},
		{name: "another", reported: "smollm2", another: 8},
		{name: "another, in one generation", reported: "smollm2", another: 1},
		{name: "another that is pinned", reported: "smollm2", more: "pins: {generator: {model_reported: smollm2}}\n"},
		{name: "the dated name of an alias", reported: asked + "-2025-05-01"},
		{name: "another that begins alike", reported: asked + "-mini", another: 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var made atomic.Int64
			registry, _ := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
				r := adapters.GenerateResponse{Text: "It is forty crowns [gold].", FinishReason: adapters.FinishStop, ModelReported: test.reported}
				if test.another == 1 && made.Add(1) > 1 {
					r.ModelReported = asked
				}
				return r, nil
			})
			summary, _ := faultyRun(t, registry, test.more)
			all := strings.Join(summary.Warnings, "\n")
			want := fmt.Sprintf("the model %q was asked, and %q answered in %d of 8 generations: ", asked, test.reported, test.another)
			if test.another > 0 && strings.Count(all, want) != 1 || test.another == 0 && strings.Contains(all, " was asked, and ") {
				t.Errorf("want %q once, got %q", want, all)
			}
		})
	}
}

// TestProgressOfGenerations: how many generations there are is reckoned from the first case on, and comes true.
func TestProgressOfGenerations(t *testing.T) {
	t.Parallel()
	registry, calls := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
		return adapters.GenerateResponse{Text: "It is forty crowns [gold].", FinishReason: adapters.FinishStop}, nil
	})
	_, second, _ := strings.Cut(fees, "  - id: c\n")
	loaded := written(t, fees+"  - id: d\n"+second+"runs: {repeats: 2, perturbations: []}\nlimits: {concurrency: 1}\n")
	var steps []runner.Step
	progress := &runner.Progress{Show: func(s runner.Step) { steps = append(steps, s) }}
	if _, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir(), Progress: progress}); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.Generations > 0 && int64(s.About) != calls.Load() {
			t.Errorf("%d of %d cases: %d of about %d generations, of %d", s.Done, s.Total, s.Generations, s.About, calls.Load())
		}
	}
	if last := steps[len(steps)-1]; int64(last.Generations) != calls.Load() || last.Done != 2 {
		t.Errorf("in the end: %+v", last)
	}
}

// TestAnswerTooLarge: what cannot be kept is not judged.
func TestAnswerTooLarge(t *testing.T) {
	t.Parallel()
	text := "It is forty crowns [gold]. " + strings.Repeat("Well. ", 50<<20/6)
	registry, _ := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
		return adapters.GenerateResponse{Text: text, FinishReason: adapters.FinishStop}, nil
	})
	_, bundles := faultyRun(t, registry)
	journalled(t, bundles)
	for _, b := range bundles {
		if e := b.Evaluation; e.Outcome != verdict.Environment || !strings.Contains(explained(e), "the answer is too large") {
			t.Errorf("%s: %s", e.Outcome, explained(e))
		}
	}
}

// TestForeignBytes: whatever bytes an answer has, it is kept as text that can be written, and judged.
func TestForeignBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		lossy      bool
	}{
		{name: "invalid UTF-8", text: "It is forty crowns [gold].\xff\xfe", lossy: true},
		{name: "a lone surrogate", text: "It is forty crowns [gold].\xed\xa0\x80", lossy: true},
		{name: "NUL", text: "It is forty crowns [gold].\x00"},
		{name: "5 MB", text: "It is forty crowns [gold]. " + strings.Repeat("Well. ", 5<<20/6), lossy: true},
	} {
		registry, _ := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
			return adapters.GenerateResponse{Text: test.text, FinishReason: adapters.FinishStop}, nil
		})
		_, bundles := faultyRun(t, registry)
		journalled(t, bundles)
		for _, b := range bundles {
			if e := b.Evaluation; e.Cells[0].Pass != 2 || e.Cells[1].Pass != 2 {
				t.Errorf("%s: %s", test.name, explained(e))
			}
			for _, trial := range b.Observations.Trials {
				if trial.AnswerLossy != test.lossy || len(trial.Answer.Value) > 1<<20+8 {
					t.Errorf("%s: lossy %t, %d bytes", test.name, trial.AnswerLossy, len(trial.Answer.Value))
				}
			}
		}
	}
}
