package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	qdrantclient "github.com/qdrant/go-client/qdrant"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/qdrant"
	"github.com/culprit-rag/culprit/adapters/weaviate"
	"github.com/culprit-rag/culprit/experiments"
)

// onLive loads an experiment whose store is the live one with these settings.
func onLive(t *testing.T, live liveStore, settings map[string]any, rest string) *experiments.Loaded {
	t.Helper()
	settings["adapter"] = live.adapter()
	store, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(file, []byte("culprit: v1\nname: live\nbackends:\n  store: "+string(store)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := experiments.Load(file, experiments.Options{Schemas: liveRegistry(t).Schemas()})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func expectLive(t *testing.T, loaded *experiments.Loaded, want string) {
	t.Helper()
	e := runWith(t, loaded, liveRegistry(t))[loaded.Cases[0].Case.ID].Evaluation
	consistent(t, e)
	t.Logf("%s: %s", verdictOf(e), e.Summary)
	if got := verdictOf(e); got != want {
		t.Errorf("got %s, want %s\n    %s", got, want, explained(e))
	}
}

func embedAll(t *testing.T, settings string, items []adapters.Item) {
	t.Helper()
	embedder, err := registry(t).Embedder(t.Context(), "embedded", adapters.Config{Settings: []byte(settings)})
	if err != nil {
		t.Fatal(err)
	}
	defer embedder.Close()
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = items[i].Text
	}
	response, err := embedder.Embed(t.Context(), adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForPassage})
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		items[i].Vector = response.Vectors[i]
	}
}

const harbourCase = `
cases:
  - {id: c, query: "%s", as: {tenant: north}, evidence: {required: [{source: gold, span: "%s"}]}, claims: [{id: x, any: ["%s"]}]}
`

func harbour(query, span string) string { return fmt.Sprintf(harbourCase, query, span, span) }

// TestNoSharedTermInLiveStores: the keyword search of a real engine knows no way from these words to the evidence.
func TestNoSharedTermInLiveStores(t *testing.T) {
	t.Parallel()
	for _, live := range liveStores(t) {
		t.Run(live.adapter(), func(t *testing.T) {
			settings := live.fill(t, []adapters.Item{
				{ID: "1", Source: "gold", Text: "The mooring fee is 60 crowns."}, {ID: "2", Text: "Boats cost money to keep."}, {ID: "3", Text: "Lunch is served at noon."},
			}, "cosine")
			expectLive(t, onLive(t, live, settings, "  generator: {adapter: embedded, spots: [60 crowns]}\npipeline: {search: {mode: keyword, k: 2}}"+harbour("What does keeping boats cost", "60 crowns")), "retrieve/vocabulary-miss")
		})
	}
}

// TestLengthDecidesInLiveStores: with a dot product a long vector of another text stands ahead of the right one.
func TestLengthDecidesInLiveStores(t *testing.T) {
	t.Parallel()
	for _, live := range liveStores(t) {
		t.Run(live.adapter(), func(t *testing.T) {
			items := []adapters.Item{
				{ID: "1", Source: "gold", Text: "The mooring fee is 60 crowns."}, {ID: "2", Text: "The mooring of ropes."}, {ID: "3", Text: "Lunch is served at noon."},
			}
			embedAll(t, `{"dimensions": 64}`, items)
			for i := range items[1].Vector {
				items[1].Vector[i] *= 9
			}
			settings := live.fill(t, items, "dot")
			expectLive(t, onLive(t, live, settings, "  embedder: {adapter: embedded, dimensions: 64}\n  generator: {adapter: embedded}\npipeline: {search: {mode: dense, k: 1}}"+harbour("the mooring fee", "60 crowns")), "embed/not-normalised")
		})
	}
}

