package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Of 40 texts of 24 words, text 7 holds the gold in its last words. A query for it is nearest to what the vectors say it is.
const (
	corpusSize = 40
	goldText   = 7
	goldSpan   = "forty crowns"
)

func corpus() []string {
	words := strings.Fields("harbour crane berth tide rope anchor lunch towel permit ledger signal winter cargo pilot lantern stair window barrel market bridge copper engine garden island jacket kettle ladder mirror needle orchard")
	random := rand.New(rand.NewPCG(3, 5))
	texts := make([]string, corpusSize)
	for i := range texts {
		var text []string
		for range 22 {
			text = append(text, words[random.IntN(len(words))])
		}
		texts[i] = strings.Join(text, " ") + fmt.Sprintf(" number %d", i)
	}
	texts[goldText] += " mooring fee " + goldSpan
	return texts
}

// stored embeds texts as an ingestion would with these settings of the embedder.
func stored(t *testing.T, settings string, texts []string) [][]float32 {
	t.Helper()
	e, err := embedded.Factory().OpenEmbedder(t.Context(), adapters.Config{Settings: json.RawMessage(settings)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Embed(t.Context(), adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForPassage})
	if err != nil {
		t.Fatal(err)
	}
	return r.Vectors
}

func mapped(texts []string, how func(string) string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = how(text)
	}
	return out
}

// toldStore says of itself what a test has it say.
type toldStore struct {
	adapters.VectorStore
	told func(*adapters.StoreInfo)
}

func (s *toldStore) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	info, err := s.VectorStore.Describe(ctx)
	s.told(&info)
	return info, err
}

type countingEmbedder struct {
	adapters.Embedder
	calls *atomic.Int64
}

func (e *countingEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	if req.Purpose == adapters.ForPassage {
		e.calls.Add(1)
	}
	return e.Embedder.Embed(ctx, req)
}

