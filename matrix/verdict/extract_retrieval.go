package verdict

import (
	"slices"
	"strings"
	"unicode"

	"github.com/culprit-rag/culprit/matrix"
)

const (
	nearDuplicate  = 3 // of 4: how many of a text's words a shorter text must have to repeat it
	duplicateReach = 50
)

func (x *extractor) retrieval(r *matrix.Retrieval) RetrievalFeatures {
	out := RetrievalFeatures{Cell: r.Cell}
	for i := range x.c.Evidence.Required {
		var p Place
		for _, h := range r.Candidates {
			if p.BySpan == 0 && x.serves(i, h.ID, h.Source, h.Revision, h.Text) {
				p.BySpan, p.ID = h.Rank, h.ID
			}
			if p.BySource == 0 && x.named(i, h.ID, h.Source) {
				p.BySource = h.Rank
			}
		}
		for _, h := range r.Reranked {
			if p.Reranked == 0 && x.serves(i, h.ID, h.Source, h.Revision, h.Text) {
				p.Reranked = h.Rank
			}
		}
		if p.ID == "" && p.BySource > 0 {
			p.ID = r.Candidates[p.BySource-1].ID
		}
		if p.BySpan == 0 && r.Cell == matrix.CellC {
			p.Shared = x.shared(i, r.QueryEffective)
		}
		out.Gold = append(out.Gold, p)
	}
	for _, s := range r.Searches {
		ranks := make([]int, len(x.c.Evidence.Required))
		for i := range ranks {
			for _, h := range s.Candidates {
				if ranks[i] == 0 && x.serves(i, h.ID, h.Source, h.Revision, h.Text) {
					ranks[i] = h.Rank
				}
			}
		}
		out.Searches = append(out.Searches, ranks)
	}
	if r.Cell == matrix.CellC && x.c.HasGold() {
		out.Duplicate = x.duplicates(r.Candidates[:min(len(r.Candidates), max(r.K, duplicateReach))])
		for _, h := range r.Candidates {
			if x.outdated(h.ID, h.Source, h.Revision) {
				out.Outdated = append(out.Outdated, h.Rank)
			}
		}
	}
	for _, h := range r.PassedOn() {
		if !x.c.As.Authorised(h.Access, h.Metadata) {
			out.Forbidden = append(out.Forbidden, h.Rank)
		}
		if !admits(r.Filter, h) {
			out.Filtered = append(out.Filtered, h.Rank)
		}
	}
	return out
}

// outdated reports whether an item is one that the case declares to be superseded.
func (x *extractor) outdated(id, source, revision string) bool {
	return slices.ContainsFunc(x.c.Evidence.Distractors, func(d matrix.Distractor) bool {
		if d.Kind != matrix.Superseded || d.Source != id && d.Source != source {
			return false
		}
		// Of one source in two revisions, an item without a revision may be either.
		return d.Revision == revision || d.Revision == "" || revision == "" && !x.isGoldSource(d.Source)
	})
}

func (x *extractor) isGoldSource(source string) bool {
	return slices.ContainsFunc(x.c.Evidence.Required, func(r matrix.Requirement) bool {
		return slices.ContainsFunc(r.AnyOf, func(g matrix.Gold) bool { return g.Source == source })
	})
}

// shared lists the words of a query that stand in a gold text, as a reader sees it; the whole query, where all of it does.
func (x *extractor) shared(requirement int, query string) []string {
	g := GoldText(&x.o.Store, requirement)
	if g == nil || g.Text.Value == "" {
		return nil
	}
	folded := strings.TrimFunc(FoldText(query).String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if folded != "" && strings.Contains(x.fold(g.Text).String(), folded) {
		return []string{folded}
	}
	theirs := x.wordsOf(g.Text)
	return slices.DeleteFunc(distinctWords(folded), func(w string) bool {
		_, stands := slices.BinarySearch(theirs, w)
		return !stands || len(w) < leastWord && !strings.ContainsAny(w, "0123456789") || len(w) < 2 || slices.Contains(smallWords(), w)
	})
}

// leastWord is the length from which a word may say something; a code such as k9 may be shorter.
const leastWord = 3

func smallWords() []string {
	return strings.Fields("all and any are but can did for get had has her his how its may not off one our out see she the too use was who why you " +
		"about also does from have into must only over shall should some such than that their them then there these they this those " +
		"very were what when where which while will with would your")
}

// admits evaluates the filter on the returned item itself, so that a store that filters otherwise is seen.
func admits(filter matrix.Filter, h matrix.Hit) bool {
	for _, c := range filter {
		have := valuesOf(h, c.Field)
		shared := slices.ContainsFunc(have, func(v string) bool { return slices.Contains(c.AnyOf, v) })
		if shared == c.Not {
			return false
		}
	}
	return true
}

// valuesOf returns what an item has in a field of a filter.
func valuesOf(h matrix.Hit, field string) []string {
	one := func(v string) []string {
		if v == "" {
			return nil
		}
		return []string{v}
	}
	switch field {
	case "id":
		return one(h.ID)
	case "source":
		return one(h.Source)
	case "revision":
		return one(h.Revision)
	case "access":
		return h.Access
	}
	return h.Metadata[field]
}

func (x *extractor) duplicates(hits []matrix.Hit) []int {
	var out []int
	for i := range hits {
		mine := x.wordsOf(hits[i].Text)
		if len(mine) == 0 {
			continue
		}
		for j := range i {
			if hits[i].Text.Ref == hits[j].Text.Ref || repeats(mine, x.wordsOf(hits[j].Text)) {
				out = append(out, hits[i].Rank)
				break
			}
		}
	}
	return out
}

// wordsOf returns the distinct words of a text, sorted.
func (x *extractor) wordsOf(t matrix.Text) []string {
	w, ok := x.words[t.Ref]
	if !ok {
		w = distinctWords(x.fold(t).String())
		x.words[t.Ref] = w
	}
	return w
}

func distinctWords(s string) []string {
	w := make([]string, 0, len(s)/5)
	for word := range wordsIn(s) {
		w = append(w, word)
	}
	slices.Sort(w)
	return slices.Compact(w)
}

// repeats reports whether one of two texts says what the other says: all its words are the other's, and they are at least
// three quarters of them. Texts that differ in a name or a number are two facts.
func repeats(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if 4*len(a) < nearDuplicate*len(b) || slices.ContainsFunc(a, func(w string) bool {
		_, stands := slices.BinarySearch(b, w)
		return !stands
	}) {
		return false
	}
	// A word that turns or narrows what is said makes another fact of it.
	return !slices.ContainsFunc(b, func(w string) bool {
		_, shared := slices.BinarySearch(a, w)
		return !shared && slices.Contains(turningWords, w)
	})
}

var turningWords = strings.Fields("no not never none nobody only except unless without until before after nicht kein keine nie nur ohne außer bis sans ne pas jamais sauf")