// TestApproximateMissInLiveStores builds a graph that is too thin, looks for an item that it does not lead to, and asks for that.
func TestApproximateMissInLiveStores(t *testing.T) {
	t.Parallel()
	const k, embedder = 5, `{"dimensions": 48}`
	for _, live := range []thinStore{liveQdrant{startQdrant(t)}, liveWeaviate{startWeaviate(t)}} {
		t.Run(live.adapter(), func(t *testing.T) {
			items := randomTexts(3000)
			embedAll(t, embedder, items)
			settings := live.fillThin(t, items)
			query, gold := missedByGraph(t, live, settings, items, k)
			rest := fmt.Sprintf("  embedder: {adapter: embedded, dimensions: 48}\n  generator: {adapter: embedded}\npipeline: {search: {mode: dense, k: %d}}", k) +
				strings.ReplaceAll(harbour(query, gold.Text), "source: gold", "source: "+gold.Source)
			expectLive(t, onLive(t, live, settings, rest), "retrieve/approximate-miss")
		})
	}
}

// thinStore is a live store that can be filled with a graph of few edges.
type thinStore interface {
	liveStore
	fillThin(t *testing.T, items []adapters.Item) map[string]any
}

func randomTexts(n int) []adapters.Item {
	random := rand.New(rand.NewPCG(5, 8))
	items := make([]adapters.Item, n)
	for i := range items {
		words := []string{fmt.Sprintf("entry%d", i)}
		for range 9 {
			words = append(words, fmt.Sprintf("w%d", random.IntN(400)))
		}
		items[i] = adapters.Item{ID: fmt.Sprintf("i%d", i), Source: fmt.Sprintf("s%d", i), Text: strings.Join(words, " ")}
	}
	return items
}

// missedByGraph returns a query and the item that an exact search has first and the approximate one has not among its first k.
func missedByGraph(t *testing.T, live liveStore, settings map[string]any, items []adapters.Item, k int) (string, adapters.Item) {
	t.Helper()
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	store, err := liveRegistry(t).Store(t.Context(), live.adapter(), adapters.Config{Settings: raw})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range items {
		// Half of its words, so that the nearest item is it.
		query := strings.Join(strings.Fields(items[i].Text)[1:7], " ")
		asked := []adapters.Item{{Text: query}}
		embedAll(t, `{"dimensions": 48}`, asked)
		search := func(exact bool) []adapters.Hit {
			response, err := store.Search(t.Context(), adapters.SearchRequest{Mode: "dense", Vector: asked[0].Vector, Limit: k, Exact: exact})
			if err != nil {
				t.Fatal(err)
			}
			return response.Hits
		}
		exact, approximate := search(true), search(false)
		if exact[0].ID == pointID(items[i].ID) && !slices.ContainsFunc(approximate, func(h adapters.Hit) bool { return h.ID == exact[0].ID }) {
			return query, items[i]
		}
	}
	t.Fatal("the graph misses nothing")
	return "", adapters.Item{}
}

// TestOpenFilterInLiveStores reaches a real store through a gateway that turns a filter on a tenant that it does not know into
// none, and one that forwards no filter at all.
func TestOpenFilterInLiveStores(t *testing.T) {
	t.Parallel()
	for _, live := range []gatedStore{liveQdrant{startQdrant(t)}, liveWeaviate{startWeaviate(t)}} {
		for _, test := range []struct {
			name, want string
			drops      func(filter string) bool
		}{
			{"an unknown tenant opens it", "access/filter-open", func(f string) bool { return !strings.Contains(f, "north") && !strings.Contains(f, "south") }},
			{"it is not forwarded", "access/leak", func(string) bool { return true }},
			{"it is forwarded", "pass", func(string) bool { return false }},
		} {
			t.Run(live.adapter()+"/"+test.name, func(t *testing.T) {
				settings := live.fill(t, []adapters.Item{
					{ID: "1", Source: "gold", Text: "The gate code of the north pier is 4471.", Metadata: map[string][]string{"tenant": {"north"}}},
					{ID: "2", Text: "The gate code of the south pier is on the board.", Metadata: map[string][]string{"tenant": {"south"}}},
				}, "cosine")
				settings["address"] = live.gateway(t, test.drops)
				rest := "  generator: {adapter: embedded, prefers: best}\npipeline: {search: {mode: keyword, k: 2, filter: {tenant: \"{{as.tenant}}\"}}}" +
					harbour("What is the gate code of the north pier?", "4471")
				expectLive(t, onLive(t, live, settings, rest), test.want)
			})
		}
		t.Run(live.adapter()+"/it is not forwarded, and guards nobody", func(t *testing.T) {
			settings := live.fill(t, []adapters.Item{
				{ID: "1", Source: "gold", Text: "The gate code of the north pier is 4471.", Metadata: map[string][]string{"kind": {"code"}}},
				{ID: "2", Text: "Gate code, gate code: what is the gate code of the pier?", Metadata: map[string][]string{"kind": {"talk"}}},
			}, "cosine")
			settings["address"] = live.gateway(t, func(string) bool { return true })
			rest := "  generator: {adapter: embedded, prefers: best}\npipeline: {search: {mode: keyword, k: 1, filter: {kind: code}}}" +
				strings.Replace(harbour("What is the gate code of the pier?", "4471"), "as: {tenant: north}, ", "", 1)
			expectLive(t, onLive(t, live, settings, rest), "retrieve/filter-ignored")
		})
	}
}

