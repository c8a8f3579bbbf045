package experiments

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// draft is a case that was made of a sentence.
type draft struct {
	source, span, query string
	score               int // 0: the span is a line, for want of a sentence
	heading             string
	letters             string
	chunks              int // that hold the span
}

// drafting looks for the fittest draft: the first that scores best among those whose span stands in one place, under a
// heading of its own.
type drafting struct {
	seen     int
	drafts   []draft // best first
	line     draft
	headings map[string]int // → chunks under it
}

const (
	draftsFrom = 500 // documents that drafts are made of: a first case does not need more
	draftsKept = 24
)

func (w *drafting) see(d *Document) {
	if w.seen++; w.seen > draftsFrom {
		return
	}
	if w.headings == nil {
		w.headings = map[string]int{}
	}
	headings, _ := headed(d)
	w.headings[strings.Join(headings, " > ")]++
	if one, ok := draftOf(d); ok {
		at, _ := slices.BinarySearchFunc(w.drafts, one, func(other, one draft) int {
			if other.score >= one.score {
				return -1
			}
			return 1
		})
		if w.drafts = slices.Insert(w.drafts, at, one); len(w.drafts) > draftsKept {
			w.drafts = w.drafts[:draftsKept]
		}
	}
	if one := draftOfLine(d); len(strings.Fields(one.span)) > len(strings.Fields(w.line.span)) {
		w.line = one
	}
}

// count looks for the spans of the drafts in a document, as a run will.
func (w *drafting) count(d *Document) {
	if len(w.drafts) == 0 {
		return
	}
	text := letters(d.Text)
	for i := range w.drafts {
		one := &w.drafts[i]
		if one.letters == "" {
			one.letters = letters(one.span)
		}
		if strings.Contains(text, one.letters) {
			one.chunks++
		}
	}
}

func (w *drafting) best() draft {
	if len(w.drafts) == 0 {
		return w.line
	}
	least := func(d draft) int { return 2*max(d.chunks, 1) + min(w.headings[d.heading], 2) }
	return slices.MinFunc(w.drafts, func(a, b draft) int { return cmp.Compare(least(a), least(b)) }) // of equals, the first
}

var (
	plainSentence = regexp.MustCompile(`^\p{Lu}[^\[\]{}<>|*_#=` + "`" + `\\]*[\p{L}\p{N}]\.$`)
	listMark      = regexp.MustCompile(`\s[0-9]{1,2}\.$`) // of the entry that follows
	wordRun       = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'’-]*`)
)

// notHeading is how a line looks that is no heading: the entry of a list or table, a quotation, the end of a sentence.
var notHeading = regexp.MustCompile(`^\s*([-*+|>]|[0-9]+[.)]\s)|[.,:;|]\s*$`)

// headed parts the headings above a piece from the piece.
func headed(d *Document) (headings []string, body string) {
	first, rest, ok := strings.Cut(d.Text, "\n")
	if ok && (isMarkdown(d.File) && !notHeading.MatchString(first) || strings.Contains(first, " > ")) {
		return strings.Split(first, " > "), rest
	}
	return nil, d.Text
}

// draftOf finds the sentence of a document that tells most in few words, and asks for it.
func draftOf(d *Document) (draft, bool) {
	headings, body := headed(d)
	best := draft{}
	for _, span := range sentences(body) {
		words := wordRun.FindAllString(span, -1)
		if !plainSentence.MatchString(span) || strings.Contains(span, "://") || strings.Contains(span, "--") || len(words) < 7 || len(words) > 30 {
			continue
		}
		telling := tellingWords(words)
		if len(telling) < 4 || listMark.MatchString(span) {
			continue
		}
		score := min(len(telling), 8)
		if strings.ContainsFunc(span, unicode.IsDigit) { // a number is what a question can be about
			score += 3
		}
		if len(headings) > 1 { // it is about something narrower than the whole document
			score += 2
		}
		if score > best.score {
			best = draft{source: d.Source, span: span, query: question(headings, telling), score: score, heading: strings.Join(headings, " > ")}
		}
	}
	return best, best.score > 0
}

// draftOfLine takes the longest line of a document that holds words, at least a heading.
func draftOfLine(d *Document) draft {
	headings, body := headed(d)
	best := draft{source: d.Source}
	longest := 0
	for line := range strings.Lines(body + "\n" + strings.Join(headings, "\n")) {
		words := wordRun.FindAllStringIndex(line, -1)
		if n := len(words); n > longest {
			longest = n
			best.span = strings.Join(strings.Fields(line[words[0][0]:words[min(n, 12)-1][1]]), " ")
		}
	}
	topic := tellingWords(wordRun.FindAllString(best.span, -1))
	if len(topic) == 0 {
		topic = []string{strings.TrimSuffix(path.Base(d.Source), path.Ext(d.Source))}
	}
	best.query = question(headings, topic)
	return best
}

// sentences cuts a text at the ends of sentences. Line breaks in one become spaces, which makes no difference to whether
// it is found.
func sentences(body string) []string {
	var out []string
	from := 0
	for _, end := range sentenceEnd.FindAllStringIndex(body, -1) {
		out = append(out, strings.Join(strings.Fields(body[from:end[1]]), " "))
		from = end[1]
	}
	return append(out, strings.Join(strings.Fields(body[from:]), " "))
}

// tellingWords are the longer words that say something, each once.
func tellingWords(words []string) []string {
	common := []string{
		"about", "after", "again", "before", "being", "between", "could", "every", "other", "rather", "should", "since", "their", "there",
		"these", "those", "through", "under", "until", "using", "where", "which", "while", "within", "without", "would",
	}
	var out []string
	for _, w := range words {
		if w = strings.ToLower(w); len([]rune(w)) > 4 && !slices.Contains(common, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// question asks for what stands under a heading, in the heading's words. A single word is too little to search by: then the
// heading above it is named too. Without a heading, or with one that says too little, telling words join it.
func question(headings, telling []string) string {
	// words that few documents hold, so that they do not search along
	const ask = "What do the docs say about "
	var topics []string
	for _, h := range headings {
		if h = topic(h); h != "" {
			topics = append(topics, h)
		}
	}
	n := len(topics)
	switch {
	case n > 0 && len(strings.Fields(topics[n-1])) > 1:
		return ask + topics[n-1] + "?"
	case n > 1:
		return ask + topics[n-1] + " in " + topics[n-2] + "?"
	}
	words := slices.Concat(topics, telling[:min(len(telling), 4-n)])
	if last := len(words) - 1; last > 0 {
		return ask + strings.Join(words[:last], ", ") + " and " + words[last] + "?"
	}
	return ask + strings.Join(words, "") + "?"
}

// topic takes the signs out of a heading.
func topic(heading string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-'’.", r) {
			return r
		}
		return ' '
	}, heading)), " ")
}
