package verdict

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSpanMatch(t *testing.T) {
	t.Parallel()
	both, folded, none := SpanMatch{Exact: true, Folded: true}, SpanMatch{Folded: true}, SpanMatch{}
	tests := []struct {
		name, span, text string
		want             SpanMatch
	}{
		{"the bytes", "applies from 1 September", "It applies from 1 September 2026.", both},
		{"line ends of another system", "a\nb", "x a\r\nb", both},
		{"the line end of a block scalar", "a b\n", "a b.", both},
		{"an old Mac", "a\r\nb", "a\rb", both},
		{"case", "Annual Leave", "annual leave", folded},
		{"wrapped line", "annual leave", "annual\n   leave", folded},
		{"no-break space", "30 days", "30\u00a0days", folded},
		{"soft hyphen", "reimbursement", "reimburse\u00adment", folded},
		{"zero width", "reimbursement", "re\u200bimbursement\ufeff", folded},
		{"ligature", "scientific office", "The scienti\ufb01c o\ufb03ce", folded},
		{"decomposed", "depósito", "deposito\u0301 depo\u0301sito", folded},
		{"composed, asked decomposed", "depo\u0301sito", "depósito", folded},
		{"an accent is not folded away", "deposito", "depósito", none},
		{"dashes", "9-17", "9–17", folded},
		{"minus", "-5", "−5", folded},
		{"quotation marks", `say "yes"`, "say “yes”", folded},
		{"apostrophe", "don't", "don’t", folded},
		{"acute for apostrophe", "don't", "don´t", folded},
		{"sharp s", "STRASSE", "Straße", folded},
		{"full width", "ABC 123", "ＡＢＣ　１２３", folded},
		{"kelvin sign", "5 k", "5 \u212a", folded},
		{"bytes that are no text", "a\xffb", "x a\xffB", folded},
		{"not there", "30 days", "31 days", none},
		{"split", "30 days", "30 working days", none},
		{"empty", "", "anything", none},
		{"nothing visible", " \u200b\n", "any\u200bthing", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewSpan(tt.span)
			if got := s.Match(tt.text); got != tt.want {
				t.Errorf("Match: want %+v, got %+v; folded %q in %q", tt.want, got, s.folded, foldString(tt.text))
			}
			if got := s.MatchFolded(FoldText(tt.text)); got != tt.want {
				t.Errorf("MatchFolded: want %+v, got %+v", tt.want, got)
			}
		})
	}
}

// FuzzFold: what is folded stays as it is, and a text holds itself.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Annual  Leave", "Ꭻꭻ", "\x80\u0300\xf5\x8d\xb7ꮰ", "a\u0301\u0323b", "İẞﬁ", "\xff\xfe", "e\u200b\u0301", "x\u00ad\u0301", "ᾳ", "\u1e9e", "가각", "\u0345\u0301α", strings.Repeat("\u0301", 40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := foldString(s)
		if again := foldString(folded); again != folded {
			t.Errorf("%q folds to %q and that to %q", s, folded, again)
		}
		if span := NewSpan(s); !span.Blank() && !span.Match("x "+s+" y").Folded {
			t.Errorf("%q does not hold itself", s)
		}
	})
}

func BenchmarkFoldText(b *testing.B) {
	for name, unit := range map[string]string{
		"ascii":   "Employees book economy class fares for all flights. ",
		"german":  "Die Übernachtungskosten für Beschäftigte – höchstens 120 € – trägt die Firma. ",
		"chinese": "所有订单的退款期限是三十天。",
		"marks":   "a\u0301\u0323\u0301\u0323\u0301\u0323",
	} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				FoldText(text)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	k, err := NewChecker(leaveCase(), []string{"I don't know"})
	if err != nil {
		b.Fatal(err)
	}
	for name, unit := range map[string]string{
		"prose":     "Employees do not book 1,250 fares before 2 September 2026, or so [c08] they say. ",
		"brackets":  "[[[[[[(((",
		"digits":    "1234567890",
		"groups":    "1 234 567 ",
		"dotted":    "1.234.567.",
		"negations": "not ",
		"quotes":    "'*_",
		"months":    "may 1 ",
		"slashes":   "1/2-3:4^5 ",
		"marks":     "\u0301",
		"raised":    "²½",
		"spelled":   "two hundred and one thousand point five ",
		"comments":  "<!-- ",
		"tags":      "<a ",
		"compounds": "1h 2m 3s and ",
		"minus":     "minus ",
	} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				k.Check(text, nil)
			}
		})
	}
}

// A text of ASCII is folded, and found again where it came from, in one pass; the tables of Unicode make the same of it.
func TestPlainTextIsFoldedAsAny(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "abcXYZ 019.,\"`'-[](){}\t\n\r\v\f  \x00\x1f\x7f"
	for range 20_000 {
		text := make([]byte, random.IntN(24))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		s := string(text)
		for _, fold := range []bool{false, true} {
			// A letter that folds to itself takes the text through the tables.
			want := strings.TrimSuffix(normalise(s+" \u00df", fold), "ss")
			want = strings.TrimSuffix(strings.TrimSuffix(want, "\u00df"), " ")
			if got := normalise(s, fold); got != want {
				t.Fatalf("%q, case folded %t: %q and %q", s, fold, got, want)
			}
		}
		p := readProse(s)
		for _, token := range p.tokens {
			at := p.origin(stated{token.start, token.finish})
			if at.From < 0 || at.To > len(s) || at.From > at.To || !strings.EqualFold(tokenText(s[at.From:at.To]), p.text[token.start:token.finish]) {
				t.Fatalf("%q: token %q comes from %+v", s, token.text, at)
			}
		}
	}
}
