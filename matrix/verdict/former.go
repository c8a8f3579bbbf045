package verdict

import "strings"

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
	if until(in, from) {
		return true
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
	return formerWords[tokens[i].text] && (tokens[i].text != "used" || isWord(tokens, i+1, "to")) || moves[tokens[i].text] || formerTime(tokens, i)
}

var (
	pastForms = set("was", "were", "betrug", "betrugen", "war", "waren", "galt", "galten", "lag", "lagen", "kostete", "était", "étaient", "coûtait", "era", "eran", "fue", "fueron", "costaba", "erano",
		"fu", "costava", "foi", "foram", "eram", "custava", "bedroeg", "bedroegen", "wynosił", "wynosiła", "wynosiło", "wynosiły", "był", "było", "var", "kostade", "составлял",
		"составляла", "составляло", "составляли", "был", "была", "было", "были")
	untils = set("until", "till", "before", "bis", "vor", "jusqu", "avant", "hasta", "antes", "fino", "prima", "até", "tot", "voor", "do", "przed", "före", "før", "до")
	nows   = set("now", "since", "today", "currently", "seitdem", "seither", "jetzt", "heute", "nun", "depuis", "désormais", "ahora", "hoy", "ora", "oggi", "agora", "hoje", "nu", "sindsdien", "teraz", "теперь")
	turns  = set("amendment", "change", "reform", "revision", "update", "reorganisation", "merger")
)

// formerTime recognises the end of a time at i: "until 2024", "bis Ende 2024", "before the amendment".
func formerTime(tokens []token, i int) bool {
	if !untils[tokens[i].text] {
		return false
	}
	for j := i + 1; j < min(i+6, len(tokens)) && !tokens[j].block && (!tokens[j].end || tokens[j].text == "."); j++ {
		digits := tokens[j].kind == tokenNumber || tokens[j].kind == tokenCode
		if turns[tokens[j].text] || digits && len(tokens[j].text) >= 4 && (tokens[j].text[:2] == "19" || tokens[j].text[:2] == "20") && !strings.ContainsAny(tokens[j].text, ".,':") {
			return true
		}
	}
	return false
}

// until recognises a time that has ended beside a verb of the past: "until 2024 the period was 30 days", "it was 30 days before the reform".
func until(in *prose, from int) bool {
	tokens := in.tokens
	to := in.dates[from].to
	if q := in.quantities[from]; q != nil {
		to = q.to
		if to < len(tokens) && tokens[to].kind == tokenWord && q.unit == "" && !untils[tokens[to].text] {
			to++ // 60 crowns
		}
	}
	past, begin := false, from
	for begin > 0 && from-begin <= 2*reach && !tokens[begin].block && !ended(tokens[begin-1]) {
		begin--
		if nows[tokens[begin].text] {
			return false
		}
		past = past || pastForms[tokens[begin].text]
		if begin > 0 && formerTime(tokens, begin) && pastForms[tokens[begin-1].text] { // betrug bis 2024 30 Tage
			return true
		}
	}
	if !past {
		return false
	}
	if planned(tokens, begin, from, to) {
		return true
	}
	return formerTime(tokens, begin) || to < len(tokens) && !tokens[to].block && formerTime(tokens, to)
}

var plans = set("to", "due", "scheduled", "supposed", "meant", "planned")

// planned recognises what came otherwise: "was to begin on 1 May but was postponed".
func planned(tokens []token, begin, from, to int) bool {
	for i := begin; i+1 < from; i++ {
		if (tokens[i].text == "was" || tokens[i].text == "were") && (plans[tokens[i+1].text] || formerWords[tokens[i+1].text]) {
			for j := to; j < len(tokens) && j-to <= reach && !tokens[j].block && !ended(tokens[j]); j++ {
				if moves[tokens[j].text] || abolished[tokens[j].text] {
					return true
				}
			}
		}
	}
	return false
}

func ended(t token) bool {
	return t.kind == tokenMark && (t.text == "." || t.text == "!" || t.text == "?" || t.text == ";")
}
