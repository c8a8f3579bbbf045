package verdict

import (
	"strings"
)

// units are ways of writing one unit behind a number. How they are converted is in dimensions.
var units = unitWords(`
% percent pct prozent procent
ms millisecond milliseconds msec
s second seconds sec secs
min minute minutes mins
h hour hours hr hrs
d day days
week weeks wk wks
month months
year years yr yrs
am
pm
mm millimetre millimetres millimeter millimeters
cm centimetre centimetres centimeter centimeters
m metre metres meter meters
km kilometre kilometres kilometer kilometers
mile miles
ft foot feet
inch inches
mg milligram milligrams
g gram grams gramme grammes
kg kilogram kilograms kilogramme kilogrammes kilo kilos
t tonne tonnes
lb lbs
ml millilitre millilitres
cl centilitre centilitres
l litre litres
byte bytes
kb kilobyte kilobytes
mb megabyte megabytes
gb gigabyte gigabytes
tb terabyte terabytes
kib kibibyte kibibytes
mib mebibyte mebibytes
gib gibibyte gibibytes
tib tebibyte tebibytes
w watt watts
kw kilowatt kilowatts
wh
kwh
hz hertz
khz kilohertz
mhz megahertz
ghz gigahertz
nm
v volt volts
eur euro euros
usd dollar dollars
gbp pound pounds quid
chf
czk kč
pln zł zloty zlotys złotych
jpy yen
inr rupee rupees rs
`)

// twoWordUnits are units of two tokens.
var twoWordUnits = map[string]string{
	"per cent": "%", "us dollar": "usd", "us dollars": "usd", "swiss franc": "chf", "swiss francs": "chf", "pounds sterling": "gbp", "pound sterling": "gbp",
	"° c": "°c", "° f": "°f", "degrees celsius": "°c", "degree celsius": "°c", "degrees centigrade": "°c", "degrees c": "°c", "degrees fahrenheit": "°f", "degree fahrenheit": "°f", "degrees f": "°f",
}

func unitWords(lines string) map[string]string {
	m := map[string]string{"per cent": "%"}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		words := strings.Fields(line)
		for _, word := range words {
			m[word] = words[0]
			if stem, ok := strings.CutSuffix(strings.TrimSuffix(word, "s"), "litre"); ok { // the American spelling
				m[stem+"liter"], m[stem+"liters"] = words[0], words[0]
			}
		}
	}
	return m
}

// dimension says how a unit is converted: (value + offset) × num / den is in the base unit of the kind.
type dimension struct {
	kind             string
	num, den, offset int64
}

var dimensions = map[string]dimension{
	"ms": {"time", 1, 1000, 0}, "s": {"time", 1, 1, 0}, "min": {"time", 60, 1, 0}, "h": {"time", 3600, 1, 0}, "d": {"time", 86400, 1, 0},
	"week": {"time", 604800, 1, 0}, "month": {"months", 1, 1, 0}, "year": {"months", 12, 1, 0},
	"mm": {"length", 1, 1000, 0}, "cm": {"length", 1, 100, 0}, "m": {"length", 1, 1, 0}, "km": {"length", 1000, 1, 0},
	"mile": {"length", 1609344, 1000, 0}, "ft": {"length", 3048, 10000, 0}, "inch": {"length", 254, 10000, 0},
	"mg": {"mass", 1, 1000, 0}, "g": {"mass", 1, 1, 0}, "kg": {"mass", 1000, 1, 0}, "t": {"mass", 1000000, 1, 0}, "lb": {"mass", 45359237, 100000, 0},
	"ml": {"volume", 1, 1000, 0}, "cl": {"volume", 1, 100, 0}, "l": {"volume", 1, 1, 0},
	"byte": {"data", 1, 1, 0}, "kb": {"data", 1e3, 1, 0}, "mb": {"data", 1e6, 1, 0}, "gb": {"data", 1e9, 1, 0}, "tb": {"data", 1e12, 1, 0},
	"kib": {"data", 1 << 10, 1, 0}, "mib": {"data", 1 << 20, 1, 0}, "gib": {"data", 1 << 30, 1, 0}, "tib": {"data", 1 << 40, 1, 0},
	"wh": {"energy", 1, 1, 0}, "kwh": {"energy", 1000, 1, 0}, "w": {"power", 1, 1, 0}, "kw": {"power", 1000, 1, 0},
	"hz": {"frequency", 1, 1, 0}, "khz": {"frequency", 1e3, 1, 0}, "mhz": {"frequency", 1e6, 1, 0}, "ghz": {"frequency", 1e9, 1, 0},
	"°c": {"temperature", 1, 1, 0}, "°f": {"temperature", 5, 9, -32},
}

