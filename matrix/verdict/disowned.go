package verdict

// What an answer tells of without stating it: as another's error, as what is in doubt, or as what would have been.

// disowned reports whether [from,to) is told of so: "some wrongly say 30 days", "it could have been 30 days", "30 days is a common myth".
func disowned(tokens []token, from, to int) bool {
	return wronglySaid(tokens, from, to) || unreal(tokens, from, to) || fabled(tokens, from, to) || doubtedElsewhere(tokens, from) || inQuestion(tokens, from, to)
}

var (
	wrongly = set("wrongly", "falsely", "mistakenly", "erroneously", "incorrectly", "inaccurately")
	sayings = set("state", "states", "stated", "stating", "say", "says", "said", "claim", "claims", "claimed", "claiming", "report", "reports", "reported", "list", "lists", "listed",
		"assume", "assumes", "assumed", "believe", "believes", "believed", "mention", "mentions", "mentioned", "quote", "quotes", "quoted", "give", "gives", "gave", "given",
		"show", "shows", "shown", "write", "writes", "suggest", "suggests", "suggested", "assert", "asserts", "asserted", "cite", "cites", "cited", "think", "thought")
	wronglyElsewhere = set("fälschlich", "fälschlicherweise", "irrtümlich", "irrtümlicherweise", "faussement", "tort", "erróneamente", "equivocadamente", "falsamente",
		"erroneamente", "onterecht", "onrechte", "błędnie", "mylnie", "felaktigt", "fejlagtigt", "ошибочно", "неверно")
)

// wronglySaid recognises an adverb that calls wrong how the clause says it.
func wronglySaid(tokens []token, from, to int) bool {
	for i := from - 1; i >= 0 && from-i <= reach && !tokens[i].end && !tokens[i+1].block && !joiners[tokens[i].text]; i-- {
		if word := tokens[i].text; wrongly[word] && (sayings[tokens[i+1].text] || i > 0 && sayings[tokens[i-1].text]) || wronglyElsewhere[word] && holdsValue(tokens, from, to) {
			return true
		}
	}
	return false
}

var (
	perhaps  = set("would", "could", "might")
	unreals  = set("wäre", "wären", "hätte", "hätten", "aurait", "auraient", "habría", "habrían", "hubiera", "hubieran", "sarebbe", "sarebbero", "teria", "teriam", "zou", "zouden")
	unrealed = set("gewesen", "betragen", "été", "sido", "stato", "stata", "stati", "state", "geweest")
)

// unreal recognises what was not so: "could have been 30 days", "30 days would have been too short", "would be refundable if it were".
func unreal(tokens []token, from, to int) bool {
	haveBeen := func(i int) bool {
		return i >= 0 && i+2 < len(tokens) && perhaps[tokens[i].text] && tokens[i+1].text == "have" && tokens[i+2].text == "been" && !tokens[i+1].block && !tokens[i+2].block
	}
	first := from
	for first > 0 && first < len(tokens) && !tokens[first].block && light[tokens[first-1].text] && tokens[first-1].text != "be" {
		first--
	}
	if first < len(tokens) && !tokens[first].block && (haveBeen(first-3) || first > 1 && tokens[first-1].text == "be" && perhaps[tokens[first-2].text] && ifItWere(tokens, to)) {
		return true
	}
	if !holdsValue(tokens, from, to) {
		return false
	}
	if to < len(tokens) && !tokens[to].block && haveBeen(to) {
		return true
	}
	left, right := clauseAround(tokens, from, to)
	would, been := false, false
	for i := left; i < right; i++ {
		would, been = would || unreals[tokens[i].text], been || would && unrealed[tokens[i].text]
	}
	return been
}

// clauseAround returns where the clause around [from,to) begins and ends.
func clauseAround(tokens []token, from, to int) (left, right int) {
	for left, right = from, to; left > 0 && !tokens[left].block && !tokens[left-1].end; left-- {
	}
	for right < len(tokens) && !tokens[right].end && !tokens[right].block {
		right++
	}
	return left, right
}

// ifItWere reports whether a condition that is not so follows in the sentence.
func ifItWere(tokens []token, to int) bool {
	for i := to; i < len(tokens) && i-to <= reach && !tokens[i].block && tokens[i].text != "."; i++ {
		if tokens[i].text == "if" {
			for j := i + 1; j < min(i+5, len(tokens)); j++ {
				if tokens[j].text == "were" || tokens[j].text == "had" {
					return true
				}
			}
		}
	}
	return false
}

var blunders = set("mistake", "error", "typo", "invention", "misunderstanding", "irrtum", "märchen", "mythos", "mythe", "erreur", "mito", "erro", "errore", "misverstand", "mit")

