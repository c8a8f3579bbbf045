package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// Options are what a run needs besides the experiment.
type Options struct {
	Registry *adapters.Registry
	Out      string            // folder of the results
	CacheDir string            // folder for what can be made again
	Secrets  *adapters.Secrets // where backends read their keys; nil: they have none
	Now      func() time.Time  // nil: time.Now
	Progress *Progress         // nil: none
	Drain    <-chan struct{}   // closed: no new case is started; nil: never
	// ExitCode says with which code the command ends where an error ends the run, for the summary that is kept; nil: the code
	// of the cases that were judged.
	ExitCode func(error) int

	Invocation *results.Invocation // what the command line said, for another process that goes on; nil: none can
	Fresh      bool                // no call of an execution that was not finished is used
	Resume     Resuming            // the execution to go on with; zero: a new one

	drawn     draw               // the sample of the store that [Floor] asks for
	recording *results.Recording // that answers every call, see [Reenact]; nil: backends do
}

// ErrDrained is returned when Options.Drain ended the run before every case was started.
var ErrDrained = errors.New("interrupted before every case was run")

// session is one run over an experiment: opened backends and what is known of the whole store.
type session struct {
	*backends
	experiment *matrix.Experiment
	presence   *presence
	identity   *identity
	scanTook   time.Duration
	scanned    time.Time // when the scan of the store ended
	later      *rescan
	sources    sources // the experiment's own documents, where the store does not fill itself from them
	count      counter
	now        func() time.Time
	progress   *Progress
	rights     []string // fields that tell who may see an item
	reuse      *reuse   // identical calls, over all sessions that share the backends
	flow       *flow

	deterministic bool
	observed      matrix.Answer // whether the generator's word holds

	notes *notes
	drawn draw

	running   context.Context // of the whole run; nil: that of each call
	resuming  Resuming
	recording *results.Recording // that answers every call; nil: backends do
}

// notes are warnings about the run as a whole.
type notes struct {
	mu   sync.Mutex
	list []string
}

// Run runs every case of the experiment and seals one bundle for each. The summary lists the cases that were sealed, in
// the order of the experiment, also when an error ends the run.
func Run(ctx context.Context, l *experiments.Loaded, o Options) (_ *results.Summary, err error) {
	started := time.Now()
	var execution *results.Execution
	var invocation *results.Invocation
	var spent results.Spent
	if o.Resume.Execution != "" { // before anybody is asked for anything
		if execution, invocation, spent, err = resume(l, &o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, execution.Close()) }()
	}
	s, err := start(ctx, l, o, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.running, s.resuming = ctx, o.Resume
	s.ledger.spentBefore(spent)
	if execution != nil {
		s.ledger.doubts = execution.Doubts()
	}
	pins, _, err := s.begunPins()
	if err != nil {
		return nil, err
	}
	if execution != nil {
		execution.Guard(o.Secrets.Redactor().Holds)
		differs, err := invocation.Pins.Difference(&pins)
		if err != nil {
			return nil, err
		}
		if len(differs) > 0 {
			return nil, &ChangedError{execution.ID(), differs}
		}
		if err := enter(execution, l, true); err != nil {
			return nil, err
		}
	} else {
		if execution, err = begin(l, &o, s, pins); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, execution.Close()) }()
	}
	summary := results.NewSummary(execution.ID(), s.experiment)
	summary.Setup.Local, summary.Setup.JudgeLocal = s.generatorInfo.Local && s.pipeline == nil, s.judgeInfo.Local
	summary.Bundles, summary.Planned = execution.Dir(), len(l.Cases)
	cases := make([]*results.CaseSummary, len(l.Cases))
	left, err := s.known(execution, l.Cases, cases)
	if err != nil {
		return nil, err
	}
	var runErr error
	batchSize := s.batch(len(left))
	for first := 0; first < len(left) && runErr == nil; first += batchSize {
		places := left[first:min(first+batchSize, len(left))]
		batch, made := make([]experiments.LoadedCase, len(places)), make([]*results.CaseSummary, len(places))
		for i, place := range places {
			batch[i] = l.Cases[place]
		}
		runErr = s.runBatch(ctx, execution, batch, places[0] == 0, o.Drain, made)
		for i, place := range places {
			cases[place] = made[i]
		}
	}
	for _, c := range cases {
		if c != nil {
			summary.Cases = append(summary.Cases, *c)
		}
	}
	summary.Taken = execution.Taken()
	summary.Warnings = slices.Concat(execution.Says(), s.ledger.offs.warnings(s.experiment), s.reuse.models.warnings(), s.notes.list, s.reuse.ids.warnings())
	summary.Share(s.experiment, s.ledger.shared, s.ledger.unfinished(), execution.Doubts())
	summary.WallMS, summary.Stopped = time.Since(started).Milliseconds(), whyStopped(runErr)
	summary.Total()
	if runErr != nil && o.ExitCode != nil {
		summary.Exit = o.ExitCode(runErr)
	}
	return &summary, errors.Join(runErr, execution.Finish(summary))
}

