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
