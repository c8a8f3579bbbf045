package verdict

import "strings"

// Span is a piece of evidence that must be found in a text, prepared once for many texts.
type Span struct {
	exact  string // line ends normalised
	folded string
}

// SpanMatch says how a text holds a span.
type SpanMatch struct {
	Exact  bool // the bytes are there, line ends aside
	Folded bool // it is there once spelling that a reader does not see is folded away; an exact match is one, too
}

// NewSpan prepares s. Line ends around it are not part of it: YAML block scalars leave one behind.
func NewSpan(s string) Span {
	exact := strings.Trim(unifyLineEnds(s), "\n")
	return Span{exact: exact, folded: foldString(exact)}
}

// Blank reports whether nothing is left of the span that could be found. A blank span matches no text.
func (s Span) Blank() bool { return s.folded == "" }

// Match looks for the span in text. It takes time linear in the length of text, and folds it only where the bytes are not there.
func (s Span) Match(text string) SpanMatch {
	if s.Blank() {
		return SpanMatch{}
	}
	if strings.Contains(unifyLineEnds(text), s.exact) {
		return SpanMatch{Exact: true, Folded: true}
	}
	return SpanMatch{Folded: strings.Contains(foldString(text), s.folded)}
}

// Folded is a text folded once, to look for many spans in it. The zero value is the empty text.
type Folded struct {
	text   string // line ends normalised
	folded string
}

// FoldText prepares text for [Span.MatchFolded].
func FoldText(text string) Folded {
	text = unifyLineEnds(text)
	return Folded{text: text, folded: foldString(text)}
}

// String returns the folded text.
func (f Folded) String() string { return f.folded }

// MatchFolded is Match on a text that was folded before.
func (s Span) MatchFolded(f Folded) SpanMatch {
	if s.Blank() {
		return SpanMatch{}
	}
	if strings.Contains(f.text, s.exact) {
		return SpanMatch{Exact: true, Folded: true}
	}
	return SpanMatch{Folded: strings.Contains(f.folded, s.folded)}
}

func unifyLineEnds(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
