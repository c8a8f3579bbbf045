package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

func newEmbedder(tb testing.TB, settings string) adapters.Embedder {
	tb.Helper()
	e, err := openEmbedder(tb.Context(), adapters.Config{Settings: json.RawMessage(settings)})
	if err != nil {
		tb.Fatalf("opening with %s: %v", settings, err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

func embed(tb testing.TB, e adapters.Embedder, req adapters.EmbedRequest) adapters.EmbedResponse {
	tb.Helper()
	if req.Purpose == "" {
		req.Purpose = adapters.ForPassage
	}
	resp, err := e.Embed(tb.Context(), req)
	if err != nil {
		tb.Fatalf("Embed: %v", err)
	}
	return resp
}

func vectorOf(tb testing.TB, e adapters.Embedder, purpose adapters.Purpose, text string) []float32 {
	tb.Helper()
	return embed(tb, e, adapters.EmbedRequest{Texts: []string{text}, Purpose: purpose}).Vectors[0]
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// TestEmbedderCosines holds the vectors to cosines that follow from counting words by hand. The dimensions are many, so
// that no two words of the texts share one.
func TestEmbedderCosines(t *testing.T) {
	t.Parallel()
	const wide = `{"dimensions": 65536}`
	for _, tt := range []struct {
		name, settings, a, b string
		want                 float64
	}{
		{"same words, other case, order and signs", wide, "The leave, policy!", "POLICY the (leave)", 1},
		{"nothing in common", wide, "trains are free", "meals cost 40", 0},
		{"one of two words", wide, "trains free", "trains late", 0.5},
		{"a word said twice counts twice", wide, "fee fee", "fee day", 1 / math.Sqrt2},
		{"three of four words", wide, "may guests open ports", "may admins open ports", 0.75},
		{"accents are letters", wide, "depósito", "deposito", 0},
		{"upper case with accents", wide, "ÉCOLE", "école", 1},
		{"ascii splits at accents", `{"dimensions": 65536, "ascii": true}`, "depósito", "dep sito", 1},
		{"ascii drops other scripts", `{"dimensions": 65536, "ascii": true}`, "退款 fee", "fee", 1},
		{"signs are lost", wide, "C++ build", "C# build", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEmbedder(t, tt.settings)
			if got := cosine(vectorOf(t, e, adapters.ForPassage, tt.a), vectorOf(t, e, adapters.ForPassage, tt.b)); !near(got, tt.want) {
				t.Errorf("cosine of %q and %q is %v, want %v", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

// TestEmbedderIsTheSameEverywhere pins vectors, for indexes outlive the program that built them.
func TestEmbedderIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, `{"dimensions": 8}`)
	got := fmt.Sprint(vectorOf(t, e, adapters.ForPassage, "Der Zug fährt um 7:45 ab, 退款期限."))
	const want = "[0.25 0 0.75 0 0 0.25 0.25 0.5]"
	if got != want {
		t.Errorf("the vector is %s, was %s", got, want)
	}
}

func TestEmbedderModels(t *testing.T) {
	t.Parallel()
	const text = "parental leave applies from september"
	e := newEmbedder(t, `{"dimensions": 65536}`)
	own := embed(t, e, adapters.EmbedRequest{Texts: []string{text}})
	named := embed(t, e, adapters.EmbedRequest{Texts: []string{text}, Model: "hashing"})
	other := embed(t, e, adapters.EmbedRequest{Texts: []string{text}, Model: "hashing-2"})
	configured := embed(t, newEmbedder(t, `{"dimensions": 65536, "model": "hashing-2"}`), adapters.EmbedRequest{Texts: []string{text}})
	if own.ModelReported != "hashing" || other.ModelReported != "hashing-2" {
		t.Errorf("models reported: %q and %q", own.ModelReported, other.ModelReported)
	}
	if c := cosine(own.Vectors[0], named.Vectors[0]); !near(c, 1) {
		t.Errorf("the configured model asked for by name gives another vector: cosine %v", c)
	}
	if c := cosine(own.Vectors[0], other.Vectors[0]); c > 0.5 {
		t.Errorf("another model gives nearly the same vector: cosine %v", c)
	}
	if !slices.Equal(other.Vectors[0], configured.Vectors[0]) {
		t.Error("a model asked for and the same model configured give different vectors")
	}
}

func TestEmbedderPrefixes(t *testing.T) {
	t.Parallel()
	bare := newEmbedder(t, `{"dimensions": 65536}`)
	words := newEmbedder(t, `{"dimensions": 65536, "query_prefix": "query: ", "passage_prefix": "passage: "}`)
	trained := newEmbedder(t, `{"dimensions": 65536, "query_prefix": "query: ", "passage_prefix": "passage: ", "trained_prefixes": ["query: ", "passage: "]}`)
	const text = "leave deadline"
	plain := vectorOf(t, bare, adapters.ForPassage, text)
	if c := cosine(plain, vectorOf(t, words, adapters.ForQuery, text)); !near(c, 2/math.Sqrt(6)) {
		t.Errorf("an untrained prefix is a word more: cosine %v", c)
	}
	if !slices.Equal(plain, vectorOf(t, trained, adapters.ForQuery, text)) || !slices.Equal(plain, vectorOf(t, trained, adapters.ForPassage, text)) {
		t.Error("a trained prefix leaves a trace in the vector")
	}
	none := ""
	lost := embed(t, trained, adapters.EmbedRequest{Texts: []string{text, "query: " + text}, Purpose: adapters.ForQuery, Prefix: &none})
	if c := cosine(plain, lost.Vectors[0]); c > 0.5 {
		t.Errorf("a lost prefix gives nearly the same vector: cosine %v", c)
	}
	if !slices.Equal(plain, lost.Vectors[1]) {
		t.Error("a prefix in the text itself is not seen")
	}
}

func TestEmbedderMaxTokens(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, `{"dimensions": 4096, "max_tokens": 3, "passage_prefix": "passage: ", "trained_prefixes": ["passage: "]}`)
	resp := embed(t, e, adapters.EmbedRequest{Texts: []string{"one two three", "one two three, four", "one two three!!", "", "one two three five"}})
	if len(resp.Truncated) != 2 || resp.Truncated[1] != 3 || resp.Truncated[4] != 3 {
		t.Errorf("truncated %v, want texts 1 and 4 at 3 tokens", resp.Truncated)
	}
	for _, i := range []int{1, 2, 4} {
		if !slices.Equal(resp.Vectors[0], resp.Vectors[i]) {
			t.Errorf("text %d differs from text 0 though its first three tokens are the same", i)
		}
	}
}

func TestEmbedderVectors(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, `{"query_prefix": "q: ", "vectors": {"q: leave": [3, -0.0, 4], "leave": [1e308, 1e308, 0], "tiny": [0, -1e-300, 0], "none": [0, 0, 0]}}`)
	info, err := e.Describe(t.Context())
	if err != nil || info.Dimensions != 3 || info.QueryPrefix != "q: " {
		t.Fatalf("Describe: %+v, %v", info, err)
	}
	for _, tt := range []struct {
		purpose adapters.Purpose
		text    string
		want    []float32
	}{
		{adapters.ForQuery, "leave", []float32{0.6, 0, 0.8}},
		{adapters.ForPassage, "leave", []float32{float32(math.Sqrt2 / 2), float32(math.Sqrt2 / 2), 0}},
		{adapters.ForPassage, "tiny", []float32{0, -1, 0}},
		{adapters.ForPassage, "none", []float32{0, 0, 0}},
	} {
		got := vectorOf(t, e, tt.purpose, tt.text)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: %v, want %v", tt.purpose, tt.text, got, tt.want)
		}
		for _, v := range got {
			if v == 0 && math.Signbit(float64(v)) {
				t.Errorf("%q has a negative zero", tt.text)
			}
		}
	}
	if got := vectorOf(t, e, adapters.ForPassage, "another text"); len(got) != 3 || near(cosine(got, got), 0) {
		t.Errorf("a text that is not in the table: %v, want a hashed vector of 3 dimensions", got)
	}
	if spaced := vectorOf(t, e, adapters.ForPassage, "leave "); !slices.Equal(spaced, vectorOf(t, e, adapters.ForPassage, "leave")) {
		t.Errorf("white space behind a text of the table gives it another vector: %v", spaced)
	}
	other := embed(t, e, adapters.EmbedRequest{Texts: []string{"leave"}, Model: "other"})
	if slices.Equal(other.Vectors[0], vectorOf(t, e, adapters.ForPassage, "leave")) {
		t.Error("the table of one model answers for another")
	}
}

// TestEmbedderCached: a stale cache answers for one query as it was typed, and for nothing else.
func TestEmbedderCached(t *testing.T) {
	t.Parallel()
	e, healthy := newEmbedder(t, `{"cached": {"port fee": "before"}}`), newEmbedder(t, `{}`)
	before := newEmbedder(t, `{"model": "before"}`)
	for _, tt := range []struct {
		purpose adapters.Purpose
		text    string
		want    adapters.Embedder
	}{
		{adapters.ForQuery, "port fee", before},
		{adapters.ForQuery, "port fee ", healthy},
		{adapters.ForQuery, "fee port", healthy},
		{adapters.ForPassage, "port fee", healthy},
	} {
		if got := vectorOf(t, e, tt.purpose, tt.text); !slices.Equal(got, vectorOf(t, tt.want, tt.purpose, tt.text)) {
			t.Errorf("%s %q has the other model's vector", tt.purpose, tt.text)
		}
	}
}

func TestEmbedderRevisionFollowsWhatDecidesVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, settings := range []string{`{}`, `{"ascii": true}`, `{"max_tokens": 3}`, `{"trained_prefixes": ["q: "]}`, `{"vectors": {"a": [1]}}`, `{"vectors": {"a": [2]}}`, `{"cached": {"a": "b"}}`} {
		info, err := newEmbedder(t, settings).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[info.Revision]; ok {
			t.Errorf("%s and %s have the revision %q", before, settings, info.Revision)
		}
		seen[info.Revision] = settings
	}
}

func TestEmbedderHonoursCancellationInABatch(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t, `{}`)
	ctx := &countdown{Context: t.Context(), left: 3}
	_, err := e.Embed(ctx, adapters.EmbedRequest{Texts: make([]string, 1000), Purpose: adapters.ForPassage})
	if adapters.KindOf(err) != adapters.KindCanceled || !strings.Contains(err.Error(), "after 2 of 1000 texts") {
		t.Errorf("error %v, want canceled after 2 texts", err)
	}
}

// countdown is cancelled after it was asked left times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestEmbedderRefusesBadSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`{"dimensions": -1}`:                       "dimensions is -1",
		`{"dimensions": 65537}`:                    "dimensions is 65537",
		`{"max_tokens": -1}`:                       "max_tokens is -1",
		`{"vectors": {"a": []}}`:                   `the vector of "a" is empty`,
		`{"vectors": {"a": [1], "b": [1, 2]}}`:     `the vector of "b" has 2 dimensions`,
		`{"dimensions": 3, "vectors": {"a": [1]}}`: "leave dimensions out",
		`{"vectors": {"a": [1e999]}}`:              "reading the settings",
	} {
		_, err := openEmbedder(t.Context(), adapters.Config{Settings: json.RawMessage(settings)})
		if !errors.Is(err, adapters.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an invalid-argument error with %q", settings, err, want)
		}
	}
	_, err := newEmbedder(t, `{}`).Embed(t.Context(), adapters.EmbedRequest{Texts: []string{"a"}, Purpose: "title"})
	if !errors.Is(err, adapters.ErrInvalid) {
		t.Errorf("purpose title: %v, want invalid-argument", err)
	}
}

