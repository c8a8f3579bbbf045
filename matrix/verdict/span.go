package verdict

import "strings"

// Span is a piece of evidence that must be found in a text, prepared once for many texts.
type Span struct {
	exact  string // line ends normalised
	folded string
	hint   string // the longest run of ASCII letters and digits of folded
}

// SpanMatch says how a text holds a span.
type SpanMatch struct {
	Exact  bool // the bytes are there, line ends aside
	Folded bool // it is there once spelling that a reader does not see is folded away; an exact match is one, too
}

// NewSpan prepares s. Line ends around it are not part of it: YAML block scalars leave one behind.
func NewSpan(s string) Span {
	exact := strings.Trim(unifyLineEnds(s), "\n")
	folded := foldString(exact)
	return Span{exact: exact, folded: folded, hint: longestRun(folded)}
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

// Haystack is a text that many spans are looked for in. It is folded when the first span needs it, and only once; most
// texts never are, since a span whose longest word is not there cannot be. It is for one goroutine at a time.
type Haystack struct {
	text   string // line ends normalised
	plain  bool   // printable ASCII and white space: folding changes nothing but its case and white space
	lower  string // of a plain text, "" until it is needed
	folded string
	done   bool // folded is filled in
}

// NewHaystack prepares text for [Span.In].
func NewHaystack(text string) *Haystack {
	h := &Haystack{text: unifyLineEnds(text), plain: true}
	for i := range len(h.text) {
		if c := h.text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			h.plain = false
			break
		}
	}
	return h
}

// In is Match on a prepared text.
func (s Span) In(h *Haystack) SpanMatch {
	switch {
	case s.Blank():
		return SpanMatch{}
	case strings.Contains(h.text, s.exact):
		return SpanMatch{Exact: true, Folded: true}
	case h.plain && s.hint != "" && !strings.Contains(h.lowered(), s.hint):
		return SpanMatch{}
	}
	if !h.done {
		h.folded, h.done = foldString(h.text), true
	}
	return SpanMatch{Folded: strings.Contains(h.folded, s.folded)}
}

func (h *Haystack) lowered() string {
	if h.lower == "" {
		h.lower = strings.ToLower(h.text)
	}
	return h.lower
}

// longestRun returns the longest run of ASCII letters and digits.
func longestRun(s string) string {
	longest := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

func unifyLineEnds(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