// begin makes a new execution, keeps what it was begun with, and enters it in the ledger.
func begin(l *experiments.Loaded, o *Options, s *session, pins results.Pins) (*results.Execution, error) {
	e, err := results.NewExecution(o.Out, l.Experiment.Name, s.now())
	if err != nil {
		return nil, err
	}
	e.Guard(o.Secrets.Redactor().Holds)
	if o.Fresh {
		e.Fresh()
	}
	if o.recording != nil {
		e.Reenact(o.recording.ManifestDigest)
	}
	if o.Invocation != nil {
		invocation, err := invoked(*o.Invocation, l, pins)
		if err == nil {
			err = e.Keep(invocation)
		}
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	if err := enter(e, l, false); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// enter enters the execution in the ledger.
func enter(execution *results.Execution, l *experiments.Loaded, resumed bool) error {
	ids, digests := make([]string, len(l.Cases)), make([]string, len(l.Cases))
	for i := range l.Cases {
		c := &l.Cases[i].Case
		digest, err := matrix.Digest(c)
		if err != nil {
			return fmt.Errorf("case %q: %w", c.ID, err)
		}
		ids[i], digests[i] = c.ID, digest
	}
	return execution.Begin(&l.Experiment, ids, digests, resumed)
}

// whyStopped says in one word what ended a run early, "" where nothing did.
func whyStopped(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrDrained):
		return results.StoppedInterrupted
	case errors.Is(err, ErrBudget):
		return results.StoppedLimit
	case errors.Is(err, context.Canceled):
		return results.StoppedCancelled
	}
	return results.StoppedError
}

// start opens the backends, proves what is in the store for all cases at once, and holds the generator to its word.
func start(ctx context.Context, l *experiments.Loaded, o Options, searchOnly bool) (_ *session, err error) {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	count, err := newCounter(l.Experiment.Pipeline.Assemble.Tokenizer)
	if err != nil {
		return nil, err
	}
	b, err := open(ctx, l, o, searchOnly)
	if err != nil {
		return nil, err
	}
	s := &session{backends: b, experiment: &l.Experiment, count: count, now: now, progress: o.Progress, observed: matrix.Unknown, reuse: newReuse(), flow: newFlow(l.Experiment.Limits.Concurrency), notes: &notes{}, drawn: o.drawn}
	s.deterministic, s.recording = b.deterministic(), o.recording
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	cases := make([]*matrix.Case, len(l.Cases))
	for i := range l.Cases {
		cases[i] = &l.Cases[i].Case
	}
	s.reuse.expect(cases)
	s.later = &rescan{experiment: s.experiment, cases: cases}
	s.rights = rightsOf(s.experiment, cases)
	for _, note := range b.storeInfo.Notes {
		s.warn(note)
	}
	if s.recording != nil {
		s.reenact()
		return s, nil
	}
	if s.sources, err = readSources(ctx, l.Documents, s.store); err != nil {
		return nil, err
	}
	if s.experiment.Backends.Store != nil {
		s.progress.begin("scanning the store", b.storeInfo.Count)
	}
	began := time.Now()
	if s.presence, err = s.prove(ctx, cases); err != nil {
		return nil, fmt.Errorf("scanning the store: %w", err)
	}
	s.scanned = time.Now()
	s.scanTook = s.scanned.Sub(began)
	if s.identity, err = s.identify(ctx, s.presence); err != nil {
		return nil, fmt.Errorf("comparing stored vectors: %w", err)
	}
	s.progress.begin("running cases", len(l.Cases))
	return s, nil
}

