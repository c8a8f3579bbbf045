package report

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
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

// goldIn says where the required items stand in one search of several.
func (x *explained) goldIn(ranks []int) []string {
	var out []string
	for i, rank := range ranks {
		name := x.Case.Evidence.Required[i].AnyOf[0].Source
		if i < len(x.Evaluation.Retrieval.Gold) {
			name = x.Evaluation.Retrieval.Gold[i].Source
		}
		at := "not among them"
		if rank > 0 {
			at = "rank " + thousands(rank)
		}
		out = append(out, "gold "+fit(name, 40)+" "+at)
	}
	return out
}

// searchedFor shows what the store was asked for, where that is not the question, or not what was shown as its rewriting.
func (x *explained) searchedFor(r *matrix.Retrieval, f *verdict.RetrievalFeatures) {
	for i := range r.Searches {
		s, label := &r.Searches[i], ""
		if i == 0 {
			label = "  asked for"
		}
		query := s.Query
		if query == "" {
			query = "(a query that is not told)"
		}
		parts := []string{thousands(len(s.Candidates)) + " ranked"}
		switch {
		case s.Candidates == nil:
			parts[0] = "what it found is not told"
		case i < len(f.Searches):
			parts = append(parts, x.goldIn(f.Searches[i])...)
		}
		if !reflect.DeepEqual(s.Filter, r.Filter) && len(s.Filter) > 0 {
			parts = append(parts, filterText(s.Filter))
		}
		x.labelled(label, fmt.Sprintf("%s (%s)", query, strings.Join(parts, "; ")))
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
