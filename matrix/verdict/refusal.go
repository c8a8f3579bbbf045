package verdict

// holds reports whether the text holds the pattern's words, whatever stands around them: a refusal is declared by its wording.
func (p *pattern) holds(in *prose) bool {
	if p.expr != nil {
		_, found, near := p.findExpression(in)
		return found || near == NearNegated
	}
	for i := range in.tokens {
		if _, _, ok := p.matchAt(in, i, false); ok {
			return true
		}
	}
	return false
}

// Refuses reports whether an answer holds one of the declared refusal phrases; the phrases may be expressions between slashes. A phrase
// that cannot be compiled holds in no answer. Whether the answer also meets a claim, and so is no refusal, is for [Checker.Check].
func Refuses(answer string, phrases []string) bool {
	text := readProse(answer)
	for _, phrase := range phrases {
		if p, err := newPattern(phrase); err == nil && p.holds(text) {
			return true
		}
	}
	return false
}
