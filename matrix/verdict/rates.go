package verdict

// rates are what "per" counts by. It is a closed list, since "60 crowns per section 4" and "per our policy" are no rates.
var rates = rateWords(map[string][]string{
	"second": nil, "minute": nil, "hour": {"hourly"}, "day": {"daily"}, "night": {"nightly"}, "week": {"weekly"}, "month": {"monthly"},
	"year": {"yearly", "annual", "annually", "annum"}, "person": {"people"}, "head": nil, "guest": nil, "employee": nil, "room": nil,
	"item": nil, "piece": nil, "unit": nil, "trip": nil, "visit": nil, "kilometre": {"kilometer", "kilometers", "km"}, "mile": nil,
	"kilogram": {"kg"}, "page": nil, "ticket": nil, "vehicle": nil, "car": nil,
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

// rateBehind returns what is counted by behind a quantity that ends at to, a number with a word or a sign of currency: "per
// hour", "/hour".
func rateBehind(in *prose, from, to int) string {
	tokens, last := in.tokens, to-1
	counted := last > from && (tokens[last-1].kind == tokenNumber && (tokens[last].kind == tokenWord || tokens[last].unit != "") ||
		tokens[last].kind == tokenNumber && currency(tokens[last-1]))
	if q := in.quantities[from]; q != nil && q.unit != "" && q.to == to {
		counted = true
	}
	if !counted || to+1 >= len(tokens) {
		return ""
	}
	if per := tokens[to]; per.text == "per" || per.text == "/" && !per.space {
		return rates[tokens[to+1].text]
	}
	return ""
}
