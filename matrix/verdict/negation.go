package verdict

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

var (
	negators = set("not", "never", "no", "without", "cannot", "neither", "nor", "nobody", "none")

	// untrue before "that" negates the whole clause behind it; so does a negation of affirmed.
	untrue   = set("false", "untrue", "incorrect", "wrong")
	outdated = set("outdated", "obsolete", "superseded")
	affirmed = set("true", "correct", "right", "accurate", "case")

	// doubts under a negation leave open what is behind them: "does not say that", "no evidence that", "cannot confirm".
	// Another clause has to follow: "not confirmed within 30 days" leaves nothing open.
	doubts = set("say", "says", "said", "state", "states", "stated", "mention", "mentions", "mentioned", "confirm", "confirmed", "specify", "specifies",
		"know", "indicate", "indicates", "think", "believe", "suggest", "imply", "mean", "guarantee", "verify", "determine", "sure", "certain",
		"clear", "evidence", "indication", "proof", "mentioning")

	doubtful = set("that", "whether", "if", "the", "it", "there", "this", "what", "how", "explicitly")
	nouns    = set("evidence", "indication", "proof", "mention", "guarantee")

	// joiners go on with another clause, of which a doubt before them says nothing.
	joiners = set("but", "and", "yet", "so", "because", "since", "while", "although", "though", "which", "who", "whereas", "however", "instead",
		"then", "therefore")

	// absolutes behind "no" deny the whole clause: "under no circumstances".
	absolutes = set("circumstances", "circumstance", "way", "account")

	// persons behind "no" are a subject that nobody is: "no employee gets".
	persons = set("employee", "employees", "staff", "guest", "guests", "person", "people", "member", "members", "customer", "customers", "user", "users",
		"manager", "managers", "worker", "workers", "visitor", "visitors", "passenger", "passengers", "student", "students", "traveller", "travellers",
		"applicant", "applicants", "contractor", "contractors", "trainee", "trainees")

	// limits turn a negation into a bound that still states the value: not later than, not before, must not exceed.
	limits = set("than", "before", "until", "till", "after", "beyond", "exceed", "exceeds", "exceeding", "exceeded", "over", "above",
		"under", "below", "past", "only", "just", "merely", "simply", "unless", "except")

	// openers begin another clause, or a part of the sentence that a negation before it does not govern.
	openers = set("but", "and", "yet", "so", "because", "since", "while", "although", "though", "if", "when", "which", "who", "that",
		"where", "whereas", "however", "instead", "then", "therefore")

	beForms     = set("is", "are", "was", "were", "am", "be", "been", "being")
	auxiliaries = set("is", "are", "was", "were", "am", "has", "have", "had", "do", "does", "did", "will", "would", "shall", "should",
		"can", "could", "may", "might", "must", "need")
	finite = set("is", "are", "was", "were", "has", "had", "does", "did", "will", "would", "shall", "should", "can", "could", "may",
		"might", "must", "applies", "gets", "receives", "takes", "starts", "begins", "costs", "needs", "includes", "lasts", "ends",
		"remains", "becomes", "means", "equals")
	bareVerbs = set("get", "receive", "have", "need", "pay", "apply", "take", "start")

	// light words may stand between a bare "not" or "without" and what it governs: "not from the 1st".
	light = set("the", "a", "an", "from", "on", "in", "at", "for", "of", "to", "by", "as", "about", "around", "approximately",
		"exactly", "be", "within", "during", "with", "into", "any", "all", "every", "or", "always", "necessarily", "even", "yet")

	subjects = set("it", "he", "she", "they", "we", "you", "i", "that", "this", "there", "the")

	// denials behind "X is not" and "X does not" deny X itself; "30 days is not negotiable" does not.
	denials = set("the", "correct", "right", "true", "accurate", "valid", "allowed", "permitted", "applicable", "effective", "available",
		"mentioned", "specified", "stated", "given", "listed", "found", "supported", "confirmed",
		"covered", "included", "reimbursed", "reimbursable", "possible", "enough", "sufficient", "required", "in", "what", "when",
		"apply", "count", "exist", "hold", "longer")
)

// negated reports whether a negation directly governs the tokens [from,to): one before them in the same clause, or one that
// denies them right behind. Two negations cancel out. This is a reading of English word order, not a parser: what it finds is
// reported as a near miss, so that a person can see why a claim that looks stated was not counted.
func negated(tokens []token, from, to int) bool {
	return from < len(tokens) && tokens[from].struck || governed(tokens, from) || denied(tokens, to) || answeredNo(tokens, to) || calledWrong(tokens, from, to)
}

