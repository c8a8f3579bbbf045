package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

func embedRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState, sample) finding) Rule {
		return Rule{
			Stage: StageEmbed, Label: label, grade: Shown, Needs: "stored vectors, re-embedded", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				if g.lost != lostInSearch || x.keyword() {
					return no
				}
				e := x.o.Store.Embed
				if x.e.WithoutStore() {
					return x.withoutStore(g)
				}
				if e == nil || !e.BehaviourObserved {
					return unknown("the stored vectors, to compare them with fresh embeddings")
				}
				if x.otherLength() {
					return no // which is said by the first rule, and explains the rest
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
				if !x.otherLength() {
					return no
				}
				e := x.o.Store.Embed
				return yes(fmt.Sprintf("the index has %d dimensions, the query %d", e.IndexDimensions, e.QueryDimensions))
			},
		},
		rule("zero-vector", "The evidence is stored with a zero vector or none, so that no dense search can find it.",
			"the stored vector of the gold item", "re-embed the item; look for empty inputs and swallowed errors in the ingestion",
			"query wording: nothing is near a zero vector",
			func(_ *facts, g *goldState, s sample) finding {
				return when(s.gold != nil && (s.gold.Zero || s.gold.Missing), fmt.Sprintf("gold %s: stored with %s", s.name, map[bool]string{true: "no vector", false: "a zero vector"}[s.gold != nil && s.gold.Missing]))
			}),
		rule("vectors-misassigned", "The vector stored with the evidence belongs to another text.",
			"the stored vector against fresh embeddings of other texts, and the vector of its own text against the stored ones", "look for batches whose results were matched by position after a filter or a retry, then re-index",
			"another embedding model: each vector is right, its place is not",
			misassigned),
		rule("input-truncated", "The embedder reads only the start of the evidence, and the fact stands behind it.",
			"the embedder says how much it read, or the stored vector equals that of the first words", "cut chunks below the model's input limit, or use a model with a longer one",
			"query wording: the fact is not in the vector",
			truncated),
		rule("prefix-mismatch", "Index and query were not embedded with the prefixes that belong together.",
			"stored vectors against fresh ones with and without each prefix, and the declared query prefix against the one sent",
			"send the prefixes that the model was trained with, on both sides and on every route",
			"another embedding model: it is the right one, asked wrongly",
			prefixMismatch),
		rule("mixed-models", "A part of the index, the evidence among it, does not hold what the query's embedder makes of its text: another model, an older text, or damage.",
			"stored vectors against fresh ones, item by item", "re-embed the items that do not match",
			"query wording: the two spaces cannot be compared",
			mixedModels),
		rule("model-mismatch", "The index was built by another embedding model than the one that embeds the queries.",
			"stored vectors against fresh embeddings of the same texts, and which text each is nearest to; names alone prove nothing", "query with the model that built the index, or re-index with the new one",
			"ranking, chunking and prompt work: the distances mean nothing",
			modelMismatch),
		rule("model-mismatch", "A cache serves a vector for the query that another model made: the embedder itself makes another one of the same words.",
			"the query embedded once more with white space around it, which no cache knows, and the same search with that vector", "empty the cache of query vectors, and key it by model and revision",
			"re-indexing and query wording: the index is right, and so is every query that the cache does not know",
			cachedVector),
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
						return yes(fmt.Sprintf("gold %s: its stored vector has length %s, that of %s ahead of it %s", s.name, s.gold.Norm, x.label(h.ID), x.o.Store.Embed.Sample[i].Norm))
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
	return unknownEnd
}

const unknownEnd = 1 << 20

// otherLength reports whether the vectors of index and query differ in length.
func (x *facts) otherLength() bool {
	e := x.o.Store.Embed
	return e != nil && !x.keyword() && e.IndexDimensions > 0 && e.QueryDimensions > 0 && e.IndexDimensions != e.QueryDimensions
}

// goldKind says what the gold's stored vector is; ok is false where it was not compared.
func (s sample) goldKind() (kind itemKind, ok bool) {
	if s.gold == nil {
		return 0, false
	}
	return kindOf(s.gold), true
}

func misassigned(_ *facts, _ *goldState, s sample) finding {
	switch kind, ok := s.goldKind(); {
	case !ok:
		return no
	case kind == itemMoved && s.gold.OtherText != "":
		return yes(fmt.Sprintf("gold %s: its stored vector is that of the text of %s", s.name, s.gold.OtherText))
	case kind == itemMoved:
		return yes(fmt.Sprintf("gold %s: the vector of its text is stored with %s, whose text is another", s.name, s.gold.StoredAt))
	case kind == itemOpen && s.moved > 0 && s.matching == 0:
		return yes(fmt.Sprintf("gold %s: its stored vector does not match its text", s.name), s.says())
	}
	return no
}

