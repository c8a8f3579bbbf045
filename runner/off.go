package runner

import (
	"errors"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// off remembers that a backend can answer no call of the run: it refused the key, after which some providers close an account
// that goes on asking; a limit is used up for longer than a run lasts; or nothing has ever come back from it, and it does not know the
// model or cannot be reached. It is safe for concurrent use.
type off struct {
	who     string // "generator", "judge"
	service bool   // the user's own, whose 404 may be about the question
	heard   atomic.Bool
	says    atomic.Pointer[offReason]
}

type offReason struct {
	reason string
	err    *adapters.Error
}

// reason says why a call is not made, "" where it may be.
func (o *off) reason() string {
	if says := o.now(); says != nil {
		return says.reason + ": " + says.err.Err.Error()
	}
	return ""
}

// now takes an answer that came after all for what it shows: that the backend is there.
func (o *off) now() *offReason {
	if o == nil {
		return nil
	}
	says := o.says.Load()
	if says == nil || (says.reason == matrix.NotRunUnreached || says.reason == matrix.NotRunNotThere) && o.heard.Load() {
		return nil
	}
	return says
}

// Refuse is the error of a call that is not made, nil where it may be.
func (o *off) Refuse(op string) error {
	if !isCall(op) {
		return nil
	}
	if says := o.now(); says != nil {
		return says.err
	}
	return nil
}

// Saw looks at a try that has ended. That nobody was reached is shown by the last try of a call alone.
func (o *off) Saw(op string, result error) {
	if o != nil && isCall(op) {
		o.saw(adapters.Attempt{Err: result, Again: true})
	}
}

// failed records a failed trial, or why it was not made where the backend went off while it waited for its turn.
func (o *off) failed(t *matrix.Trial, failure error, usage matrix.Usage) {
	if reason := o.reason(); reason != "" && t.Attempts == 0 {
		t.Status, t.Reason = matrix.StatusNotRun, reason
		return
	}
	t.Status, t.Error = matrix.StatusError, callError(failure)
	if t.Error.Kind == matrix.KindSecret {
		t.Usage = usage // it was answered, and has to be paid for
	}
}

// saw looks at a try that has ended.
func (o *off) saw(a adapters.Attempt) {
	var err *adapters.Error
	if !errors.As(a.Err, &err) {
		o.heard.Store(true)
		return
	}
	switch {
	case err.Kind == adapters.KindUnauthorised:
		o.says.CompareAndSwap(nil, &offReason{matrix.NotRunKeyRefused, err})
	case err.Kind == adapters.KindRateLimited && err.RetryAfter > adapters.NoWait:
		o.says.CompareAndSwap(nil, &offReason{matrix.NotRunUsedUp, err})
	case err.Kind == adapters.KindCanceled, a.Again && err.Unsent:
	case err.Unsent:
		o.says.CompareAndSwap(nil, &offReason{matrix.NotRunUnreached, err})
	case err.Kind == adapters.KindNotFound && !o.service:
		o.says.CompareAndSwap(nil, &offReason{matrix.NotRunNotThere, err})
	case err.Kind != adapters.KindTimeout: // after which nothing came
		o.heard.Store(true)
	}
}

// offs are those of the opened backends.
type offs map[*matrix.Backend]*off

// warnings say once for each backend that it was given up. The messages name the setting.
func (o offs) warnings(e *matrix.Experiment) (out []string) {
	b := e.Backends
	for _, backend := range []*matrix.Backend{b.Pipeline, b.Generator, b.Embedder, b.Reranker, b.Judge} {
		if off := o[backend]; off != nil && off.reason() != "" {
			out = append(out, "the "+off.who+" was not asked any more, since "+off.reason()+"; when that is put right, run the same again")
		}
	}
	return out
}
