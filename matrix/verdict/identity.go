package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// The rule by which stored vectors are held against fresh ones. docs/identity.md states it with what was measured.
const (
	// sameVector is the cosine from which a stored vector counts as a fresh embedding of a text. Half-precision storage costs
	// 3e-8 of cosine and another batch of the same backend less than six places show.
	sameVector = 0.999
	// nearVector is the cosine from which a stored vector that is nearest to its own text is too near for a search to be lost
	// by it: the same model in another precision stays above it.
	nearVector = 0.99
	// farVector is a median cosine below which relatives are too far away for what may stand around a text on purpose: no prefix,
	// title or edit that was measured took it below 0.93, another pooling or depth of the model took it to 0.41 or less.
	farVector = 0.6
	// chance is the most probable that another model may be taken for a relative, see kin.
	chance = 1.0 / 500
	// relativeNearest is a share of vectors that are nearest to their own text which relatives surpass: 31 of 32 was the smallest
	// that was measured, and texts that are closer to each other give fewer.
	relativeNearest = 0.8
)

func same(cosine *matrix.Decimal) bool { return cosine != nil && cosine.Float() >= sameVector }

// itemKind says what one stored vector is.
type itemKind int

const (
	itemWithout   itemKind = iota // no vector, or one of zeros
	itemSame                      // of its own text
	itemExplained                 // of its own text, embedded in another way
	itemMoved                     // of another item's text
	itemNear                      // of its own text, nearly
	itemOpen                      // none of these
)

func kindOf(v *matrix.EmbedSample) itemKind {
	switch {
	case v.Zero || v.Missing || v.Passage == nil:
		return itemWithout
	case same(v.Passage):
		return itemSame
	case explanation(v) != nil:
		return itemExplained
	case v.OtherText != "" || v.StoredAt != "":
		return itemMoved
	case (v.OwnNearest || v.Among == 0) && v.Passage.Float() >= nearVector:
		return itemNear
	}
	return itemOpen
}

// explanation returns the way of embedding its own text that gives a stored vector, nil where none is known. A cut is found to
// a word or so, and not to the token, so it need only be near, and nearer than the whole text.
func explanation(v *matrix.EmbedSample) *matrix.EmbedTried {
	for i := range v.Tried {
		t := &v.Tried[i]
		if c := t.Cosine.Float(); c >= sameVector || t.Words > 0 && c >= nearVector && v.Passage.Float() < nearVector {
			return t
		}
	}
	return nil
}

// kinship is who made the vectors that nothing explains.
type kinship int

const (
	kinNone     kinship = iota // there is no such vector
	kinRelative                // the same model, or one close to it
	kinStranger                // another model
	kinUnclear                 // they are too few to tell
)

// kin decides who made m unexplained vectors of which own are nearest to the text that they are stored with, among n different
// texts.
//
// Nothing ties the vectors of another model to their own texts: which text each is stored with is then a matter of chance, and
// of all ways to pair vectors with texts each is as probable as another. Whatever the two spaces look like, the expected number
// of sets of k vectors that are all nearest to their own text is then at most C(m,k)·(n-k)!/n!, and the probability of k or
// more is no larger. Where it is at most 1 in 500 they are called relatives: of 32 vectors it takes 6 (at most 1 in 720).
// They are called strangers where relatives, each nearest to its own text with probability relativeNearest, would be so few
// in at most 1 of 100 samples.
func kin(m, own, n int) kinship {
	switch {
	case m == 0:
		return kinNone
	case own > min(m, n): // no such sample can be, so nothing is said of it
		return kinUnclear
	case byChance(m, own, n) <= chance:
		return kinRelative
	case measure.ClopperPearsonUpper(own, m, 0.01).Float() <= relativeNearest:
		return kinStranger
	}
	return kinUnclear
}

// byChance bounds the probability that k or more of m vectors are nearest to their own of n texts by chance.
func byChance(m, k, n int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(m-i) / float64((i+1)*(n-i))
	}
	return min(p, 1)
}

// sample is what the comparison says: of the index by the items that were drawn, and of the item that holds the gold.
type sample struct {
	drawn, compared int  // compared: has a vector
	whole           bool // the index has no others
	shortened       int  // numbers that were compared, where the vectors of index and query differ in length
	matching, near  int
	moved, searched int // searched: the store was asked where the vectors of these belong
	explained       map[string]int
	kin             kinship
	open, own       int                 // vectors that nothing explains, and how many of them are nearest to their own text
	differ, among   int                 // open ones with different texts, among how many
	cosines         []float64           // of the open ones
	more            string              // what the index embeds besides the text
	gold            *matrix.EmbedSample // of the item that holds the gold, nil where it was not compared
	name            string              // of that item
}

func (x *facts) sample(g *goldState) sample {
	e := x.o.Store.Embed
	s := sample{explained: map[string]int{}, more: e.EmbedInput}
	drawn := 0
	for i := range e.Sample {
		v := &e.Sample[i]
		if slices.Contains(g.holders, v.ID) && (s.gold == nil || v.ID == g.place.ID) {
			s.gold, s.name = v, x.label(v.ID)
		}
		if v.Added {
			continue
		}
		if drawn++; !v.Blank {
			s.add(v, x)
		}
	}
	s.whole = x.o.Store.Scan.Complete && x.o.Store.Scan.Scanned <= drawn
	s.kin = kin(s.differ, s.own, s.among)
	return s
}

func (s *sample) add(v *matrix.EmbedSample, x *facts) {
	s.drawn++
	kind := kindOf(v)
	if kind == itemWithout {
		return
	}
	s.compared++
	s.shortened = v.Shortened
	if v.Searched {
		s.searched++
	}
	switch kind {
	case itemSame:
		s.matching++
	case itemExplained:
		s.explained[x.way(explanation(v))]++
	case itemMoved:
		s.moved++
	case itemNear:
		s.near++
	default:
		s.open++
		s.cosines = append(s.cosines, v.Passage.Float())
		if !v.Repeats && v.Among > 0 {
			s.differ++
			s.among = v.Among
			if v.OwnNearest {
				s.own++
			}
		}
	}
}