func governed(tokens []token, at int) bool {
	count := 0
	bareVerb, apart := false, false // apart: only a negation of the whole clause still reaches
	joined, nor := false, false
	for i := at - 1; i >= 0 && at-i <= far && !tokens[i].end && (i+1 == len(tokens) || !tokens[i+1].block); i-- {
		word := tokens[i].text
		apart = apart || at-i > reach
		switch {
		case tokens[i].kind != tokenWord:
		case word == "that" && at-i <= reach && untruth(tokens, i):
			return true
		case doubts[word] && !joined && doubted(tokens, i):
			return true
		case apart:
			joined = joined || joiners[word]
		case !bareVerb && (word == "than" && i > 0 && tokens[i-1].text == "rather" || word == "of" && i > 0 && tokens[i-1].text == "instead"):
			return true
		case word == "neither" && nor: // counted with its nor
		case negators[word] && governs(tokens, i, at, bareVerb):
			count++
			nor = nor || word == "nor"
		case negators[word], limits[word], openers[word]:
			apart, joined = true, joiners[word]
		case finite[word] && count == 0:
			if nobody(tokens, i-1) {
				count++ // "nobody gets"
			}
			apart = true
		case bareVerbs[word]:
			bareVerb = true
		}
	}
	return count%2 == 1
}

// doubted reports whether a negation stands right before the doubt at i: "does not explicitly say", but not "guests who do not know".
func doubted(tokens []token, i int) bool {
	if next := tokens[i+1].text; !doubtful[next] || nouns[tokens[i].text] && next != "that" && next != "whether" {
		return false
	}
	for j := i - 1; j >= 0 && i-j <= 3 && !tokens[j].end && !tokens[j+1].block; j-- {
		switch tokens[j].text {
		case "not", "never", "no", "unable", "without":
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
		if isWord(tokens, i+1, "one") {
			return !bareVerb || !relative(tokens, i-1)
		}
		if absolutes[tokens[i+1].text] {
			return true
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

// relative reports whether the token at i opens a clause about the noun before it.
func relative(tokens []token, i int) bool {
	return i >= 0 && (tokens[i].text == "who" || tokens[i].text == "that" || tokens[i].text == "which")
}

// untruth recognises "not true that" and "false that", with "that" at i.
func untruth(tokens []token, i int) bool {
	if i > 0 && untrue[tokens[i-1].text] {
		return i < 2 || tokens[i-2].text != "not"
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
	if isWord(tokens, to, "no") && isWord(tokens, to+1, "longer") {
		return true
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

// nobody reports whether the token at i ends a subject that nobody is.
func nobody(tokens []token, i int) bool {
	return i >= 0 && (isWord(tokens, i, "nobody") || i > 0 && (isWord(tokens, i, "one") || persons[tokens[i].text]) && isWord(tokens, i-1, "no"))
}

// answeredNo recognises "X? No, Y", also with more words before the question mark.
func answeredNo(tokens []token, to int) bool {
	for i := to; i < len(tokens) && i-to <= reach; i++ {
		if tokens[i].kind == tokenMark && tokens[i].text == "?" {
			return isWord(tokens, i+1, "no") && (i+2 == len(tokens) || tokens[i+2].end || subjects[tokens[i+2].text])
		}
		if tokens[i].end {
			return false
		}
	}
	return false
}

// calledWrong recognises "60 crowns is wrong", of a quantity or a date alone: that a statement or an option is wrong may be the answer.
func calledWrong(tokens []token, from, to int) bool {
	if to >= len(tokens) || !beForms[tokens[to].text] || to+1 >= len(tokens) || !untrue[tokens[to+1].text] && !outdated[tokens[to+1].text] {
		return false
	}
	for i := from; i+1 < to; i++ {
		if tokens[i].kind == tokenNumber && tokens[i+1].kind == tokenWord || currency(tokens[i]) && tokens[i+1].kind == tokenNumber {
			return true
		}
	}
	return false
}

func holdsNegator(tokens []token) bool {
	for _, t := range tokens {
		if t.kind == tokenWord && negators[t.text] {
			return true
		}
	}
	return false
}
