package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// Explain draws one case from the query to the answer: where it broke, what was seen at each boundary, what decides, and
// what to do.
func Explain(w io.Writer, b *results.Bundle, o Options) error {
	p := newPage(o, explainLabels)
	x := explained{Bundle: b, page: p, evidence: evidence(&b.Case), statements: statements(&b.Case), whole: o.Full}
	x.title()
	x.question()
	x.pipeline()
	x.story()
	x.search()
	x.rerank()
	x.context()
	x.runs()
	x.curves()
	x.judged()
	x.decisions()
	if o.Full {
		x.full()
	}
	return p.flush(w)
}

// explained is a bundle on its way to a page.
type explained struct {
	*results.Bundle
	*page
	evidence, statements sought
	whole                bool // every text is shown in full
}

func (x *explained) title() {
	e := &x.Evaluation
	label := outcomeLabel(e.Outcome, e.Qualifier)
	if e.Outcome == verdict.Pass && label == "" {
		label = "pass"
	}
	parts := []string{x.mark(outcomeMark(e.Outcome)) + " " + x.bold(Safe(x.Case.ID))}
	if len(e.Defects) == 0 {
		parts = append(parts, label)
	}
	for i, d := range e.Defects {
		name := x.bold(fit(d.Name(), maxName))
		if i > 0 {
			name = "and " + name
		}
		if d.Grade != "" {
			name += " (" + fit(string(d.Grade), 10) + ")"
		}
		parts = append(parts, name)
	}
	for _, d := range e.Behind {
		parts = append(parts, "then "+x.bold(fit(d.Name(), maxName))+" ("+fit(string(d.Grade), 10)+")")
	}
	if x.Status != "" && x.Status != results.StatusComplete {
		parts = append(parts, "bundle is "+fit(x.Status, 10))
	}
	if of := x.Manifest.DerivedFrom; of != "" {
		parts = append(parts, migratedFrom(of))
	}
	if of := x.Environment.ReenactedOf; of != "" {
		parts = append(parts, reenactedOf(of))
	}
	x.flow("", "   ", parts)
	if e.Summary != "" {
		x.paragraph(e.Summary)
	}
	x.blank()
}

func (x *explained) question() {
	x.labelled("question", x.Case.Question())
	if n := len(x.Case.Messages); n > 1 {
		x.labelled("", fmt.Sprintf("(the last of %d messages)", n))
	}
	x.rewriting()
	if len(x.Case.As) > 0 {
		x.labelled("asked as", principal(x.Case.As))
	}
	switch x.Case.Expect {
	case matrix.ExpectAbstain:
		x.labelled("expected", "abstain: the documents hold no answer")
	case matrix.ExpectClarify:
		x.labelled("expected", "clarify: the question has to be asked back")
	}
	x.blank()
}

func principal(as matrix.Principal) string {
	var parts []string
	for name, values := range as {
		parts = append(parts, name+" "+strings.Join(values, ", "))
	}
	slices.Sort(parts)
	return strings.Join(parts, " · ")
}

// places are the stages that are drawn as a line; the others are not places of the pipeline.
var places = []verdict.Stage{
	verdict.StageIndex, verdict.StageEmbed, verdict.StageRetrieve, verdict.StageRerank, verdict.StageAssemble,
	verdict.StagePrompt, verdict.StageGenerate,
}

// pipeline draws the stages with the state of each below its name.
func (x *explained) pipeline() {
	states := map[verdict.Stage]verdict.State{}
	for _, s := range x.Evaluation.Stages {
		states[s.Stage] = s.State
	}
	line := places
	if states[verdict.StageAbstain] == verdict.Broken {
		line = append(slices.Clone(places), verdict.StageAbstain)
	}
	const arrow = " ── "
	names, marks := "  ", "  "
	var broken []string
	draw := func() {
		x.line(names)
		x.line(x.paintMarks(marks))
		for _, b := range broken {
			x.line(b)
		}
		broken = nil
	}
	for i, stage := range line {
		name, mark, room := string(stage), stateMark(states[stage]), x.width
		if i > 0 {
			names, marks = names+arrow, marks+spaces(columns(arrow))
		}
		if i < len(line)-1 {
			room -= columns(arrow)
		}
		if columns(names)+len(name) > room { // the arrow stands at both sides of the fold
			draw()
			names, marks = " "+arrow, spaces(1+columns(arrow))
		}
		before := (len(name) - 1) / 2
		if states[stage] == verdict.Broken {
			broken = append(broken, x.below(columns(names)+before, x.labelOf(stage)))
		}
		names += name
		marks += spaces(before) + mark + spaces(len(name)-1-before)
	}
	draw()
	x.aside(line)
	x.flow("  ", "   ", x.legend(states, line))
	x.blank()
}

// below writes a label under a mark that stands behind so many columns: to the right of it, or to the left where that does not fit.
func (x *explained) below(before int, label string) string {
	if n := columns(label); before+2+n > x.width && before > n {
		return spaces(before-1-n) + label + " ╯"
	}
	return spaces(before) + "╰ " + label
}

// aside shows the stages beside the line, as far as they are used.
func (x *explained) aside(line []verdict.Stage) {
	parts := []string{x.dim("also")}
	for _, s := range x.Evaluation.Stages {
		if s.State == verdict.NotUsed || slices.Contains(line, s.Stage) {
			continue
		}
		name := fit(string(s.Stage), maxStage)
		if s.State == verdict.Broken {
			name = x.labelOf(s.Stage)
		}
		parts = append(parts, name+" "+x.mark(stateMark(s.State)))
	}
	if len(parts) > 1 {
		x.flow("  ", "   ", parts)
	}
}

func (x *explained) paintMarks(marks string) string {
	for _, m := range []string{markFail, markPass, markUnknown} {
		marks = strings.ReplaceAll(marks, m, x.mark(m))
	}
	return marks
}

func (x *explained) labelOf(stage verdict.Stage) string {
	for _, d := range x.Evaluation.Defects {
		if d.Stage == stage {
			return fit(d.Name(), maxName)
		}
	}
	return string(stage)
}

// stateMark is the mark of a stage. A stage whose state is not recorded was not seen.
func stateMark(s verdict.State) string {
	switch s {
	case verdict.Broken:
		return markFail
	case verdict.Clear:
		return markPass
	case verdict.NotReached:
		return "·"
	case verdict.NotUsed:
		return "–"
	default:
		return markUnknown
	}
}

// legend explains the marks that are drawn.
func (x *explained) legend(states map[verdict.Stage]verdict.State, line []verdict.Stage) []string {
	shown := map[verdict.State]bool{}
	for stage, s := range states {
		if s != verdict.NotUsed || slices.Contains(line, stage) {
			shown[s] = true
		}
	}
	for _, stage := range line {
		shown[verdict.Unobserved] = shown[verdict.Unobserved] || states[stage] == ""
	}
	var parts []string
	for _, state := range []verdict.State{verdict.Broken, verdict.Clear, verdict.NotReached, verdict.Unobserved, verdict.NotUsed} {
		if shown[state] {
			parts = append(parts, x.dim(stateMark(state)+" "+string(state)))
		}
	}
	return parts
}

func (x *explained) story() {
	if x.Evaluation.Story == "" {
		return
	}
	x.paragraph(x.Evaluation.Story)
	x.blank()
}
