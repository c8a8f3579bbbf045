package runner

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// suspect is an item whose stored vector is not that of its text.
type suspect struct {
	item   adapters.Item
	v      *matrix.EmbedSample
	own    []float32 // the fresh vector of its text
	always bool      // it holds gold: it is looked at whatever the bounds below say
}

// What is done for the suspects of a sample is bounded; a handful shows what all of them are.
const (
	mostSearched = 8 // suspects that the store is searched for
	mostCut      = 8 // suspects whose cut is looked for
	cutRounds    = 3 // calls that look for a cut
	cutSteps     = 8 // parts of a text in each of them
)

// commonPrefixes are what the widely used models with prefixes were trained with.
var commonPrefixes = []string{"query: ", "passage: ", "search_query: ", "search_document: ", "title: none | text: "}

// explain looks for what stored vectors are instead: their text under another prefix, another item's text, or the start of
// their text. It makes one call for each prefix, and a few for the others, however many suspects there are.
func (s *session) explain(ctx context.Context, open []*suspect) error {
	first, rest := open[:min(len(open), mostPlaced)], open[min(len(open), mostPlaced):]
	for _, prefix := range s.prefixes() {
		before := len(first)
		var err error
		if first, err = s.tryPrefix(ctx, first, prefix); err != nil {
			return err
		}
		if len(first) < before { // what explains none of so many is not tried on the rest
			if rest, err = s.tryPrefix(ctx, rest, prefix); err != nil {
				return err
			}
		}
	}
	open = slices.Concat(first, rest)
	if err := s.findOwners(ctx, bounded(open, mostSearched)); err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(x *suspect) bool {
		return x.v.OtherText != "" || x.v.StoredAt != "" || !x.v.OwnNearest && !x.always
	})
	return s.findCuts(ctx, bounded(open, mostCut))
}

// tryPrefix embeds the texts of the suspects behind a prefix, and returns those that it does not explain.
func (s *session) tryPrefix(ctx context.Context, open []*suspect, prefix string) ([]*suspect, error) {
	var texts []string
	for _, x := range open {
		texts = append(texts, x.item.Text)
	}
	vectors, err := s.embedTexts(ctx, texts, &prefix)
	if err != nil {
		return nil, err
	}
	var left []*suspect
	for _, x := range open {
		c := cosine(x.item.Vector, vectors[x.item.Text])
		if c != nil {
			x.v.Tried = append(x.v.Tried, matrix.EmbedTried{Prefix: prefix, Cosine: *c})
		}
		if c == nil || c.Float() < sameVector {
			left = append(left, x)
		}
	}
	return left, nil
}

func bounded(open []*suspect, most int) []*suspect {
	var out []*suspect
	for i, x := range open {
		if i < most || x.always {
			out = append(out, x)
		}
	}
	return out
}

