package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// Resuming says how a run goes on that another process did not finish.
type Resuming struct {
	Execution   results.ExecutionID
	InDoubt     string // results.InDoubt…; "": a call in doubt is an [InDoubtError]
	RetryFailed bool   // calls that failed for good are made again
	// Seal: nothing more is called that leaves this process, and no backend of elsewhere is opened: what was not observed is not run, and every
	// case gets its bundle.
	Seal bool
}

// InDoubtError lists calls of which nobody knows whether they were made. Nothing was called since.
type InDoubtError struct {
	Execution results.ExecutionID
	Calls     []InDoubt
	Shared    int // calls besides, that serve all cases
}

// InDoubt is such a call, and the id of its case.
type InDoubt struct {
	Case string
	*results.Past
}

func (e *InDoubtError) Error() string {
	return fmt.Sprintf("execution %q was ended before it knew what came of %d calls", e.Execution, len(e.Calls)+e.Shared)
}

// Is makes errors.Is(err, results.ErrInDoubt) hold.
func (e *InDoubtError) Is(target error) bool { return target == results.ErrInDoubt }

// resume opens an execution to go on with it, and returns what it was begun with, and what is left of its unfinished cases.
func resume(l *experiments.Loaded, o *Options) (*results.Execution, *results.Invocation, []*results.Work, error) {
	e, invocation, works, err := results.Resume(o.Out, o.Resume.Execution)
	if err != nil {
		return nil, nil, nil, err
	}
	fail := func(err error) (*results.Execution, *results.Invocation, []*results.Work, error) {
		return nil, nil, nil, errors.Join(err, e.Close())
	}
	doubts := &InDoubtError{Execution: e.ID()}
	for _, w := range works {
		for _, p := range w.InDoubt() {
			doubts.Calls = append(doubts.Calls, InDoubt{w.Case, p})
		}
	}
	if o.shared.Shared, doubts.Shared, err = e.ReadShared(); err != nil {
		return fail(err)
	}
	if o.Resume.Seal && invocation.Pins.Schema == "" {
		return fail(fmt.Errorf("execution %q was ended before its first case, and there is nothing to seal: %w", e.ID(), results.ErrNotFound))
	}
	how := o.Resume.InDoubt
	if o.Resume.Seal && how == "" {
		how = results.InDoubtSkip
	}
	if len(doubts.Calls)+doubts.Shared > 0 && how == "" {
		return fail(doubts)
	}
	e.InDoubt(how)
	e.Guard(func(data []byte) bool { return o.Secrets.Redactor().Holds(data) }) // also of keys that are read later
	if invocation.Fresh {
		e.Fresh()
	}
	if err := sameCases(invocation, l); err != nil {
		return fail(&ChangedError{e.ID(), []string{err.Error()}})
	}
	if o.Resume.Seal {
		if o.found, err = readFound(e); err != nil {
			return fail(err)
		}
		if o.found != nil {
			o.Registry = o.found.registry(&l.Experiment, o.Registry)
		}
	}
	return e, invocation, works, nil
}

// goOn takes into account what is left of unfinished cases: what it took of the budget, and what was asked.
func (s *session) goOn(works []*results.Work) {
	for _, w := range works {
		s.ledger.spentBefore(w.Spent)
		for _, p := range w.Calls {
			if p.From != w.Execution {
				continue
			}
			asked := s.askedBefore(p)
			if p.Observed != nil {
				if known, err := decodeRecorded(p.Observed); err == nil {
					asked = known.allAsked() // which tells the tokens
				}
			}
			s.ledger.spend(w.Case, asked...)
		}
	}
}

// ChangedError says in what an execution can no longer be gone on with. It is [results.ErrChanged].
type ChangedError struct {
	Execution results.ExecutionID
	Differs   []string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("execution %q cannot go on: %s", e.Execution, strings.Join(e.Differs, "\n"))
}

// Is makes errors.Is(err, results.ErrChanged) hold.
func (e *ChangedError) Is(target error) bool { return target == results.ErrChanged }

// sameCases puts the cases of an experiment into the order of the invocation, and leaves the others out.
func sameCases(i *results.Invocation, l *experiments.Loaded) error {
	byID := map[string]experiments.LoadedCase{}
	for _, c := range l.Cases {
		byID[c.Case.ID] = c
	}
	l.Cases = nil
	for _, want := range i.Cases {
		c, ok := byID[want.ID]
		if !ok {
			return fmt.Errorf("case %q is no longer there", want.ID)
		}
		digest, err := matrix.Digest(&c.Case)
		if err != nil {
			return err
		}
		if digest != want.Digest {
			return fmt.Errorf("case %q was changed", want.ID)
		}
		l.Cases = append(l.Cases, c)
	}
	return nil
}

