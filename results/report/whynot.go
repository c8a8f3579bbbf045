package report

import (
	"io"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// WhyNot says why a case was not given a label.
func WhyNot(w io.Writer, caseID string, n *verdict.WhyNot, o Options) error {
	p := newPage(o, explainLabels)
	says := "is not "
	switch {
	case n.Given:
		says = "is "
	case n.Open:
		says = "is not decided to be "
	}
	p.line(p.bold(Safe(caseID)) + " " + says + p.bold(Safe(n.Label)))
	p.blank()
	p.bullets("because", n.Because)
	p.labelled("the check", n.Decides)
	p.labelled("needs", n.Needs)
	p.bullets("observed", n.Observed)
	return p.flush(w)
}