// FuzzEmbedder: any text has a vector of the right size whose length is 1, or 0.
func FuzzEmbedder(f *testing.F) {
	for _, seed := range []string{"", "a", "\x00", "\xff\xfe", "İstanbul K", "退款期限", strings.Repeat("a ", 1000), "ﬁ ½ ²"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, ascii bool) {
		e := newEmbedder(t, fmt.Sprintf(`{"dimensions": 7, "ascii": %v}`, ascii))
		v := vectorOf(t, e, adapters.ForQuery, text)
		if n := cosine(v, v); len(v) != 7 || !near(n, 1) && n != 0 {
			t.Errorf("%q has the vector %v", text, v)
		}
		if !ascii && (runs(inWord).count(text) > 0) != (cosine(v, v) > 0) {
			t.Errorf("%q has %d words and the vector %v", text, runs(inWord).count(text), v)
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	e := newEmbedder(b, `{}`)
	texts := make([]string, 1000)
	for i := range texts {
		var s strings.Builder
		for j := range 60 {
			fmt.Fprintf(&s, "word%d ", (i*7+j*j)%5000)
		}
		texts[i] = s.String()
	}
	b.ReportAllocs()
	for b.Loop() {
		embed(b, e, adapters.EmbedRequest{Texts: texts})
	}
	b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "chunks/s")
}
