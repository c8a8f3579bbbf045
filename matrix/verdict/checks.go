package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// checks answers the named questions of the design, each yes, no or unknown with its evidence.
func (x *facts) checks() []Check {
	var out []Check
	add := func(name string, result matrix.Answer, evidence string) {
		out = append(out, Check{Name: name, Result: result, Evidence: evidence})
	}
	if len(x.gold) > 0 {
		out = append(out, x.goldChecks()...)
	}
	if e := x.o.Store.Embed; e != nil && !x.keyword() {
		out = append(out, x.embedChecks(e)...)
	}
	if c := x.o.Store.FilterControl; c != nil {
		switch {
		case c.Error != nil:
			add("filter_control_empty", matrix.Unknown, c.Error.Kind+": "+c.Error.Message)
		default:
			add("filter_control_empty", boolAnswer(len(c.Returned) == 0), counted(len(c.Returned), "item", "items")+" for a value that cannot exist")
		}
	}
	s := x.o.Store
	switch {
	case s.Fingerprint == "" || s.FingerprintAfter == "":
		add("index_stable", matrix.Unknown, "the store gives no fingerprint before and after")
	default:
		add("index_stable", boolAnswer(s.Fingerprint == s.FingerprintAfter), "fingerprint before and after the run")
	}
	return out
}

func (x *facts) goldChecks() []Check {
	stored, resolves := matrix.Yes, matrix.Yes
	revision := matrix.Unknown
	var evidence, unresolved []string
	for _, g := range x.gold {
		stored = worse(stored, g.inStore)
		evidence = append(evidence, fmt.Sprintf("%s: %s", g.source, orElse(quoted(g.holders), "in none")))
		items := x.relations(g.requirement)
		if len(items) == 0 {
			unresolved = append(unresolved, g.source)
			if x.o.Store.Scan.Complete {
				resolves = matrix.No
			} else {
				resolves = worse(resolves, matrix.Unknown)
			}
		}
		for _, r := range items {
			switch {
			case r.Stale:
				revision = matrix.No
			case r.Revision != "" && revision == matrix.Unknown:
				revision = matrix.Yes
			}
		}
	}
	checks := []Check{
		{Name: "corpus_hit", Result: stored, Evidence: fmt.Sprintf("%s; %s scanned", strings.Join(evidence, "; "), x.scanned())},
		{Name: "gold_id_resolves", Result: resolves, Evidence: orElse(strings.Join(unresolved, ", "), "every gold source has a stored item")},
		{Name: "revision_match", Result: revision},
		{Name: "body_hash_match", Result: x.bodies()},
	}
	boundaries := []struct {
		name string
		lost boundary
	}{{"gold_in_candidates", lostInSearch}, {"gold_in_reranked", lostInRerank}, {"gold_in_context", lostInAssemble}, {"gold_in_prompt", lostInPrompt}}
	for _, b := range boundaries {
		if b.lost == lostInRerank && x.e.Pipeline.Rerank == nil {
			continue
		}
		result := matrix.Yes
		for _, g := range x.gold {
			switch {
			case g.lost == notSeen:
				result = worse(result, matrix.Unknown)
			case g.lost >= b.lost && g.lost != crossedAll:
				result = matrix.No
			}
		}
		checks = append(checks, Check{Name: b.name, Result: result})
	}
	return checks
}

// bodies says whether the stored bodies that hold the spans are the gold texts that the case gives.
func (x *facts) bodies() matrix.Answer {
	result := matrix.Unknown
	for _, g := range x.gold {
		same, other := false, false
		for _, r := range x.relations(g.requirement) {
			same = same || r.Body == "same"
			other = other || r.Body != "" && r.Body != "same"
		}
		switch {
		case same && result == matrix.Unknown:
			result = matrix.Yes
		case other && !same:
			result = matrix.No
		}
	}
	return result
}

// embedChecks holds the names that are declared and the vectors that are stored against the embedder of the queries.
func (x *facts) embedChecks(e *matrix.EmbedFacts) []Check {
	names, all := declaredNames(e)
	match, dims := matrix.Unknown, matrix.Unknown
	switch {
	case slices.ContainsFunc(names, func(name string) bool { return name != e.QueryModel }):
		match = matrix.No
	case all:
		match = matrix.Yes
	}
	if e.IndexDimensions > 0 && e.QueryDimensions > 0 {
		dims = boolAnswer(e.IndexDimensions == e.QueryDimensions)
	}
	declares := orElse(e.IndexModel, "the store declares no model")
	if len(e.DeclaredPerItem) > 0 {
		declares = "collection: " + orElse(e.IndexModel, "none") + "; items: " + perItem(e)
	}
	behaviour, says := x.behaviour(e)
	return []Check{
		{Name: "embed_model_declared", Result: boolAnswer(len(names) > 0), Evidence: declares},
		{Name: "embed_model_match", Result: match, Evidence: fmt.Sprintf("index %s, query %s", orElse(strings.Join(names, ", "), "unknown"), e.QueryModel)},
		{Name: "embed_behaviour_match", Result: behaviour, Evidence: says},
		{Name: "dimension_match", Result: dims, Evidence: fmt.Sprintf("index %d, query %d", e.IndexDimensions, e.QueryDimensions)},
	}
}

func (x *facts) behaviour(e *matrix.EmbedFacts) (matrix.Answer, string) {
	switch {
	case e.Error != nil:
		return matrix.Unknown, "stored vectors were not compared: " + e.Error.Kind + ": " + e.Error.Message
	case !e.BehaviourObserved || len(e.Sample) == 0:
		return matrix.Unknown, "stored vectors were not compared" + prefixed(": ", e.Reason)
	}
	s := x.sample(&goldState{})
	return s.answer(), s.says() + lengths(e)
}

// worse orders yes before unknown before no.
func worse(a, b matrix.Answer) matrix.Answer {
	switch {
	case a == matrix.No || b == matrix.No:
		return matrix.No
	case a == matrix.Unknown || b == matrix.Unknown:
		return matrix.Unknown
	}
	return matrix.Yes
}

func boolAnswer(b bool) matrix.Answer {
	if b {
		return matrix.Yes
	}
	return matrix.No
}

// answerFacts counts A's answers for totals over cases.
func (x *facts) answerFacts() AnswerFacts {
	var out AnswerFacts
	for _, f := range x.cells[matrix.CellA].features {
		out.Scored++
		if f.Meets {
			out.Correct++
		}
		if f.Refused || f.Empty {
			continue
		}
		out.Answered++
		if f.Copied {
			out.Copied++
			if f.Meets {
				out.CopiedCorrect++
			}
		}
	}
	return out
}