// TestIdentity stores vectors that were made in known ways, and asks what the comparison makes of them.
func TestIdentity(t *testing.T) {
	t.Parallel()
	texts := corpus()
	const model = `{"dimensions": 64}`
	own := stored(t, model, texts)
	other := stored(t, `{"dimensions": 64, "model": "other"}`, texts)
	mixed := slices.Clone(own)
	for i := range mixed {
		if i%4 == goldText%4 {
			mixed[i] = other[i]
		}
	}
	lost := slices.Clone(own)
	lost[goldText] = make([]float32, 64)
	longer := slices.Clone(own)
	for i := range longer {
		longer[i] = slices.Clone(own[i])
		for j := range longer[i] {
			longer[i][j] *= float32(1 + i%3)
		}
	}
	short := make([][]float32, len(own))
	for i := range short {
		short[i] = own[i][:32]
	}
	far := make([][]float32, len(own)) // each vector with a large part in common
	for i := range far {
		far[i] = slices.Clone(own[i])
		for j := range far[i] {
			far[i][j] += []float32{0.5, -0.5}[j%2]
		}
	}
	shifted := append(slices.Clone(own[1:]), own[0])
	for _, test := range []struct {
		name     string
		vectors  [][]float32
		distance string
		embedder string // more settings
		told     func(*adapters.StoreInfo)
		answer   matrix.Answer
		evidence string
		label    string // of stage embed; "" for none
		finding  string
		calls    int64 // the most embedding calls of stored texts
	}{
		{name: "the same", vectors: own, answer: matrix.Yes, evidence: "32 of 32 sampled vectors match a fresh embedding of their text (cosine ≥ 0.999), so at most 8.9 % of the index is otherwise (95 %)", calls: 2},
		{name: "another name over the same vectors", vectors: own, told: func(i *adapters.StoreInfo) { i.EmbedModel = "renamed" }, answer: matrix.Yes, evidence: "32 of 32", finding: "embed: the index declares renamed, queries are embedded by hashing: the names differ, the vectors do not"},
		{
			name: "items that declare several models over the same vectors", vectors: own, told: func(i *adapters.StoreInfo) { i.DeclaredPerItem = map[string]int{"hashing": 30, "other": 9, "": 1} },
			answer: matrix.Yes, evidence: "32 of 32", finding: "embed: several models are declared: the index declares hashing; hashing of 30 items, other of 9 items, no model of 1 item",
		},
		{name: "another model of the same name and size", vectors: other, answer: matrix.No, evidence: "no more than chance gives: another model", label: "model-mismatch", calls: 14},
		{name: "a lost prefix", vectors: own, embedder: `, passage_prefix: "passage: "`, answer: matrix.No, evidence: "32 match when embedded with no prefix", label: "prefix-mismatch", calls: 4},
		{
			name: "a prefix that nobody knows", vectors: stored(t, model, mapped(texts, func(s string) string { return "represent this for search " + s })), answer: matrix.No,
			evidence: "the same model or a close relative, and a difference that is not explained",
		},
		{
			name: "a relative so far away that it is as good as another model", vectors: far, answer: matrix.No,
			evidence: "the same model or a close relative, and a difference that is not explained", label: "model-mismatch",
		},
		{name: "each fourth of another model", vectors: mixed, answer: matrix.No, evidence: "no more than chance gives: another model", label: "mixed-models"},
		{name: "the vectors of the next text", vectors: shifted, answer: matrix.No, evidence: "belong to other texts", label: "vectors-misassigned"},
		{
			name: "the first twelve words", vectors: stored(t, model, mapped(texts, func(s string) string { return strings.Join(strings.Fields(s)[:12], " ") })),
			answer: matrix.No, evidence: "match when embedded by the start of their text alone", label: "input-truncated",
		},
		{name: "a vector of zeros", vectors: lost, answer: "", label: "zero-vector"},
		{name: "vectors of several lengths under a dot product", vectors: longer, distance: "dot", answer: matrix.Yes, evidence: "32 of 32 sampled vectors match a fresh embedding of their text (cosine ≥ 0.999), so at most 8.9 % of the index is otherwise (95 %); the distance is a dot product and the vectors are 1 to 3 long, so length weighs", label: "not-normalised"},
		{name: "the first half of each vector", vectors: short, answer: matrix.Yes, evidence: "32 of 32 sampled vectors match a fresh embedding of their text (cosine of the first 32 numbers ≥ 0.999)", label: "dimension-mismatch"},
		{name: "uint8", vectors: other, told: func(i *adapters.StoreInfo) { i.VectorType = "uint8" }, answer: matrix.Unknown, evidence: "stored vectors were not compared: the store keeps vectors as uint8", calls: 0},
		{
			name: "an index that embeds more than the text", vectors: other, told: func(i *adapters.StoreInfo) { i.EmbedInput = "the class name and all properties" },
			answer: matrix.Unknown, evidence: "the index embeds more than the text (the class name and all properties)", calls: 2,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			e := judged(t, texts, test.vectors, test.distance, test.embedder, test.told, &calls)
			i := slices.IndexFunc(e.Checks, func(c verdict.Check) bool { return c.Name == "embed_behaviour_match" })
			if got := e.Checks[i]; test.answer != "" && (got.Result != test.answer || !strings.Contains(got.Evidence, test.evidence)) {
				t.Errorf("got %s: %s\nwant %s: …%s…", got.Result, got.Evidence, test.answer, test.evidence)
			}
			label := ""
			for _, d := range e.Defects {
				if d.Stage == verdict.StageEmbed {
					label = d.Label
				}
			}
			if label != test.label {
				t.Errorf("label %q, want %q\n    %s", label, test.label, explained(e))
			}
			if !strings.Contains(strings.Join(e.Findings, "\n"), test.finding) {
				t.Errorf("findings %q, want …%s…", e.Findings, test.finding)
			}
			if n := calls.Load(); test.calls > 0 && n > test.calls || test.told != nil && test.calls == 0 && strings.Contains(test.evidence, "not compared") && n > 0 {
				t.Errorf("%d embedding calls, want at most %d", n, test.calls)
			}
		})
	}
}

// judged runs one case for the gold over the texts stored with these vectors.
func judged(t *testing.T, texts []string, vectors [][]float32, distance, embedder string, told func(*adapters.StoreInfo), calls *atomic.Int64) verdict.Evaluation {
	t.Helper()
	f := embedded.Factory()
	openStore, openEmbedder := f.OpenStore, f.OpenEmbedder
	f.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
		s, err := openStore(ctx, cfg)
		if told != nil && err == nil {
			s = &toldStore{s, told}
		}
		return s, err
	}
	f.OpenEmbedder = func(ctx context.Context, cfg adapters.Config) (adapters.Embedder, error) {
		e, err := openEmbedder(ctx, cfg)
		return &countingEmbedder{e, calls}, err
	}
	registry, err := adapters.NewRegistry(f)
	if err != nil {
		t.Fatal(err)
	}
	var docs strings.Builder
	for i, text := range texts {
		vector, err := json.Marshal(vectors[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&docs, "      - {id: d%02d, text: %q, vector: %s}\n", i, text, vector)
	}
	if distance == "" {
		distance = "cosine"
	}
	file := filepath.Join(t.TempDir(), "identity.yaml")
	text := fmt.Sprintf(`culprit: v1
name: identity
backends:
  store:
    adapter: embedded
    distance: %s
    documents:
%s
  embedder: {adapter: embedded, dimensions: 64%s}
  generator: {adapter: embedded, spots: [%s]}
pipeline: {search: {mode: dense, k: 1}}
cases:
  - id: c
    query: mooring fee crowns
    evidence: {required: [{source: d%02d, span: %s}]}
    claims: [{id: fee, any: [%s]}]
`, distance, docs.String(), embedder, goldSpan, goldText, goldSpan, goldSpan)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return runWith(t, load(t, file, change{}), registry)["c"].Evaluation
}
