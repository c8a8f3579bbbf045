package verdict

import "strings"

// reach is how many tokens back a negation may stand from what it governs; far, where it denies the whole clause: "does not say that".
const (
	reach = 8
	far   = 24
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// negated reports whether a negation directly governs the tokens [from,to): one before them in the same clause, or one that
// denies them right behind. Two negations cancel out. This is a reading of English word order, not a parser: what it finds is
// reported as a near miss, so that a person can see why a claim that looks stated was not counted.
func negated(tokens []token, from, to int) bool {
	return from < len(tokens) && tokens[from].struck || turnedRound(tokens, from) || excepted(tokens, from, to) || governed(tokens, from) || negatedElsewhere(tokens, from, to) ||
		denied(tokens, to) || answeredNo(tokens, to) || toldNo(tokens, from, to) || calledWrong(tokens, from, to) || disowned(tokens, from, to)
}

// turnedRound recognises "non-refundable" and "un-approved" for the word behind the hyphen.
func turnedRound(tokens []token, from int) bool {
	return from > 1 && from < len(tokens) && isMark(tokens, from-1, "-") && !tokens[from-1].space && !tokens[from].space && !tokens[from].block && prefixes[tokens[from-2].text]
}

// excepted recognises "anything but 60 crowns". "Nothing except 60 crowns" and "no fee other than 60 crowns" state it.
func excepted(tokens []token, from, to int) bool {
	ends := func(list []phrase, i int) int {
		for _, p := range list {
			if first := i - len(p.words); p.at(tokens, first) {
				return first
			}
		}
		return -1
	}
	for i := from; i > 0 && i < len(tokens) && from-i <= 3 && !tokens[i].block; i-- {
		first := ends(exceptions, i)
		if first < 0 && holdsValue(tokens, from, to) {
			first = ends(valueExceptions, i)
		} else if first < 0 && everywhere(tokens, ends(valueExceptions, i)) {
			return true
		}
		if first >= 0 {
			for j := first - 1; j >= 0 && first-j <= reach && !tokens[j].end && !tokens[j+1].block; j-- {
				if negators[tokens[j].text] || tokens[j].text == "nothing" {
					return false
				}
			}
			return true
		}
		if !light[tokens[i-1].text] {
			return false
		}
	}
	return false
}

func governed(tokens []token, at int) bool {
	count := 0
	bareVerb, apart := false, false // apart: only a negation of the whole clause still reaches
	joined, nor, ni := false, false, false
	at = beforeAside(tokens, at)
	for i := at - 1; i >= 0 && at-i <= far && !tokens[i].end && (i+1 == len(tokens) || !tokens[i+1].block); i-- {
		word := tokens[i].text
		apart = apart || at-i > reach
		switch {
		case tokens[i].kind != tokenWord:
		case word == "that" && at-i <= reach && untruth(tokens, i), (word == "whether" || word == "if" || word == "that") && i > 0 && (unclear[tokens[i-1].text] || disputed(tokens, i-1)):
			return true
		case word == "if" && isWord(tokens, i+2, "were"):
			return true // if it were
		case doubts[word] && i > 1 && isWord(tokens, i-1, "to") && untrue[tokens[i-2].text]:
			count++ // wrong to say
		case doubts[word] && !joined && doubted(tokens, i):
			return true
		case apart:
			joined = joined || joiners[word]
		case !bareVerb && (word == "than" && i > 0 && tokens[i-1].text == "rather" || word == "of" && i > 0 && tokens[i-1].text == "instead" || insteadElsewhere(tokens, i) && (at-i == 1 || at-i == 2 && articles[tokens[i+1].text])):
			return true
		case word == "neither" && nor: // counted with its nor
		case word == "yet" && isWord(tokens, i+1, "to") && i > 0 && auxiliaries[tokens[i-1].text], failing[word] && isWord(tokens, i+1, "to"):
			count++
		case (word == "yet" || word == "so") && i > 0 && tokens[i-1].text == "not": // not yet
		case word == "plus" && i > 1 && (french(tokens[i-1]) || french(tokens[i-2])) && !isWord(tokens, i+1, "de"): // n'avez plus
			count++
		case longer[word] && i > 0 && elsewhere[tokens[i-1].text] && !thans[tokens[i+1].text]: // inte längre
		case ni && (elsewhere[word] || negators[word]): // of which ni is a part
		case elsewhere[word] && governsElsewhere(tokens, i, at):
			count++
			ni = word == "ni" || word == "né"
		case negators[word] && governs(tokens, i, at, bareVerb):
			count++
			nor = nor || word == "nor"
		case negators[word], limits[word], openers[word]:
			apart, joined = true, joiners[word]
		case finiteElsewhere[word] && !(i > 0 && preverbal[tokens[i-1].text]):
			if i > 0 && nobodyElsewhere[tokens[i-1].text] || i > 1 && nobodyElsewhere[tokens[i-2].text] {
				count++ // niemand zahlt, personne ne paie
			}
			apart = true
		case finite[word] && count == 0:
			if nobody(tokens, i-1) || i == at-1 && beForms[word] && nothing(tokens, i) || denies(tokens, i-1) {
				count++ // "nobody gets", "no visa is required", "never applies"
			}
			apart = true
		case bareVerbs[word]:
			bareVerb = true
		case bareVerb && persona[word] && !(i > 0 && auxiliaries[tokens[i-1].text]): // if you have no card you pay
			apart = true
		}
	}
	return count%2 == 1
}

// doubted reports whether a negation stands right before the doubt at i: "does not explicitly say", but not "guests who do not know".
func doubted(tokens []token, i int) bool {
	next := i + 1
	if about := tokens[next].text; findings[tokens[i].text] && (about == "on" || about == "about" || about == "to" || about == "as") && next+1 < len(tokens) {
		next++
	}
	if word := tokens[next].text; !doubtful[word] || findings[tokens[i].text] && word != "that" && word != "whether" && (word != "if" || next > i+1) {
		return false
	}
	for j := i - 1; j >= 0 && i-j <= 3 && !tokens[j].end && !tokens[j+1].block; j-- {
		switch word := tokens[j].text; {
		case untrue[word], word == "impossible", word == "unclear":
			return true
		case word == "not", word == "never", word == "no", word == "unable", word == "without", word == "nobody":
			return !relative(tokens, j-1) && !relative(tokens, j-2)
		}
	}
	return false
}

// governs reports whether the negator at i reaches the token at.
func governs(tokens []token, i, at int, bareVerb bool) bool {
	switch tokens[i].text {
	case "none":
		return isWord(tokens, i+1, "of") && !(bareVerb && relative(tokens, i-1)) // "none of the guests"
	case "no":
		if romance[tokens[i+1].text] { // no es, but not "no hay duda de que"
			return at-i <= romanceReach && !(i+2 < at && dubious[tokens[i+2].text])
		}
		if tokens[i].upper && i > 0 && !tokens[i].block && !tokens[i-1].end && tokens[i+1].kind == tokenNumber {
			return false // platform No 5
		}
		if bareVerb && i > 0 && owning[tokens[i-1].text] {
			return false // guests with no card pay
		}
		if isWord(tokens, i+1, "one") {
			return !bareVerb || !relative(tokens, i-1)
		}
		if absolutes[tokens[i+1].text] || isWord(tokens, i+1, "longer") && !isWord(tokens, i+2, "than") && !bareVerb {
			return true // no longer applies from
		}
		return at-i <= 3 && !(i+1 < at && subjects[tokens[i+1].text]) // "no it is 30 days" denies something else
	case "not", "without":
		if i > 0 && auxiliaries[tokens[i-1].text] {
			// "who are not managers get 30 days": the verb behind starts anew. "do not get 30 days" does not.
			return !bareVerb || !beForms[tokens[i-1].text] && !relative(tokens, i-2)
		}
	default:
		return !bareVerb || !relative(tokens, i-1)
	}
	for _, t := range tokens[i+1 : at] {
		if t.kind == tokenWord && !light[t.text] {
			return false
		}
	}
	return true
}

// disputed reports whether the word at i disputes what "that" or "whether" behind it introduces; "no doubt that" does not.
func disputed(tokens []token, i int) bool {
	return disputes[tokens[i].text] && !(i > 0 && negators[tokens[i-1].text]) && !(i > 1 && negators[tokens[i-2].text])
}

// relative reports whether the token at i opens a clause about the noun before it.
func relative(tokens []token, i int) bool {
	return i >= 0 && (tokens[i].text == "who" || tokens[i].text == "that" || tokens[i].text == "which")
}

// untruth recognises "not true that" and "false that", with "that" at i.
func untruth(tokens []token, i int) bool {
	if i > 0 && untrue[tokens[i-1].text] {
		return i < 2 || tokens[i-2].text != "not"
	}
	if i > 1 && fables[tokens[i-1].text] { // a myth that
		return i < 3 || !negators[tokens[i-3].text] && !negators[tokens[i-2].text]
	}
	if i == 0 || !affirmed[tokens[i-1].text] {
		return false
	}
	return tokens[max(i-2, 0)].text == "not" || i > 2 && tokens[i-2].text == "the" && tokens[i-3].text == "not"
}

// denied recognises "X is not correct", "X does not apply", "X no longer applies".
func denied(tokens []token, to int) bool {
	if to < len(tokens) && tokens[to].block {
		return false
	}
	if isWord(tokens, to, "no") && isWord(tokens, to+1, "longer") || isWord(tokens, to, "never") && to+1 < len(tokens) && denials[strings.TrimSuffix(tokens[to+1].text, "s")] {
		return true
	}
	if to+1 < len(tokens) && replaced(tokens, to) {
		return true
	}
	if isWord(tokens, to, "by") && nobody(tokens, to+1+one(isWord(tokens, to+1, "no"))) {
		return true
	}
	if to < len(tokens) && restrictions[tokens[to].text] { // "the 30-day limit no longer applies", "the 60 crowns fee was abolished"
		return gone(tokens, to+1) || denied(tokens, to+1)
	}
	if to+2 >= len(tokens) || tokens[to].kind != tokenWord || !auxiliaries[tokens[to].text] {
		return false
	}
	switch tokens[to+1].text {
	case "not", "no", "never":
		return denials[tokens[to+2].text]
	}
	return false
}

// gone recognises "was abolished" and "has been lifted".
func gone(tokens []token, i int) bool {
	if i >= len(tokens) || tokens[i].block || !auxiliaries[tokens[i].text] {
		return false
	}
	for i++; i < len(tokens) && (tokens[i].text == "been" || tokens[i].text == "since" || tokens[i].text == "now"); i++ {
	}
	return i < len(tokens) && abolished[tokens[i].text] && !isWord(tokens, i+1, "for") // for members
}

// replaced recognises "has been replaced by" and "is superseded by".
func replaced(tokens []token, i int) bool {
	if !auxiliaries[tokens[i].text] {
		return false
	}
	for i++; i < len(tokens) && (tokens[i].text == "been" || tokens[i].text == "since" || tokens[i].text == "now"); i++ {
	}
	return i+1 < len(tokens) && (tokens[i].text == "replaced" || tokens[i].text == "superseded") && (tokens[i+1].text == "by" || tokens[i+1].text == "with")
}

// everywhere reports whether an exception that begins at the token at is one from all: "everywhere except zone B".
func everywhere(tokens []token, at int) bool {
	for i := at - 1; i >= 0 && at-i <= 4 && !tokens[i].end && !tokens[i+1].block; i-- {
		if alls[tokens[i].text] {
			return true
		}
	}
	return false
}

// nobody reports whether the token at i ends a subject that nobody is.
func nobody(tokens []token, i int) bool {
	return i >= 0 && (isWord(tokens, i, "nobody") || i > 0 && (isWord(tokens, i, "one") || persons[tokens[i].text]) && isWord(tokens, i-1, "no"))
}

// denies reports whether the word at i denies the verb behind it: "never costs", "no longer applies".
func denies(tokens []token, i int) bool {
	if isWord(tokens, max(i, 0), "longer") && i > 0 && isWord(tokens, i-1, "no") {
		return !relative(tokens, i-2)
	}
	return i >= 0 && adverbs[tokens[i].text] && !relative(tokens, i-1)
}

// nothing reports whether the subject before the verb at i is none: "no visa is". "No it is" denies something else.
func nothing(tokens []token, i int) bool {
	for j := i - 1; j >= 0 && i-j <= 4 && !tokens[j].end && !tokens[j+1].block; j-- {
		if tokens[j].text == "no" {
			return j < i-1 && closes(tokens, j-1) && !subjects[tokens[j+1].text]
		}
	}
	return false
}

// answeredNo recognises "X? No, Y", also with more words before the question mark, and "X? Wrong."
func answeredNo(tokens []token, to int) bool {
	for i := to; i < len(tokens) && i-to <= reach; i++ {
		if tokens[i].kind == tokenMark && tokens[i].text == "?" {
			if i+1 < len(tokens) && regrets[tokens[i+1].text] {
				i++
			}
			return i+1 < len(tokens) && noes[tokens[i+1].text] && (closes(tokens, i+2) || subjects[tokens[i+2].text]) ||
				isWord(tokens, i+1, "not") && (isWord(tokens, i+2, "quite") || isWord(tokens, i+2, "yet") || isWord(tokens, i+2, "at") && isWord(tokens, i+3, "all") && closes(tokens, i+4) || closes(tokens, i+2))
		}
		if tokens[i].end {
			return false
		}
	}
	return false
}

// closes reports whether a clause ends before the token at i.
func closes(tokens []token, i int) bool {
	return i < 0 || i >= len(tokens) || tokens[i].end || tokens[i].block
}

// toldNo recognises "X: no", "X = false", "X (not allowed)", "| X | no |", and a cross before or behind.
func toldNo(tokens []token, from, to int) bool {
	if from > 0 && from < len(tokens) && crosses[tokens[from-1].text] && (!tokens[from-1].block || tokens[from].space || !tokens[from].block) || to < len(tokens) && crosses[tokens[to].text] && !tokens[to].block {
		return true
	}
	if to+1 >= len(tokens) || tokens[to].kind != tokenMark || tokens[to].block || tokens[to+1].block {
		return false
	}
	word := tokens[to+1].text
	no := noes[word] && closes(tokens, to+2) && (!untrue[word] || word == "false") // that an option is wrong may be the answer
	switch tokens[to].text {
	case ":", "=", "-", "\uff1a":
		return no || isWord(tokens, to+1, "not") && to+2 < len(tokens) && (denials[tokens[to+2].text] || closes(tokens, to+2))
	case "(", "[":
		return no || isWord(tokens, to+1, "not") && to+2 < len(tokens) && denials[tokens[to+2].text]
	case "|": // the second of two cells
		label := from == 0 || tokens[from].block || from == 1 && tokens[0].text == "|" || tokens[from-1].text == "|" && tokens[from-1].block
		return no && label && (to+3 >= len(tokens) || tokens[to+3].block)
	}
	return false
}

// calledWrong recognises "60 crowns is wrong", "60 crowns (incorrect)", "wrong: 60 crowns", of a quantity or a date alone: that a statement
// or an option is wrong may be the answer.
func calledWrong(tokens []token, from, to int) bool {
	if !holdsValue(tokens, from, to) {
		return false
	}
	if from > 1 && isMark(tokens, from-1, ":") && untrue[tokens[from-2].text] && (from == 2 || closes(tokens, from-3) || tokens[from-2].block) {
		return true
	}
	i := to
	mark := i < len(tokens) && !tokens[i].block && (tokens[i].text == "(" || tokens[i].text == "[" || tokens[i].text == "-" || tokens[i].text == ",")
	if mark {
		i++
	}
	if isWord(tokens, i, "which") || isWord(tokens, i, "that") {
		i++
	}
	if i+1 < len(tokens) && auxiliaries[tokens[i].text] && tokens[i+1].text == "be" {
		i++ // would be wrong
	}
	be := i < len(tokens) && beForms[tokens[i].text]
	if be {
		i++
	}
	if i >= len(tokens) || i == to || tokens[i].block || isMark(tokens, to, ",") && !be {
		return false
	}
	return (untrue[tokens[i].text] || outdated[tokens[i].text]) && (be || closes(tokens, i+1))
}

// holdsValue reports whether [from,to) holds a quantity or a date.
func holdsValue(tokens []token, from, to int) bool {
	for i := from; i < min(to, len(tokens)); i++ {
		_, word := spelled[tokens[i].text]
		next := i+1 < to && tokens[i+1].kind == tokenWord
		if (tokens[i].kind == tokenNumber || word) && next || currency(tokens[i]) && i+1 < to && tokens[i+1].kind == tokenNumber || tokens[i].kind == tokenCode ||
			tokens[i].kind == tokenNumber && i+1 < to && tokens[i+1].unit != "" {
			return true
		}
	}
	return false
}

func french(t token) bool { return t.text == "ne" || t.text == "n" }

func holdsNegator(tokens []token) bool {
	for _, t := range tokens {
		if t.kind == tokenWord && (negators[t.text] || elsewhere[t.text] || hanNegators[t.text]) {
			return true
		}
	}
	return false
}
