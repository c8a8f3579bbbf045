package results

import (
	"cmp"
	"slices"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Entry is one bundle.
type Entry struct {
	Case        string          `json:"case"`
	Execution   ExecutionID     `json:"execution"`
	Bundle      string          `json:"bundle"` // its path
	Created     string          `json:"created"`
	Status      string          `json:"status"`
	Manifest    string          `json:"manifest"` // digest of manifest.json
	CaseDigest  string          `json:"case_digest"`
	Pins        string          `json:"pins"`        // digest
	Observation string          `json:"observation"` // digest
	Ruleset     string          `json:"ruleset"`     // digest
	Outcome     verdict.Outcome `json:"outcome"`
	Qualifier   string          `json:"qualifier,omitempty"`
	Defects     []string        `json:"defects"`         // stage/label
	Grade       verdict.Grade   `json:"grade,omitempty"` // of the first of them
	// Production is cell A: how many of its scored trials passed, with the interval at 95 % where it has one.
	Production Counted `json:"production"`
	// ReenactedOf is as of [Executed], by the ledger.
	ReenactedOf string `json:"reenacted_of,omitempty"`
}

// Counted is a pass rate.
type Counted struct {
	Pass     int      `json:"pass"`
	Scored   int      `json:"scored"`
	Interval []string `json:"interval95,omitempty"`
}

// Unread is a file that should be a bundle and could not be read.
type Unread struct {
	Execution ExecutionID `json:"execution"`
	File      string      `json:"file"`
	Why       string      `json:"why"`
}

// HistorySchema is the schema of [History].
const HistorySchema = "culprit.history/v1"

// History is what a results folder holds: the executions, or the bundles of one case, newest first.
type History struct {
	Schema     string     `json:"schema"`
	Case       string     `json:"case,omitempty"`
	Entries    []Entry    `json:"entries,omitempty"`    // of the case
	Executions []Executed `json:"executions,omitempty"` // where no case was asked for
	Bill       *Bills     `json:"bill,omitempty"`       // of all executions, also of those that are not shown
	More       int        `json:"more,omitempty"`       // that are older and not shown
	Unread     []Unread   `json:"unread,omitempty"`     // files that should be bundles
	LedgerHead string     `json:"ledger_head"`          // sum of the last record
	Problems   []string   `json:"problems,omitempty"`   // where the ledger and the folder do not fit
}

// Executed is one execution as the ledger has it, with what its bundles say.
type Executed struct {
	Execution  ExecutionID `json:"execution"`
	Name       string      `json:"name,omitempty"`
	Experiment string      `json:"experiment,omitempty"` // digest
	Pins       string      `json:"pins,omitempty"`       // digest of what is declared
	Planned    int         `json:"planned"`              // cases
	Resumed    int         `json:"resumed,omitempty"`    // how often it was gone on with
	Ended      string      `json:"ended,omitempty"`      // when; "" where it did not end
	Exit       *int        `json:"exit,omitempty"`       // nil: not known, it did not end
	Stopped    string      `json:"stopped,omitempty"`
	Calls      *int        `json:"calls,omitempty"`    // that were made; nil: not known
	Paid       int         `json:"paid,omitempty"`     // of these, those that may have to be paid for
	InDoubt    int         `json:"in_doubt,omitempty"` // calls besides, that may be billed
	// Of Paid and InDoubt, calls that another execution has made: they count there, too.
	PaidElsewhere    int                     `json:"paid_elsewhere,omitempty"`
	InDoubtElsewhere int                     `json:"in_doubt_elsewhere,omitempty"`
	AtLeast          bool                    `json:"at_least,omitempty"` // more may have been asked, and nothing tells how much
	Outcomes         map[verdict.Outcome]int `json:"outcomes"`           // of its bundles
	Dropped          string                  `json:"dropped,omitempty"`  // when what it left of unfinished cases was removed; "" where it was not
	Unledgered       bool                    `json:"unledgered,omitempty"`
	// ReenactedOf is the digest of the manifest of the bundle that answered every call; "": they were made.
	ReenactedOf string `json:"reenacted_of,omitempty"`

	dropped LedgerRecord // of the drop
}

// Bundles is how many bundles it left.
func (e *Executed) Bundles() (n int) {
	for _, of := range e.Outcomes {
		n += of
	}
	return n
}

// Executed lists the executions of a ledger and those that stand in the folder without being in it, newest first.
func (l *Ledger) Executed(there []ExecutionID) []Executed {
	byID := map[ExecutionID]*Executed{}
	var ids []ExecutionID
	at := func(id ExecutionID) *Executed {
		if byID[id] == nil {
			byID[id] = &Executed{Execution: id, Outcomes: map[verdict.Outcome]int{}}
			ids = append(ids, id)
		}
		return byID[id]
	}
	for _, r := range l.Records {
		e := at(r.Execution)
		switch r.Type {
		case LedgerResume:
			e.Resumed++
			fallthrough
		case LedgerBegin:
			e.ReenactedOf = r.ReenactedOf
			e.Name, e.Experiment, e.Pins, e.Planned = r.Name, r.Experiment, r.PinsDigest, max(e.Planned, r.Cases)
			e.Ended, e.Stopped, e.Exit, e.Calls, e.Paid, e.InDoubt, e.PaidElsewhere, e.InDoubtElsewhere = "", "", nil, nil, 0, 0, 0, 0
		case LedgerDrop:
			e.Dropped, e.dropped = r.At, r
		case LedgerEnd:
			e.Ended, e.Exit, e.Stopped, e.Calls, e.Paid, e.InDoubt = r.At, &r.Exit, r.Stopped, &r.Calls, r.Paid, r.InDoubt
			e.PaidElsewhere, e.InDoubtElsewhere = r.PaidElsewhere, r.InDoubtElsewhere
		}
	}
	for _, id := range there {
		if byID[id] == nil {
			at(id).Unledgered = true
		}
	}
	slices.SortFunc(ids, func(a, b ExecutionID) int { return cmp.Compare(b, a) })
	all := make([]Executed, len(ids))
	for i, id := range ids {
		all[i] = *byID[id]
	}
	return all
}

// Reenacted marks the entries of executions that made no call.
func (h *History) Reenacted(all []Executed) {
	of := map[ExecutionID]string{}
	for i := range all {
		of[all[i].Execution] = all[i].ReenactedOf
	}
	for i := range h.Entries {
		h.Entries[i].ReenactedOf = of[h.Entries[i].Execution]
	}
}
