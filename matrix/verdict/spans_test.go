package verdict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSpansAreThoseOfMatch holds the one pass against looking for every span by itself, on texts made of few letters, so that
// spans overlap and repeat each other.
func TestSpansAreThoseOfMatch(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	text := func(most int) string {
		letters := []string{"a", "b", "A", " ", "\n", "é", "e\u0301", "—", "-", "\u00a0", "c", "\r\n", "ß", "\x00"}
		var b strings.Builder
		for range random.IntN(most) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 300 {
		var list []Span
		for range 1 + random.IntN(30) {
			list = append(list, NewSpan(text(24)))
		}
		spans := NewSpans(list)
		for range 20 {
			hay := text(80)
			var want []Found
			for i, s := range list {
				if m := s.Match(hay); m.Exact || m.Folded {
					want = append(want, Found{i, m})
				}
			}
			if diff := cmp.Diff(want, spans.In(hay)); diff != "" {
				t.Fatalf("in %q, of %q (-one by one +in one pass):\n%s", hay, list, diff)
			}
		}
	}
}

func TestFolding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ span, text, want string }{
		{"Café au lait", "a Cafe\u0301 au lait.", FoldNFC},
		{"From 1 September", "applies FROM 1 September", FoldCase},
		{"from 1 September", "applies from\n  1\u00a0September", FoldSpace},
		{"from 1 September", "applies FROM\n1 September", FoldMore},
		{"2026-07-01", "on 2026–07–01", FoldMore},
	} {
		s := NewSpan(tt.span)
		if m := s.Match(tt.text); m.Exact || !m.Folded {
			t.Errorf("%q in %q: %+v, want a folded match", tt.span, tt.text, m)
		}
		if got := s.Folding(tt.text); got != tt.want {
			t.Errorf("%q in %q: %q, want %q", tt.span, tt.text, got, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		texts []string
		want  []string
		span  string // "": the usual one
	}{
		{"over two", []string{"It applies from 1", "September 2026 onwards. More."}, []string{"t0", "t1"}, ""},
		{"over two, in order", []string{"It applies from 1", "September 2026 onwards and so on"}, []string{"t0", "t1"}, ""},
		{"over two, the other way round", []string{"september 2026 onwards and so on", "It applies FROM 1"}, []string{"t1", "t0"}, ""},
		{"overlapping", []string{"It applies from 1 September", "1 September 2026 onwards"}, []string{"t0", "t1"}, ""},
		{"with a gap", []string{"It applies from 1", "2026 onwards"}, nil, ""},
		{"not at the border", []string{"It applies from 1, see", "September 2026 onwards"}, nil, ""},
		{"in one alone", []string{"onwards it applies"}, nil, ""},
		{"three", []string{"x applies", "from 1 September", "2026 onwards"}, nil, ""},
		{"inside a word", []string{"It applies from 1 Sept", "ember 2026 onwards"}, []string{"t0", "t1"}, ""},
		{"where no space stands between words", []string{"月から始まります", "テキスト検索は四"}, []string{"t1", "t0"}, "検索は四月から"},
		{"between two digits of an amount", []string{"a fee of 0.", "38 euros"}, []string{"t0", "t1"}, "0.38 euros"},
		{"too short to be cut inside a word", []string{"room 5", "5 steps"}, nil, "55"},
	} {
		if tt.span == "" {
			tt.span = "applies from 1 September 2026 onwards"
		}
		p := NewSpan(tt.span).NewSplit()
		for i, text := range tt.texts {
			p.Add(fmt.Sprintf("t%d", i), text)
		}
		if got := p.Pair(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func BenchmarkSpans(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("%d spans in 1 kB", n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			words := strings.Fields("the revised policy applies from first of september to every employee who travels by train or flight with a receipt")
			sentence := func(n int) string {
				out := make([]string, n)
				for i := range out {
					out[i] = words[random.IntN(len(words))]
				}
				return strings.Join(out, " ")
			}
			list := make([]Span, n)
			for i := range list {
				list[i] = NewSpan(sentence(8))
			}
			spans, text := NewSpans(list), sentence(180)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				spans.In(text)
			}
		})
	}
}
