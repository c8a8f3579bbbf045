package verdict

import "strings"

// rates are what "per" counts by. It is a closed list, since "60 crowns per section 4" and "per our policy" are no rates.
var rates = rateWords(map[string][]string{
	"second": nil, "minute": nil, "hour": {"hourly"}, "day": {"daily"}, "night": {"nightly"}, "week": {"weekly"}, "month": {"monthly"},
	"year": {"yearly", "annual", "annually", "annum"}, "person": {"people"}, "head": nil, "guest": nil, "employee": nil, "room": nil,
	"item": nil, "piece": nil, "unit": nil, "trip": nil, "visit": nil, "kilometre": {"kilometer", "kilometers", "km"}, "mile": nil,
	"kilogram": {"kg"}, "page": nil, "ticket": nil, "vehicle": nil, "car": nil,
	"user": nil, "seat": nil, "member": nil, "account": nil, "device": nil, "request": nil, "call": nil, "token": nil, "order": nil, "transaction": nil,
	"child": {"children"}, "adult": nil, "student": nil, "passenger": nil, "household": nil, "bag": nil, "box": {"boxes"}, "bottle": nil, "gigabyte": {"gb"},
})

func rateWords(others map[string][]string) map[string]string {
	m := map[string]string{}
	for one, more := range others {
		m[one], m[one+"s"] = one, one
		for _, word := range more {
			m[word] = one
		}
	}
	return m
}

// foreignRates are what other languages count by, behind their "per".
var foreignRates = map[string]string{
	"stunde": "hour", "tag": "day", "nacht": "night", "woche": "week", "monat": "month", "jahr": "year", "heure": "hour", "jour": "day", "nuit": "night",
	"semaine": "week", "mois": "month", "personne": "person", "hora": "hour", "día": "day", "dia": "day", "noche": "night", "noite": "night", "semana": "week", "mes": "month",
	"mês": "month", "año": "year", "ano": "year", "persona": "person", "pessoa": "person", "ora": "hour", "giorno": "day", "notte": "night", "settimana": "week", "mese": "month",
	"anno": "year", "uur": "hour", "dag": "day", "maand": "month", "jaar": "year", "persoon": "person", "timme": "hour", "natt": "night", "vecka": "week", "månad": "month", "år": "year",
	"час": "hour", "день": "day", "ночь": "night", "неделю": "week", "месяц": "month", "год": "year", "человека": "person",
}

// pers are the words for "per" before one of foreignRates.
var pers = set("pro", "je", "par", "por", "al", "alla", "all", "a", "à", "в", "за", "с")

// oftenCounted is what "a", "each" and "every" make a rate: "within 60 days a guest may" holds none.
var oftenCounted = set("second", "minute", "hour", "day", "night", "week", "month", "year", "head", "piece")

// rateAt returns what the word at i counts by, "" for none.
func rateAt(tokens []token, i int) string {
	if unit := rates[tokens[i].text]; unit != "" {
		return unit
	}
	if tokens[i].text == "an" && i > 0 && tokens[i-1].text == "par" {
		return "year"
	}
	if multiples[tokens[i].text] > 0 && i > 0 && (tokens[i-1].text == "per" || tokens[i-1].text == "/") {
		return tokens[i].text // per million tokens
	}
	return foreignRates[tokens[i].text]
}

// rateBehind returns what is counted by behind a quantity that ends at to, a number with a word or a sign of currency: "per hour", "/hour",
// "an hour", "for each guest", "hourly".
func rateBehind(in *prose, from, to int) string {
	tokens := in.tokens
	if !endsCounted(in, from, to) || to >= len(tokens) || tokens[to].block || tokens[to-1].kind == tokenNumber && !(to-1 > from && currency(tokens[to-2])) {
		return ""
	}
	per := tokens[to]
	if unit := rates[per.text]; strings.HasSuffix(per.text, "ly") {
		return unit // hourly
	}
	next := to + 1
	each := false
	if per.text == "for" && (isWord(tokens, next, "each") || isWord(tokens, next, "every")) {
		next, each = next+1, true
	}
	if next >= len(tokens) || tokens[next].block {
		return ""
	}
	counts := rateAt(tokens, next)
	switch per.text {
	case "per", "/":
		switch {
		case per.text == "/" && per.space:
			return ""
		case counts != "":
			return counts
		case per.text == "per" && next+1 < len(tokens) && tokens[next].kind == tokenWord && !determiners[tokens[next].text]:
			return rates[tokens[next+1].text] // per calendar year
		}
		return timeRates[tokens[next].text]
	case "for", "each", "every", "a", "an":
		if each && per.text == "for" || per.text != "for" && oftenCounted[tokens[next].text] {
			return counts
		}
	case "p":
		if isMark(tokens, next, ".") && isWord(tokens, next+1, "a") {
			return "year"
		}
	}
	if pers[per.text] && (foreignRates[tokens[next].text] != "" || per.text == "par") {
		return counts
	}
	return ""
}

// perAt reports whether the token at i stands between a quantity and what it counts by.
func perAt(tokens []token, i int) bool {
	switch tokens[i].text {
	case "per", "/", "a", "an", "each", "every":
		return i > 0 && i+1 < len(tokens) && oftenCounted[tokens[i+1].text] && !tokens[i+1].block && !tokens[i].block &&
			(tokens[i-1].kind == tokenNumber || tokens[i-1].unit != "" || i > 1 && tokens[i-2].kind == tokenNumber)
	}
	return false
}

// timeRates are short names behind a stroke: 60 crowns/h.
var timeRates = map[string]string{"h": "hour", "hr": "hour", "min": "minute", "s": "second", "sec": "second", "d": "day", "mo": "month", "yr": "year"}

var determiners = set("the", "our", "this", "that", "your", "their", "its", "section", "article", "clause", "paragraph", "rule", "policy")