// each runs work for every case. The first case goes alone where the generator calls itself deterministic, since its
// word decides how often all the others are repeated. Closing drain starts no further case. Where enter is not nil, a case begins
// when it has returned.
func (s *session) each(ctx context.Context, cases []experiments.LoadedCase, drain <-chan struct{}, enter, work func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.experiment.Limits.Concurrency)
	var left atomic.Bool
	// start looks at the drain when a case has its turn, which may be long after it was queued.
	start := func(i int) error {
		select {
		case <-drain:
			left.Store(true)
			return nil
		default:
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return work(ctx, i)
	}
	var entry error
	for i := range cases {
		if enter != nil {
			if entry = enter(ctx, i); entry != nil {
				break
			}
		}
		if i == 0 && s.deterministic {
			if err := start(i); err != nil {
				return err
			}
			continue
		}
		group.Go(func() error { return start(i) })
	}
	err := group.Wait()
	switch {
	case err != nil:
		return err
	case entry != nil:
		return entry
	case left.Load():
		return ErrDrained
	}
	return nil
}

// batch is how many cases are observed before they are judged. Each complete fingerprint reads the whole store, and what was
// observed before it waits for it; with the cheap one every case is judged at once.
func (s *session) batch(cases int) int {
	const between = 200 // two complete fingerprints
	if s.complete() {
		return between
	}
	return cases
}

// runBatch observes some cases and seals a bundle for each. With first, the first of them holds the generator to its word.
func (s *session) runBatch(ctx context.Context, execution *results.Execution, batch []experiments.LoadedCase, first bool, drain <-chan struct{}, into []*results.CaseSummary) error {
	complete := s.complete()
	waiting := make([]*observed, len(batch))
	plans := make([]*matrix.Plan, len(batch))
	held := first && s.deterministic // by the first case
	enter := func(ctx context.Context, i int) (err error) {
		if plans[i], err = s.plan(&batch[i].Case, held && i == 0); err != nil {
			return fmt.Errorf("case %q: %w", batch[i].Case.ID, err)
		}
		return s.flow.enter(ctx, drain, plans[i])
	}
	err := s.each(ctx, batch, drain, enter, func(ctx context.Context, i int) error {
		o, err := s.observeCase(ctx, execution, &batch[i], plans[i], held && i == 0)
		plans[i] = nil
		if err == nil && complete {
			waiting[i] = o
			return nil
		}
		if err == nil {
			s.flow.write()
			into[i], err = s.seal(o)
			s.flow.written()
		}
		if err != nil {
			return fmt.Errorf("case %q: %w", batch[i].Case.ID, err)
		}
		return nil
	})
	if !complete {
		return err
	}
	content := s.contentNow(ctx)
	for i, o := range waiting {
		if o == nil {
			continue
		}
		o.observations.Store.ContentAfter = content
		sealed, sealErr := s.seal(o)
		if sealErr != nil {
			err = errors.Join(err, fmt.Errorf("case %q: %w", batch[i].Case.ID, sealErr))
			continue
		}
		into[i] = sealed
	}
	return err
}

// complete reports whether every item of the store is read before and after.
func (s *session) complete() bool {
	return s.experiment.Checks.Fingerprint == matrix.FingerprintComplete && s.experiment.Backends.Store != nil
}

// contentNow reads every item again, "" where that fails: then it is not known whether the index changed.
func (s *session) contentNow(ctx context.Context) string {
	if s.recording != nil {
		return s.recording.Observations.Store.ContentAfter
	}
	sum := &contentSum{}
	s.progress.begin("reading the store again", s.storeInfo.Count)
	report, err := s.store.Scan(ctx, s.fullScan(), func(item adapters.Item) error {
		sum.add(&item)
		s.progress.scanned(sum.items)
		return nil
	})
	if err != nil || report.Scanned != report.Counted {
		s.warn("the store could not be read again to the end, so that it is not known whether it changed")
		return ""
	}
	return sum.String()
}

