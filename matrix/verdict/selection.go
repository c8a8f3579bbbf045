package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// Selection is rules of the table in an order of their own, to see what a label rests on: leave a rule out, and another follows. It is
// a value: whoever evaluates by one leaves every other evaluation as it is.
type Selection struct {
	rules  []Rule
	alpha  matrix.Decimal // in place of the experiment's; "": that
	digest string
}

// RuleIDs lists the rules of the table in its order, each once: the first that gives a label by that, such as "index/missing", and
// those that follow by "index/missing#2" and so on.
func RuleIDs() []string {
	rules := table()
	ids, times := make([]string, len(rules)), map[string]int{}
	for i := range rules {
		id := rules[i].ID()
		if times[id]++; times[id] > 1 {
			ids[i] = fmt.Sprintf("%s#%d", id, times[id])
		} else {
			ids[i] = id
		}
	}
	return ids
}

// Select takes rules by their [RuleIDs], of which each may be there once. Alpha, where it is not "", stands in place of the experiment's.
// What is selected is the built-in rules, with their digest, only where it is all of them, in their order, with the experiment's alpha.
func Select(ids []string, alpha matrix.Decimal) (*Selection, error) {
	known := RuleIDs()
	s := &Selection{alpha: alpha}
	for i, id := range ids {
		at := slices.Index(known, id)
		if at < 0 || slices.Contains(ids[:i], id) {
			return nil, fmt.Errorf("rule %q is unknown or there twice", id)
		}
		s.rules = append(s.rules, table()[at])
	}
	of := rowsOf(s.rules)
	if alpha != "" {
		of = struct {
			Rules any
			Alpha matrix.Decimal
		}{of, alpha}
	}
	var err error
	s.digest, err = matrix.Digest(of)
	return s, err
}

// Digest identifies the selection, as [Ruleset] does the table.
func (s *Selection) Digest() string { return s.digest }

// Evaluate is [EvaluateDigested] by the rules that were selected.
func (s *Selection) Evaluate(digest string, e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features) Evaluation {
	if s.alpha != "" {
		by := *e
		by.Runs.Alpha = s.alpha
		e = &by
	}
	x := newFacts(e, c, p, o, f)
	x.rules = s.rules
	return evaluate(x, digest, s.digest)
}
