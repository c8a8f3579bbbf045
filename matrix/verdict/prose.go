package verdict

import (
	"html"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// prose is a text made ready to be searched for claims.
type prose struct {
	text       string // normalised
	tokens     []token
	dates      map[int]dated     // by first token; nil: none, as of the maps below
	dayOf      map[int]int       // token of a day → token of its month
	quantities map[int]*quantity // by first token, and by that of the number
	intervals  map[int]*interval // by first token, and by that of the first number
	within     []*interval       // in order
	parts      []part
}

// part is one block of a text: where it begins in the normalised text, and in the text as it came.
type part struct {
	start, from int
	source      string
}

// readProse normalises a text, splits it into tokens and finds its dates and quantities. Marks of Markdown and HTML that a reader does
// not see go; a paragraph, a line of a list or a table, and a heading begin a block, beyond which no negation reaches.
func readProse(s string) *prose {
	p := &prose{}
	p.normalise(unmarked(s))
	p.tokens = tokenise(p.text)
	next := 1
	for i := range p.tokens {
		for next < len(p.parts) && p.tokens[i].start >= p.parts[next].start {
			p.tokens[i].block = true
			next++
		}
	}
	strike(p.tokens)
	for _, d := range findDates(p.tokens) {
		if p.dates == nil {
			p.dates, p.dayOf = map[int]dated{}, map[int]int{}
		}
		p.dates[d.from] = d
		if d.dayAt >= 0 {
			p.dayOf[d.dayAt] = d.monthAt
		}
	}
	p.findQuantities()
	return p
}

// valued reports whether there is anything that is compared by its value.
func (p *prose) valued() bool {
	return len(p.dates) > 0 || len(p.quantities) > 0 || len(p.intervals) > 0
}

func (p *prose) normalise(s string) {
	var out strings.Builder
	from := 0
	add := func(to int) {
		if text := tokenText(s[from:to]); text != "" {
			if out.Len() > 0 {
				out.WriteByte(' ')
			}
			p.parts = append(p.parts, part{start: out.Len(), from: from, source: s[from:to]})
			out.WriteString(text)
		}
		from = to
	}
	blank := false
	for at := 0; at < len(s); {
		end := len(s)
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		line := strings.Trim(s[at:end], " \t\r\n\x00")
		unnumbered := strings.HasPrefix(strings.TrimLeft(s[at:end], " \t*_#>("), "\x00")
		if at > from && line != "" && (blank || unnumbered || opensBlock(line)) {
			add(at)
		}
		blank = line == ""
		at = end
	}
	add(len(s))
	p.text = out.String()
}

// opensBlock reports whether a line begins with a mark of a list, a heading, a quotation or a table.
func opensBlock(line string) bool {
	for _, mark := range []string{"- ", "* ", "+ ", "#", ">", "|", "\u2022", "\u2013 "} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return numbered(line) > 0
}

// numbered returns the number of "1. ", "1) " and "**1.** " at the start of a line, 0 for none.
func numbered(line string) int {
	line = strings.TrimLeft(line, " \t\x00*_#>(")
	n := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if n == 0 || n > 2 || n+1 >= len(line) || line[n] != '.' && line[n] != ')' || strings.IndexByte(" \t*_\x00", line[n+1]) < 0 {
		return 0
	}
	return atoi(line[:n])
}

// unmarked writes NUL, which is not seen, over what Markdown and HTML mean for no reader: a backslash before a mark, tags, and the
// numbers of a list, of which there are two in a row. It keeps every other byte in its place.
func unmarked(s string) string {
	if !strings.ContainsAny(s, "\\<&\n") {
		return s
	}
	out := []byte(s)
	open := false // a comment begins and ends nowhere
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && strings.IndexByte("$%_*#~()[]{}.-+!|&<>", s[i+1]) >= 0 {
				out[i] = 0
				i++
				if s[i] == '(' || s[i] == ')' {
					out[i] = 0 // a formula: \(30\)
				}
			}
		case '&':
			if at := numeric.FindString(s[i:min(len(s), i+longestEntity)]); at != "" {
				blank(out[i:i+len(at)], html.UnescapeString(at))
				break
			}
			for _, e := range entities {
				if strings.HasPrefix(s[i:], e.name) {
					blank(out[i:i+len(e.name)], e.text)
					break
				}
			}
		case '<':
			if strings.HasPrefix(s[i:], "<!--") && !open {
				end := strings.Index(s[i:], "-->")
				if open = end < 0; !open {
					blank(out[i:i+end+len("-->")], " ")
					i += end + len("--")
					continue
				}
			}
			if name, text := htmlTag(s[i:]); name != "" {
				blank(out[i:i+len(name)], text)
			}
		}
	}
	unnumber(out)
	return string(out)
}

