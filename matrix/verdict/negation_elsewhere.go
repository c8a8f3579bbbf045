package verdict

import "strings"

// Negation in other languages, read by where its words stand: before what they negate, or behind it. It is as coarse as the reading of
// English: what it finds is a near miss.

// elsewhere are negators that stand before what they negate. Those that are words of English, such as "no", are read by what is behind them.
var elsewhere = set("nicht", "kein", "keine", "keineswegs", "keinesfalls", "mitnichten", "nullement", "ni", "né", "tampoco", "tampouco", "neanche", "nemmeno", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "niemand", "ohne", "sin", "weder",
	"pas", "aucun", "aucune", "jamais", "sans", "rien", "non", "não", "nem", "nunca", "jamás", "ninguno", "ninguna", "ningún", "sem",
	"nessun", "nessuno", "nessuna", "senza", "niet", "geen", "nooit", "zonder", "nigdy", "bez", "żaden", "żadna", "żadnych", "inte", "ej", "ingen", "inga", "inget",
	"aldrig", "ikke", "ingen", "intet", "не", "нет", "нельзя", "никогда", "без", "není", "nejsou", "لا", "ليس", "ليست", "لم", "لن")

// elsewhereReach is how many tokens before what it negates a word of elsewhere stands at most; romanceReach is that of "no es".
const (
	elsewhereReach = 4
	romanceReach   = 6
)

// romance words behind "no" and "non" show that it negates a verb.
var romance = set("es", "se", "son", "hay", "está", "están", "puede", "pueden", "tiene", "tienen", "aplica", "cuesta", "dura", "incluye", "fue", "era", "será", "lo", "le", "les",
	"è", "sono", "si", "può", "possono", "ha", "hanno", "costa", "viene", "vengono", "sarà", "c", "ci", "son", "est", "admite", "permite", "requiere", "cobra")

// finiteElsewhere are verbs behind which a negation of the verb before does not reach.
var finiteElsewhere = set("ist", "sind", "hat", "haben", "erhält", "erhalten", "bekommen", "zahlen", "zahlt", "bezahlt", "paie", "płaci", "kostet", "beträgt", "gilt", "gelten", "dauert",
	"est", "sont", "ont", "reçoivent", "obtiennent", "paient", "doivent", "peuvent", "coûte", "dure", "avez", "payez", "devez", "pouvez", "recevez", "obtenez", "tiene", "tienen", "reciben", "recibe", "pagan", "paga", "cuesta", "dura",
	"è", "sono", "hanno", "ricevono", "pagano", "costa", "são", "têm", "tem", "recebem", "pagam", "custa", "zijn", "heeft", "hebben", "krijgen", "betalen", "kost",
	"jest", "są", "mają", "płacą", "är", "får", "betalar", "получают", "платят", "имеют", "составляет")

var nobodyElsewhere = set("niemand", "keiner", "personne", "nadie", "nessuno", "ninguém", "nikt", "никто")

// insteadElsewhere recognises the end of "statt", "au lieu de", "en lugar de", "invece di" at i.
func insteadElsewhere(tokens []token, i int) bool {
	switch word := tokens[i].text; word {
	case "statt", "anstatt", "вместо", "zamiast":
		return true
	case "de", "di", "van", "von", "do", "för":
		return i > 0 && insteads[tokens[i-1].text]
	}
	return false
}

var insteads = set("lieu", "lugar", "vez", "invece", "plaats", "anstelle", "stället")

// longer behind a negator is "no longer", unless one of thans follows, which makes a bound of it.
var (
	longer = set("längre", "länger", "langer", "længere", "lenger", "mehr", "meer", "mere", "più", "mais")
	thans  = set("als", "än", "dan", "end", "enn", "di", "do", "que")
)

// preverbal negators have their verb behind them.
var preverbal = set("no", "non", "não", "не", "nie", "nem")

func governsElsewhere(tokens []token, i, at int) bool {
	if tokens[i].text == "non" {
		return at-i == 1 || romance[tokens[i+1].text] && at-i <= romanceReach
	}
	if withoutElsewhere[tokens[i].text] {
		return at-i == 1 || at-i == 2 && (articles[tokens[i+1].text] || light[tokens[i+1].text])
	}
	if i > 0 && limits[tokens[i-1].text] && !preverbal[tokens[i].text] {
		return false // ne dépasse pas
	}
	return at-i <= elsewhereReach && !(i > 0 && tokens[i].text == "pas" && tokens[i-1].text == "faux")
}

