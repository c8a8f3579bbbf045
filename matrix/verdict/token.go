package verdict

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind says how a token is compared.
type tokenKind uint8

const (
	tokenWord   tokenKind = iota // letters, marks, digits behind letters
	tokenNumber                  // a number: compared by value
	tokenCode                    // digits in another arrangement, such as 18:00, 2026-09-01 or 1.2.3: compared as it is written
	tokenMark                    // one punctuation mark or symbol
)

// token is one unit of a text. Word boundaries follow from comparing whole tokens.
type token struct {
	kind   tokenKind
	space  bool   // white space stands before it
	upper  bool   // begins with a capital letter
	glued  bool   // a number that letters follow without a space: "30a"
	end    bool   // a mark that ends a clause
	block  bool   // the first of a paragraph, a line of a list or of a table, or a heading
	joined bool   // goes on with the number or the word before it: "five" in "twenty-five", "approved" in "un**approved**"
	struck bool   // between ~~ and ~~
	text   string // case folded
	unit   string // what a word behind a number stands for: "day" for "days"
	start  int    // in the normalised text
	finish int
}

// tokenise splits a text that tokenText has prepared.
func tokenise(text string) []token {
	l := lexer{text: text, tokens: make([]token, 0, len(text)/3+1)} // words are longer, marks are not
	for l.pos < len(text) {
		l.next()
	}
	return l.tokens
}

// tokenText prepares a text for matching: normalised, case kept. A raised digit is written ^2 and a vulgar fraction 1/2 with a
// space before it, or "10²" would be read as 102 and "1½" as 11/2. A long dash gets spaces: it ends a clause and joins nothing. Digits of
// every script become ours.
func tokenText(s string) string {
	if text, ok := normaliseASCII(s, false); ok {
		s = text
	} else {
		if strings.ContainsFunc(s, composedDigit) {
			s = spreadDigits(s)
		}
		s = strings.ReplaceAll(normalise(s, false), "\u2044", "/")
	}
	if strings.ContainsRune(s, '~') {
		s = spans.ReplaceAllString(s, "$1-$2")
	}
	return s
}

// spans are ranges as they are written in Chinese, Japanese and Korean: 15~30日.
var spans = regexp.MustCompile(`([0-9])~([0-9])`)

func composedDigit(r rune) bool {
	return superscript(r) || vulgarFraction(r) || r == '\u2014' || r == '\u2015' || r == '\u301c' || r >= '\u0660' && (otherMarks[r] != 0 || unicode.Is(unicode.Nd, r))
}

// otherMarks are the Arabic signs for per cent, a decimal point and thousands.
var otherMarks = map[rune]byte{'\u066a': '%', '\u066b': '.', '\u066c': ','}

// digitOf is a decimal digit of another script: Unicode has them in runs of ten from zero on.
func digitOf(r rune) (digit byte, ok bool) {
	for _, run := range unicode.Nd.R16 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return '0' + byte((r-rune(run.Lo))%10), true
		}
	}
	for _, run := range unicode.Nd.R32 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return '0' + byte((r-rune(run.Lo))%10), true
		}
	}
	return 0, false
}

func superscript(r rune) bool {
	return r == '\u00b2' || r == '\u00b3' || r == '\u00b9' || r == '\u2070' || r >= '\u2074' && r <= '\u2079'
}

func vulgarFraction(r rune) bool {
	return r >= '\u00bc' && r <= '\u00be' || r >= '\u2150' && r <= '\u215e' || r == '\u2189'
}

func spreadDigits(s string) string {
	var b strings.Builder
	var before rune
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case superscript(r) && !superscript(before):
			b.WriteByte('^')
			b.WriteString(s[i : i+size])
		case vulgarFraction(r):
			b.WriteByte(' ')
			b.WriteString(s[i : i+size])
		case r == '\u2014' || r == '\u2015':
			b.WriteString(" - ")
		case r == '\u301c':
			b.WriteByte('~')
		case otherMarks[r] != 0:
			b.WriteByte(otherMarks[r])
		case r >= '\u0660' && unicode.Is(unicode.Nd, r):
			digit, _ := digitOf(r)
			b.WriteByte(digit)
		default:
			b.WriteString(s[i : i+size])
		}
		before = r
		i += size
	}
	return b.String()
}

type lexer struct {
	text   string
	pos    int
	space  bool
	tokens []token
}

func (l *lexer) emit(t token, end int) {
	t.start, t.finish, t.space = l.pos, end, l.space
	if t.text == "" {
		t.text = foldCase(l.text[l.pos:end])
	}
	l.tokens = append(l.tokens, t)
	l.pos, l.space = end, false
}

func (l *lexer) next() {
	r, size := utf8.DecodeRuneInString(l.text[l.pos:])
	switch {
	case r == ' ':
		l.space = true
		l.pos += size
	case isDigit(r):
		l.number(l.pos)
	case (r == '-' || r == '+' || r == '.') && l.apart() && l.digitAt(l.pos+1):
		l.number(l.pos + 1)
	case unjoined(r):
		l.emit(token{kind: tokenWord}, l.pos+size)
	case wordRune(r):
		l.word()
	case ignorable(r):
		l.pos += size
	default:
		l.emit(token{kind: tokenMark, end: clauseEnd(r) || r == '-' && l.space && strings.HasPrefix(l.text[l.pos+size:], " ")}, l.pos+size)
	}
}

// apart reports whether a sign may stand here: at the start, behind white space or an opening mark.
func (l *lexer) apart() bool {
	return l.pos == 0 || strings.ContainsRune(" ([='*_|~", rune(l.text[l.pos-1]))
}

