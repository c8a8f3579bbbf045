package verdict

import "github.com/culprit-rag/culprit/matrix"

// Rule is one row of the ordered table: when it fires, the stage and label it names, and what it tells the reader.
type Rule struct {
	Stage    Stage
	Label    string
	Needs    string // the observation without which the rule cannot be asked
	Says     string // what has happened, one sentence
	Decides  string // the check that tells it from its neighbours
	TryFirst string
	Wasted   string
	Page     Page // of the label, which several rules may give

	id      string
	ends    bool // the case is not judged further: the outcome is Ends
	outcome Outcome
	grade   Grade
	// Exactly one of the two is set. A rule about gold is asked for each required item that production lost at its
	// boundary and that no earlier rule explains; a rule about the case is asked once.
	gold func(*facts, *goldState) finding
	once func(*facts) finding
}

// ID returns "stage/label", which also names the rule.
func (r *Rule) ID() string {
	if r.id == "" {
		return string(r.Stage) + "/" + r.Label
	}
	return r.id
}

// finding is a rule's answer: yes with evidence, no, or unknown with what is missing.
type finding struct {
	answer   matrix.Answer
	evidence []string
	missing  string
	grade    Grade // where it differs from the rule's own
}

var no = finding{answer: matrix.No}

func yes(evidence ...string) finding { return finding{answer: matrix.Yes, evidence: evidence} }

func unknown(missing string) finding { return finding{answer: matrix.Unknown, missing: missing} }

func when(fires bool, evidence ...string) finding {
	if !fires {
		return no
	}
	return yes(evidence...)
}
