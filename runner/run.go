package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
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

	// Asked, where not nil, is told at the end what [Probe], [Floor] or [Sweep] has asked for, also where it fails: none of them is an execution, and
	// no ledger has it.
	Asked func(results.Totals)

	Invocation *results.Invocation // what the command line said, for another process that goes on; nil: none can
	Fresh      bool                // no call of an execution that was not finished is used
	Resume     Resuming            // the execution to go on with; zero: a new one

	drawn     draw               // the sample of the store that [Floor] asks for
	recording *results.Recording // that answers every call, see [Reenact]; nil: backends do
	found     *found             // what is known of backends that are not opened, see [Resuming]; nil: all are
	shared    *shared            // where calls that serve all cases are counted; nil: by the run alone
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
	var left []*results.Work
	o.shared = &shared{}
	if o.Resume.Execution != "" { // before anybody is asked for anything
		if execution, invocation, left, err = resume(l, &o); err != nil {
			return nil, err
		}
	}
	// It stands in the ledger before the first call that leaves the machine or costs money, which may come before the first case.
	entered := false
	stand := func() (err error) {
		if entered {
			return nil
		}
		if execution == nil {
			if execution, err = begin(l, &o); err != nil {
				return err
			}
		}
		err = enter(execution, l, invocation != nil)
		entered = err == nil
		return err
	}
	o.shared.keep = func(s results.Shared) error {
		if entered {
			return execution.KeepShared(s)
		}
		err := stand()
		if err == nil && invocation == nil {
			err = keep(execution, l, &o, results.Pins{}, nil)
		}
		if err != nil {
			return err
		}
		return execution.KeepShared(s)
	}
	defer func() {
		if execution != nil {
			err = errors.Join(err, execution.Close())
		}
	}()
	s, err := start(ctx, l, o, false)
	if err != nil {
		if entered && invocation == nil {
			err = errors.Join(err, failedStart(execution, l, &o, err))
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.running, s.resuming = ctx, o.Resume
	s.goOn(left)
	if execution != nil {
		s.ledger.doubts, _ = execution.Doubts()
	}
	pins, _, err := s.begunPins()
	if err != nil {
		return nil, err
	}
	if invocation != nil && invocation.Pins.Schema != "" {
		differs, err := invocation.Pins.Difference(&pins)
		if err != nil {
			return nil, err
		}
		if len(differs) > 0 {
			return nil, &ChangedError{execution.ID(), differs}
		}
	}
	if err := stand(); err != nil {
		return nil, err
	}
	if invocation == nil || invocation.Pins.Schema == "" {
		found, err := s.found()
		if err == nil {
			err = keep(execution, l, &o, pins, found)
		}
		if err != nil {
			return nil, err
		}
	}
	if asked := s.ledger.shared.now(); len(asked.Near) > 0 { // the others are kept
		if err := execution.KeepShared(asked); err != nil {
			return nil, err
		}
	}
	summary := results.NewSummary(execution.ID(), s.experiment)
	summary.Setup.Local, summary.Setup.JudgeLocal = s.generatorInfo.Local && s.pipeline == nil, s.judgeInfo.Local
	summary.Bundles, summary.Planned = execution.Dir(), len(l.Cases)
	cases := make([]*results.CaseSummary, len(l.Cases))
	places, err := s.known(execution, l.Cases, cases)
	if err != nil {
		return nil, err
	}
	var runErr error
	for some := range slices.Chunk(places, max(1, s.batch(len(places)))) {
		batch, made := make([]experiments.LoadedCase, len(some)), make([]*results.CaseSummary, len(some))
		for i, place := range some {
			batch[i] = l.Cases[place]
		}
		runErr = s.runBatch(ctx, execution, batch, some[0] == 0, o.Drain, made)
		for i, place := range some {
			cases[place] = made[i]
		}
		if runErr != nil {
			break
		}
	}
	for _, c := range cases {
		if c != nil {
			summary.Cases = append(summary.Cases, *c)
		}
	}
	summary.Taken = execution.Taken()
	summary.Warnings = slices.Concat(execution.Says(), s.ledger.offs.warnings(s.experiment), s.reuse.models.warnings(), s.notes.list, s.reuse.ids.warnings())
	doubts, elsewhere := execution.Doubts()
	summary.Share(s.experiment, s.ledger.shared.now(), s.ledger.unfinished(), execution.Lost(), doubts, elsewhere)
	summary.WallMS, summary.Stopped = time.Since(started).Milliseconds(), whyStopped(runErr)
	summary.Total()
	if runErr != nil && o.ExitCode != nil {
		summary.Exit = o.ExitCode(runErr)
	}
	if runErr != nil {
		runErr = errors.Join(runErr, execution.KeepShared(s.ledger.shared.now()))
	}
	return &summary, errors.Join(runErr, execution.Finish(summary))
}

// begin makes a new execution.
func begin(l *experiments.Loaded, o *Options) (*results.Execution, error) {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	e, err := results.NewExecution(o.Out, l.Experiment.Name, now())
	if err != nil {
		return nil, err
	}
	e.Guard(func(data []byte) bool { return o.Secrets.Redactor().Holds(data) }) // also of keys that are read later
	if o.Fresh {
		e.Fresh()
	}
	if o.recording != nil {
		e.Reenact(o.recording.ManifestDigest)
	}
	return e, nil
}

// keep keeps what an execution was begun with, where another process can go on with it. Pins are not known before the first case.
func keep(e *results.Execution, l *experiments.Loaded, o *Options, pins results.Pins, found []byte) error {
	if o.Invocation == nil {
		return nil
	}
	invocation, err := invoked(*o.Invocation, l, pins)
	if err != nil {
		return err
	}
	return e.Keep(invocation, found)
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
	for _, note := range slices.Concat(b.storeInfo.Notes, b.says) {
		s.warn(note)
	}
	if s.recording != nil {
		s.reenact()
		return s, nil
	}
	if o.found != nil {
		s.know(o.found)
		s.progress.begin("sealing cases", len(l.Cases))
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

func (s *session) warn(says string) {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	s.notes.list = append(s.notes.list, says)
}
