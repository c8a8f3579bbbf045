package verdict

import "testing"

// FuzzSpans holds one pass for two spans against looking for each by itself.
func FuzzSpans(f *testing.F) {
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
		spans := []Span{NewSpan("a"), NewSpan(span)}
		got := map[int]SpanMatch{}
		for _, f := range NewSpans(spans).In(text) {
			got[f.Span] = f.SpanMatch
		}
		for i, s := range spans {
			if want := s.Match(text); got[i] != want {
				t.Errorf("text %q, span %q: want %+v, got %+v", text, s, want, got[i])
			}
		}
	})
}
