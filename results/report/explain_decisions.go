package report

import (
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// decisions says what decides, what is ruled out and by what, what to do, and what was not seen.
func (x *explained) decisions() {
	e := &x.Evaluation
	for i := range e.Defects {
		x.defect(&e.Defects[i], len(e.Defects) > 1)
	}
	x.stages("ruled out", verdict.Clear, len(e.Defects) > 0)
	x.stages("unobserved", verdict.Unobserved, true)
	x.bullets("missing", e.Missing)
	x.bullets("not production", e.NotProduction)
	x.checks()
	x.bullets("findings", e.Findings)
	if x.Dir != "" {
		x.unwrapped("bundle", Safe(x.Dir))
	}
}

func (x *explained) defect(d *verdict.Defect, several bool) {
	if several {
		x.line("  " + x.bold(fit(d.Name(), maxName)))
	}
	x.bullets("seen", d.Evidence)
	x.labelled("decided by", d.Decided)
	x.labelled("try first", d.TryFirst)
	x.labelled("wasted effort", d.Wasted)
	if several {
		x.blank()
	}
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
func (x *explained) hanging(label, head, text string) {
	indent := columns(head)
	lines := wrap(text, x.width-x.labels-4-indent)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		if i > 0 {
			label, head = "", ""
		}
		x.line("  " + x.dim(pad(label, x.labels)) + pad(head, indent) + line)
	}
}

func (x *explained) bullets(label string, texts []string) {
	for _, text := range texts {
		x.hanging(label, "· ", text)
		label = ""
	}
}

// checks shows the checks that did not say yes, each with what was seen, and names the others.
func (x *explained) checks() {
	var yes []string
	label := "checks"
	for _, c := range x.Evaluation.Checks {
		if c.Result == matrix.Yes {
			yes = append(yes, c.Name)
			continue
		}
		text := fit(c.Name, 30) + ": " + fit(string(c.Result), 10)
		if c.Evidence != "" {
			text += ", " + c.Evidence
		}
		x.labelled(label, strings.TrimSpace(text))
		label = ""
	}
	if len(yes) > 0 {
		x.labelled(label, "yes: "+strings.Join(yes, ", "))
	}
}
