package qdrant

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

// texts in the languages that have a stemmer, and what tokenizers stumble over.
var bm25Texts = map[string][]string{
	languageEnglish: {
		"The quick brown foxes were jumping over the laziest dogs!", "Employees' parental-leave policies (2026), revised", "ZX-4471/B isn't ZX_4471B",
		"C++ and C# are neither C", "generously international happiness skies dying news inning", "İstanbul ΣΊΣΥΦΟΣ straße ﬁne", "naïve café 休暇制度 ٣٤ ½ x²", "running run runs ran runner",
	},
	"german":     {"Die Arbeitsverhältnisse der Angestellten wurden größtenteils neu geregelt", "Häuser Haus häuslich"},
	"french":     {"Les employées avaient régulièrement demandé des congés supplémentaires"},
	"spanish":    {"Los trabajadores solicitaron rápidamente las vacaciones anuales"},
	"russian":    {"Сотрудники подали заявления на ежегодный отпуск"},
	"swedish":    {"Anställda ansökte om föräldraledighet i förväg"},
	"finnish":    {"Työntekijät hakivat vanhempainvapaata etukäteen"},
	"portuguese": {"Os funcionários solicitaram férias antecipadamente"},
	"italian":    {"I dipendenti hanno richiesto le ferie anticipatamente"},
	"dutch":      {"De werknemers vroegen tijdig ouderschapsverlof aan"},
	"turkish":    {"Çalışanlar yıllık izinlerini önceden istediler"},
	"arabic":     {"طلب الموظفون إجازاتهم السنوية مسبقا"},
	"danish":     {"Medarbejderne ansøgte om forældreorlov i god tid"},
	"norwegian":  {"Ansatte søkte om foreldrepermisjon i god tid"},
	"hungarian":  {"A dolgozók előre kérték az éves szabadságukat"},
	"romanian":   {"Angajații au cerut concediile anuale în avans"},
}

// TestBM25IsThatOfTheServer lets the server encode the same texts, and reads what it stored and found.
func TestBM25IsThatOfTheServer(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	for language, texts := range bm25Texts {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			encoder, err := bm25.New(language)
			if err != nil {
				t.Fatal(err)
			}
			name := server.Name(t)
			server.Create(t, qdranttest.Collection{
				Name: name, Vectors: map[string]*qdrant.VectorParams{"dense": {Size: 2, Distance: qdrant.Distance_Dot}},
				Sparse: map[string]*qdrant.SparseVectorParams{"words": {}},
			})
			options := map[string]*qdrant.Value{"language": qdrant.NewValueString(language)}
			var points []*qdrant.PointStruct
			for i, text := range texts {
				document := qdrant.NewVectorDocument(&qdrant.Document{Text: text, Model: serverModel, Options: options})
				points = append(points, &qdrant.PointStruct{
					Id: qdrant.NewIDNum(uint64(i)), Payload: qdrant.NewValueMap(map[string]any{"text": text}),
					Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{"words": document}),
				})
			}
			server.Upsert(t, name, points...)
			stored, err := server.Client(t).Scroll(t.Context(), &qdrant.ScrollPoints{CollectionName: name, WithVectors: qdrant.NewWithVectors(true)})
			if err != nil || len(stored) != len(texts) {
				t.Fatalf("%d points, %v", len(stored), err)
			}
			for i, point := range stored {
				vector := point.GetVectors().GetVectors().GetVectors()["words"].GetSparseVector()
				want := weights(vector.GetIndices(), vector.GetValues())
				indices, values := encoder.Passage(texts[i])
				if got := weights(indices, values); !slices.Equal(got, want) {
					t.Errorf("%q: %v, and the server has %v", texts[i], got, want)
				}
			}
			ours := openOn(t, server, name, fmt.Sprintf(`"vector": "dense", "keyword": {"vector": "words", "language": %q}`, language))
			theirs := openOn(t, server, name, fmt.Sprintf(`"vector": "dense", "keyword": {"vector": "words", "language": %q, "encoder": "server"}`, language))
			for _, text := range texts {
				req := adapters.SearchRequest{Mode: modeKeyword, Query: text, Limit: 10}
				a, err := ours.Search(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				b, err := theirs.Search(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if len(a.Hits) == 0 || len(a.Hits) != len(b.Hits) {
					t.Fatalf("%q: %d hits, and %d by the server's encoder", text, len(a.Hits), len(b.Hits))
				}
				for i := range a.Hits {
					if a.Hits[i].ID != b.Hits[i].ID || math.Abs(*a.Hits[i].Score-*b.Hits[i].Score) > 1e-5 {
						t.Errorf("%q: %s (%v), and %s (%v) by the server's encoder", text, a.Hits[i].ID, *a.Hits[i].Score, b.Hits[i].ID, *b.Hits[i].Score)
					}
				}
			}
		})
	}
}

// weights writes a vector down by index.
func weights(indices []uint32, values []float32) []string {
	var list []string
	for i, index := range indices {
		list = append(list, fmt.Sprintf("%d:%.5f", index, values[i]))
	}
	slices.Sort(list)
	return list
}
