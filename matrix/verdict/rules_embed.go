package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// sameVector is the cosine from which a stored vector counts as a fresh embedding of its text. Half-precision storage costs
// 3e-8 of cosine and a provider's jitter below 1e-3 (design, BACKENDS 3.5).
const sameVector = 0.999

// sample is what the comparison of stored with fresh vectors says.
type sample struct {
	compared, matching int
	gold               *matrix.EmbedSample // of the item that holds the gold, nil where it was not compared
	explained          string              // the prefix under which the stored vectors match, where one explains them
}

func same(cosine *matrix.Decimal) bool { return cosine != nil && cosine.Float() >= sameVector }

func (x *facts) sample(g *goldState) sample {
	var s sample
	e := x.o.Store.Embed
	explained := map[string]int{}
	for i := range e.Sample {
		v := &e.Sample[i]
		if slices.Contains(g.holders, v.ID) && (s.gold == nil || v.ID == g.place.ID) {
			s.gold = v
		}
		if v.Zero || v.Missing || v.Passage == nil {
			continue
		}
		s.compared++
		switch {
		case same(v.Passage):
			s.matching++
		case same(v.Pinned):
			explained["the passage prefix that is pinned or declared for the index"]++
		case same(v.Bare):
			explained["no prefix"]++
		case same(v.AsQuery):
			explained["the query prefix"]++
		}
	}
	for _, name := range []string{"the passage prefix that is pinned or declared for the index", "no prefix", "the query prefix"} {
		if explained[name] > 0 {
			s.explained = fmt.Sprintf("%d of %d sampled vectors match when embedded with %s", explained[name], s.compared, name)
			break
		}
	}
	return s
}

func (s sample) says() string {
	return fmt.Sprintf("%d of %d sampled vectors match a fresh embedding of their text (cosine ≥ %g)", s.matching, s.compared, sameVector)
}

func embedRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState, sample) finding) Rule {
		return Rule{
			Stage: StageEmbed, Label: label, grade: Shown, Needs: "stored vectors, re-embedded", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				if g.lost != lostInSearch || x.keyword() {
					return no
				}
				if x.o.Store.Embed == nil || !x.o.Store.Embed.BehaviourObserved {
					return unknown("the stored vectors, to compare them with fresh embeddings")
				}
				return fires(x, g, x.sample(g))
			},
		}
	}
	return []Rule{
		{
			Stage: StageEmbed, Label: "dimension-mismatch", grade: Shown, Needs: "the dimensions of index and query",
			Says:     "The query's vectors have another length than the index's.",
			Decides:  "dimensions of the index against those of the query's embedder",
			TryFirst: "query with the model and dimensions that built the index, or re-index",
			Wasted:   "ranking work: the two cannot be compared",
			once: func(x *facts) finding {
				e := x.o.Store.Embed
				differ := e != nil && !x.keyword() && e.IndexDimensions > 0 && e.QueryDimensions > 0 && e.IndexDimensions != e.QueryDimensions
				if !differ {
					return no
				}
				return yes(fmt.Sprintf("the index has %d dimensions, the query %d", e.IndexDimensions, e.QueryDimensions))
			},
		},
		rule("zero-vector", "The evidence is stored with a zero vector or none, so that no dense search can find it.",
			"the stored vector of the gold item", "re-embed the item; look for empty inputs and swallowed errors in the ingestion",
			"query wording: nothing is near a zero vector",
			func(_ *facts, g *goldState, s sample) finding {
				return when(s.gold != nil && (s.gold.Zero || s.gold.Missing), fmt.Sprintf("gold %s: stored with %s", goldID(s), map[bool]string{true: "no vector", false: "a zero vector"}[s.gold != nil && s.gold.Missing]))
			}),
		rule("vectors-misassigned", "The vector stored with the evidence belongs to another text.",
			"the stored vector against fresh embeddings of the other sampled texts", "look for batches whose results were matched by position after a filter or a retry, then re-index",
			"another embedding model: each vector is right, its place is not",
			func(_ *facts, g *goldState, s sample) finding {
				return when(s.gold != nil && s.gold.OtherText != "" && !same(s.gold.Passage), fmt.Sprintf("gold %s: its stored vector is that of the text of %s", goldID(s), otherText(s)))
			}),
		rule("input-truncated", "The embedder reads only the start of the evidence, and the fact stands behind it.",
			"the embedding of the whole text equals that of its first tokens", "cut chunks below the model's input limit, or use a model with a longer one",
			"query wording: the fact is not in the vector",
			func(x *facts, g *goldState, s sample) finding {
				if s.gold == nil || s.gold.Truncated == nil {
					return no
				}
				// A token is a word or a part of one: behind so many words the span was surely not read.
				end, read := x.spanEnd(g, s.gold.ID), *s.gold.Truncated
				f := yes(fmt.Sprintf("gold %s: only %d tokens of %s were embedded, its span ends at word %d", g.name(), read, goldID(s), end))
				switch {
				case 2*end <= read:
					return no
				case end <= read:
					f.grade = Inferred
				}
				return f
			}),
		rule("prefix-mismatch", "Index and query were not embedded with the prefixes that belong together.",
			"stored vectors against fresh ones with and without each prefix, and the declared query prefix against the one sent",
			"send the prefixes that the model was trained with, on both sides and on every route",
			"another embedding model: it is the right one, asked wrongly",
			prefixMismatch),
		rule("mixed-models", "A part of the index, the evidence among it, does not hold what the query's embedder makes of its text: another model, an older text, or damage.",
			"stored vectors against fresh ones, item by item", "re-embed the items that do not match",
			"query wording: the two spaces cannot be compared",
			func(x *facts, g *goldState, s sample) finding {
				evidence := []string{fmt.Sprintf("gold %s: its stored vector does not match its text", goldID(s)), s.says()}
				return when(s.gold != nil && !same(s.gold.Passage) && s.matching > 0, append(evidence, x.declaredModels()...)...)
			}),
		rule("model-mismatch", "The index was built by another embedding model than the one that embeds the queries.",
			"stored vectors against fresh embeddings of the same texts; names alone prove nothing", "query with the model that built the index, or re-index with the new one",
			"ranking, chunking and prompt work: the distances mean nothing",
			func(x *facts, _ *goldState, s sample) finding {
				return when(s.compared > 0 && s.matching == 0, append([]string{s.says()}, x.declaredModels()...)...)
			}),
		rule("not-normalised", "The stored vectors are not of unit length while the distance is a dot product, so that length decides the rank.",
			"norms of the sampled vectors", "normalise at insert, or use cosine distance", "query wording: longer vectors win",
			func(x *facts, g *goldState, s sample) finding {
				if x.o.Store.Embed.IndexDistance != "dot" || s.gold == nil {
					return no
				}
				// Length decides only where something longer stands ahead.
				for _, h := range x.search.Candidates[:max(g.place.BySpan-1, 0)] {
					i := slices.IndexFunc(x.o.Store.Embed.Sample, func(v matrix.EmbedSample) bool { return v.ID == h.ID })
					if i >= 0 && x.o.Store.Embed.Sample[i].Norm.Float() > 1.01*s.gold.Norm.Float() {
						return yes(fmt.Sprintf("gold %s: its stored vector has length %s, that of %s ahead of it %s", goldID(s), s.gold.Norm, h.ID, x.o.Store.Embed.Sample[i].Norm))
					}
				}
				return no
			}),
	}
}

