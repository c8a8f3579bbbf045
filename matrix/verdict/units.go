package verdict

import (
	"math/big"
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
μm micron microns micrometre micrometres micrometer micrometers
mm millimetre millimetres millimeter millimeters
cm centimetre centimetres centimeter centimeters
m metre metres meter meters
km kilometre kilometres kilometer kilometers
mile miles
ft foot feet
inch inches
μg mcg microgram micrograms
mg milligram milligrams
g gram grams gramme grammes
kg kilogram kilograms kilogramme kilogrammes kilo kilos
t tonne tonnes
lb lbs
oz ounce ounces
ml millilitre millilitres
cl centilitre centilitres
l litre litres
m2 sqm
km2
ft2 sqft
m3 cbm
km/h kph kmh
mile/h mph
bit bits
kbit kilobit kilobits kbits
mbit megabit megabits mbits
gbit gigabit gigabits gbits
tbit terabit terabits tbits
kbit/s kbps
mbit/s mbps
gbit/s gbps
byte bytes
kb kilobyte kilobytes
mb megabyte megabytes
gb gigabyte gigabytes
tb terabyte terabytes
kib kibibyte kibibytes
mib mebibyte mebibytes
gib gibibyte gibibytes
tib tebibyte tebibytes
milliw milliwatt milliwatts
w watt watts
kw kilowatt kilowatts
megaw megawatt megawatts
wh
kwh
megawh
hz hertz
khz kilohertz
mhz megahertz megahz
ghz gigahertz
nm
v volt volts
eur euro euros
usd dollar dollars
gbp pound pounds quid
chf
czk kč
pln zł zloty zlotys złotych
jpy yen 円
cny yuan 元
inr rupee rupees rs
cent cents pence
`)

// symbol is how a unit right behind a number is told apart whose meaning is in its case: 5 mW and 5 MW, 10 Gb (bits) and 10 GB, 4G (a
// network) and 4 g, 5M (a million) and 5 m. It is "" for every other word.
func symbol(written string, adjacent bool) string {
	if len(written) < 2 {
		switch {
		case !adjacent:
		case written == "G", written == "D":
			return written
		case written == "M":
			return "million"
		case written == "B":
			return "billion"
		}
		return ""
	}
	switch rest := written[1:]; {
	case rest == "b" && strings.IndexByte("KMGT", written[0]) >= 0:
		return strings.ToLower(written) + "it"
	case rest == "W" || rest == "Wh" || rest == "V" || rest == "A" || rest == "Hz" || rest == "J" || rest == "Pa":
		switch written[0] {
		case 'm':
			return "milli" + strings.ToLower(rest)
		case 'M':
			return "mega" + strings.ToLower(rest)
		}
	}
	return ""
}

// timeLetter is how many bytes of a word right behind a number are its unit: of "h30" in 1h30, and of "m15s" behind hours. Any other word
// is one.
func timeLetter(word string, hours bool) int {
	if len(word) > 1 && isDigit(rune(word[1])) && (word[0]|0x20 == 'h' || hours && word[0]|0x20 == 'm') {
		return 1
	}
	return len(word)
}

// twoWordUnits are units of two tokens.
var twoWordUnits = map[string]string{
	"square metres": "m2", "square metre": "m2", "square meters": "m2", "square meter": "m2", "sq m": "m2", "square kilometres": "km2",
	"square kilometers": "km2", "square feet": "ft2", "square foot": "ft2", "sq ft": "ft2", "cubic metres": "m3", "cubic meters": "m3", "cubic metre": "m3", "cubic meter": "m3",
	"newton metre": "nm", "newton metres": "nm", "newton meter": "nm", "newton meters": "nm",
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
	"μm": {"length", 1, 1e6, 0}, "mm": {"length", 1, 1000, 0}, "cm": {"length", 1, 100, 0}, "m": {"length", 1, 1, 0}, "km": {"length", 1000, 1, 0},
	"mile": {"length", 1609344, 1000, 0}, "ft": {"length", 3048, 10000, 0}, "inch": {"length", 254, 10000, 0},
	"μg": {"mass", 1, 1e6, 0}, "mg": {"mass", 1, 1000, 0}, "g": {"mass", 1, 1, 0}, "kg": {"mass", 1000, 1, 0}, "t": {"mass", 1000000, 1, 0}, "lb": {"mass", 45359237, 100000, 0},
	"oz": {"mass", 28349523125, 1e9, 0},
	"ml": {"volume", 1, 1000, 0}, "cl": {"volume", 1, 100, 0}, "l": {"volume", 1, 1, 0},
	"bit": {"data", 1, 8, 0}, "kbit": {"data", 1e3, 8, 0}, "mbit": {"data", 1e6, 8, 0}, "gbit": {"data", 1e9, 8, 0}, "tbit": {"data", 1e12, 8, 0},
	"byte": {"data", 1, 1, 0}, "kb": {"data", 1e3, 1, 0}, "mb": {"data", 1e6, 1, 0}, "gb": {"data", 1e9, 1, 0}, "tb": {"data", 1e12, 1, 0},
	"kib": {"data", 1 << 10, 1, 0}, "mib": {"data", 1 << 20, 1, 0}, "gib": {"data", 1 << 30, 1, 0}, "tib": {"data", 1 << 40, 1, 0},
	"wh": {"energy", 1, 1, 0}, "kwh": {"energy", 1000, 1, 0}, "megawh": {"energy", 1e6, 1, 0},
	"milliw": {"power", 1, 1000, 0}, "megaw": {"power", 1e6, 1, 0}, "w": {"power", 1, 1, 0}, "kw": {"power", 1000, 1, 0},
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

// currencyCode reports whether a word is a code of currency in capitals, which may stand right before its number.
func currencyCode(word string) bool {
	return len(word) == 3 && word == strings.ToUpper(word) && codes[strings.ToLower(word)]
}

// currencies are the units that a sign or a code stands for.
var currencies = func() map[string]bool {
	m := map[string]bool{}
	for _, unit := range signs {
		m[unit] = true
	}
	for code := range codes {
		m[code] = true
	}
	return m
}()

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

// foreign reports whether the sign of currency at i belongs to a word before it that makes it another, or to a minus: A$60, -$60.
func foreign(tokens []token, i int) bool {
	return i > 0 && currency(tokens[i]) && !tokens[i].space &&
		(tokens[i-1].kind == tokenWord && tokens[i-1].text != "us" || isMark(tokens, i-1, "-") && (i == 1 || tokens[i-1].space))
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
	case t.text == "n" && (second == "·" || second == "⋅") && isWord(tokens, i+2, "m"): // N·m
		unit, next = "nm", i+3
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
	return compound(tokens, unit, next)
}

// compound goes on with a unit that is raised or divided: m², kg/m3, km/h, miles per hour. "60 crowns/hour", "30 days/year" and "5 GB/month"
// are quantities with a rate.
func compound(tokens []token, unit string, next int) (whole string, end int) {
	kind := dimensions[unit].kind
	if kind == "" || kind == "time" || kind == "months" || next >= len(tokens) {
		return unit, next
	}
	if power := next + 1; isMark(tokens, next, "^") && !tokens[next].space && power < len(tokens) && tokens[power].kind == tokenNumber && !tokens[power].space {
		unit, next = unit+tokens[power].text, power+1
	}
	by := next + 1
	if isMark(tokens, next, "/") && by+1 < len(tokens) && tokens[by].text == "100" && tokens[by+1].text == "km" {
		return unit + "/100km", by + 2
	}
	divided := isMark(tokens, next, "/") && !tokens[next].space && by < len(tokens) && !tokens[by].space
	if by >= len(tokens) || tokens[by].kind != tokenWord || !divided && !(kind == "length" && (isWord(tokens, next, "per") || isWord(tokens, next, "an"))) {
		return unit, next
	}
	per := tokens[by].text
	if known := units[per]; known != "" {
		per = known
	}
	switch rate := rates[tokens[by].text]; {
	case kind == "length" && rate == "hour":
		per = "h"
	case kind == "length" && rate == "second":
		per = "s"
	case rate != "" || !divided:
		return unit, next
	}
	end = by + 1
	if isMark(tokens, end, "^") && !tokens[end].space && end+1 < len(tokens) && tokens[end+1].kind == tokenNumber {
		per, end = per+tokens[end+1].text, end+2
	}
	return unit + "/" + per, end
}

// rest adds the smaller units of "1 hour and 30 minutes", "5 ft 8 in", "2 euros and 50 cents".
func (p *prose) rest(q *quantity) {
	for unit := q.unit; unit != ""; {
		unit = p.restOf(q, unit)
	}
}

// restOf adds the unit below the one that was read last, and returns it, "" for none. What is one more unit, or one of another size behind
// "and", is another quantity: 5 kg and 300 g.
func (p *prose) restOf(q *quantity, last string) string {
	tokens, at := p.tokens, q.to
	d := dimensionOf(last)
	timed, paid := d.kind == "time" || d.kind == "months", currencies[last]
	if !timed && !paid && d.kind != "length" && d.kind != "mass" && d.kind != "volume" || strings.HasPrefix(q.number.certain, "-") || at >= len(tokens) || tokens[at].block {
		return ""
	}
	comma := isMark(tokens, at, ",")
	if comma {
		at++
	}
	if isWord(tokens, at, "and") {
		if !timed && !paid && last != "ft" && last != "lb" {
			return ""
		}
		at++
	}
	more := p.numberAt(at)
	if more == nil || tokens[at].block {
		return ""
	}
	unit, end := p.unitAt(more.to)
	word := ""
	if more.to < len(tokens) {
		word = tokens[more.to].text
	}
	switch {
	case last == "h" && word == "m":
		unit, end = "min", more.to+1
	case last == "h" && unit == "" && !tokens[at].space && len(tokens[at].text) == 2: // 1h30
		unit, end = "min", more.to
	case last == "ft" && word == "in":
		unit, end = "inch", more.to+1
	}
	m := dimensionOf(unit)
	if paid && unit == "cent" {
		m = dimension{kind: d.kind, num: 1, den: 100}
	}
	if unit == "" || m.kind != d.kind || m.num*d.den >= d.num*m.den {
		return ""
	}
	worth := more.valueIn(m).certain
	whole := big.NewRat(d.num, d.den)
	if worth == nil || (comma || !timed) && worth.Cmp(whole) >= 0 {
		return ""
	}
	if q.plus == nil {
		q.plus = new(big.Rat)
	}
	q.plus = q.plus.Add(q.plus, worth)
	q.to, q.whole = end, true
	return unit
}
