package experiments

import (
	"regexp"
	"strings"
)

// chunk is a piece of a text and the line at which it begins.
type chunk struct {
	text string
	line int
}

// block is a run of lines that belongs together: a paragraph, a list, a table, a fenced block of code.
type block struct {
	lines []string
	line  int
	code  bool
}

// section is what stands under a heading; path holds that heading and those above it.
type section struct {
	path   []string
	line   int
	blocks []block
}

// cut splits a text into chunks of at most maxWords words: by "none", "paragraph" or "heading". Every word of the text is
// in some chunk, and no words are put into another order. The headings above a chunk stand at its beginning, since a
// chunk is found and understood by them; they do not count as words of it.
func cut(text, by string, maxWords int, markdown bool) []chunk {
	if by == "none" {
		before, _, _ := strings.Cut(text, strings.TrimSpace(text))
		if whole := strings.TrimSpace(text); whole != "" {
			return []chunk{{text: whole, line: 1 + strings.Count(before, "\n")}}
		}
		return nil
	}
	var out []chunk
	for _, s := range sections(text, markdown) {
		out = append(out, s.chunks(by, maxWords)...)
	}
	return out
}

var (
	atxHeading = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	underline  = regexp.MustCompile(`^ {0,3}(={3,}|-{3,})[ \t]*$`)
	fence      = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
)

// sections reads a text line by line. Without markdown it is one section of paragraphs.
func sections(text string, markdown bool) []section {
	r := &sectionReader{markdown: markdown, out: []section{{line: 1}}}
	for i, line := range strings.Split(text, "\n") {
		r.line(strings.TrimRight(line, " \t\r"), i+1)
	}
	r.end()
	return r.out
}

type sectionReader struct {
	markdown bool
	out      []section
	levels   []int // of the headings in the path of the last section
	open     block
	closing  string // what ends the fenced block that is open
}

func (r *sectionReader) line(line string, number int) {
	if r.closing != "" {
		r.open.lines = append(r.open.lines, line)
		trimmed := strings.TrimLeft(line, " ")
		if strings.HasPrefix(trimmed, r.closing) && strings.Trim(trimmed, r.closing[:1]) == "" {
			r.closing = ""
			r.end()
		}
		return
	}
	if strings.TrimSpace(line) == "" {
		r.end()
		return
	}
	if r.markdown {
		if mark := fence.FindStringSubmatch(line); mark != nil {
			r.end()
			r.open = block{lines: []string{line}, line: number, code: true}
			r.closing = mark[1]
			return
		}
		if mark := atxHeading.FindStringSubmatch(line); mark != nil {
			r.end()
			r.heading(len(mark[1]), mark[2], number)
			return
		}
		if mark := underline.FindStringSubmatch(line); mark != nil && len(r.open.lines) == 1 {
			title := strings.TrimSpace(r.open.lines[0])
			r.open = block{}
			r.heading(map[byte]int{'=': 1, '-': 2}[mark[1][0]], title, number-1)
			return
		}
	}
	if len(r.open.lines) == 0 {
		r.open.line = number
	}
	r.open.lines = append(r.open.lines, line)
}

// end puts the open block into the last section.
func (r *sectionReader) end() {
	if len(r.open.lines) > 0 {
		last := &r.out[len(r.out)-1]
		last.blocks = append(last.blocks, r.open)
	}
	r.open = block{}
}

// heading begins a section below the headings of lower level.
func (r *sectionReader) heading(level int, title string, number int) {
	last := r.out[len(r.out)-1]
	keep := 0
	for keep < len(r.levels) && r.levels[keep] < level {
		keep++
	}
	if len(last.blocks) == 0 && len(last.path) > 0 && keep == len(r.levels) { // its words live on in the path of this one
		r.out = r.out[:len(r.out)-1]
	}
	path := append([]string{}, last.path[:keep]...)
	r.levels = append(append([]int{}, r.levels[:keep]...), level)
	r.out = append(r.out, section{path: append(path, strings.TrimSpace(title)), line: number})
}

// chunks packs the blocks of a section.
func (s section) chunks(by string, maxWords int) []chunk {
	head := strings.Join(nonEmpty(s.path), " > ")
	if len(s.blocks) == 0 {
		if head == "" {
			return nil
		}
		return []chunk{{text: head, line: s.line}}
	}
	var out []chunk
	var open []string
	words, line := 0, 0
	flush := func() {
		if len(open) > 0 {
			out = append(out, chunk{text: join(head, strings.Join(open, "\n")), line: line})
		}
		open, words = nil, 0
	}
	for _, b := range s.blocks {
		for i, piece := range b.pieces(maxWords) {
			n := len(strings.Fields(piece.text))
			if words+n > maxWords || by == "paragraph" || i > 0 {
				flush()
			}
			if len(open) == 0 {
				line = piece.line
			}
			open, words = append(open, piece.text), words+n
		}
	}
	flush()
	return out
}

// join puts the headings above a body. No empty line parts them: in a prompt, empty lines part one item from the next.
func join(head, body string) string {
	if head == "" {
		return body
	}
	return head + "\n" + body
}

func nonEmpty(in []string) []string {
	var out []string
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// sentenceEnd finds where a sentence, or an entry of a list or table, ends.
var sentenceEnd = regexp.MustCompile(`[.!?…]["'”’)\]]*\s+|\n[ \t]*(?:[-*+|]|[0-9]+[.)])`)

// pieces returns the block, or where it is too long, parts of it: cut between sentences, and only where one sentence
// is too long, between words. Code is cut between lines.
func (b block) pieces(maxWords int) []chunk {
	text := strings.Join(b.lines, "\n")
	if len(strings.Fields(text)) <= maxWords {
		return []chunk{{text: text, line: b.line}}
	}
	var units []string
	if b.code {
		units = strings.SplitAfter(text, "\n")
	} else {
		for from := 0; from < len(text); {
			to := len(text)
			if at := sentenceEnd.FindStringIndex(text[from:]); at != nil {
				to = from + at[1]
				if text[from+at[0]] == '\n' { // the mark of the next entry belongs to it
					to = from + at[0] + 1
				}
			}
			units = append(units, byWords(text[from:to], maxWords)...)
			from = to
		}
	}
	var out []chunk
	open, words, line, at := "", 0, b.line, b.line
	for _, unit := range units {
		n := len(strings.Fields(unit))
		if words > 0 && words+n > maxWords {
			out = append(out, chunk{text: strings.TrimSpace(open), line: line})
			open, words, line = "", 0, at
		}
		open, words, at = open+unit, words+n, at+strings.Count(unit, "\n")
	}
	if strings.TrimSpace(open) != "" {
		out = append(out, chunk{text: strings.TrimSpace(open), line: line})
	}
	return out
}

var wordPattern = regexp.MustCompile(`\S+\s*`)

// byWords cuts a sentence of more than maxWords words.
func byWords(sentence string, maxWords int) []string {
	spans := wordPattern.FindAllStringIndex(sentence, -1)
	if len(spans) <= maxWords {
		return []string{sentence}
	}
	var out []string
	from := 0
	for i := maxWords; i < len(spans); i += maxWords {
		out = append(out, sentence[from:spans[i][0]])
		from = spans[i][0]
	}
	return append(out, sentence[from:])
}
