package embedded

import (
	"encoding/json"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
)

func TestStoreSuite(t *testing.T) {
	t.Parallel()
	for _, distance := range []string{distanceCosine, distanceDot} {
		t.Run(distance, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
				Capabilities: adapters.StoreCapabilities{
					Modes: []string{modeKeyword, modeDense, modeHybrid}, Exact: true, Threshold: true, Filter: true, Vectors: true,
					Collections: true, Only: true, Local: true,
				},
				Distance: distance,
				Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
					// The embedder would give a vector to the item that is to have none.
					without := map[string]vectorFault{}
					for _, item := range c.Items {
						if item.Vector == nil {
							without[item.ID] = vectorFault{None: true}
						}
					}
					settings, err := json.Marshal(map[string]any{"distance": distance, "faults": storeFaults{Vectors: without}})
					if err != nil {
						t.Fatal(err)
					}
					return mustOpen(t, dir, string(settings), c.Items, hashing(t, `{"dimensions": 24}`))
				},
			})
		})
	}
}

func TestStoreSuiteWithoutVectors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
		Capabilities: adapters.StoreCapabilities{
			Modes: []string{modeKeyword}, Exact: true, Threshold: true, Filter: true, Collections: true, Only: true, Local: true,
		},
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
			items := corpus(c.Items).clone()
			for i := range items {
				items[i].Vector = nil
			}
			return mustOpen(t, dir, `{}`, items, nil)
		},
	})
}
