package verdict

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Spans looks for many spans in many texts, each text in one pass whatever their number.
type Spans struct {
	list          []Span
	exact, folded *finder
}

// Found is one span that stands in a text.
type Found struct {
	Span int // its place among those given to [NewSpans]
	SpanMatch
}

// NewSpans prepares spans. A blank one is never found.
func NewSpans(list []Span) *Spans {
	exact, folded := make([]string, len(list)), make([]string, len(list))
	for i, s := range list {
		if !s.Blank() {
			exact[i], folded[i] = s.exact, s.folded
		}
	}
	return &Spans{list: list, exact: newFinder(exact), folded: newFinder(folded)}
}

// In returns the spans that stand in the text, in their order, each as [Span.Match] finds it.
func (s *Spans) In(text string) []Found {
	f := FoldText(text)
	var out []Found
	s.exact.each(f.text, func(n int) { out = append(out, Found{n, SpanMatch{Exact: true, Folded: true}}) })
	s.folded.each(f.folded, func(n int) { out = append(out, Found{n, SpanMatch{Folded: true}}) })
	// The exact match of a span was appended before its folded one, and stays before it.
	slices.SortStableFunc(out, func(a, b Found) int { return a.Span - b.Span })
	return slices.CompactFunc(out, func(a, b Found) bool { return a.Span == b.Span })
}

// The foldings that [Span.Folding] tells apart.
const (
	FoldNFC   = "nfc"         // the same characters, composed otherwise
	FoldCase  = "case"        // upper and lower case
	FoldSpace = "white space" // kinds and amounts of white space
	FoldMore  = "several"     // more than one of these, or kinds of dashes, quotation marks and compatibility forms
)

// Folding names the one folding under which text holds the span, for a text that holds it only folded.
func (s Span) Folding(text string) string {
	text = unifyLineEnds(text)
	space := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	switch {
	case strings.Contains(norm.NFC.String(text), norm.NFC.String(s.exact)):
		return FoldNFC
	case strings.Contains(foldCase(text), foldCase(s.exact)):
		return FoldCase
	case strings.Contains(space(text), space(s.exact)):
		return FoldSpace
	}
	return FoldMore
}

// Split says which of a document's texts hold the span only together: the end of one and the start of another, which may
// overlap.
type Split struct {
	span   string         // folded
	starts map[int]string // bytes of the span with which the text of that id ends, counted from its start
	ends   map[int]string // bytes of the span that are missing where the text of that id begins
}

// longEnough is how many bytes a span needs to be looked for in two parts of a word: of a shorter one, a text may begin or end
// with them by chance. Some languages write no space between words.
const longEnough = 8

// NewSplit prepares the span for [Split.Add]; the texts may come in any order.
func (s Span) NewSplit() *Split {
	return &Split{span: s.folded, starts: map[int]string{}, ends: map[int]string{}}
}

// Add looks at the text of one item of the document.
func (p *Split) Add(id, text string) {
	text = foldString(text)
	for cut := range p.span {
		between := cut > 0 && (p.span[cut] == ' ' || p.span[cut-1] == ' ')
		if cut == 0 || !between && len(p.span) < longEnough {
			continue
		}
		if p.starts[cut] == "" && strings.HasSuffix(text, strings.TrimSuffix(p.span[:cut], " ")) {
			p.starts[cut] = id
		}
		if p.ends[cut] == "" && strings.HasPrefix(text, strings.TrimPrefix(p.span[cut:], " ")) {
			p.ends[cut] = id
		}
	}
}

// Pair returns the ids of two texts that hold the span together, nil where none do.
func (p *Split) Pair() []string {
	for i := len(p.span) - 1; i > 0; i-- {
		for j := 1; j <= i && p.starts[i] != ""; j++ {
			if p.ends[j] != "" && p.ends[j] != p.starts[i] {
				return []string{p.starts[i], p.ends[j]}
			}
		}
	}
	return nil
}
