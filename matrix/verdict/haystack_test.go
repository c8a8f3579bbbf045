package verdict

import (
	"strings"
	"testing"
)

// A prepared text must be answered exactly as a text that is folded each time.
func FuzzHaystack(f *testing.F) {
	for _, seed := range [][2]string{
		{"Applies from 1\u00a0September 2026", "applies FROM 1 September"},
		{"a\x01bc def", "abc"},
		{"The oﬃce", "office"},
		{"x\r\ny", "x\ny"},
		{"tab\tand  space", "tab and space"},
		{"Straße", "STRASSE"},
		{"", ""},
		{"soft\u00adhyphen", "softhyphen"},
		{"don’t", "don't"},
		{"K\u212a", "kk"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, span string) {
		s := NewSpan(span)
		want := s.Match(text)
		if got := s.In(NewHaystack(text)); got != want {
			t.Errorf("text %q, span %q: want %+v, got %+v", text, span, want, got)
		}
	})
}

func BenchmarkHaystack(b *testing.B) {
	text := NewHaystack(strings.Repeat("The code of an item stands in the ledger of the harbour office. ", 16)).text
	spans := make([]Span, 100)
	for i := range spans {
		spans[i] = NewSpan("item" + strings.Repeat("7", i%9+1) + " is value")
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		h := NewHaystack(text)
		for _, s := range spans {
			if m := s.In(h); m.Folded {
				b.Fatal("found what is not there")
			}
		}
	}
}
