package report

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// grades are what a label may rest on, the strongest first. The table has room for the first letter.
var grades = []struct {
	grade     verdict.Grade
	says, why string // in the words of explain, and of the table
}{
	{verdict.Verified, "its one-change repair was run, and the case then passed", "undone alone, and the case passed"},
	{verdict.Shown, "the trace shows it; no repair of it was seen to help", "the trace shows it"},
	{verdict.Inferred, "it follows by exclusion, or from few answers", "by exclusion, or from few answers"},
}

// gradeSays explains a grade; "" for one that is not known.
func gradeSays(g verdict.Grade) string {
	for _, known := range grades {
		if known.grade == g {
			return known.says
		}
	}
	return ""
}

// gradeMark is the letter of a grade; "" where there is none.
func gradeMark(g verdict.Grade) string { return string(g[:min(1, len(g))]) }

// gradeCounts counts the defects of each grade, and says what the letters of the table mean.
func (p *page) gradeCounts(s *results.Summary) {
	count := map[verdict.Grade]int{}
	for i := range s.Cases {
		for _, d := range append(s.Cases[i].Defects[:len(s.Cases[i].Defects):len(s.Cases[i].Defects)], s.Cases[i].Behind...) {
			count[d.Grade]++
		}
	}
	var parts []string
	for _, g := range grades {
		if n := count[g.grade]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s %d: %s", gradeMark(g.grade), g.grade, n, g.why))
		}
	}
	if parts != nil {
		p.labelled("grades", strings.Join(parts, "; "))
	}
}
