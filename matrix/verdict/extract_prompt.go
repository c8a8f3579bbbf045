package verdict

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// basePrompt is the prompt of the case without any context. What stands there was not brought by an item.
type basePrompt struct {
	messages []string // folded
	text     string
	folded   string
	words    map[string]int // how often each stands there
}

func (x *extractor) readBase() {
	prompter, problems := matrix.NewPrompter(&x.e.Pipeline)
	if len(problems) > 0 {
		return // an experiment whose templates do not parse was never run
	}
	var texts []string
	for _, m := range prompter.Messages(x.c, nil) {
		texts = append(texts, m.Text)
		x.base.messages = append(x.base.messages, FoldText(m.Text).String())
	}
	x.base.text = strings.Join(texts, "\n")
	x.base.folded = FoldText(x.base.text).String()
	x.base.words = countWords(x.base.folded)
}

func (x *extractor) goldPlace(requirement int, t *matrix.Trial, prompt *foldedPrompt) GoldPlace {
	var g GoldPlace
	untold := false // of what may be the gold's item, the text: of one that has its name, or that the retrieval did not return
	for _, p := range t.Packed {
		if g.Packed == 0 && (x.serves(requirement, p.ID, p.Source, p.Revision, p.Text) || p.Gold && x.holdsAny(requirement, p.Text)) {
			g.Packed, g.PackedID = p.Position, p.ID
		}
		if g.ByID == 0 && x.named(requirement, p.ID, p.Source) {
			g.ByID, untold = p.Position, untold || p.Text.Ref == ""
		}
		untold = untold || p.Text.Ref == "" && t.Retrieval != "" && x.retrieved(t.Retrieval)[p.ID] == nil
	}
	// The span counts as being in the prompt only if a packed item brings it: a short span may stand elsewhere by chance, such
	// as in the question.
	for _, alternative := range x.c.Evidence.Required[requirement].AnyOf {
		if g.Packed == 0 && !untold && !t.Unseen(matrix.PackedUnobserved) || g.Prompt {
			continue
		}
		span := NewSpan(alternative.Span)
		if strings.Count(prompt.folded.String(), span.folded) > strings.Count(x.base.folded, span.folded) {
			g.Prompt, g.Role = true, x.roleOf(t.Prompt, prompt.messages, span)
		}
	}
	if !g.Prompt && g.Packed > 0 && t.Unseen(matrix.PromptUnobserved) {
		g.Prompt, g.Assumed = true, true
	}
	return g
}

// roleOf returns the role of the messages that bring a span, "" where there are several roles.
func (x *extractor) roleOf(messages []matrix.PromptMessage, folded []string, span Span) string {
	role := ""
	for i, m := range messages {
		n := strings.Count(folded[i], span.folded)
		if i < len(x.base.messages) {
			n -= strings.Count(x.base.messages[i], span.folded)
		}
		switch {
		case n <= 0:
		case role != "" && role != m.Role:
			return ""
		default:
			role = m.Role
		}
	}
	return role
}

// brought returns the words of a packed text that the prompt does not hold anyway, all of them where there is none.
func (x *extractor) brought(t matrix.Text) []string {
	all := x.wordsOf(t)
	own := slices.DeleteFunc(slices.Clone(all), func(w string) bool {
		return x.base.words[w] > 0
	})
	if len(own) == 0 {
		return all
	}
	return own
}

// mostlyAdded reports whether more than half of the words of a packed text stand more often in the prompt that was read last than in
// the prompt without context. A question that asks in the words of the text holds most of them as well.
func (x *extractor) mostlyAdded(t matrix.Text) bool {
	all, shown, added := x.wordsOf(t), x.last.words(), 0
	for _, w := range all {
		added += one(shown[w] > x.base.words[w])
	}
	return 2*added > len(all)
}

func countWords(s string) map[string]int {
	const each = 8 // bytes of a text, of which many words are the same
	n := make(map[string]int, len(s)/each)
	for w := range wordsIn(s) {
		n[w]++
	}
	return n
}

// wordsIn goes through the runs of letters and digits of a text.
func wordsIn(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for at := 0; at < len(s); {
			size, within := 1, false
			if c := s[at]; c < utf8.RuneSelf {
				within = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
			} else {
				var r rune
				r, size = utf8.DecodeRuneInString(s[at:])
				within = isWordRune(r)
			}
			if !within {
				if from < at && !yield(s[from:at]) {
					return
				}
				from = at + size
			}
			at += size
		}
		if from < len(s) {
			yield(s[from:])
		}
	}
}

// mentioned reports whether a name stands in a prompt more often than in the prompt without context, as a word of its own.
func (x *extractor) mentioned(prompt, name string) bool {
	return mentions(prompt, name) > mentions(x.base.text, name)
}

func mentions(text, name string) int {
	if name == "" {
		return 0
	}
	n := 0
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return n
		}
		start, end := at+i, at+i+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isWordRune(before) && !isWordRune(after) {
			n++
		}
		at = end
	}
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func (x *extractor) holdsAny(requirement int, t matrix.Text) bool {
	return slices.ContainsFunc(x.c.Evidence.Required[requirement].AnyOf, func(g matrix.Gold) bool { return x.holds(t, g.Span) })
}

// retrieved maps the ids that a retrieval returned to its items. The trials of a case share a retrieval.
func (x *extractor) retrieved(callKey string) map[string]*matrix.Hit {
	if known, ok := x.hits[callKey]; ok {
		return known
	}
	out := map[string]*matrix.Hit{}
	for i := range x.o.Retrievals {
		if r := &x.o.Retrievals[i]; r.CallKey == callKey {
			for j := range r.Candidates {
				out[r.Candidates[j].ID] = &r.Candidates[j]
			}
		}
	}
	x.hits[callKey] = out
	return out
}

func joinPrompt(messages []matrix.PromptMessage) matrix.Text {
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(m.Text.Value)
	}
	return matrix.Text{Value: b.String()}
}

// mostlyIn reports whether at least three of four of the words stand among others.
func mostlyIn(words []string, others map[string]int) bool {
	if len(words) == 0 {
		return false
	}
	found := 0
	for _, w := range words {
		found += one(others[w] > 0)
	}
	return 4*found >= nearDuplicate*len(words)
}

// foreignFigure reports whether one of the words is a number that is not among others. One digit may number a list, or be
// written as a word elsewhere.
func foreignFigure(words []string, others map[string]int) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return others[w] == 0 && len(w) > 1 && strings.Trim(w, "0123456789") == ""
	})
}
