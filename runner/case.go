package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// Recorder keeps the journal of one case: an intent before each call, an outcome after it. An error means that nothing more
// may be bought.
type Recorder interface {
	Intent(results.Intent) error
	Outcome(results.Outcome) error
	Past(key string) *results.Past // what earlier work has left of a call; nil: nothing
	Reuse(*results.Past) error     // its answer was taken
	TryID(key string, attempt int) string
}

// caseRun is the work on one case.
type caseRun struct {
	*session
	c        *matrix.Case
	plan     *matrix.Plan
	recorder Recorder
	obs      matrix.Observations

	queryTemplate   *matrix.Template // nil: the question is searched for as it is typed, or rewritten
	rewriteTemplate *matrix.Template // nil: it is not rewritten
	prompter        *matrix.Prompter
	plainPrompter   *matrix.Prompter // of the reference prompt
	packed          []matrix.Packed  // production's context
	dropped         []matrix.Dropped
	seeded          []matrix.Packed   // what a perturbation may put beside the gold; nil: not drawn yet
	features        *verdict.Features // of what was observed so far; nil: not read yet
	answerKeys      verdict.AnswerKeys

	calls    map[string]matrix.Call
	first    map[string]string // input digest → call key of the trial that made the call
	controls int               // calls of the rerank control so far
	probing  bool              // neither the reranker nor anything that answers is asked
	before   seen              // calls of the same case that were made already
	service  service           // what the user's own pipeline has told so far
}

// seen is what was observed of a case under a smaller plan; its calls are not made again.
type seen struct{ *matrix.Observations }

func (s seen) known() bool { return s.Observations != nil }

func (s seen) retrieval(key string) *matrix.Retrieval {
	if s.known() {
		for i := range s.Retrievals {
			if s.Retrievals[i].CallKey == key {
				return &s.Retrievals[i]
			}
		}
	}
	return nil
}

// trial returns a trial that was asked under this key itself.
func (s seen) trial(key string) *matrix.Trial {
	if s.known() {
		for i := range s.Trials {
			if t := &s.Trials[i]; t.CallKey == key && t.SameAs == "" && !t.Cached && t.Status != matrix.StatusNotRun {
				return t
			}
		}
	}
	return nil
}

