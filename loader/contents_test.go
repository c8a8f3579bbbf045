package loader

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

func qdrantContents(t *testing.T, s store) map[string]stored {
	t.Helper()
	client := (&qdranttest.Server{Address: s.address, APIKey: s.key}).Client(t)
	points, err := client.Scroll(t.Context(), &qdrant.ScrollPoints{
		CollectionName: s.collection, Limit: qdrant.PtrOf(uint32(1000)), WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]stored{}
	for _, p := range points {
		item := stored{id: p.GetId().GetUuid(), fields: map[string][]string{}, vector: p.GetVectors().GetVector().GetDenseVector().GetData()}
		for name, v := range p.GetPayload() {
			list := []string{v.GetStringValue()}
			if l := v.GetListValue(); l != nil {
				list = nil
				for _, e := range l.GetValues() {
					list = append(list, e.GetStringValue())
				}
			}
			item.fields[name] = list
		}
		out[item.fields[documentField][0]] = item
	}
	return out
}

// getJSON reads an address of the store's REST interface.
func getJSON(t *testing.T, s store, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", path, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func weaviateContents(t *testing.T, s store) map[string]stored {
	t.Helper()
	var page struct {
		Objects []struct {
			ID         string
			Properties map[string]any
			Vector     []float32
		}
	}
	getJSON(t, s, fmt.Sprintf("/v1/objects?class=%s&limit=1000&include=vector", s.collection), &page)
	out := map[string]stored{}
	for _, o := range page.Objects {
		item := stored{id: o.ID, fields: map[string][]string{}, vector: o.Vector}
		for name, v := range o.Properties {
			item.fields[name] = stringsOf(v)
		}
		out[item.fields[documentField][0]] = item
	}
	return out
}
