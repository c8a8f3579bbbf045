package results

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// The types of a journal record.
const (
	RecordOpen    = "open"     // the work on a case begins
	RecordPlan    = "plan"     // what will be called
	RecordIntent  = "intent"   // a call is about to be made
	RecordResult  = "result"   // it came back
	RecordFailure = "failure"  // it came back as an error, blocked or cut off
	RecordInDoubt = "in_doubt" // it is not known whether it was made; Text says what is done about it: one of InDoubt…
	RecordNote    = "note"
	RecordClose   = "close" // the work ended
)

// What is done about a call of which nobody knows whether it was made.
const (
	InDoubtRetry = "retry" // it is made again, which is another call
	InDoubtSkip  = "skip"  // it is not made: its observation is not run
)

// Reasons why a call of a resumed run was not made, which its bundle lacks.
const (
	NotMadeSkipped = "it may have been made before the run was ended, which nobody knows, and it was not made again (--in-doubt skip)"
	NotMadeSealed  = "the run was ended before it was made, and then sealed"
)

// leftOut says what was not made for one of these reasons, a sentence each.
func leftOut(o *matrix.Observations) (says []string) {
	names := map[string][]string{}
	look := func(status matrix.Status, reason, name string) {
		if status == matrix.StatusNotRun && (reason == NotMadeSkipped || reason == NotMadeSealed) {
			names[reason] = append(names[reason], name)
		}
	}
	if o.Rewriting != nil {
		look(o.Rewriting.Status, o.Rewriting.Reason, "the rewriting")
	}
	for i := range o.Retrievals {
		look(o.Retrievals[i].Status, o.Retrievals[i].Reason, fmt.Sprintf("search %s", o.Retrievals[i].Cell))
	}
	for i := range o.Trials {
		look(o.Trials[i].Status, o.Trials[i].Reason, fmt.Sprintf("%s %d", o.Trials[i].Cell, o.Trials[i].Rep))
	}
	for i := range o.Judgements {
		look(o.Judgements[i].Status, o.Judgements[i].Reason, fmt.Sprintf("judgement %s of %s %d", o.Judgements[i].Kind, o.Judgements[i].Cell, o.Judgements[i].Rep))
	}
	for _, reason := range []string{NotMadeSkipped, NotMadeSealed} {
		const most = 12
		if list := names[reason]; len(list) > most {
			names[reason] = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
		}
		if len(names[reason]) > 0 {
			says = append(says, strings.Join(names[reason], ", ")+": "+reason)
		}
	}
	return says
}

// StatusOf returns the status of the bundle of what was observed: Status….
func StatusOf(o *matrix.Observations) string {
	made, lacks := false, false
	look := func(status matrix.Status, reason string) {
		made = made || status != matrix.StatusNotRun
		lacks = lacks || status == matrix.StatusNotRun && (reason == NotMadeSkipped || reason == NotMadeSealed)
	}
	if o.Rewriting != nil {
		look(o.Rewriting.Status, o.Rewriting.Reason)
	}
	for i := range o.Retrievals {
		look(o.Retrievals[i].Status, o.Retrievals[i].Reason)
	}
	made = false // a search alone is no answer
	for i := range o.Trials {
		look(o.Trials[i].Status, o.Trials[i].Reason)
	}
	for i := range o.Judgements {
		look(o.Judgements[i].Status, o.Judgements[i].Reason)
	}
	switch {
	case !lacks:
		return StatusComplete
	case made:
		return StatusPartial
	}
	return StatusAborted
}

// Spent is what a try took of limits.budget, or may take at the most.
type Spent struct {
	Calls  int64 `json:"calls,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`
	Micro  int64 `json:"micro,omitempty"` // money, in millionths of the currency's unit
}

// Add adds what another try took.
func (s *Spent) Add(more Spent) {
	s.Calls, s.Tokens, s.Micro = s.Calls+more.Calls, s.Tokens+more.Tokens, s.Micro+more.Micro
}

// Record is one record of a journal. Which fields are set depends on Type. Blobs are named by "sha256:<hex>".
type Record struct {
	Type string `json:"t"`
	At   string `json:"at,omitempty"`

	// open
	Schema     string      `json:"schema,omitempty"`
	Execution  ExecutionID `json:"execution,omitempty"`
	Case       string      `json:"case,omitempty"`
	CaseDigest string      `json:"case_digest,omitempty"`
	PinsDigest string      `json:"pins_digest,omitempty"`

	// plan
	Plan        string `json:"plan,omitempty"` // digest of plan.json
	Generations int    `json:"generations,omitempty"`
	Retrievals  int    `json:"retrievals,omitempty"`

	// intent, result, failure
	CallKey      string            `json:"call_key,omitempty"`
	Call         *matrix.Call      `json:"call,omitempty"`
	Attempt      int               `json:"attempt,omitempty"`
	Role         string            `json:"role,omitempty"`     // of the backend that is asked; "": it is not told
	Request      string            `json:"request,omitempty"`  // blob
	Response     string            `json:"response,omitempty"` // blob
	ResponseSize int64             `json:"response_size,omitempty"`
	ResponseCut  bool              `json:"response_cut,omitempty"` // the blob holds its first bytes only
	Status       matrix.Status     `json:"status,omitempty"`
	FinishReason string            `json:"finish_reason,omitempty"`
	Error        *matrix.CallError `json:"error,omitempty"`
	LatencyMS    int64             `json:"latency_ms,omitempty"`
	Durable      bool              `json:"durable,omitempty"`  // of intent: it leaves the machine or costs money
	Spent        Spent             `json:"spent,omitzero"`     // of intent, the most that it may take
	Unmade       bool              `json:"unmade,omitempty"`   // of result, failure: the try was given up before the backend was called
	More         bool              `json:"more,omitempty"`     // of result: the call has a further step, which asks another backend
	Observed     string            `json:"observed,omitempty"` // what was made of the answer, as the work folder holds it; no file of a bundle
	From         ExecutionID       `json:"from,omitempty"`     // the execution that made the call, where it was another one; of in_doubt too

	// note; of close, the status of the bundle; of in_doubt, what is done about it
	Text string `json:"text,omitempty"`
}

// TryID names a try of a call, as the provider is told it. It holds the execution, so that a provider which answers a request that it knows
// with the answer that it gave answers no later run with those of an earlier one.
func TryID(e ExecutionID, callKey string, attempt int) string {
	return fmt.Sprintf("%s-%s-%d", e, callKey, attempt)
}