// fabled recognises "30 days is a common misconception".
func fabled(tokens []token, from, to int) bool {
	if to >= len(tokens) || tokens[to].block || !beForms[tokens[to].text] && !finiteElsewhere[tokens[to].text] && tokens[to].text != "es" && tokens[to].text != "é" || !holdsValue(tokens, from, to) {
		return false
	}
	for i := to + 1; i < min(to+5, len(tokens)) && !tokens[i].end && !tokens[i].block && !negators[tokens[i].text] && !elsewhere[tokens[i].text]; i++ {
		if word := tokens[i].text; fables[word] || blunders[word] {
			return true
		}
	}
	return false
}

var (
	// thats bring in what is in doubt in other languages.
	thats   = set("dass", "daß", "que", "qu", "che", "dat", "of", "że", "att", "at", "что")
	dubious = set("bezweifelt", "bezweifle", "bezweifeln", "zweifelhaft", "fraglich", "falsch", "unwahr", "unklar", "strittig", "umstritten", "unzutreffend", "ungewiss",
		"faux", "doute", "doutons", "douteux", "contesté", "inexact", "falso", "duda", "dudamos", "dudo", "dudoso", "incierto", "mentira", "dubita", "dubbio", "dubito", "duvida", "duvido", "duvidoso",
		"betwijfeld", "betwijfel", "onjuist", "onwaar", "onduidelijk", "nieprawda", "wątpliwe", "wątpię", "falskt", "tveksamt", "неправда", "сомнительно", "сомневаюсь")
	proven = set("wahr", "richtig", "korrekt", "sicher", "gesichert", "erwiesen", "belegt", "bewiesen", "klar", "vrai", "exact", "certain", "sûr", "indique", "prouve", "cierto", "verdad", "seguro", "indica",
		"prueba", "vero", "certo", "sicuro", "verdade", "waar", "juist", "zeker", "prawdą", "prawda", "pewne", "sant", "säkert", "правда", "верно", "факт")
	nothings = set("nichts", "nada", "nulla", "nic", "ничего")
)

// doubtedElsewhere recognises "es wird bezweifelt, dass", "il n'est pas vrai que", "se duda que". "Kein Zweifel, dass" and "nicht zu bezweifeln" doubt nothing.
func doubtedElsewhere(tokens []token, at int) bool {
	for i := at - 1; i > 0 && at-i <= 2*reach && !tokens[i].end && !tokens[i+1].block; i-- {
		if !thats[tokens[i].text] || tokens[i].block {
			continue
		}
		last := i - 1
		if isMark(tokens, last, ",") {
			last--
		}
		if isWord(tokens, last, "nicht") && last > 0 && (anyOf(tokens, last-1, "stimmt") || anyOf(tokens, last-1, "trifft")) {
			return true
		}
		for j := last; j >= 0 && last-j <= 3 && !tokens[j].end && !tokens[j+1].block; j-- {
			if word := tokens[j].text; dubious[word] || proven[word] {
				return dubious[word] != deniedBefore(tokens, j)
			}
		}
		return false
	}
	return false
}

// anyOf reports whether the word is one of the three up to i.
func anyOf(tokens []token, i int, word string) bool {
	for j := i; j >= max(i-2, 0); j-- {
		if tokens[j].text == word {
			return true
		}
	}
	return false
}

func deniedBefore(tokens []token, at int) bool {
	for i := at - 1; i >= max(at-3, 0) && !tokens[i].end && !tokens[i+1].block; i-- {
		if word := tokens[i].text; elsewhere[word] || nothings[word] || word == "no" {
			return true
		}
	}
	return false
}

var indifferent = set("egal", "gleich", "gleichgültig", "davon")

// inQuestion recognises "Ob es 30 Tage sind, ist unklar" and "whether it is 30 days is unclear".
func inQuestion(tokens []token, from, to int) bool {
	for i := from - 1; i >= 0 && from-i <= reach && !tokens[i].end && !tokens[i+1].block; i-- {
		switch {
		case tokens[i].text == "ob":
			return i == 0 || !indifferent[tokens[i-1].text] && !(i > 1 && isMark(tokens, i-1, ",") && indifferent[tokens[i-2].text])
		case tokens[i].text == "whether" && closes(tokens, i-1):
			for j := to; j < min(to+reach, len(tokens)) && !tokens[j].end && !tokens[j].block; j++ {
				if unclear[tokens[j].text] || tokens[j].text == "not" || tokens[j].text == "open" {
					return true
				}
			}
			return false
		}
	}
	return false
}

// asides begin what is put in between: "is not, as some claim, 30 days".
var asides = set("as", "contrary", "despite", "unlike", "wie", "anders", "comme", "contrairement", "como", "come", "zoals")

// beforeAside returns where what is put in right before the token at begins, at where there is nothing.
func beforeAside(tokens []token, at int) int {
	if at < 2 || tokens[at].block || tokens[at-1].block || tokens[at-1].text != "," && tokens[at-1].text != ")" {
		return at
	}
	open := map[string]string{",": ",", ")": "("}[tokens[at-1].text]
	for i := at - 2; i >= 0 && at-i <= reach && !tokens[i+1].block; i-- {
		if tokens[i].text == open {
			if asides[tokens[i+1].text] {
				return i
			}
			return at
		}
	}
	return at
}
