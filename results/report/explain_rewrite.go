package report

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// rewriting shows what the generator made of the question.
func (x *explained) rewriting() {
	w := x.Observations.Rewriting
	if w == nil {
		return
	}
	by := w.ModelRequested
	if w.ModelReported != "" && w.ModelReported != w.ModelRequested {
		by = strings.TrimPrefix(by+", answered by "+w.ModelReported, ", ")
	}
	by = "(by " + by + ")"
	switch {
	case w.Status != matrix.StatusOK:
		x.labelled("rewritten", failure(w.Status, w.Reason, w.Error)+" "+by)
		return
	case len(w.Queries) == 0:
		x.labelled("rewritten", "to nothing "+by)
		return
	}
	for i, q := range w.Queries {
		label := "rewritten"
		if i > 0 {
			label = ""
		}
		if i == len(w.Queries)-1 {
			q += " " + by
		}
		x.labelled(label, q)
	}
}

// searchedFor shows what the store was asked for, where that is not the question, or not what was shown as its rewriting.
func (x *explained) searchedFor(r *matrix.Retrieval) {
	for i, s := range r.Searches {
		label := ""
		if i == 0 {
			label = "  asked for"
		}
		x.labelled(label, fmt.Sprintf("%s (%s ranked)", s.Query, thousands(len(s.Candidates))))
	}
	if len(r.Searches) > 0 {
		x.labelled("  merged", r.Merge)
		return
	}
	w := x.Observations.Rewriting
	shown := w != nil && len(w.Queries) == 1 && w.Queries[0] == r.QueryEffective
	switch {
	case r.Reason == matrix.SearchedNothing:
		x.labelled("  asked for", "(nothing)")
	case r.QueryEffective != r.Query && !shown:
		x.labelled("  asked for", r.QueryEffective)
	}
}