// observe runs the matrix of one case. What was observed before under a smaller plan is kept. The error is one of the work,
// never of a call.
func (s *session) observe(ctx context.Context, c *matrix.Case, plan *matrix.Plan, recorder Recorder, before *matrix.Observations) (*matrix.Observations, *verdict.Features, error) {
	r, err := s.newCase(c, plan, recorder, before)
	if err != nil {
		return nil, nil, err
	}
	if err := r.retrieveAll(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.lookAgain(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.trials(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.fingerprintAfter(ctx); err != nil {
		return nil, nil, err
	}
	return &r.obs, r.features, r.judgeAll(ctx)
}

// newCase begins the work on one case with what is known of the store as a whole.
func (s *session) newCase(c *matrix.Case, plan *matrix.Plan, recorder Recorder, before *matrix.Observations) (*caseRun, error) {
	r := &caseRun{session: s, c: c, plan: plan, recorder: recorder, before: seen{before}, calls: map[string]matrix.Call{}, first: map[string]string{}, answerKeys: verdict.AnswerKeys{}}
	if err := r.templates(); err != nil {
		return nil, err
	}
	info := s.storeInfo
	r.obs.Store = matrix.StoreFacts{
		Version: info.Version, Collection: info.Collection, Mode: s.experiment.Pipeline.Search.Mode, Notes: info.Notes,
		Fingerprint: info.Fingerprint, FingerprintBlind: info.FingerprintMisses, Content: s.presence.content, Revision: info.Revision, Fresh: s.presence.fresh,
		Items: info.Count, Unmapped: s.presence.unmapped, Scan: s.presence.scan, Gold: s.presence.gold[c.ID],
	}
	if store := s.experiment.Backends.Store; store != nil {
		r.obs.Store.Adapter = store.Adapter
	}
	if s.presence.err != nil {
		r.obs.Store.Error = callError(s.presence.err)
	}
	return r, nil
}

// retrieveAll compares the vectors of the gold, and makes production's search and the probes of it.
func (r *caseRun) retrieveAll(ctx context.Context) (err error) {
	if r.before.known() {
		r.obs.Store.Embed = r.before.Store.Embed
	} else if r.obs.Store.Embed, err = r.forCase(ctx, r.identity, r.obs.Store.Gold); err != nil {
		return err
	}
	if err := r.rewrite(ctx); err != nil {
		return err
	}
	if reason := r.unwritten(); reason != "" {
		out, _, err := r.retrieval(r.production())
		if err != nil {
			return err
		}
		out.Status, out.Reason = matrix.StatusNotRun, reason
		r.obs.Retrievals = append(r.obs.Retrievals, out)
		return nil
	}
	production, err := r.retrieveProduction(ctx)
	if err != nil {
		return err
	}
	r.obs.Retrievals = append(r.obs.Retrievals, production)
	if production.Status == matrix.StatusOK {
		return r.probes(ctx)
	}
	return nil
}

// fingerprintAfter asks the store once more what it is. Where it does not say, it is not known whether the index changed.
func (r *caseRun) fingerprintAfter(ctx context.Context) error {
	after, err := r.store.Describe(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		r.obs.Store.FingerprintAfter, r.obs.Store.ItemsAfter = after.Fingerprint, after.Count
	}
	return nil
}

// templates parses the experiment's templates. They were parsed when it was loaded; a mistake here is one of the program.
func (r *caseRun) templates() error {
	p := &r.experiment.Pipeline
	var problems, more []*matrix.TemplateError
	if p.Query != "" {
		r.queryTemplate, problems = matrix.ParseQueryTemplate(p.Query)
	}
	if p.Rewrite != nil {
		r.rewriteTemplate, more = matrix.ParseRewriteTemplate(p.Rewrite.Prompt)
		problems = append(problems, more...)
	}
	r.prompter, more = matrix.NewPrompter(p)
	problems = append(problems, more...)
	plain := p.WithReferencePrompt()
	r.plainPrompter, more = matrix.NewPrompter(&plain)
	if problems = append(problems, more...); len(problems) > 0 {
		return fmt.Errorf("template: %w", problems[0])
	}
	return nil
}

// begun is a call between its intent and its outcome. A retrieval may ask several backends; it is one call all the same.
type begun struct {
	run     *caseRun
	key     string
	call    matrix.Call
	durable bool
	tries   int           // announced so far, by earlier work too; the wrappers tell of tries one after the other, on the caller's goroutine
	now     bool          // some were announced by this process
	came    bool          // the last one was answered, and its outcome is not written
	unmade  bool          // the last one was given up before the backend was called
	id      string        // that the provider is told of the last one
	past    *results.Past // what earlier work has of it; nil: nothing
	asked   []matrix.Asked
	spent   results.Spent     // of limits.budget, since the last outcome
	vectors []embeddedText    // that it has made
	half    *matrix.Judgement // by the judge alone, where a further step follows
	private []string          // restricted texts that it is made of; nil: it is not restricted

	parent context.Context
	mu     sync.Mutex
	cancel context.CancelFunc // of the call
	stop   func() bool        // ends the watch over parent
	flying bool               // a try is under way, and is waited for
}

type begunKey struct{}

// begin prepares a call. Nothing is written yet: its intent is, just before the first try. The context carries the call to
// the wrappers, which announce each try through it.
func (r *caseRun) begin(ctx context.Context, call matrix.Call, key string, durable bool) (context.Context, *begun) {
	b := &begun{run: r, key: key, call: call, durable: durable, parent: ctx}
	if p := r.recorder.Past(key); durable && p != nil && p.Tries > 0 {
		b.past, b.tries, b.asked = p, p.Tries, r.askedBefore(p)
	}
	running := r.running
	if running == nil {
		running = ctx
	}
	ctx, b.cancel = context.WithCancel(context.WithValue(running, begunKey{}, b))
	b.stop = context.AfterFunc(b.parent, b.giveUp)
	return adapters.WithCallID(ctx, func() string { return b.id }), b
}

// announce names the next try. One that may be the same request as an earlier one of which nobody knows what came has its id.
func (b *begun) announce(role string) {
	b.tries, b.now = b.tries+1, true
	b.id = b.run.recorder.TryID(b.key, b.tries)
	if p := b.past; p != nil && p.Same != "" && (p.Role == role || p.Role == "") {
		b.id = p.Same
		b.past = nil
	}
}

// made is how many calls the backend in a role was asked by the call, those in doubt left out.
func (b *begun) made(role string) int {
	for i := range b.asked {
		if b.asked[i].Role == role {
			return b.asked[i].Calls
		}
	}
	return 0
}

// part writes the outcome of a step that is followed by another, with what the further steps need of it. It is on disk before they are
// made: their intent is behind it in the same file.
func (b *begun) part() error {
	if !b.came || !b.durable {
		return nil
	}
	spent := b.spent
	b.spent, b.came = results.Spent{}, false
	shown := recorded{Vectors: b.vectors, Judgement: b.half}
	return b.run.recorder.Outcome(results.Outcome{CallKey: b.key, Attempt: b.tries, Status: matrix.StatusOK, Spent: spent, More: true, Observed: shown.encode()})
}

// giveUp ends the call, but for a try that is under way and may have to be paid for: its answer is waited for and kept. Only the end of
// the whole run ends that.
func (b *begun) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.flying {
		b.cancel()
	}
}

func (b *begun) fly(flying bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flying = flying; !flying && b.parent.Err() != nil {
		b.cancel()
	}
}

// gaveUp reports whether a call has no outcome because the run ended. What it came to before that is recorded.
func gaveUp(ctx context.Context, failure error) bool {
	return failure != nil && ctx.Err() != nil && adapters.KindOf(failure) == adapters.KindCanceled
}

// end writes the outcome of the last try, with what the call has shown.
func (b *begun) end(o results.Outcome, shown recorded) error {
	b.stop()
	b.cancel()
	if !b.now {
		return nil // no try was announced, so none is left open
	}
	o.CallKey, o.Attempt, o.Durable, o.Spent, o.Unmade, b.came = b.key, b.tries, b.durable, b.spent, b.unmade, false
	if b.durable && !b.unmade { // of which nothing came: whoever goes on makes it
		shown.Vectors = b.vectors
		o.Observed = shown.encode()
	}
	return b.run.recorder.Outcome(o)
}

// roleOf is the role whose calls a call counts among.
func (s *session) roleOf(call *matrix.Call) string {
	switch {
	case call.Step == "judge":
		return matrix.RoleJudge
	case call.Step == "rerank":
		return matrix.RoleReranker
	case call.Step == "retrieve" && (s.pipeline == nil || call.Provider != s.experiment.Backends.Pipeline.Adapter):
		return matrix.RoleStore
	}
	return matrix.RoleGenerator
}

func (s *session) stamp() string { return s.now().UTC().Format(time.RFC3339Nano) }
