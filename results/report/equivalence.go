package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/results"
)

// Equivalence draws whether a case that was run again came to the same, and what differs. With o.All it lists what is the same, too.
func Equivalence(w io.Writer, q *results.Equivalence, o Options) error {
	p := newPage(o, diffLabels)
	mark := map[string]string{results.Reproduced: markPass, results.NotReproduced: markFail}[q.Verdict]
	if mark == "" {
		mark = markUnknown
	}
	p.line(p.mark(mark) + " " + p.bold(Safe(q.Case)) + "   " + strings.ReplaceAll(q.Verdict, "-", " "))
	p.blank()
	p.labelled("then", fmt.Sprintf("%s   %s", q.Then.Execution, q.Then.Name()))
	p.labelled("now", fmt.Sprintf("%s   %s", q.Now.Execution, q.Now.Name()))
	p.bullets("because", q.Because)
	label := "pins"
	same, open := 0, []string{}
	for _, m := range q.Pins {
		switch m.State {
		case results.PinSame:
			same++
		case results.PinUnverifiable:
			open = append(open, m.Name)
		}
		says := m.State + " " + m.Name
		if m.Then != m.Now {
			says += fmt.Sprintf(": %s → %s", fit(absent(m.Then), maxSetting), fit(absent(m.Now), maxSetting))
		}
		told := slices.ContainsFunc(q.Because, func(why string) bool { return strings.HasPrefix(why, "pin "+m.Name+" was ") })
		if m.State == results.PinDiffers && !told || o.All {
			p.labelled(label, says)
			label = ""
		}
	}
	p.labelled(label, fmt.Sprintf("%d of %d are the same", same, len(q.Pins)))
	if len(open) > 0 {
		p.labelled("", "not told, so that it cannot be known: "+strings.Join(open, ", "))
	}
	label = "steps"
	identical := 0
	for _, s := range q.Steps {
		if s.State == results.StepIdentical {
			identical++
			if !o.All {
				continue
			}
		}
		p.labelled(label, strings.TrimRight(fmt.Sprintf("%s of %s: %s, %s", s.Step, s.Cell, s.State, s.Says), ", "))
		label = ""
	}
	p.labelled(label, fmt.Sprintf("%d of %d are identical", identical, len(q.Steps)))
	return p.flush(w)
}