// withoutElsewhere govern the noun behind them alone: sans carte.
var (
	withoutElsewhere = set("ohne", "sans", "sin", "sem", "senza", "zonder", "bez", "без")
	articles         = set("der", "die", "das", "den", "dem", "eine", "einen", "einer", "un", "une", "una", "la", "le", "les", "el", "los", "de", "da", "do", "di", "il", "het", "een")
)

// behindOnly are negators that stand behind what they negate.
var behindOnly = set("değil", "değildir", "yok", "yoktur", "नहीं")

// negatedElsewhere recognises what other languages put round [from,to): "30 Tage gelten nicht", "不可退款", "許可されていません".
func negatedElsewhere(tokens []token, from, to int) bool {
	return hanNegated(tokens, from) || to < len(tokens) && !tokens[to].block && (negatedBehind(tokens, to) || hanDenied(tokens, to) || kanaDenied(tokens, to))
}

func negatedBehind(tokens []token, to int) bool {
	for i := to; i < min(to+3, len(tokens)) && !tokens[i].end && (i == to || !tokens[i].block); i++ {
		word := tokens[i].text
		switch {
		case behindOnly[word] && i <= to+1, strings.HasPrefix(word, "아니") || strings.HasPrefix(word, "아닙") || strings.HasPrefix(word, "않"):
			return true
		case openers[word]:
			return false
		case word == "no" || word == "non":
			return i+2 < len(tokens) && romance[tokens[i+1].text] && (denials[tokens[i+2].text] || i+3 < len(tokens) && denials[tokens[i+3].text])
		case elsewhere[word]:
			return i > to && closes(tokens, i+1) || i+1 < len(tokens) && denials[tokens[i+1].text]
		}
	}
	return false
}

// hanNegators are those of Chinese; idleHan are words that begin with one and negate nothing, or make a bound.
var (
	hanNegators = set("不", "没", "沒", "未", "无", "無", "非")
	idleHan     = set("不过", "不過", "不仅", "不僅", "不但", "不只", "不同", "不论", "不論", "不管", "不久", "不断", "不错", "不止", "不超", "不少", "不多", "不低", "不高", "不晚",
		"不早", "不大", "不小", "不迟", "不足", "不到", "无论", "無論", "未来", "未來", "非常", "没错")
)

func han(t *token) bool { return t.kind == tokenWord && t.text >= "\u3400" && t.text < "\ua000" }

// hanReach is how many characters and numbers a Chinese negation reaches over.
const hanReach = 4

func hanNegated(tokens []token, from int) bool {
	for i := from - 1; i >= 0 && from-i <= hanReach && !tokens[i+1].block && (han(&tokens[i]) || tokens[i].kind == tokenNumber); i-- {
		if word := tokens[i].text; openers[word] {
			return false
		} else if hanNegators[word] {
			return !idleHan[word+tokens[i+1].text]
		}
	}
	return false
}

// hanDenied recognises 30天不对, 30天是错误的 and 退款不允许.
func hanDenied(tokens []token, to int) bool {
	if tokens[to].text == "是" || tokens[to].text == "并" {
		to++
	}
	if to+1 >= len(tokens) {
		return false
	}
	switch tokens[to].text {
	case "错", "錯":
		return true
	case "不":
		return strings.Contains("对對正可允支能行是", tokens[to+1].text)
	}
	return false
}

// kanaDenied recognises the negation at the end of what kana go on with: 許可されていません, 30日ではない. なければならない is no negation.
func kanaDenied(tokens []token, to int) bool {
	run := ""
	for i := to; i < min(to+12, len(tokens)) && !tokens[i].block && tokens[i].text >= "\u3041" && tokens[i].text < "\u30a0"; i++ {
		run += tokens[i].text
	}
	for _, no := range []string{"なければ", "ないと", "なくては", "かもしれ", "だけでなく"} {
		if strings.Contains(run, no) {
			return false
		}
	}
	return strings.Contains(run, "ません") || strings.Contains(run, "ない") || strings.Contains(run, "なかった") || strings.HasSuffix(run, "なく")
}