// spanEnd is how many words of a stored text it takes to read the span to its end; a large number where it is not known.
func (x *facts) spanEnd(g *goldState, id string) int {
	for _, r := range x.relations(g.requirement) {
		if r.ID == id && r.SpanEnd > 0 {
			return r.SpanEnd
		}
	}
	return 1 << 20
}

func goldID(s sample) string {
	if s.gold == nil {
		return ""
	}
	return s.gold.ID
}

func otherText(s sample) string {
	if s.gold == nil {
		return ""
	}
	return s.gold.OtherText
}

func prefixMismatch(x *facts, g *goldState, s sample) finding {
	// Other items may have lost their prefix as well; that explains the gold's rank only if its own vector is off.
	off := s.gold != nil && !same(s.gold.Passage) || s.gold == nil && s.matching == 0
	if s.explained != "" && off {
		return yes(s.explained)
	}
	e := x.o.Store.Embed
	want := e.IndexQueryPrefix
	if pinned := x.e.Pins.Index.QueryPrefix; pinned != nil {
		want = pinned
	}
	if want == nil || *want == e.QueryPrefix {
		return no
	}
	evidence := fmt.Sprintf("queries are sent with prefix %q, the index is declared for %q", e.QueryPrefix, *want)
	rank, passed, seen := x.probe(matrix.ProbeIndexEmbed, g)
	switch {
	case !seen:
		return unknown("the search with the declared query prefix")
	case !passed:
		return no
	}
	return yes(evidence, fmt.Sprintf("gold %s: with that prefix at rank %d of k = %d", g.name(), rank, x.search.K))
}

func (x *facts) declaredModels() []string {
	e := x.o.Store.Embed
	declared := orElse(e.IndexModel, "nothing")
	if pinned := x.e.Pins.Index.EmbedModel; pinned != "" && e.IndexModel == "" {
		declared = pinned + " (pinned)"
	}
	return []string{fmt.Sprintf("the index declares %s, queries are embedded by %s", declared, e.QueryModel)}
}
