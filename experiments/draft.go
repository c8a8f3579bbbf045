package experiments

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// draft is a case that was made of a sentence.
type draft struct {
	source, span, query string
	score               int
}

var (
	plainSentence = regexp.MustCompile(`^\p{Lu}[^\[\]{}<>|*_#` + "`" + `\\]*[\p{L}\p{N}]\.$`)
	wordRun       = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'’-]*`)
)

// draftOf finds the sentence of a document that tells most in few words, and asks for it with words of its own.
func draftOf(d *Document) (draft, bool) {
	heading, body := "", d.Text
	if first, rest, ok := strings.Cut(d.Text, "\n"); ok && (isMarkdown(d.File) || strings.Contains(first, " > ")) {
		heading, body = first, rest
	}
	best := draft{}
	for _, span := range sentences(body) {
		words := wordRun.FindAllString(span, -1)
		if !plainSentence.MatchString(span) || strings.Contains(span, "://") || len(words) < 7 || len(words) > 30 {
			continue
		}
		telling := tellingWords(words)
		if len(telling) < 4 {
			continue
		}
		score := min(len(telling), 8)
		if strings.ContainsFunc(span, unicode.IsDigit) { // a number is what a question can be about
			score += 3
		}
		if score > best.score {
			best = draft{source: d.Source, span: span, query: question(heading, telling), score: score}
		}
	}
	return best, best.score > 0
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

// question asks for a sentence by the heading above it and its own words.
func question(heading string, telling []string) string {
	if i := strings.LastIndex(heading, " > "); i >= 0 {
		heading = heading[i+len(" > "):]
	}
	asked := strings.Join(telling[:min(len(telling), 6)], " ")
	if heading = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ' || r == '-' {
			return r
		}
		return ' '
	}, heading)); heading == "" {
		return "What is said about " + asked + "?"
	}
	return strings.Join(strings.Fields(heading), " ") + ": what is said about " + asked + "?"
}