// entities are those of HTML that models write, with what they stand for, which is no longer.
var entities = []struct{ name, text string }{{"&nbsp;", " "}, {"&lt;", "<"}, {"&gt;", ">"}, {"&le;", "≤"}, {"&ge;", "≥"}, {"&minus;", "−"}, {"&euro;", "€"}, {"&amp;", "&"}}

// numeric is an entity that gives the number of a character, which takes fewer bytes.
var numeric = regexp.MustCompile(`^&#(?:[0-9]{2,7}|[xX][0-9a-fA-F]{2,6});`)

const longestEntity = 10

// blank writes text over the bytes and NUL over the rest of them.
func blank(out []byte, text string) {
	clear(out)
	copy(out, text)
}

// htmlTag returns the tag that a text begins with, of those that models write, and what stands in its place: what is deleted is struck as
// Markdown strikes it.
func htmlTag(s string) (tag, text string) {
	const longest = 120 // with attributes
	end := strings.IndexByte(s[:min(len(s), longest)], '>')
	if end < 0 {
		return "", ""
	}
	name, _, _ := strings.Cut(strings.Trim(s[1:end], "/ "), " ")
	switch name = strings.ToLower(name); name {
	case "br", "p", "li", "ul", "ol", "td", "tr", "th", "table", "div":
		return s[:end+1], " "
	case "del", "s", "strike":
		return s[:end+1], "~~"
	case "b", "i", "em", "strong", "u", "sup", "sub", "code", "span", "mark", "ins", "a":
		return s[:end+1], ""
	}
	return "", ""
}

// unnumber writes over the numbers of a list. One number alone, as in "1. September 2026", is none.
func unnumber(out []byte) {
	type mark struct{ at, n int }
	var marks []mark
	for at := 0; at < len(out); {
		end := len(out)
		if n := strings.IndexByte(string(out[at:min(len(out), at+lineHead)]), '\n'); n >= 0 {
			end = at + n
		}
		if n := numbered(string(out[at:min(end, at+lineHead)])); n > 0 {
			marks = append(marks, mark{at, n})
		}
		next := at
		for next < len(out) && out[next] != '\n' {
			next++
		}
		at = next + 1
	}
	for i, m := range marks {
		if i > 0 && marks[i-1].n == m.n-1 || i+1 < len(marks) && marks[i+1].n == m.n+1 {
			at := m.at
			for !isDigit(rune(out[at])) {
				at++
			}
			for ; isDigit(rune(out[at])) || out[at] == '.' || out[at] == ')'; at++ {
				out[at] = 0
			}
		}
	}
}

// lineHead is how many bytes of a line are looked at for the number of a list.
const lineHead = 24

// strike marks what stands between ~~ and ~~.
func strike(tokens []token) {
	twice := func(i int) bool { return isMark(tokens, i, "~") && isMark(tokens, i+1, "~") && !tokens[i+1].space }
	open := -1
	for i := 0; i < len(tokens); i++ {
		switch {
		case !twice(i):
		case open < 0:
			open, i = i+2, i+1
		default:
			for j := open; j < i; j++ {
				tokens[j].struck = true
			}
			open, i = -1, i+1
		}
	}
}

// origin returns where [start,finish) of the normalised text stands in the text as it came, in bytes.
func (p *prose) origin(at stated) Extent {
	return Extent{From: p.original(at.start, false), To: p.original(at.finish, true)}
}

// original finds a place by normalising heads of its block, which grow with what they are made from.
func (p *prose) original(at int, end bool) int {
	if len(p.parts) == 0 {
		return 0
	}
	b := p.parts[max(sort.Search(len(p.parts), func(i int) bool { return p.parts[i].start > at || end && p.parts[i].start == at })-1, 0)]
	at -= b.start
	if !end {
		at++ // the character that begins there
	}
	if asItCame(p.text[b.start:], b.source, at) {
		if !end {
			at--
		}
		return b.from + at
	}
	n := sort.Search(len(b.source), func(n int) bool { return len(tokenText(b.source[:runeEnd(b.source, n)])) >= at })
	n = runeEnd(b.source, n)
	if !end {
		n = runeStart(b.source, n-1)
	}
	return b.from + n
}

// asItCame reports whether n bytes at the start of a block were left as they came, and are plain.
func asItCame(text, source string, n int) bool {
	if n < 1 || n > len(source) || n > len(text) || text[:n] != source[:n] || source[n-1] == ' ' {
		return false
	}
	for i := range n {
		if source[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func runeEnd(s string, n int) int {
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

func runeStart(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return max(n, 0)
}
