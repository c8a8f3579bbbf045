package conformance

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// change is one way in which a collection changes. It is made to the collection and to what the suite expects in it.
type change struct {
	name  string
	apply func(t T, c Collection, items []adapters.Item) []adapters.Item
}

// changing is a collection of the suite's own.
func (s *storeSuite) changing(t T) (Collection, []adapters.Item) {
	t.Helper()
	if s.Change == nil {
		t.Skip("a collection cannot change while a store is open")
	}
	return s.Change(t, s.corpus), slices.Clone(s.main)
}

// fresh returns an item that is in no corpus.
func (s *storeSuite) fresh(n int) adapters.Item {
	id := s.ID
	if id == nil {
		id = anyID
	}
	item := adapters.Item{
		ID: id(corpusSize + n), Text: fmt.Sprintf("Item %d came later.", n), Source: "later", Revision: "2027-01", EmbedModel: embedModel,
		Metadata: map[string][]string{"tenant": {"acme"}},
	}
	if s.has(dense) {
		item.Vector = queryVector(uint64(1000 + n))
	}
	return item
}

func (s *storeSuite) insert(from, to int) change {
	return change{"an insertion", func(t T, c Collection, items []adapters.Item) []adapters.Item {
		for n := from; n < to; n++ {
			items = append(items, s.fresh(n))
		}
		c.Put(t, items[len(items)-(to-from):]...)
		return items
	}}
}

func deletion(n int) change {
	return change{"a deletion", func(t T, c Collection, items []adapters.Item) []adapters.Item {
		c.Delete(t, items[n].ID)
		return slices.Delete(items, n, n+1)
	}}
}

// at finds an item of the corpus.
func (s *storeSuite) at(items []adapters.Item, n int) *adapters.Item {
	i := slices.IndexFunc(items, func(item adapters.Item) bool { return item.ID == s.corpus.Items[n].ID })
	return &items[i]
}

func (s *storeSuite) edits() []change {
	edits := []change{
		{"a text that is edited in place", func(t T, c Collection, items []adapters.Item) []adapters.Item {
			item := s.at(items, 60)
			item.Text = "Edited in place."
			c.SetText(t, item.ID, item.Text)
			return items
		}},
		{"an item that is deleted and comes back with another text", func(t T, c Collection, items []adapters.Item) []adapters.Item {
			item := s.at(items, 61)
			item.Text = "It was deleted and came back."
			c.Delete(t, item.ID)
			c.Put(t, *item)
			return items
		}},
		{"an item in the place of another", func(t T, c Collection, items []adapters.Item) []adapters.Item {
			item := s.at(items, 62)
			item.Revision, item.Access = "2028-01", []string{"nobody"}
			c.Put(t, *item)
			return items
		}},
	}
	if s.Capabilities.Vectors {
		edits = append(edits, change{"a vector and nothing else", func(t T, c Collection, items []adapters.Item) []adapters.Item {
			item := s.at(items, 63)
			item.Vector = queryVector(77)
			c.SetVector(t, item.ID, item.Vector)
			return items
		}})
	}
	return edits
}

// changes makes one change after the other under an open store. It must see each, and tell each from all states before.
func (s *storeSuite) changes(t T, _ adapters.VectorStore) {
	c, items := s.changing(t)
	store := c.Open(t)
	defer closeStore(t, store)
	seen := map[string]string{describe(t, store).Fingerprint: "no change"}
	if info := describe(t, store); seen[info.Fingerprint] == "" {
		t.Error("it changes by itself")
	}
	for _, change := range slices.Concat([]change{s.insert(0, 1), deletion(40)}, s.edits()) {
		items = change.apply(t, c, items)
		info := describe(t, store)
		if before, ok := seen[info.Fingerprint]; ok {
			t.Errorf("after %s it is what it was after %s", change.name, before)
		}
		seen[info.Fingerprint] = change.name
		if info.Count != len(items) {
			t.Errorf("after %s %d items are counted, want %d", change.name, info.Count, len(items))
		}
		got, report := scan(t, store, adapters.ScanRequest{Vectors: s.Capabilities.Vectors})
		if report.Scanned != report.Counted {
			t.Errorf("after %s: %+v", change.name, report)
		}
		if diff := s.diffItems(s.comparable(items), s.comparable(got)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", change.name, diff)
		}
		s.checkReopened(t, c, change.name, info.Fingerprint)
		if s.has(dense) {
			req := adapters.SearchRequest{Mode: dense, Vector: queryVector(3), Limit: all, IDsOnly: true, Exact: s.Capabilities.Exact}
			s.checkAgainst(t, s.bruteForce(items, req.Vector, nil), search(t, store, req))
		}
	}
}

func (s *storeSuite) checkReopened(t T, c Collection, after, want string) {
	t.Helper()
	store := c.Open(t)
	defer closeStore(t, store)
	if got := describe(t, store).Fingerprint; got != want {
		t.Errorf("after %s it is %q, and %q to a store that is opened then", after, want, got)
	}
}

// comparable returns the items by id, with vectors as far as they come back as they are.
func (s *storeSuite) comparable(items []adapters.Item) []adapters.Item {
	list := sorted(items)
	for i := range list {
		if s.UnitVectors || !s.Capabilities.Vectors {
			list[i].Vector = nil
		}
	}
	return list
}

func describe(t T, store adapters.VectorStore) adapters.StoreInfo {
	t.Helper()
	info, err := store.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// changedScan changes the collection in the middle of a scan. What the scan missed must show, in its own counts or in the
// fingerprint, or an absence would be believed that was never there.
func (s *storeSuite) changedScan(t T, _ adapters.VectorStore) {
	c, items := s.changing(t)
	store := c.Open(t)
	defer closeStore(t, store)
	rounds := [][]change{{s.insert(0, 8)}, {deletion(3)}, {deletion(150)}, {s.insert(8, 9), deletion(90)}}
	for _, edit := range s.edits() {
		rounds = append(rounds, []change{edit})
	}
	for _, round := range rounds {
		before := describe(t, store).Fingerprint
		visited := 0
		name := ""
		report, err := store.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error {
			if visited++; visited == 100 {
				for _, change := range round {
					name += change.name + " "
					items = change.apply(t, c, items)
				}
			}
			return nil
		})
		if err != nil {
			continue // a scan that does not finish proves nothing
		}
		if report.Scanned == report.Counted && describe(t, store).Fingerprint == before {
			t.Errorf("%+v and one fingerprint hide %sduring the scan", report, name)
		}
	}
}

func (s *storeSuite) writes(t T, _ adapters.VectorStore) {
	if s.Writes == nil {
		t.Skip("the harness does not see what is written")
	}
	if written := s.Writes(); len(written) > 0 {
		t.Errorf("the stores changed what they read: %q", written)
	}
}
