package verdict

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// rewritten lets the rule of a query that was altered see what the generator made of it.
func rewritten(r Rule) Rule {
	asTyped := r.gold
	r.gold = func(x *facts, g *goldState) finding {
		if g.lost == lostInSearch && x.search.Reason == matrix.SearchedNothing {
			f := yes(fmt.Sprintf("gold %s: production searched for nothing, since the rewriting gave no query", g.name()))
			if rank, passed, seen := x.probe(matrix.ProbeAsTyped, g); seen && passed {
				f.evidence = append(f.evidence, fmt.Sprintf("gold %s: rank %d of k = %d with the question as typed", g.name(), rank, x.search.K))
			}
			return f
		}
		f := asTyped(x, g)
		if f.answer == matrix.Yes && x.o.Rewriting != nil {
			f.evidence = append(f.evidence, fmt.Sprintf("%q was rewritten to %s", x.search.Query, quotedTexts(x.o.Rewriting.Queries)))
		}
		return f
	}
	return r
}

// rewriteFindings says what else was seen of the rewriting.
func (x *facts) rewriteFindings() []string {
	w := x.o.Rewriting
	if w == nil {
		return nil
	}
	var out []string
	if w.Status == matrix.StatusOK && len(w.Queries) == 0 {
		says := "rewrite: the answer of the generator holds no query: production searches for nothing"
		if x.e.Pipeline.Rewrite != nil && x.e.Pipeline.Rewrite.KeepOriginal {
			says = "rewrite: the answer of the generator holds no query: production searches for the question as typed alone"
		}
		if w.Refused {
			says = strings.Replace(says, "the answer of the generator holds no query", "the generator refused", 1)
		}
		out = append(out, says)
	}
	if w.ModelReported != "" && w.ModelRequested != "" && w.ModelReported != w.ModelRequested {
		out = append(out, fmt.Sprintf("rewrite: %q was asked, %q answered", w.ModelRequested, w.ModelReported))
	}
	for _, note := range w.Notes {
		out = append(out, "rewrite: "+strings.TrimSuffix(note, "."))
	}
	return out
}

// notSearched says why production made no search, "" where it made one.
func (x *facts) notSearched() string {
	for i := range x.o.Retrievals {
		if r := &x.o.Retrievals[i]; r.Cell == matrix.CellC && r.Status == matrix.StatusNotRun {
			return r.Reason
		}
	}
	return ""
}