func truncated(x *facts, g *goldState, s sample) finding {
	if s.gold == nil {
		return no
	}
	if cut := explanation(s.gold); cut != nil && cut.Words > 0 {
		// The words of the cut and of the span's end are counted in the same way, but the cut is found only nearly.
		end := x.spanEnd(g, s.gold.ID)
		f := yes(fmt.Sprintf("gold %s: its stored vector is that of the first %d words of %s (cosine %s, of the whole text %s); its span ends at word %d", g.name(), cut.Words, s.name, cut.Cosine, *s.gold.Passage, end))
		switch {
		case end == unknownEnd:
			return unknown("where the span ends in " + s.name + ", whose stored vector is that of its first words")
		case end <= cut.Words:
			return no
		}
		return f
	}
	if s.gold.Truncated == nil {
		return no
	}
	// A token is a word or a part of one: behind so many words the span was surely not read.
	end, read := x.spanEnd(g, s.gold.ID), *s.gold.Truncated
	f := yes(fmt.Sprintf("gold %s: only %d tokens of %s were embedded, its span ends at word %d", g.name(), read, s.name, end))
	switch {
	case 2*end <= read:
		return no
	case end <= read:
		f.grade = Inferred
	}
	return f
}

// mixedModels needs a part of the index that the query's embedder made, and gold that it did not make.
func mixedModels(x *facts, _ *goldState, s sample) finding {
	if kind, ok := s.goldKind(); !ok || kind != itemOpen || s.matching+s.near+len(s.explained) == 0 {
		return no
	}
	if f, more := x.embedsMore(s); more {
		return f
	}
	return yes(fmt.Sprintf("gold %s: its stored vector does not match its text (cosine %s)", s.name, *s.gold.Passage), s.says(), x.declared())
}

// modelMismatch needs an index of which nothing is what the query's embedder makes of its text, however it is embedded. A
// relative of the model is no other model: what keeps its vectors apart would have to be known before they are blamed, unless
// they are so far apart that only another way to run the model remains.
func modelMismatch(x *facts, _ *goldState, s sample) finding {
	kind, compared := s.goldKind()
	if s.open == 0 || s.matching+s.near+s.moved+len(s.explained) > 0 || compared && kind != itemOpen {
		return no
	}
	if f, more := x.embedsMore(s); more {
		return f
	}
	f := yes(s.says(), x.declared())
	switch {
	case s.kin == kinStranger:
		return f
	case s.kin == kinRelative && s.median() < farVector:
	case s.kin == kinRelative || 2*s.own > s.differ:
		return unknown("why the stored vectors differ from fresh embeddings of their texts: " + s.says())
	}
	f.grade = Inferred
	return f
}

// cachedVector needs a vector of the same words that is no relative of what production searched with, although white space moves
// this embedder's vectors little, and that finds the gold, unless something else keeps it from both searches.
func cachedVector(x *facts, g *goldState, _ sample) finding {
	probe, _ := x.retrieval(matrix.ProbeUncached)
	planned := slices.ContainsFunc(x.p.Retrievals, func(p matrix.PlannedSearch) bool { return p.Cell == matrix.ProbeUncached })
	if probe == nil && planned && x.search.QueryEffective != "" {
		return unknown("the search with the query embedded past a cache (" + string(matrix.ProbeUncached) + ")")
	}
	if probe == nil || probe.Uncached == nil || probe.Uncached.Own == nil || probe.Uncached.Space == nil {
		return no
	}
	c := probe.Uncached
	rank, passed, _ := x.probe(matrix.ProbeUncached, g)
	fires := (passed || x.cutFromBoth(g, rank)) && c.Own.Float() < farVector && c.Space.Float() >= stillVector
	return when(fires, fmt.Sprintf("the query's vector has cosine %s with that of the same words and a space behind them, while a space before or behind makes cosine %s", *c.Own, *c.Space),
		fmt.Sprintf("gold %s: %s in production, %s with the vector that is made now, k = %d", g.name(), rankOrAbsent(g.place.BySpan), rankOrAbsent(rank), x.search.K))
}

// cutFromBoth reports whether a gold that neither production nor a probe by another vector returns may be kept out, whatever the vector,
// by what comes behind it: a filter, a threshold or the approximation.
func (x *facts) cutFromBoth(g *goldState, rank int) bool {
	return rank == 0 && g.place.BySpan == 0 && len(x.cuts()) > 0
}

// stillVector is a cosine from which white space has not moved a vector.
const stillVector = 0.9

// embedsMore answers for an index that embeds more than the text: a vector that does not match says nothing against the model.
func (x *facts) embedsMore(s sample) (finding, bool) {
	switch {
	case s.more == "":
		return no, false
	case s.kin == kinRelative:
		return no, true // the same model, and what it embeds besides is the difference
	}
	return unknown("fresh embeddings of what the index embeds, which is more than the text: " + s.more), true
}

func prefixMismatch(x *facts, g *goldState, s sample) finding {
	// Other items may have lost their prefix as well; that explains the gold's rank only if its own vector is off.
	switch kind, ok := s.goldKind(); {
	case kind == itemExplained && explanation(s.gold).Words == 0:
		t := explanation(s.gold)
		return yes(fmt.Sprintf("gold %s: its stored vector matches its text when embedded %s (cosine %s), and not with %q as passages are embedded now (%s)",
			s.name, x.way(t), t.Cosine, x.o.Store.Embed.PassagePrefix, *s.gold.Passage), s.says())
	case !ok && s.matching == 0 && len(s.explained) > 0:
		return yes(s.says())
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
	case !passed && !x.cutFromBoth(g, rank):
		return no
	}
	return yes(evidence, fmt.Sprintf("gold %s: with that prefix %s, k = %d", g.name(), rankOrAbsent(rank), x.search.K))
}
