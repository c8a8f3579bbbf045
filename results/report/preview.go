package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// sought is what a reader of a text looks for: the first of the expressions that stands in it, else the place with the most of
// the words. A preview that is cut shows that place, not the start of the text, which is often a title.
type sought struct {
	exprs []*regexp.Regexp
	words map[string]bool
}

// evidence is sought in what was found and packed: the spans of the gold, else the words of the question.
func evidence(c *matrix.Case) sought {
	s := sought{words: keywords(c.Question())}
	for _, r := range c.Evidence.Required {
		for _, g := range r.AnyOf {
			s.add(g.Span)
		}
	}
	return s
}

// statements are sought in answers: what the claims say, else their words.
func statements(c *matrix.Case) sought {
	var says []string
	var s sought
	for _, claim := range c.Claims {
		says = append(append(says, claim.Says), claim.Any...)
		for _, pattern := range append(claim.Any[:len(claim.Any):len(claim.Any)], claim.Never...) {
			s.add(pattern)
		}
	}
	s.words = keywords(strings.Join(says, " "))
	return s
}

// add looks for a text, with any white space in it, or for an expression between slashes.
func (s *sought) add(text string) {
	const longest = 2000
	words := strings.Fields(text)
	if len(words) == 0 || len(text) > longest {
		return
	}
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	source := strings.Join(words, `\s+`)
	if len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/") {
		source = text[1 : len(text)-1]
	}
	if expr, err := regexp.Compile("(?i)" + source); err == nil {
		s.exprs = append(s.exprs, expr)
	}
}

// keywords are the words of a text that may tell one passage from another, in lower case and without an end "s".
func keywords(text string) map[string]bool {
	words := map[string]bool{}
	eachWord(text, func(_, _ int, word string) {
		if utf8.RuneCountInString(word) > 3 || strings.ContainsFunc(word, unicode.IsDigit) {
			words[word] = true
		}
	})
	for _, common := range strings.Fields("about could does from have into much must shall should than that their there they thi what when where which will with would your") {
		delete(words, common)
	}
	return words
}

// eachWord visits the runs of letters and digits in text.
func eachWord(text string, visit func(from, to int, word string)) {
	from := -1
	for i, r := range text + " " {
		switch inside := unicode.IsLetter(r) || unicode.IsDigit(r); {
		case inside && from < 0:
			from = i
		case !inside && from >= 0:
			visit(from, i, strings.TrimSuffix(strings.ToLower(text[from:i]), "s"))
			from = -1
		}
	}
}

// preview is [fit], but where text has to be cut and its start does not hold what is sought, it starts "…" and near to that.
func (s sought) preview(text string, width int) string {
	start, cut := clean(text, max(width, 1))
	if !cut {
		return start
	}
	const most = 64 << 10 // bytes that are looked at
	from, to := s.find(text[:min(len(text), most)], width)
	if from < 0 || fits(text[:to], width) {
		return start
	}
	// What is sought comes in the last third of the room that is left, or further back where the text ends before the place does.
	lead := max(width-1-columns(fit(text[from:to], width)), 0) * 2 / 3
	begin := back(text, from, lead)
	if rest, cut := clean(text[begin:], width-1); !cut {
		begin = back(text, begin, width-1-columns(rest))
	}
	if space := strings.IndexAny(text[begin:from], " \n\t"); space >= 0 {
		begin += space + 1
		begin += len(text[begin:from]) - len(strings.TrimLeft(text[begin:from], " \n\t>|-·"))
	}
	return "…" + fit(text[begin:], max(width-1, 1))
}

// back returns where text begins so many columns before a place in it.
func back(text string, at, columns int) int {
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if columns -= runeWidth(r); columns < 0 {
			break
		}
		at -= size
	}
	return at
}

// fits reports whether text and the mark behind it have room.
func fits(text string, width int) bool {
	_, cut := clean(text, max(width-1, 1))
	return !cut
}

// find returns where what is sought stands, from -1 where it does not.
func (s sought) find(text string, width int) (from, to int) {
	for _, expr := range s.exprs {
		if at := expr.FindStringIndex(text); len(at) == 2 && at[1] > at[0] {
			return at[0], at[1]
		}
	}
	return s.densest(text, width)
}

// densest returns the place, about as long as what is shown, with the most different words; the first of several.
func (s sought) densest(text string, width int) (from, to int) {
	type place struct {
		from, to int
		word     string
	}
	var open []place
	from, to = -1, -1
	best, count := 0, map[string]int{}
	eachWord(text, func(a, b int, word string) {
		if !s.words[word] {
			return
		}
		open = append(open, place{a, b, word})
		count[word]++
		for len(open) > 1 && b-open[0].from > width*2/3 {
			if count[open[0].word]--; count[open[0].word] == 0 {
				delete(count, open[0].word)
			}
			open = open[1:]
		}
		if len(count) > best {
			best, from, to = len(count), open[0].from, b
		}
	})
	return from, to
}