// observed is a case between its last call and its seal.
type observed struct {
	lc           *experiments.LoadedCase
	plan         *matrix.Plan
	writer       *results.CaseWriter
	observations *matrix.Observations
	features     *verdict.Features
}

// observeCase makes all calls of one case. With hold, A's request is made twice to hold the generator to its word.
func (s *session) observeCase(ctx context.Context, execution *results.Execution, lc *experiments.LoadedCase, plan *matrix.Plan, hold bool) (_ *observed, err error) {
	c := &lc.Case
	_, pinsDigest, err := s.begunPins()
	if err != nil {
		return nil, err
	}
	writer, err := execution.Case(c, plan.CaseDigest, pinsDigest)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, writer.Abort())
		}
	}()
	if err := writer.Plan(plan); err != nil {
		return nil, err
	}
	observations, features, err := s.observe(ctx, c, plan, writer, s.recordedStore())
	if err != nil {
		return nil, err
	}
	if hold && s.broke(observations) {
		// The generator gave two answers to one request: from here on it is repeated like any stochastic one. What it has said
		// so far is kept, the two answers among it.
		if plan, err = s.plan(c, true); err != nil {
			return nil, err
		}
		if err := writer.Plan(plan); err != nil {
			return nil, err
		}
		if observations, features, err = s.observe(ctx, c, plan, writer, observations); err != nil {
			return nil, err
		}
	}
	return &observed{lc, plan, writer, observations, features}, nil
}

// seal judges an observed case and seals its bundle.
func (s *session) seal(o *observed) (_ *results.CaseSummary, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, o.writer.Abort())
		}
	}()
	c := &o.lc.Case
	o.observations = o.observations.Restrict()
	evaluation := verdict.EvaluateDigested("", s.experiment, c, o.plan, o.observations, o.features) // the seal makes the digest
	pins, err := s.pinsAfter(o.observations)
	if err != nil {
		return nil, err
	}
	path, err := o.writer.Seal(results.Bundle{
		Case: *c, CaseSource: o.lc.Source, Experiment: *s.experiment, Pins: pins, Plan: *o.plan,
		Observations: *o.observations, Features: *o.features, Evaluation: evaluation, Status: results.StatusOf(o.observations),
	})
	if err != nil {
		return nil, err
	}
	s.progress.finished(c.ID)
	s.reuse.ids.add(c.ID, o.observations)
	s.reuse.models.add(s.experiment, o.observations)
	s.ledger.finished(c.ID)
	summary := results.Summarise(evaluation, s.experiment, o.observations, path)
	summary.Doubt(o.writer.InDoubt())
	return &summary, nil
}

func (s *session) plan(c *matrix.Case, hold bool) (*matrix.Plan, error) {
	if s.recording != nil {
		_, hold = s.recording.Plan.Cell(matrix.CellAgain)
	}
	plan, err := matrix.Expand(s.experiment, c, s.deterministic)
	if err == nil && hold {
		plan.HoldToWord()
	}
	return plan, err
}

// broke reports whether A's repeated request got another answer, and remembers what was seen.
func (s *session) broke(o *matrix.Observations) bool {
	var once, again *matrix.Trial
	for i := range o.Trials {
		switch t := &o.Trials[i]; t.Cell {
		case matrix.CellA:
			once = t
		case matrix.CellAgain:
			again = t
		}
	}
	if once == nil || again == nil || once.Status != matrix.StatusOK || again.Status != matrix.StatusOK || once.Cached || again.Cached {
		return false
	}
	s.observed = matrix.Yes
	if once.Answer.Ref == again.Answer.Ref {
		return false
	}
	s.observed, s.deterministic = matrix.No, false
	s.warn("the generator declares that equal requests get equal answers, and gave two answers to one request: every cell is repeated")
	return true
}

func (s *session) warn(says string) {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	s.notes.list = append(s.notes.list, says)
}
