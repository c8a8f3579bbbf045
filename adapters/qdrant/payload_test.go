package qdrant

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

func TestItems(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	fields := fieldSettings{Text: "page_content", Source: "metadata.source", Revision: "metadata.rev", Access: "groups", IndexedAt: "indexed", UpdatedAt: "updated", EmbedModel: "model"}
	for name, tt := range map[string]struct {
		payload map[string]any
		want    adapters.Item
	}{
		"everything": {
			map[string]any{
				"page_content": "t", "metadata": map[string]any{"source": "s", "rev": 3, "page": 7}, "groups": []any{"a", "b"}, "model": []any{"m", "n"},
				"indexed": "2026-07-01T14:00:00+02:00", "updated": noon.Unix(),
			},
			adapters.Item{ID: "1", Text: "t", Source: "s", Revision: "3", Access: []string{"a", "b"}, EmbedModel: "m", IndexedAt: noon, UpdatedAt: noon, Metadata: map[string][]string{"metadata.page": {"7"}}},
		},
		"nothing": {nil, adapters.Item{ID: "1"}},
		"a key with a dot comes before a path": {
			map[string]any{"metadata.source": "literal", "metadata": map[string]any{"source": "inner"}},
			adapters.Item{ID: "1", Source: "literal", Metadata: map[string][]string{"metadata.source": {"inner"}}},
		},
		"other times": {
			map[string]any{"indexed": "2026-07-01", "updated": float64(noon.Unix()) + 0.5},
			adapters.Item{ID: "1", IndexedAt: noon.Add(-12 * time.Hour), UpdatedAt: noon.Add(500 * time.Millisecond)},
		},
		"what is no time is metadata": {
			map[string]any{"indexed": "yesterday", "updated": "2026-07-01 12:00"},
			adapters.Item{ID: "1", UpdatedAt: noon, Metadata: map[string][]string{"indexed": {"yesterday"}}},
		},
		"scalars": {
			map[string]any{"groups": "one", "a": true, "b": -2, "c": 2.5, "d": nil, "e": []any{}, "f": []any{1, "x", nil, []any{"deep"}}, "g": map[string]any{}, "h": 1e21},
			adapters.Item{ID: "1", Access: []string{"one"}, Metadata: map[string][]string{"a": {"true"}, "b": {"-2"}, "c": {"2.5"}, "f": {"1", "x"}, "f[]": {"deep"}, "h": {"1e+21"}}},
		},
		"a text that is none": {
			map[string]any{"page_content": 7},
			adapters.Item{ID: "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, fields.item("1", qdrant.NewValueMap(tt.payload))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
