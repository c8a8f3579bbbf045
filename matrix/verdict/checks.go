package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	out = append(out, x.stableCheck())
	return out
}

func (x *facts) goldChecks() []Check {
	stored, resolves := matrix.Yes, matrix.Yes
	revision := matrix.Unknown
	var evidence, unresolved []string
	for _, g := range x.gold {
		stored = worse(stored, g.inStore)
		evidence = append(evidence, g.source+": "+x.heldBy(g))
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
	if x.e.WithoutStore() {
		// What the service found is stored. What it did not find may be stored all the same, and of neither is more known.
		checks := []Check{{Name: "corpus_hit", Result: stored, Evidence: NoStore}}
		if stored == matrix.Yes {
			checks[0].Evidence = "the service found it; " + NoStore
		}
		for _, name := range []string{"gold_id_resolves", "revision_match", "body_hash_match", "fresh"} {
			checks = append(checks, Check{Name: name, Result: matrix.Unknown, Evidence: NoStore})
		}
		return append(checks, x.boundaryChecks()...)
	}
	checks := []Check{
		{Name: "corpus_hit", Result: stored, Evidence: fmt.Sprintf("%s; %s scanned", strings.Join(evidence, "; "), x.scanned())},
		{Name: "gold_id_resolves", Result: resolves, Evidence: orElse(strings.Join(unresolved, ", "), "every gold source has a stored item")},
		{Name: "revision_match", Result: revision, Evidence: unlessKnown(revision, "no stored item of its sources tells a revision")},
		{Name: "body_hash_match", Result: x.bodies(), Evidence: unlessKnown(x.bodies(), "the case gives no text beside the span to compare the stored one with")},
		x.freshCheck(),
	}
	return append(checks, x.boundaryChecks()...)
}

// boundaryChecks say how far every required item came in production.
func (x *facts) boundaryChecks() []Check {
	var checks []Check
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
			case g.lost == notSeen, g.lost == lostInSearch && x.textless(g):
				result = worse(result, matrix.Unknown)
			case g.lost >= b.lost && g.lost != crossedAll:
				result = matrix.No
			}
		}
		check := Check{Name: b.name, Result: result}
		if result == matrix.Yes && b.lost == lostInPrompt && x.promptUnseen() {
			check.Result, check.Evidence = matrix.Unknown, "the service does not tell its prompt"
		}
		checks = append(checks, check)
	}
	return checks
}

// heldBy says which stored items hold a piece of gold, or what stands in its place.
func (x *facts) heldBy(g *goldState) string {
	folded := map[string]string{}
	var near []string
	for _, s := range x.goldFacts(g.requirement) {
		for i, id := range s.Folded {
			if i < len(s.FoldedBy) {
				folded[id] = s.FoldedBy[i]
			}
		}
		near = append(near, x.near(s)...)
	}
	if len(g.holders) == 0 {
		if out := x.o.Store.Scan.LeftOut; out != "" {
			near = append(near, "left out: "+out)
		}
		none := "in none"
		if !x.o.Store.Scan.Complete {
			none = "in none that was read"
		}
		return strings.Join(append([]string{none}, near...), "; ")
	}
	held := make([]string, len(g.holders))
	for i, id := range g.holders {
		held[i] = id
		if by := folded[id]; by != "" {
			held[i] += " (only when " + by + " is folded)"
		}
	}
	return quoted(held) + x.outOfReach(g)
}

// outOfReach says why none of the gold's own items that hold it can be what production asks for: another revision, or fields
// that its filter does not admit, such as another tenant's.
func (x *facts) outOfReach(g *goldState) string {
	var revisions, values []string
	own := 0
	for _, s := range x.goldFacts(g.requirement) {
		for _, item := range s.Items {
			if !slices.Contains(g.holders, item.ID) {
				continue
			}
			own++
			if item.Stale {
				revisions = append(revisions, fmt.Sprintf("%q", item.Revision))
			}
			if x.search != nil {
				values = append(values, keptOut(x.search.Filter, matrix.Hit{ID: item.ID, Source: item.Source, Revision: item.Revision, Access: item.Access, Metadata: item.Metadata})...)
			}
		}
	}
	switch {
	case own == 0:
		return ""
	case len(revisions) == own:
		return ", but only in revision " + quoted(slices.Compact(revisions))
	case len(values) == own:
		return ", but only with " + quoted(slices.Compact(values))
	}
	return ""
}

// keptOut names the first field of an item that a filter does not admit, with what it holds; none where it admits the item.
func keptOut(filter matrix.Filter, h matrix.Hit) []string {
	for _, c := range filter {
		if !admits(matrix.Filter{c}, h) {
			return []string{c.Field + " " + orElse(quoted(valuesOf(h, c.Field)), "not set")}
		}
	}
	return nil
}

