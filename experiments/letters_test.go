package experiments

import (
	"strings"
	"testing"
)

// What is one text to a run is one to the check. The package map keeps the comparison of a run out of here, so what must be
// equal is written down.
func TestLetters(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"El depósito de Málaga, 7:00", "El depo\u0301sito  de Ma\u0301laga 7:00", "EL DEPO\u0301SITO DE MÁLAGA 7.00", "el depo\u200b\u0301sito de málaga 7:00"},
		{"The scientific office", "The scienti\ufb01c o\ufb03ce", "the SCIENTIFIC-office", "the sci\u00adentific office"},
		{"Straße", "STRASSE", "stra\u1e9ee"},
		{"ABC 123", "\uff21\uff22\uff23\u3000\uff11\uff12\uff13", "abc\u00a0123"},
		{"10 km2", "10 km\u00b2"},
		{"\u1e9b\u0323", "\u1e69"},
		{"\u13a0\u13f8", "\uab70\u13f0"}, // Cherokee
		{"σοφός", "ΣΟΦΌΣ", "σοφο\u0301σ"},
		{"don't", "don\u2019t", "don\u02bct", "don\u0374t", "don\u00b4t"},
		{"", " ", "…", "\u0301"},
	} {
		for _, other := range same[1:] {
			if letters(same[0]) != letters(other) {
				t.Errorf("%+q is %+q, and %+q is %+q", same[0], letters(same[0]), other, letters(other))
			}
		}
	}
	for _, different := range [][2]string{{"depósito", "deposito"}, {"1.10", "1.11"}, {"e\n\u0301x", "éx"}} {
		if letters(different[0]) == letters(different[1]) {
			t.Errorf("%+q and %+q are both %+q", different[0], different[1], letters(different[0]))
		}
	}
}

func BenchmarkLetters(b *testing.B) {
	for name, text := range map[string]string{
		"ascii":   strings.Repeat("The policy applies to all employees. ", 1000),
		"accents": strings.Repeat("El depósito de Málaga abre a las siete. ", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				letters(text)
			}
		})
	}
}

// Documents with decomposed accents and with ligatures hold the spans that people type.
func TestCheckFindsSpansAsARunDoes(t *testing.T) {
	t.Parallel()
	loaded := load(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: spans
backends:
  generator: {adapter: plain}
  store:
    adapter: plain
    documents:
      - {id: accents, text: "El depo\u0301sito de Ma\u0301laga abre a las 7:00."}
      - {id: ligatures, text: "The scienti\ufb01c o\ufb03ce is in block C."}
cases:
  - id: some
    query: q
    claims: [{id: x, any: [y]}]
    evidence:
      required:
        - {source: accents, span: depósito de Málaga}
        - {source: ligatures, span: scientific office}
        - {source: ligatures, span: scientific offices}
`), Options{})
	const want = `the span "scientific offices" stands in no document of "ligatures"`
	if got := loaded.Warnings.Error(); len(loaded.Warnings) != 1 || !strings.Contains(got, want) {
		t.Errorf("want one warning, of %s; got %s", want, got)
	}
}