// prefixes lists what may stand before the stored texts instead of the prefix for passages, the likely ones first.
func (s *session) prefixes() []string {
	var list []string
	for _, told := range []*string{s.experiment.Pins.Index.PassagePrefix, s.storeInfo.PassagePrefix} {
		if told != nil {
			list = append(list, *told)
		}
	}
	var out []string
	for _, p := range append(append(list, "", s.embedderInfo.QueryPrefix), commonPrefixes...) {
		if p != s.embedderInfo.PassagePrefix && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// embedTexts embeds each different text once.
func (s *session) embedTexts(ctx context.Context, texts []string, prefix *string) (map[string][]float32, error) {
	out := map[string][]float32{}
	var once []string
	for _, t := range texts {
		if _, ok := out[t]; !ok {
			out[t] = nil
			once = append(once, t)
		}
	}
	for some := range slices.Chunk(once, batch) {
		embedded, _, err := s.embed(ctx, adapters.EmbedRequest{Texts: some, Purpose: adapters.ForPassage, Prefix: prefix})
		if err != nil {
			return nil, err
		}
		for i, t := range some {
			out[t] = embedded[i].vector
		}
	}
	return out, nil
}

// cheaplyExact is up to how many items an exact search is asked for only to be sure: a store may have to read every vector for it.
const cheaplyExact = 40_000

// findOwners asks the store which items carry the vectors that the suspects' texts should have. An item with another text
// that does, and not the vector of its own, has a suspect's; and its text may in turn explain the vector of the suspect.
func (s *session) findOwners(ctx context.Context, open []*suspect) error {
	near := make([][]string, len(open))
	var ids []string
	for i, x := range open {
		if x.v.Shortened > 0 {
			continue
		}
		r, err := s.store.Search(ctx, adapters.SearchRequest{Mode: matrix.ModeDense, Vector: x.own, Limit: 3, Exact: s.store.Capabilities().Exact && s.storeInfo.Count <= cheaplyExact})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrBudget) {
			return err
		}
		if err != nil {
			continue // the question stays open; it is not the store's fault that it cannot be asked this way
		}
		x.v.Searched = true
		for _, h := range r.Hits {
			if h.ID != x.item.ID && h.Text != x.item.Text {
				near[i] = append(near[i], h.ID)
				if !slices.Contains(ids, h.ID) {
					ids = append(ids, h.ID)
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := s.store.Fetch(ctx, adapters.FetchRequest{IDs: ids, Vectors: true})
	if err != nil {
		return err
	}
	fresh, err := s.embedItems(ctx, found)
	if err != nil {
		return err
	}
	for i, x := range open {
		for _, h := range found {
			at, ok := fresh.at[h.Text]
			if !ok || !slices.Contains(near[i], h.ID) {
				continue
			}
			text := fresh.vectors[at]
			if isSame(x.item.Vector, text) && x.v.OtherText == "" {
				x.v.OtherText = h.ID
			}
			if isSame(h.Vector, x.own) && !isSame(h.Vector, text) && x.v.StoredAt == "" {
				x.v.StoredAt = h.ID
			}
		}
	}
	return nil
}

func isSame(a, b []float32) bool {
	c := cosine(a, b)
	return c != nil && c.Float() >= sameVector
}

// cutting narrows down how many words of a text a stored vector was made of: more than low and fewer than high.
type cutting struct {
	*suspect
	ends      []int // where each word of the text ends
	low, high int
	best      matrix.EmbedTried
}

// findCuts looks for the number of words at which a stored vector matches the start of its text. The nearer a cut is to the
// true one, the nearer are the vectors, so each round looks between the neighbours of the best cut so far.
func (s *session) findCuts(ctx context.Context, open []*suspect) error {
	var cuts []*cutting
	for _, x := range open {
		ends := wordEnds(x.item.Text)
		cuts = append(cuts, &cutting{suspect: x, ends: ends, high: len(ends), best: matrix.EmbedTried{Prefix: s.embedderInfo.PassagePrefix, Words: len(ends), Cosine: *x.v.Passage}})
	}
	for range cutRounds {
		var texts []string
		for _, c := range cuts {
			for _, words := range c.steps() {
				texts = append(texts, c.start(words))
			}
		}
		if len(texts) == 0 {
			break
		}
		vectors, err := s.embedTexts(ctx, texts, nil)
		if err != nil {
			return err
		}
		for _, c := range cuts {
			c.narrow(vectors)
		}
	}
	for _, c := range cuts {
		if c.best.Words < len(c.ends) {
			c.v.Tried = append(c.v.Tried, c.best)
		}
	}
	return nil
}

// steps are the numbers of words to try next; none where the vector is explained, or nothing lies between.
func (c *cutting) steps() []int {
	var out []int
	if c.best.Cosine.Float() >= sameVector {
		return nil
	}
	for i := 1; i < cutSteps; i++ {
		if w := c.low + (c.high-c.low)*i/cutSteps; w > c.low && w < c.high && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func (c *cutting) narrow(vectors map[string][]float32) {
	steps := c.steps()
	for _, words := range steps {
		if d := cosine(c.item.Vector, vectors[c.start(words)]); d != nil && d.Float() > c.best.Cosine.Float() {
			c.best.Words, c.best.Cosine = words, *d
		}
	}
	for _, words := range steps {
		if words < c.best.Words {
			c.low = max(c.low, words)
		}
		if words > c.best.Words {
			c.high = min(c.high, words)
		}
	}
}

// start returns the first words of the text.
func (c *cutting) start(words int) string { return c.item.Text[:c.ends[words-1]] }

// wordEnds returns the offsets at which the words of a text end.
func wordEnds(text string) []int {
	var out []int
	end := 0
	for _, word := range strings.Fields(text) {
		end += strings.Index(text[end:], word) + len(word)
		out = append(out, end)
	}
	return out
}