// invoked fills in what the experiment itself tells of an invocation.
func invoked(i results.Invocation, l *experiments.Loaded, pins results.Pins) (results.Invocation, error) {
	i.Pins, i.Cases = pins, nil
	for n := range l.Cases {
		c := &l.Cases[n].Case
		digest, err := matrix.Digest(c)
		if err != nil {
			return i, err
		}
		i.Cases = append(i.Cases, results.InvokedCase{ID: c.ID, Digest: digest})
	}
	return i, nil
}

// begunPins are the pins that unfinished work is held to. Where a run stops for what it has spent is no part of them, so that it
// goes on with a larger budget.
func (s *session) begunPins() (results.Pins, string, error) {
	e := *s.experiment
	e.Limits.Budget = matrix.Spending{}
	like := *s
	like.experiment = &e
	pins, err := like.pins()
	if err != nil {
		return pins, "", err
	}
	digest, err := matrix.Digest(pins)
	return pins, digest, err
}

// known fills in the cases of a resumed execution that have their bundle, and returns the places of the others. What was seen there
// of the generator's word holds for them too.
func (s *session) known(e *results.Execution, cases []experiments.LoadedCase, into []*results.CaseSummary) (left []int, err error) {
	for i := range cases {
		path, err := e.Sealed(&cases[i].Case)
		if err != nil {
			return nil, err
		}
		if path == "" {
			left = append(left, i)
			continue
		}
		b, err := results.Open(path)
		if err != nil {
			return nil, err
		}
		journal, err := results.ReadJournal(path)
		if err != nil {
			return nil, err
		}
		s.ledger.spentBefore(results.SpentOf(journal))
		s.ledger.doubts += journal.InDoubt()
		if i == 0 && s.deterministic {
			s.observed, s.deterministic = b.Pins.Generator.DeterministicObserved, b.Plan.Deterministic
		}
		s.reuse.ids.add(b.Case.ID, &b.Observations)
		s.reuse.models.add(s.experiment, &b.Observations)
		summary := results.Summarise(b.Evaluation, s.experiment, &b.Observations, path)
		summary.Settle(s.experiment, journal.Bill())
		into[i] = &summary
	}
	return left, nil
}

// recorded is what one call has shown, as its journal keeps it for whoever goes on: what belongs to its kind is set.
type recorded struct {
	Rewriting *matrix.Rewriting `json:"rewriting,omitempty"`
	Retrieval *matrix.Retrieval `json:"retrieval,omitempty"`
	Trial     *matrix.Trial     `json:"trial,omitempty"`
	Judgement *matrix.Judgement `json:"judgement,omitempty"`

	// Of a control of the reranker.
	Scores []string          `json:"scores,omitempty"`
	Asked  []matrix.Asked    `json:"asked,omitempty"`
	Error  *matrix.CallError `json:"error,omitempty"`

	// Of a service: what it told, of which later cells are made.
	Told   bool            `json:"told,omitempty"`
	Packed []matrix.Packed `json:"packed,omitempty"`
	Trace  *adapters.Trace `json:"trace,omitempty"`

	Vectors []embeddedText    `json:"vectors,omitempty"` // that the call paid for
	Texts   map[string][]byte `json:"texts,omitempty"`   // by reference
}

// embeddedText is a vector, as the cases of an execution share it.
type embeddedText struct {
	Key       onceKey   `json:"key"`
	Vector    []float32 `json:"vector"`
	Model     string    `json:"model,omitempty"`
	Truncated *int      `json:"truncated,omitempty"`
}

// allAsked is what the call asked of each backend.
func (k *recorded) allAsked() []matrix.Asked {
	asked := slices.Clone(k.Asked)
	if k.Retrieval != nil {
		asked = matrix.AddAsked(asked, k.Retrieval.AllAsked()...)
	}
	if k.Trial != nil {
		asked = matrix.AddAsked(asked, k.Trial.AllAsked()...)
	}
	if k.Judgement != nil {
		asked = matrix.AddAsked(asked, k.Judgement.AllAsked()...)
	}
	return matrix.AddAsked(asked, k.Rewriting.AllAsked()...)
}

func (k *recorded) visit(visit func(*matrix.Text) error) error {
	o := matrix.Observations{Rewriting: k.Rewriting}
	if k.Retrieval != nil {
		o.Retrievals = []matrix.Retrieval{*k.Retrieval} // which shares its hits with the copy
	}
	if k.Judgement != nil {
		o.Judgements = []matrix.Judgement{*k.Judgement}
	}
	if k.Trial != nil {
		o.Trials = []matrix.Trial{*k.Trial}
	}
	if k.Packed != nil {
		o.Trials = append(o.Trials, matrix.Trial{Packed: k.Packed})
	}
	err := o.Texts(visit)
	if k.Judgement != nil {
		*k.Judgement = o.Judgements[0]
	}
	if k.Trial != nil {
		*k.Trial = o.Trials[0]
	}
	return err
}

