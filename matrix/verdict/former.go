package verdict

// formerWords before a quantity or a date tell what was so once.
var formerWords = set("previously", "formerly", "originally", "former", "used", "bisher", "vorher", "auparavant", "anteriormente")

// moves are changes that a date may have seen; "the course extends from 1 March to 1 May" is none.
var moves = set("postponed", "changed", "moved", "rescheduled", "delayed", "updated", "adjusted", "deferred")

// former reports whether the quantity or the date at from is what was so before: "previously 30 days", and 30 days in "changed from 30 days to
// 60 days".
func former(in *prose, from int) bool {
	tokens := in.tokens
	q, d := in.quantities[from], in.dates[from]
	if q == nil && d.to == 0 || tokens[from].block {
		return false
	}
	if from > 0 && isWord(tokens, from-1, "from") {
		switch {
		case q != nil:
			_, again := in.quantities[q.to+1]
			return isWord(tokens, q.to, "to") && again && changed(tokens, from-1, changes)
		default:
			_, again := in.dates[d.to+1]
			return isWord(tokens, d.to, "to") && again && changed(tokens, from-1, moves)
		}
	}
	for i := from - 1; i >= 0 && from-i <= 5 && !tokens[i].end && !tokens[i+1].block; i-- {
		word := tokens[i].text
		switch {
		case word == "used":
			return isWord(tokens, i+1, "to")
		case formerWords[word], word == "once" && i > 0 && beForms[tokens[i-1].text], word == "früher" && !isWord(tokens, i+1, "als"),
			word == "past" && i > 1 && tokens[i-1].text == "the" && tokens[i-2].text == "in":
			return true
		case word == "was" || word == "were" || word == "be":
		case finite[word] || bareVerbs[word] || openers[word] || negators[word]:
			return false
		}
	}
	return false
}

// tellsFormer reports whether the word at i speaks of what was so before.
func tellsFormer(tokens []token, i int) bool {
	return formerWords[tokens[i].text] && (tokens[i].text != "used" || isWord(tokens, i+1, "to")) || moves[tokens[i].text]
}
