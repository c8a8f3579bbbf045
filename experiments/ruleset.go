package experiments

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// Ruleset is a file that says by which rules a verdict is decided: their names in their order, and the most that a wrong attribution may
// happen, "" where that of the experiment stays.
type Ruleset struct {
	Rules []string
	Alpha matrix.Decimal
}

// rulesetVersion is the version of the format, which the file gives as ruleset.
const rulesetVersion = "v1"

// ReadRuleset reads a ruleset of the rules that are known, in YAML or JSON. Every mistake is found in one pass; the error is then [Problems].
func ReadRuleset(name string, known []string) (*Ruleset, error) {
	data, err := (&folder{dir: filepath.Dir(name)}).read(filepath.Base(name), maxFile)
	if err != nil {
		return nil, Problems{{File: name, Message: "ruleset " + explainPath(err).Error()}}
	}
	r := rulesetReader{known: known}
	root := parse(&file{name: name, data: data}, &r.collector)
	if root != nil {
		r.read(root)
	}
	if problems, _ := r.problems.split(); len(problems) > 0 {
		return nil, problems.sorted()
	}
	return &r.out, nil
}

type rulesetReader struct {
	collector
	known []string
	out   Ruleset
}

var rulesetKeys = []string{"ruleset", "rules", "alpha"}

func (r *rulesetReader) read(root *node) {
	if root.form != mapping {
		r.fail(root.at, "a ruleset has the keys ruleset and rules, and alpha where it is another: culprit labels --ruleset prints one")
		return
	}
	for _, f := range root.fields {
		if !slices.Contains(rulesetKeys, f.key) {
			r.fail(f.at, "unknown key %s: %s", show(f.key), orGuess(f.key, rulesetKeys, "a ruleset has ruleset, rules and alpha"))
		}
	}
	switch version := root.get("ruleset"); {
	case version == nil && root.lost("ruleset"):
	case version == nil:
		r.fail(root.at, "ruleset is missing: write ruleset: %s", rulesetVersion)
	case version.form != scalar || version.text != rulesetVersion:
		r.fail(version.at, "ruleset must be %s, the version of this format", rulesetVersion)
	}
	if alpha := root.get("alpha"); alpha != nil {
		number, is := alpha.value().(json.Number)
		if f := matrix.Decimal(number).Float(); !is || f <= 0 || f > 0.2 {
			r.fail(alpha.at, "alpha must be a number above 0 and at most 0.2, such as 0.05")
		} else {
			r.out.Alpha = matrix.NewDecimal(f)
		}
	}
	switch rules := root.get("rules"); {
	case rules == nil && root.lost("rules"):
	case rules == nil:
		r.fail(root.at, "rules is missing: list the rules that take part; culprit labels --ruleset prints all of them")
	case rules.form != list || len(rules.items) == 0 && len(rules.cut) == 0:
		r.fail(rules.at, "rules must be a list of one rule at the least")
	default:
		r.rules(rules.items)
	}
}

func (r *rulesetReader) rules(items []*node) {
	listed := map[string]position{}
	for _, n := range items {
		first, twice := listed[n.text]
		switch {
		case n.form != scalar || n.text == "":
			r.fail(n.at, "a rule must be text, such as %s", r.known[0])
		case !slices.Contains(r.known, n.text):
			r.fail(n.at, "unknown rule %s: %s", show(n.text), orGuess(n.text, r.known, "culprit labels --ruleset lists them"))
		case twice:
			r.fail(n.at, "rule %s is already listed at %d:%d: keep one of the two", show(n.text), first.line, first.column)
		default:
			listed[n.text] = n.at
			r.out.Rules = append(r.out.Rules, n.text)
		}
	}
}

// orGuess asks whether the name that is nearest was meant, or else says something.
func orGuess(name string, known []string, says string) string {
	if guess := near(name, known); guess != "" {
		return "did you mean " + show(guess) + "?"
	}
	return says
}
