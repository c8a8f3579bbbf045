package runner

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// identity compares stored vectors with fresh embeddings of the stored texts: once for the seeded sample, and for each case
// for the items that hold its gold. Names prove nothing; behaviour does.
type identity struct {
	facts  matrix.EmbedFacts
	sample []matrix.EmbedSample
	known  map[string]bool
}

// identify looks at the seeded sample. It returns nil where the pipeline embeds nothing.
func (s *session) identify(ctx context.Context, p *presence) (*identity, error) {
	if s.embedder == nil || s.experiment.Pipeline.Search.Mode == matrix.ModeKeyword {
		return nil, nil
	}
	info := s.storeInfo
	id := &identity{known: map[string]bool{}, facts: matrix.EmbedFacts{
		QueryModel: s.embedderInfo.Model, QueryDimensions: s.embedderInfo.Dimensions,
		QueryPrefix: s.embedderInfo.QueryPrefix, PassagePrefix: s.embedderInfo.PassagePrefix,
		IndexModel: info.EmbedModel, IndexDimensions: info.Dimensions, IndexDistance: info.Distance,
		IndexQueryPrefix: info.QueryPrefix, IndexPassage: info.PassagePrefix, DeclaredPerItem: info.DeclaredPerItem,
	}}
	if !s.store.Capabilities().Vectors {
		return id, nil
	}
	var ids []string
	for _, v := range p.sample {
		ids = append(ids, v.item.ID)
	}
	sample, err := s.compare(ctx, ids, false)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, ErrBudget) {
		return nil, err
	}
	if err != nil {
		id.facts.Error = callError(err)
		return id, nil
	}
	id.sample, id.facts.BehaviourObserved = sample, true
	for _, v := range sample {
		id.known[v.ID] = true
	}
	return id, nil
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
	for i := range facts.Sample {
		facts.Sample[i].Gold = slices.Contains(held, facts.Sample[i].ID)
	}
	more := slices.DeleteFunc(held, func(h string) bool { return id.known[h] })
	extra, err := s.compare(ctx, more, true)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrBudget) {
			return nil, errors.Join(ctx.Err(), err)
		}
		facts.Error, facts.BehaviourObserved = callError(err), false
		return &facts, nil
	}
	facts.Sample = append(facts.Sample, extra...)
	return &facts, nil
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

// compare embeds the stored texts of ids afresh and holds the stored vectors against them.
func (s *session) compare(ctx context.Context, ids []string, gold bool) ([]matrix.EmbedSample, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	items, err := s.store.Fetch(ctx, adapters.FetchRequest{IDs: ids, Vectors: true})
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = items[i].Text
	}
	passage, err := s.embed(ctx, texts, nil)
	if err != nil {
		return nil, err
	}
	out := make([]matrix.EmbedSample, len(items))
	for i, item := range items {
		v := matrix.EmbedSample{ID: item.ID, Gold: gold, Model: item.EmbedModel, Missing: item.Vector == nil}
		if n := norm(item.Vector); n > 0 {
			v.Norm = decimal(n)
		} else {
			v.Zero = !v.Missing
		}
		if read, ok := passage.Truncated[i]; ok {
			v.Truncated = &read
		}
		v.Passage = cosine(item.Vector, passage.Vectors[i])
		out[i] = v
		if v.Passage != nil && v.Passage.Float() < 0.999 {
			if err := s.explain(ctx, item, &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// embed embeds stored texts afresh. It counts against the limit of calls like any other call.
func (s *session) embed(ctx context.Context, texts []string, prefix *string) (adapters.EmbedResponse, error) {
	if err := s.spend(); err != nil {
		return adapters.EmbedResponse{}, err
	}
	return s.embedder.Embed(ctx, adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForPassage, Prefix: prefix})
}

// explain looks for what a stored vector is instead: the text under another prefix, or another item's text.
func (s *session) explain(ctx context.Context, item adapters.Item, v *matrix.EmbedSample) error {
	with := func(prefix string) (*matrix.Decimal, error) {
		r, err := s.embed(ctx, []string{item.Text}, &prefix)
		if err != nil {
			return nil, err
		}
		return cosine(item.Vector, r.Vectors[0]), nil
	}
	var err error
	if v.Bare, err = with(""); err != nil {
		return err
	}
	if v.AsQuery, err = with(s.embedderInfo.QueryPrefix); err != nil {
		return err
	}
	declared := s.storeInfo.PassagePrefix
	if pinned := s.experiment.Pins.Index.PassagePrefix; pinned != nil {
		declared = pinned
	}
	if declared != nil {
		if v.Pinned, err = with(*declared); err != nil {
			return err
		}
	}
	return s.findOwner(ctx, item, v)
}

// findOwner asks the store which item carries the vector that this text should have; if that item's text in turn explains
// the vector stored here, the two were swapped.
func (s *session) findOwner(ctx context.Context, item adapters.Item, v *matrix.EmbedSample) error {
	fresh, err := s.embed(ctx, []string{item.Text}, nil)
	if err != nil {
		return err
	}
	near, err := s.store.Search(ctx, adapters.SearchRequest{Mode: matrix.ModeDense, Vector: fresh.Vectors[0], Limit: 3, Exact: s.store.Capabilities().Exact})
	if err != nil {
		return nil // the question stays open; it is not the store's fault that it cannot be asked this way
	}
	for _, h := range near.Hits {
		if h.ID == item.ID || h.Text == item.Text {
			continue
		}
		other, err := s.embed(ctx, []string{h.Text}, nil)
		if err != nil {
			return err
		}
		if c := cosine(item.Vector, other.Vectors[0]); c != nil && c.Float() >= 0.999 {
			v.OtherText = h.ID
			return nil
		}
	}
	return nil
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x)) // un-fused: equal bytes on every CPU
	}
	return math.Sqrt(sum)
}

// cosine returns nil for vectors of different lengths, or where one has no length.
func cosine(a, b []float32) *matrix.Decimal {
	na, nb := norm(a), norm(b)
	if len(a) != len(b) || na == 0 || nb == 0 {
		return nil
	}
	var dot float64
	for i := range a {
		dot += float64(float64(a[i]) * float64(b[i]))
	}
	d := decimal(dot / float64(na*nb))
	return &d
}

// score keeps eight significant digits, so that small scores that differ stay apart; minus zero is zero. A number that is
// none is no score.
func score(f float64) *matrix.Decimal {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	if f == 0 {
		f = 0
	}
	d := matrix.Decimal(strconv.FormatFloat(f, 'g', 8, 64))
	return &d
}

// decimal keeps six places; minus zero is zero.
func decimal(f float64) matrix.Decimal {
	f = math.Round(f*1e6) / 1e6
	if f == 0 {
		f = 0
	}
	return matrix.NewDecimal(f)
}
