package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// identity compares stored vectors with fresh embeddings of the stored texts: once for the seeded sample, and for each case
// for the items that hold its gold. Names prove nothing; behaviour does. What the comparison means is decided in matrix/verdict.
type identity struct {
	facts  matrix.EmbedFacts
	sample []matrix.EmbedSample
	fresh  *fresh // of the sample
}

// identify looks at the seeded sample. It returns nil where the pipeline embeds nothing, or there is no store to look into.
func (s *session) identify(ctx context.Context, p *presence) (*identity, error) {
	if s.embedder == nil || s.experiment.Pipeline.Search.Mode == matrix.ModeKeyword || s.experiment.Backends.Store == nil {
		return nil, nil
	}
	info := s.storeInfo
	id := &identity{facts: matrix.EmbedFacts{
		QueryModel: s.embedderInfo.Model, QueryDimensions: s.embedderInfo.Dimensions,
		QueryPrefix: s.embedderInfo.QueryPrefix, PassagePrefix: s.embedderInfo.PassagePrefix,
		IndexModel: info.EmbedModel, IndexDimensions: info.Dimensions, IndexDistance: info.Distance,
		IndexQueryPrefix: info.QueryPrefix, IndexPassage: info.PassagePrefix, DeclaredPerItem: info.DeclaredPerItem,
		VectorType: info.VectorType, EmbedInput: info.EmbedInput,
	}}
	drawn := p.sample[:min(len(p.sample), s.sampleSize())]
	if id.facts.Reason = s.incomparable(); id.facts.Reason != "" {
		return id, nil
	}
	ids := make([]string, len(drawn))
	for i, v := range drawn {
		ids[i] = v.item.ID
	}
	sample, fresh, err := s.compare(ctx, ids, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if over := s.ledger.overBudget(err); over != nil {
		return nil, over
	}
	if err != nil {
		id.facts.Error = callError(err)
		return id, nil
	}
	id.sample, id.fresh, id.facts.BehaviourObserved = sample, fresh, true
	return id, nil
}

// sampleSize is how many of the sampled items are compared.
func (s *session) sampleSize() int { return s.experiment.Checks.Sample }

// incomparable says why stored vectors cannot be compared with fresh ones, "" where they can.
func (s *session) incomparable() string {
	switch {
	case !s.store.Capabilities().Vectors:
		return fmt.Sprintf("the adapter %q does not return stored vectors", s.experiment.Backends.Store.Adapter)
	case s.storeInfo.VectorType == "uint8":
		return "the store keeps vectors as uint8, which cuts off fractions and signs: nothing that a fresh vector could be compared with is left"
	}
	return ""
}

// forCase returns the facts of one case: the sample, and the items that hold its gold.
func (s *session) forCase(ctx context.Context, id *identity, gold []matrix.GoldFacts) (*matrix.EmbedFacts, error) {
	if id == nil {
		return nil, nil
	}
	facts := id.facts
	facts.Sample = append([]matrix.EmbedSample{}, id.sample...)
	if !facts.BehaviourObserved {
		return &facts, nil
	}
	held := holders(gold)
	var more []string // gold that was not drawn, or drawn and not looked at as closely as gold is
	for _, h := range held {
		i := slices.IndexFunc(facts.Sample, func(v matrix.EmbedSample) bool { return v.ID == h })
		if i >= 0 {
			facts.Sample[i].Gold = true
		}
		if i < 0 || unsettled(&facts.Sample[i]) {
			more = append(more, h)
		}
	}
	if s.resuming.Seal && id.fresh == nil {
		return &facts, nil // nobody is asked for more
	}
	extra, _, err := s.compare(ctx, more, id.fresh)
	if err != nil {
		if over := s.ledger.overBudget(err); ctx.Err() != nil || over != nil {
			return nil, errors.Join(ctx.Err(), over)
		}
		facts.Error, facts.BehaviourObserved = callError(err), false
		return &facts, nil
	}
	for _, v := range extra {
		v.Gold = true
		if i := slices.IndexFunc(facts.Sample, func(known matrix.EmbedSample) bool { return known.ID == v.ID }); i >= 0 {
			facts.Sample[i] = v
			continue
		}
		v.Added = true
		facts.Sample = append(facts.Sample, v)
	}
	return &facts, nil
}

// unsettled reports whether a stored vector is unexplained and its item was left out of the searches of the sample.
func unsettled(v *matrix.EmbedSample) bool {
	explained := len(v.Tried) > 0 && v.Tried[len(v.Tried)-1].Cosine.Float() >= sameVector
	return v.Passage != nil && v.Passage.Float() < sameVector && v.OtherText == "" && !v.Searched && !explained
}

// holders lists the items that hold a case's gold, each once, and of one span no more than the first few.
func holders(gold []matrix.GoldFacts) []string {
	var out []string
	for _, g := range gold {
		for _, held := range [][]string{g.Exact, g.Folded} {
			for _, h := range held[:min(len(held), keepItems)] {
				if !slices.Contains(out, h) {
					out = append(out, h)
				}
			}
		}
	}
	return out
}

// sameVector is the cosine from which a way to embed a text explains a stored vector, as in matrix/verdict.
const sameVector = 0.999

const (
	batch      = 256 // ids or texts in one call
	mostPlaced = 64  // vectors of a sample that are held against all of its texts: each costs as many cosines as there are texts
)

// compare embeds the stored texts of ids afresh and holds the stored vectors against them. The items of the sample are held
// against the texts of all of them; those that are added for a case (drawn is then the sample's) against their own text and
// the sample's, so that what is said of one does not depend on the others.
func (s *session) compare(ctx context.Context, ids []string, drawn *fresh) ([]matrix.EmbedSample, *fresh, error) {
	var items []adapters.Item
	for some := range slices.Chunk(ids, batch) {
		found, err := s.store.Fetch(ctx, adapters.FetchRequest{IDs: some, Vectors: true})
		if err != nil {
			return nil, nil, err
		}
		items = append(items, found...)
	}
	mine, err := s.embedItems(ctx, items)
	if err != nil {
		return nil, nil, err
	}
	out := make([]matrix.EmbedSample, len(items))
	var open []*suspect
	for i, item := range items {
		own, ok := mine.at[item.Text]
		if !ok {
			out[i] = matrix.EmbedSample{ID: item.ID, Model: item.EmbedModel, Blank: true}
			continue
		}
		v := matrix.EmbedSample{ID: item.ID, Model: item.EmbedModel, Missing: item.Vector == nil, Repeats: mine.ids[own] != item.ID}
		if n := norm(item.Vector); n > 0 {
			v.Norm = decimal(n)
		} else {
			v.Zero = !v.Missing
		}
		if read, ok := mine.truncated[own]; ok {
			v.Truncated = &read
		}
		v.Passage = cosine(item.Vector, mine.vectors[own])
		if v.Passage == nil && !v.Missing && !v.Zero { // the embedder makes nothing of this text in so many dimensions
			out[i] = matrix.EmbedSample{ID: item.ID, Model: item.EmbedModel, Blank: true}
			continue
		}
		if len(item.Vector) != len(mine.vectors[own]) && v.Passage != nil {
			v.Shortened = min(len(item.Vector), len(mine.vectors[own]))
		}
		if v.Passage != nil && v.Passage.Float() < sameVector {
			switch {
			case drawn != nil:
				drawn.place(&v, item)
			case len(open) < mostPlaced:
				mine.place(&v, item)
			}
		}
		out[i] = v
		if v.Passage != nil && v.Passage.Float() < sameVector && v.OtherText == "" {
			open = append(open, &suspect{item: item, v: &out[i], own: mine.vectors[own], always: drawn != nil})
		}
	}
	// A vector of more than the text is explained by nothing that can be made of the text.
	if len(open) > 0 && s.storeInfo.EmbedInput == "" {
		if err := s.explain(ctx, open); err != nil {
			return nil, nil, err
		}
	}
	return out, mine, nil
}

// fresh holds one vector for each different text, as the embedder embeds passages now. Texts of nothing but white space, which
// embedders refuse or give anything for, are not in it.
type fresh struct {
	ids       []string // of the first item with the text
	texts     []string
	vectors   [][]float32
	truncated map[int]int
	at        map[string]int
}

// embedItems embeds the texts of items, equal texts once.
func (s *session) embedItems(ctx context.Context, items []adapters.Item) (*fresh, error) {
	f := &fresh{at: map[string]int{}, truncated: map[int]int{}}
	for i := range items {
		if _, ok := f.at[items[i].Text]; !ok && strings.TrimSpace(items[i].Text) != "" {
			f.at[items[i].Text] = len(f.texts)
			f.ids, f.texts = append(f.ids, items[i].ID), append(f.texts, items[i].Text)
		}
	}
	for some := range slices.Chunk(f.texts, batch) {
		embedded, _, err := s.embed(ctx, adapters.EmbedRequest{Texts: some, Purpose: adapters.ForPassage})
		if err != nil {
			return nil, err
		}
		for _, e := range embedded {
			if e.truncated != nil {
				f.truncated[len(f.vectors)] = *e.truncated
			}
			f.vectors = append(f.vectors, e.vector)
		}
	}
	return f, nil
}

// place finds which text's fresh vector is nearest to a stored vector: the item's own, or another.
func (f *fresh) place(v *matrix.EmbedSample, item adapters.Item) {
	v.Among, v.OwnNearest = len(f.texts), true
	if _, ok := f.at[item.Text]; !ok {
		v.Among++
	}
	best := v.Passage.Float()
	for i, text := range f.texts {
		if text == item.Text {
			continue
		}
		// A tie is not nearest: the vectors of a model that has nothing in common with this one may all be as far away.
		if c := cosine(item.Vector, f.vectors[i]); c != nil && (c.Float() > best || c.Float() == best && v.OwnNearest) {
			best, v.OwnNearest, v.Nearest, v.NearestCosine = c.Float(), false, f.ids[i], c
		}
	}
	if best >= sameVector {
		v.OtherText = v.Nearest
	}
}
