package report

import (
	"io"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// WhyNot says why a case was not given a label.
func WhyNot(w io.Writer, caseID string, n *verdict.WhyNot, o Options) error {
	p := newPage(o, explainLabels)
	says, mark := "is not "+p.bold(Safe(n.Label)), p.mark(markFail)
	if n.Given {
		says, mark = "is "+p.bold(Safe(n.Label)), p.mark(markPass)
	}
	p.line(mark + " " + p.bold(Safe(caseID)) + "   " + says)
	p.blank()
	p.bullets("because", n.Because)
	p.labelled("the check", n.Decides)
	p.labelled("needs", n.Needs)
	p.bullets("observed", n.Observed)
	return p.flush(w)
}
