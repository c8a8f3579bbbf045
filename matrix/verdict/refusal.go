package verdict

import "slices"

// holds reports whether the text holds the pattern's words, whatever stands around and between them but other words: a refusal is
// declared by its wording, and models choose their own marks, full-width ones among them.
func (p *pattern) holds(in *prose) bool {
	if p.expr != nil {
		_, found, near := p.findExpression(in)
		return found || near == NearNegated
	}
	marks := !slices.ContainsFunc(p.tokens, func(t token) bool { return !bareMark(&t) }) // it is nothing else
	for i := range in.tokens {
		if p.wordsAt(in, i, marks) {
			return true
		}
	}
	return false
}

func (p *pattern) wordsAt(in *prose, at int, marks bool) bool {
	last, some := -1, false
	for n := range p.tokens {
		if bareMark(&p.tokens[n]) && !marks {
			continue
		}
		for some && at < len(in.tokens) && bareMark(&in.tokens[at]) && !marks {
			at++
		}
		if at >= len(in.tokens) {
			return false
		}
		w, g := &p.tokens[n], &in.tokens[at]
		if w.kind != g.kind || w.text != g.text && (w.unit == "" || w.unit != g.unit) && (w.kind != tokenNumber || !sameNumber(w.text, g.text)) {
			return false
		}
		last, some, at = at, true, at+1
	}
	return some && !in.tokens[last].glued
}

func sameNumber(a, b string) bool {
	equal, _ := equalNumbers(a, b)
	return equal
}

func bareMark(t *token) bool { return t.kind == tokenMark && t.unit == "" }
