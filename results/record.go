package results

import "github.com/culprit-rag/culprit/matrix"

// The types of a journal record.
const (
	RecordOpen    = "open"    // the work on a case begins
	RecordPlan    = "plan"    // what will be called
	RecordIntent  = "intent"  // a call is about to be made
	RecordResult  = "result"  // it came back
	RecordFailure = "failure" // it came back as an error, blocked or cut off
	RecordNote    = "note"
	RecordClose   = "close" // the work ended
)

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
	Request      string            `json:"request,omitempty"`  // blob
	Response     string            `json:"response,omitempty"` // blob
	ResponseSize int64             `json:"response_size,omitempty"`
	ResponseCut  bool              `json:"response_cut,omitempty"` // the blob holds its first bytes only
	Status       matrix.Status     `json:"status,omitempty"`
	FinishReason string            `json:"finish_reason,omitempty"`
	Error        *matrix.CallError `json:"error,omitempty"`
	LatencyMS    int64             `json:"latency_ms,omitempty"`

	// note; of close, the status of the bundle
	Text string `json:"text,omitempty"`
}