// TestWordsOfAGroupLeak: a property of groups that is split into words lets "team-a" see what is for "team-b", in production as
// here. With filter: checked the adapter looks again, as an application may.
func TestWordsOfAGroupLeak(t *testing.T) {
	t.Parallel()
	live := liveWeaviate{startWeaviate(t)}
	for filter, want := range map[string]string{"server": "access/leak", "checked": "pass"} {
		t.Run(filter, func(t *testing.T) {
			settings := live.fillWith(t, []adapters.Item{
				{ID: "1", Source: "gold", Text: "The gate code of the north pier is 4471.", Access: []string{"team-a"}},
				{ID: "2", Text: "The gate code of the south pier is on the board.", Access: []string{"team-b"}},
			}, func(class *models.Class) {
				for _, p := range class.Properties {
					if p.Name == "groups" {
						p.Tokenization = "word"
					}
				}
			})
			settings["filter"] = filter
			rest := "  generator: {adapter: embedded, prefers: best}\npipeline: {search: {mode: keyword, k: 2, filter: {access: \"{{as.groups}}\"}}}" +
				strings.Replace(harbour("What is the gate code of the north pier?", "4471"), "as: {tenant: north}", "as: {groups: [team-a]}", 1)
			expectLive(t, onLive(t, live, settings, rest), want)
		})
	}
}

// TestShortFusionIsNoApproximation: production fuses as many of each ranking as it asks for, and a longer fusion has the evidence
// first. Exactness changes nothing about that, and is not blamed.
func TestShortFusionIsNoApproximation(t *testing.T) {
	t.Parallel()
	live := liveQdrant{startQdrant(t)}
	texts := []struct {
		text   string
		vector []float32
	}{
		{"Alpha pier.", []float32{1, 0, 0}},
		{"Beta pier.", []float32{0.98, 0.2, 0}},
		{"The harbour fee is 60 crowns, as is said in the rules, for boats of any size.", []float32{0.9, 0.4, 0}},
		{"Harbour fee rules, harbour fee rules.", []float32{0, 1, 0}},
		{"Harbour fee rules.", []float32{0, 0.9, 0.1}},
		{"Lunch is at noon.", []float32{0, 0, 1}},
	}
	const query = "harbour fee rules"
	vectors := map[string][]float32{query: {1, 0, 0}}
	var items []adapters.Item
	for i, x := range texts {
		vectors[x.text] = x.vector
		items = append(items, adapters.Item{ID: fmt.Sprint(i), Source: fmt.Sprintf("s%d", i), Text: x.text, Vector: x.vector})
	}
	items[2].Source = "gold"
	made, err := json.Marshal(vectors)
	if err != nil {
		t.Fatal(err)
	}
	settings := live.fill(t, items, "cosine")
	rest := "  embedder: {adapter: embedded, vectors: " + string(made) + "}\n  generator: {adapter: embedded, spots: [60 crowns]}\npipeline: {search: {mode: hybrid, k: 2, filter: {source: {not: nobody}}}}" + harbour(query, "60 crowns")
	expectLive(t, onLive(t, live, settings, rest), "retrieve/below-cutoff")
}