// near says where a span that no text holds stands all the same.
func (x *facts) near(s *matrix.GoldFacts) []string {
	var out []string
	if len(s.Split) > 0 {
		out = append(out, "split over "+strings.Join(s.Split[0], " and "))
	}
	if len(s.Unserved) > 0 {
		out = append(out, "only in a field that is not served: "+quoted(s.Unserved))
	}
	if len(s.Elsewhere) > 0 {
		out = append(out, "in another collection: "+quoted(s.Elsewhere))
	}
	return out
}

// freshCheck says whether the stored items of the gold's sources are as their sources are now.
func (x *facts) freshCheck() Check {
	c := Check{Name: "fresh", Result: matrix.Unknown}
	var reasons []string
	timed, met := false, 0
	for i := range x.gold {
		for _, s := range x.goldFacts(i) {
			for _, item := range s.Items {
				met++
				timed = timed || item.IndexedAt != "" && (item.UpdatedAt != "" || x.e.Checks.MaxAge > 0)
				for _, why := range item.Outdated {
					reasons = append(reasons, item.ID+": "+x.outdatedBy(&item, why))
				}
			}
		}
	}
	f := x.o.Store.Fresh
	switch {
	case len(reasons) > 0:
		c.Result, c.Evidence = matrix.No, quoted(reasons)
	case f == nil:
		c.Evidence = "the store was not scanned"
	case met == 0:
		c.Evidence = "no item of its sources is stored, to be compared"
	case timed || f.Compared > 0:
		c.Result, c.Evidence = matrix.Yes, "no stored item of its sources is older than its source"
	case x.e.Checks.MaxAge > 0:
		c.Evidence = "no stored item of its sources tells when it was indexed, in a form that is read: checks.max_age needs backends.store.fields.indexed_at"
	default:
		c.Evidence = "no stored item of its sources tells, in a form that is read, when it was indexed and its source changed: set backends.store.fields.indexed_at and updated_at, or give the documents"
	}
	return c
}

// outdatedBy says one reason why a stored item is not as its source is now.
func (x *facts) outdatedBy(item *matrix.GoldItem, why string) string {
	switch why {
	case matrix.OutdatedSource:
		return fmt.Sprintf("its source was updated at %s, after it was indexed at %s", item.UpdatedAt, item.IndexedAt)
	case matrix.OutdatedAge:
		return fmt.Sprintf("it was indexed at %s, longer ago than checks.max_age (%s)", item.IndexedAt, time.Duration(x.e.Checks.MaxAge))
	case matrix.OutdatedGone:
		return "no document of the experiment has its source"
	case matrix.OutdatedText:
		return "no document of its source has its text"
	}
	return why
}

func (x *facts) stableCheck() Check {
	s := &x.o.Store
	c := Check{Name: "index_stable", Result: x.indexStable(), Evidence: "cheap fingerprint before and after"}
	switch {
	case x.e.WithoutStore():
		c.Evidence = NoStore
	case c.Result == matrix.No && s.Items != s.ItemsAfter:
		c.Evidence = fmt.Sprintf("it changed while it was read: %s before, %d after", counted(s.Items, "item", "items"), s.ItemsAfter)
	case c.Result == matrix.No:
		c.Evidence = fmt.Sprintf("it changed while it was read, and has %s as before", counted(s.Items, "item", "items"))
	case s.Scan.Miscounted() && c.Result == matrix.Unknown:
		c.Evidence = s.Scan.Reason + ": some came or went during the scan"
	case s.Content != "" && s.ContentAfter != "":
		c.Evidence = "every item before and after; it cannot see what was changed and changed back in between"
	case x.e.Checks.Fingerprint == matrix.FingerprintComplete && c.Result == matrix.Unknown:
		c.Evidence = "the store could not be read whole before and after"
	case s.Fingerprint == "" || s.FingerprintAfter == "":
		c.Evidence = "the store gives no fingerprint before and after"
	case s.FingerprintBlind != "":
		c.Evidence += ". " + s.FingerprintBlind
	}
	return c
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

// unlessKnown explains an answer that is not known.
func unlessKnown(a matrix.Answer, why string) string {
	if a != matrix.Unknown {
		return ""
	}
	return why
}

func (x *facts) behaviour(e *matrix.EmbedFacts) (matrix.Answer, string) {
	switch {
	case e.Error != nil:
		return matrix.Unknown, "stored vectors were not compared: " + e.Error.String()
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
