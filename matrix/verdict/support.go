package verdict

import (
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// context is what an answer may rest on, read once for the trials that share it.
type context struct {
	words      map[string]bool
	numbers    map[string]bool // by value
	dates      []date
	quantities []*quantity

	unsupported map[string][]Extent // by the text of an answer
}

func readContext(texts []*prose) *context {
	c := &context{words: map[string]bool{}, numbers: map[string]bool{}, unsupported: map[string][]Extent{}}
	for _, p := range texts {
		for i := range p.tokens {
			switch t := &p.tokens[i]; t.kind {
			case tokenNumber:
				r := parseNumber(t.text)
				c.numbers[r.certain] = true
				for _, s := range r.possible {
					c.numbers[s] = true
				}
			case tokenMark:
			default:
				c.words[stemmed(t.text)] = true
			}
		}
		for _, d := range p.dates {
			c.dates = append(c.dates, d.date)
		}
		for _, q := range p.quantities {
			c.quantities = append(c.quantities, q)
		}
	}
	return c
}

// stemmed takes the end "s" off a word, so that a plural is found by its singular.
func stemmed(word string) string { return strings.TrimSuffix(word, "s") }

// leastWords are the content words that a sentence without a number or a date must have to be looked at.
const leastWords = 3

// unsupported returns the sentences of an answer that the context does not support. A sentence is not supported where a number or a date
// of it stands nowhere in the context (numbers by value, a quantity also in another unit, a date where the context tells it as exactly),
// or where fewer than half of its different content words do; the question counts as context. Content words are those that are not in
// idleWords, which are words of grammar, of courtesy, and those in which an answer speaks of itself.
// Not looked at are sentences with fewer than three content words and no number or date, such as a greeting; those that hold a phrase
// of refusal; and what is nothing but citations. The overlap knows no meaning: an unsupported sentence may be a true paraphrase, and a
// supported one may turn the context round. So it decides nothing.
func (k *Checker) unsupported(answer string, c *context) []Extent {
	p := k.prose(withoutCitations(answer))
	var out []Extent
	for from := 0; from < len(p.tokens); {
		to := from + 1
		for to < len(p.tokens) && !p.tokens[to].block && !sentenceEnd(p.tokens, to-1) {
			to++
		}
		if !k.supported(p, from, to, c) {
			out = append(out, p.origin(stated{p.tokens[from].start, p.tokens[to-1].finish}))
		}
		from = to
	}
	return out
}

// sentenceEnd reports whether the token at i ends a sentence: a full stop with a space behind it, or one of the scripts that write none.
func sentenceEnd(tokens []token, i int) bool {
	if tokens[i].kind != tokenMark || i+1 >= len(tokens) {
		return false
	}
	switch tokens[i].text {
	case ".":
		next := &tokens[i+1]
		return next.space && (i == 0 || len(tokens[i-1].text) > 1) && (next.upper || next.kind != tokenWord)
	case "!", "?", "\u3002":
		return true
	}
	return false
}

func (k *Checker) supported(p *prose, from, to int, c *context) bool {
	content, found := map[string]bool{}, 0
	values, known := 0, true
	for i := from; i < to; {
		if d, ok := p.dates[i]; ok && d.to <= to {
			values++
			known = known && c.tells(d)
			i = d.to
			continue
		}
		t := &p.tokens[i]
		switch word := stemmed(t.text); {
		case t.kind == tokenNumber:
			values++
			known = known && c.counts(p, i)
		case t.kind == tokenMark || idleWords[t.text] || content[word] || multiples[t.text] > 0:
		default:
			_, number := spelled[t.text]
			if number {
				break
			}
			content[word] = true
			if c.words[word] {
				found++
			}
		}
		i++
	}
	switch {
	case values == 0 && len(content) < leastWords || k.refuses(&prose{text: p.text[p.tokens[from].start:p.tokens[to-1].finish], tokens: p.tokens[from:to]}):
		return true
	case !known:
		return false
	}
	return 2*found >= len(content)
}

// tells reports whether the context has the date.
func (c *context) tells(d dated) bool {
	for _, told := range c.dates {
		if told.entails(d.date) || d.other != nil && told.entails(*d.other) {
			return true
		}
	}
	return false
}

// counts reports whether the context has the number at i, or the quantity that it belongs to.
func (c *context) counts(p *prose, i int) bool {
	r := parseNumber(p.tokens[i].text)
	for _, s := range append(r.possible, r.certain) {
		if s != "" && c.numbers[s] {
			return true
		}
	}
	for j := i; j >= 0 && i-j <= reach; j-- {
		if q := p.quantities[j]; q != nil && q.from <= i && i < q.to {
			for _, told := range c.quantities {
				if _, miss, _, ok := q.stated(told, false); ok && miss != NearOtherNumber {
					return true
				}
			}
		}
	}
	return false
}

// idleWords carry nothing that a context could support.
var idleWords = set(strings.Fields(`a about above according additional additionally after again all also although am an and answer any anything are as asked asking assist
	at available based be because been before being below besides between both but by can certainly clarification contact context could course dear did do document
	documents does doing don't during each either else etc every excerpt feel few first follow following follows for found free from full further furthermore
	generally given glad good got great had happy has have having he hello help helpful helps her here hi him his hope how however i if important in information instead into is it
	its itself just kindly know let like made make makes many may me mean means mentioned might more moreover most much must my need needed needs no nor not note now of
	off on once one only or other otherwise our out over overall own please provide provided provides question questions reach regard regarding regards response same say
	says see shall she should since so some sorry source sources specific specifically state stated states still such summary sure than thank thanks that the their
	them then there therefore these they this those though through thus to too two under unless until up upon us using very want was we welcome well were what when
	where whether which while who whom whose why will with within without would yes yet you your yours`)...)

// supportTexts are the texts that a trial's answer may rest on: the packed items as far as their texts are told, else the prompt; and the
// question. ok is false where neither is told.
func (x *extractor) supportTexts(t *matrix.Trial) (c *context, ok bool) {
	key := ""
	for _, p := range t.Packed {
		key += p.Text.Ref + "\n"
	}
	told := !t.Unseen(matrix.PackedUnobserved)
	for _, p := range t.Packed {
		told = told && p.Text.Value != ""
	}
	if !told {
		if len(t.Prompt) == 0 || t.Unseen(matrix.PromptUnobserved) {
			return nil, false
		}
		key = "prompt\n"
		for _, m := range t.Prompt {
			key += m.Text.Ref + "\n"
		}
	}
	if c, ok := x.contexts[key]; ok {
		return c, true
	}
	var texts []*prose
	for _, p := range t.Packed {
		if told {
			texts = append(texts, x.checker.prose(p.Text.Value))
		}
	}
	for _, m := range t.Prompt {
		if !told {
			texts = append(texts, x.checker.prose(m.Text.Value))
		}
	}
	texts = append(texts, x.checker.asked...)
	c = readContext(texts)
	x.contexts[key] = c
	return c, true
}