// TestUnmappedAccessInLiveStores: rights that are read from a field that no item has show no leak, and that is no pass.
func TestUnmappedAccessInLiveStores(t *testing.T) {
	t.Parallel()
	for _, live := range liveStores(t) {
		for field, want := range map[string]string{"groups": "access/leak", "group": "inconclusive"} {
			t.Run(live.adapter()+"/"+field, func(t *testing.T) {
				settings := live.fill(t, []adapters.Item{
					{ID: "1", Source: "gold", Text: "The gate code of the north pier is 4471.", Access: []string{"pilots"}},
					{ID: "2", Text: "The gate code of the south pier is on the board.", Access: []string{"board"}},
				}, "cosine")
				fields := maps.Clone(liveFields)
				fields["access"] = field
				settings["fields"] = fields
				rest := "  generator: {adapter: embedded, prefers: best}\npipeline: {search: {mode: keyword, k: 2}}" +
					strings.Replace(harbour("What is the gate code of the north pier?", "4471"), "as: {tenant: north}", "as: {role: [pilots]}", 1)
				expectLive(t, onLive(t, live, settings, rest), want)
			})
		}
	}
}

// movedStore changes its collection at the first search.
type movedStore struct {
	adapters.VectorStore
	once sync.Once
	move func()
}

func (m *movedStore) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	m.once.Do(m.move)
	return m.VectorStore.Search(ctx, req)
}

// TestMovingLiveStores writes to the collection while the case is run: the cheap fingerprint sees it, and no stage is blamed.
func TestMovingLiveStores(t *testing.T) {
	t.Parallel()
	items := []adapters.Item{
		{ID: "1", Source: "gold", Text: "The mooring fee is 60 crowns."}, {ID: "2", Text: "Boats cost money to keep."}, {ID: "3", Text: "Lunch is served at noon."},
	}
	q, w := liveQdrant{startQdrant(t)}, liveWeaviate{startWeaviate(t)}
	name := func(settings map[string]any) string { return settings["collection"].(string) } //nolint:forcetypeassert // it was set as one
	for what, move := range map[string]struct {
		qdrant, weaviate func(t *testing.T, collection string)
	}{
		"nothing": {func(*testing.T, string) {}, func(*testing.T, string) {}},
		"an item goes": {
			func(t *testing.T, c string) { q.server.Delete(t, c, qdrantclient.NewIDUUID(pointID("3"))) },
			func(t *testing.T, c string) { w.server.Delete(t, c, "", pointID("3")) },
		},
		"a text is edited in place": {
			func(t *testing.T, c string) {
				q.server.SetPayload(t, c, map[string]any{"body": "Lunch is over."}, qdrantclient.NewIDUUID(pointID("3")))
			},
			func(t *testing.T, c string) {
				w.server.Update(t, c, "", pointID("3"), map[string]any{"body": "Lunch is over."}, nil)
			},
		},
	} {
		for _, live := range []liveStore{q, w} {
			t.Run(live.adapter()+"/"+what, func(t *testing.T) {
				settings := live.fill(t, slices.Clone(items), "cosine")
				factories := []adapters.Factory{embedded.Factory(), qdrant.Factory(), weaviate.Factory()}
				for i := range factories {
					open := factories[i].OpenStore
					factories[i].OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
						store, err := open(ctx, cfg)
						if err != nil {
							return nil, err
						}
						return &movedStore{VectorStore: store, move: func() {
							if live.adapter() == q.adapter() {
								move.qdrant(t, name(settings))
							} else {
								move.weaviate(t, name(settings))
							}
						}}, nil
					}
				}
				registry, err := adapters.NewRegistry(factories...)
				if err != nil {
					t.Fatal(err)
				}
				loaded := onLive(t, live, settings, "  generator: {adapter: embedded, spots: [60 crowns]}\npipeline: {search: {mode: keyword, k: 2}}"+harbour("What does keeping boats cost", "60 crowns"))
				e := runWith(t, loaded, registry)["c"].Evaluation
				want := "inconclusive"
				if what == "nothing" {
					want = "retrieve/vocabulary-miss"
				}
				if got := verdictOf(e); got != want {
					t.Errorf("got %s, want %s\n    %s", got, want, explained(e))
				}
			})
		}
	}
}