func dimensionOf(unit string) dimension {
	if d, ok := dimensions[unit]; ok {
		return d
	}
	return dimension{kind: unit, num: 1, den: 1}
}

var (
	signs = map[string]string{"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "₹": "inr", "₺": "try", "₩": "krw", "₽": "rub", "₴": "uah", "₪": "ils"}
	codes = set("eur", "usd", "gbp", "chf", "czk", "pln", "inr", "jpy", "cny", "cad", "aud", "nzd", "sek", "nok", "dkk", "huf", "euro", "rs")
)

// currencyAt reads a sign or a code of currency before a number. Behind a letter, "$" is another dollar: A$60.
func (p *prose) currencyAt(i int) (unit string, next int) {
	t := p.tokens[i]
	sign := i
	if t.text == "us" && i+1 < len(p.tokens) && !p.tokens[i+1].space {
		sign = i + 1
	}
	switch {
	case isMark(p.tokens, sign, "$") && sign > i:
		return "usd", sign + 1
	case t.kind == tokenMark && signs[t.text] != "":
		if foreign(p.tokens, i) {
			return "", i
		}
		return signs[t.text], i + 1
	case t.kind == tokenWord && codes[t.text]:
		unit = t.text
		if known := units[unit]; known != "" {
			unit = known
		}
		if isMark(p.tokens, i+1, ".") {
			i++
		}
		return unit, i + 1
	}
	return "", i
}

// foreign reports whether the sign of currency at i belongs to a word before it that makes it another.
func foreign(tokens []token, i int) bool {
	return i > 0 && currency(tokens[i]) && !tokens[i].space && tokens[i-1].kind == tokenWord && tokens[i-1].text != "us"
}

// unitAt reads a unit at i: a word, a sign, "per cent", "US dollars", "°C", "degrees Celsius".
func (p *prose) unitAt(i int) (unit string, next int) {
	tokens := p.tokens
	if isMark(tokens, i, "-") && !tokens[i].space && i+1 < len(tokens) && !tokens[i+1].space && tokens[i+1].kind == tokenWord {
		i++ // two-week
	}
	if i >= len(tokens) || tokens[i].block {
		return "", i
	}
	t := tokens[i]
	second := ""
	if i+1 < len(tokens) {
		second = tokens[i+1].text
	}
	two := t.text + " " + second
	switch {
	case twoWordUnits[two] != "":
		unit, next = twoWordUnits[two], i+2
	case t.kind == tokenMark && signs[t.text] != "":
		unit, next = signs[t.text], i+1
	case t.kind == tokenWord && units[t.text] != "":
		unit, next = units[t.text], i+1
	case t.text == "%":
		unit, next = "%", i+1
	case t.kind == tokenWord && codes[t.text]:
		unit, next = t.text, i+1
	}
	if unit == "%" && (isWord(tokens, next, "point") || isWord(tokens, next, "points")) {
		return "", i
	}
	return unit, next
}

// rest adds the smaller unit of "1 hour and 30 minutes".
func (p *prose) rest(q *quantity) {
	d := dimensionOf(q.unit)
	if d.kind != "time" && d.kind != "months" {
		return
	}
	at := q.to
	if isWord(p.tokens, at, "and") {
		at++
	}
	more := p.numberAt(at)
	if more == nil || p.tokens[at].block || p.tokens[q.to].block {
		return
	}
	unit, end := p.unitAt(more.to)
	m := dimensionOf(unit)
	if m.kind != d.kind || m.num*d.den >= d.num*m.den {
		return
	}
	more.unit = unit
	if q.plus = more.value().certain; q.plus != nil {
		q.to = end
	}
}