// ignorable marks are quotation marks and the emphasis marks of Markdown, which models strew over an answer.
func ignorable(r rune) bool { return r == '\'' || r == '*' || r == '_' }

func clauseEnd(r rune) bool { return strings.ContainsRune(".,;:!?()[]{}|\u3002\u3001\uff0c", r) }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func (l *lexer) digitAt(i int) bool { return i < len(l.text) && isDigit(rune(l.text[i])) }

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || unicode.Is(unicode.Nl, r)
}

// unjoined scripts are written without spaces between words: every letter is a token of its own.
func unjoined(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// word reads letters. A word with a digit in it is a code and goes on over inner marks: v1.2, c08-3, max_tokens.
func (l *lexer) word() {
	end, digits := l.pos, false
	for end < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[end:])
		switch {
		case isDigit(r) && currencyCode(l.text[l.pos:end]):
			size = 0 // EUR60
		case wordRune(r) && !unjoined(r):
			digits = digits || isDigit(r)
		case r == '_' && l.wordAt(end+1), digits && strings.ContainsRune(".-/:", r) && l.digitAt(end+1):
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		end += size
	}
	if base, ok := contraction(l.text[l.pos:end], l.text[end:]); ok {
		l.contracted(base, end+2)
		return
	}
	if strings.EqualFold(l.text[l.pos:end], "cannot") {
		l.contracted("can", end)
		return
	}
	first, _ := utf8.DecodeRuneInString(l.text[l.pos:])
	t := token{kind: tokenWord, upper: unicode.IsUpper(first), text: l.spelledOut(l.text[l.pos:end])}
	last := len(l.tokens) - 1
	if last >= 0 && !l.space && l.tokens[last].kind == tokenCode && l.tokens[last].finish == l.pos && strings.Trim(l.tokens[last].text, "0123456789") == "" {
		l.tokens[last].glued = true // HR-12b is another than HR-12
	}
	if last >= 0 && l.tokens[last].kind == tokenNumber {
		adjacent := !l.space && l.tokens[last].finish == l.pos
		if adjacent {
			end = l.pos + timeLetter(l.text[l.pos:end], last > 0 && l.tokens[last-1].unit == "h")
		}
		if t.text = symbol(l.text[l.pos:end], adjacent); t.text == "" {
			t.text = foldCase(l.text[l.pos:end])
		}
		if cent := end + len(" cent"); t.text == "per" && cent <= len(l.text) && strings.EqualFold(l.text[end:cent], " cent") && !l.wordAt(cent) {
			end, t.text = cent, "per cent"
		}
		t.unit = units[t.text]
		l.tokens[last].glued = adjacent && t.unit == ""
	} else if last >= 0 && l.tokens[last].kind == tokenWord {
		t.joined = l.emphasised("*")
	}
	l.emit(t, end)
}

// emphasised reports whether nothing but marks of emphasis stands between what comes and a token of its kind before it: un**approved** is
// one word, and 1**60** does not state 60.
func (l *lexer) emphasised(marks string) bool {
	last := len(l.tokens) - 1
	if l.space || last < 0 || l.tokens[last].kind == tokenMark || l.tokens[last].finish == l.pos || isDigit(rune(l.text[l.pos])) != isDigit(rune(l.text[l.tokens[last].finish-1])) {
		return false
	}
	first, _ := utf8.DecodeLastRuneInString(l.text[:l.tokens[last].finish])
	second, _ := utf8.DecodeRuneInString(l.text[l.pos:])
	return strings.Trim(l.text[l.tokens[last].finish:l.pos], marks) == "" && !unjoined(first) && !unjoined(second)
}

func (l *lexer) wordAt(i int) bool {
	r, _ := utf8.DecodeRuneInString(l.text[min(i, len(l.text)):])
	return wordRune(r)
}

// contraction recognises n't, so that "don't" and "do not" are the same words.
func contraction(word, rest string) (base string, ok bool) {
	stem, found := strings.CutSuffix(strings.ToLower(word), "n")
	if !found || stem == "" || len(rest) < 2 || rest[0] != '\'' || rest[1]|0x20 != 't' {
		return "", false
	}
	if r, _ := utf8.DecodeRuneInString(rest[2:]); len(rest) > 2 && wordRune(r) {
		return "", false
	}
	switch stem {
	case "ca":
		return "can", true
	case "wo":
		return "will", true
	case "sha":
		return "shall", true
	}
	return stem, true
}

// shortened are verbs behind an apostrophe. "It's" is read as "it is"; behind other words 's is a possessive.
var shortened = map[string]string{"m": "am", "re": "are", "ll": "will", "ve": "have"}

var pronouns = set("it", "he", "she", "that", "there", "here", "what", "where", "who", "how")

// spelledOut returns the whole of a shortened verb, "" for another word.
func (l *lexer) spelledOut(word string) string {
	last := len(l.tokens) - 1
	if l.pos == 0 || l.text[l.pos-1] != '\'' || l.space || last < 0 || l.tokens[last].kind != tokenWord || l.tokens[last].finish != l.pos-1 {
		return ""
	}
	if word = foldCase(word); word == "s" && pronouns[l.tokens[last].text] {
		return "is"
	}
	return shortened[word]
}

func (l *lexer) contracted(base string, end int) {
	start := l.pos
	l.emit(token{kind: tokenWord, text: base}, end)
	l.tokens[len(l.tokens)-1].start = start
	l.pos, l.space = end-2, true
	l.emit(token{kind: tokenWord, text: "not"}, end)
}
