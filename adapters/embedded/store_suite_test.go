package embedded

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
			files := sums{dir: dir, of: map[string]string{}}
			adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
				Capabilities: adapters.StoreCapabilities{
					Modes: []string{modeKeyword, modeDense, modeHybrid}, Exact: true, Threshold: true, Filter: true, Vectors: true,
					Collections: true, Only: true, FilterStatistics: true, Local: true,
				},
				Distance:   distance,
				EmbedModel: "hashing",
				Writes:     files.changed,
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
					store := mustOpen(t, dir, string(settings), c.Items, hashing(t, `{"dimensions": 24}`))
					files.take(t)
					return store
				},
			})
		})
	}
}

// sums are digests of the files of a cache folder, each taken when it was first there.
type sums struct {
	dir string
	of  map[string]string
}

func (s sums) now() map[string]string {
	all := map[string]string{}
	entries, _ := os.ReadDir(s.dir) // what cannot be read is missing, which shows
	for _, entry := range entries {
		if content, err := os.ReadFile(filepath.Join(s.dir, entry.Name())); err == nil {
			all[entry.Name()] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
	}
	return all
}

func (s sums) take(t *testing.T) {
	t.Helper()
	now := s.now()
	if len(now) == 0 {
		t.Fatal("there is no file to watch")
	}
	for name, sum := range now {
		if _, known := s.of[name]; !known {
			s.of[name] = sum
		}
	}
}

// changed lists the files that are not what they were. One that is gone has made room for a newer one.
func (s sums) changed() []string {
	var names []string
	for name, sum := range s.now() {
		if s.of[name] != sum {
			names = append(names, name)
		}
	}
	return names
}

func TestStoreSuiteWithoutVectors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
		Capabilities: adapters.StoreCapabilities{
			Modes: []string{modeKeyword}, Exact: true, Threshold: true, Filter: true, Collections: true, Only: true, FilterStatistics: true, Local: true,
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