// encode is nil for what cannot be written as JSON, such as a score that is no number: that call is made again.
func (k *recorded) encode() []byte {
	k.Texts = map[string][]byte{}
	err := k.visit(func(t *matrix.Text) error {
		k.Texts[t.Ref] = []byte(t.Value)
		return nil
	})
	if err != nil {
		return nil
	}
	data, err := json.Marshal(k)
	if err != nil {
		return nil
	}
	return data
}

func decodeRecorded(data []byte) (*recorded, error) {
	k := &recorded{}
	if err := json.Unmarshal(data, k); err != nil {
		return nil, err
	}
	err := k.visit(func(t *matrix.Text) error {
		text, ok := k.Texts[t.Ref]
		if !ok || matrix.DigestBytes(text) != t.Ref {
			return fmt.Errorf("text %q is not at hand", t.Ref)
		}
		t.Value = string(text)
		return nil
	})
	return k, err
}

// recall returns what earlier work has of a call, nil where it is to be made, and why it is not made at all. A call that can be
// repeated for nothing is.
func (r *caseRun) recall(call matrix.Call, key string, durable bool) (_ *recorded, notMade string, err error) {
	if r.recording != nil {
		return r.enact(call, key)
	}
	if !durable {
		return nil, "", nil
	}
	p := r.recorder.Past(key)
	if p != nil {
		for _, part := range p.Parts {
			if known, err := decodeRecorded(part); err == nil { // else it is asked again
				r.share(known.Vectors)
			}
		}
	}
	switch {
	case p != nil && p.Skipped:
		return nil, results.NotMadeSkipped, nil
	case p != nil && p.Observed != nil && (r.resuming.Seal || !r.triesAgain(p.Outcome.Error)):
		known, err := decodeRecorded(p.Observed)
		if err != nil {
			return nil, "", fmt.Errorf("what was made of call %s: %w: %w", key, err, results.ErrJournal)
		}
		if err := r.recorder.Reuse(p); err != nil {
			return nil, "", err
		}
		r.share(known.Vectors)
		return known, "", nil
	case r.resuming.Seal:
		return nil, results.NotMadeSealed, nil
	}
	return nil, "", nil
}

// share makes the vectors that an earlier process paid for known to all cases.
func (s *session) share(vectors []embeddedText) {
	for _, v := range vectors {
		s.reuse.embeddings.put(v.Key, embedded{vector: v.Vector, model: v.Model, truncated: v.Truncated})
	}
}

// askedBefore is what the tries of a call asked of each backend in earlier work, those in doubt left out.
func (s *session) askedBefore(p *results.Past) []matrix.Asked {
	asked := slices.Clone(p.Asked)
	for i := range asked {
		if asked[i].Role == "" { // the journal is older than these names
			asked[i].Role = s.roleOf(&p.Call)
		}
	}
	return asked
}

// half is what the judge answered to a call before the run was ended, which was then to embed it; nil: nothing is kept.
func (r *caseRun) half(key string) *matrix.Judgement {
	p := r.recorder.Past(key)
	if p == nil || len(p.Parts) == 0 {
		return nil
	}
	known, err := decodeRecorded(p.Parts[0])
	if err != nil {
		return nil // it is asked again
	}
	return known.Judgement
}

// leftOut is what was asked of each backend for a call before it was left out, so that it stays in the totals.
func (r *caseRun) leftOut(key string) []matrix.Asked {
	if p := r.recorder.Past(key); p != nil {
		return r.askedBefore(p)
	}
	return nil
}

// triesAgain reports whether a call that ended so is made again by whoever goes on: another try of the same may do better.
func (r *caseRun) triesAgain(e *matrix.CallError) bool {
	if e == nil {
		return false
	}
	switch adapters.Kind(e.Kind) {
	case adapters.KindTransient, adapters.KindRateLimited, adapters.KindTimeout, adapters.KindCanceled:
		return true
	}
	return r.resuming.RetryFailed
}

// pastError is the error of a call that an earlier process made.
type pastError struct{ *matrix.CallError }

func (e pastError) Error() string { return e.Message }
func (e pastError) Unwrap() error {
	return &adapters.Error{Kind: adapters.Kind(e.Kind), Err: errors.New(e.Cause())}
}

// remember lets a failure that was kept show what it has shown.
func (o *off) remember(e *matrix.CallError) {
	if o != nil && e != nil {
		o.saw(adapters.Attempt{Err: &adapters.Error{Kind: adapters.Kind(e.Kind), Err: errors.New(e.Cause())}})
	}
}
