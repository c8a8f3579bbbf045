package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// decisions says what decides, what is ruled out and by what, what to do, and what was not seen.
func (x *explained) decisions() {
	e := &x.Evaluation
	for i := range e.Defects {
		x.defect(&e.Defects[i], len(e.Defects)+len(e.Behind) > 1)
	}
	for i := range e.Behind {
		x.defect(&e.Behind[i], true)
	}
	x.stages("ruled out", verdict.Clear, len(e.Defects) > 0)
	x.stages("unobserved", verdict.Unobserved, true)
	x.bullets("missing", e.Missing)
	x.bullets("not production", e.NotProduction)
	x.checks()
	x.bullets("findings", slices.Concat(e.Findings, verdict.TimeFindings(&x.Plan, &x.Observations)))
	if x.Path != "" {
		x.unwrapped("bundle", Safe(x.Path))
	}
}

func (x *explained) defect(d *verdict.Defect, several bool) {
	if several {
		x.line("  " + x.bold(fit(d.Name(), maxName)))
	}
	x.bullets("seen", d.Evidence)
	if rests := restsOn(d); rests != "" {
		x.labelled("rests on", rests)
	}
	x.labelled("decided by", d.Decided)
	if says := gradeSays(d.Grade); says != "" {
		x.labelled("grade", string(d.Grade)+": "+says)
	}
	first := d.TryFirst
	if id := x.Case.ID; strings.HasSuffix(first, "culprit sweep") && shellWord(id) == id {
		first = strings.TrimSuffix(first, "culprit sweep") + "culprit sweep <experiment> --case " + id
	}
	x.labelled("try first", first)
	x.labelled("wasted effort", d.Wasted)
	if several {
		x.blank()
	}
}

// restsOn lists the counts that a defect rests on, where answers vary.
func restsOn(d *verdict.Defect) string {
	var out []string
	for _, r := range d.Rests {
		if bounds := interval(r.Interval); bounds != "" {
			out = append(out, fmt.Sprintf("%s %d/%d %s", r.Cell, r.Pass, r.Scored, bounds))
		}
	}
	return strings.Join(out, ", ")
}

// stages lists the stages in one state with what each was tested by.
func (x *explained) stages(label string, state verdict.State, broken bool) {
	if state == verdict.Clear && !broken {
		label = "tested"
	}
	for _, s := range x.Evaluation.Stages {
		if s.State != state {
			continue
		}
		x.hanging(label, pad(fit(string(s.Stage), 9), 10), s.Tested)
		label = ""
	}
}

// hanging is labelled with a safe head in front of the text, and the lines behind the first indented below the text.
func (p *page) hanging(label, head, text string) {
	indent := columns(head)
	lines := wrap(text, p.width-p.labels-4-indent)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		if i > 0 {
			label, head = "", ""
		}
		p.line("  " + p.dim(pad(label, p.labels)) + pad(head, indent) + line)
	}
}

func (p *page) bullets(label string, texts []string) {
	for _, text := range texts {
		p.hanging(label, "· ", text)
		label = ""
	}
}

// declared are the checks that compare with what few cases and stores tell. Where that is missing they are unknown in every case of a
// run, and why takes more room than all else.
var declared = []string{"revision_match", "body_hash_match", "fresh"}

// checks shows the checks that did not say yes, each with what was seen, and names the others. Those that are unknown for one reason
// stand together.
func (x *explained) checks() {
	var yes, undeclared []string
	shared := map[string]int{} // reasons of the unknown ones
	for _, c := range x.Evaluation.Checks {
		if c.Result == matrix.Unknown {
			shared[c.Evidence]++
		}
	}
	for _, c := range x.Evaluation.Checks {
		if c.Result == matrix.Unknown && shared[c.Evidence] == 1 && slices.Contains(declared, c.Name) {
			undeclared = append(undeclared, c.Name)
		}
	}
	if x.whole || len(undeclared) == 1 {
		undeclared = nil
	}
	label := "checks"
	say := func(text string) {
		x.labelled(label, text)
		label = ""
	}
	said := map[string]bool{} // reasons
	for _, c := range x.Evaluation.Checks {
		names := []string{fit(c.Name, 30)}
		switch {
		case c.Result == matrix.Yes:
			yes = append(yes, c.Name)
			continue
		case c.Result != matrix.Unknown:
		case slices.Contains(undeclared, c.Name), said[c.Evidence]:
			continue
		default:
			said[c.Evidence], names = true, nil
			for _, other := range x.Evaluation.Checks {
				if other.Result == matrix.Unknown && other.Evidence == c.Evidence {
					names = append(names, fit(other.Name, 30))
				}
			}
		}
		text := strings.Join(names, ", ") + ": " + fit(string(c.Result), 10)
		if c.Evidence != "" {
			text += ", " + c.Evidence
		}
		say(strings.TrimSpace(text))
	}
	if len(undeclared) > 0 {
		say("unknown: " + strings.Join(undeclared, ", ") + "; --full says why")
	}
	if len(yes) > 0 {
		say("yes: " + strings.Join(yes, ", "))
	}
}
