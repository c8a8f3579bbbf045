package runner

import (
	"encoding/json"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// meanings notes which meanings of fields the scanned items have a value for, to tell a mapping that names no field of the store:
// Qdrant keeps no schema that could be asked.
type meanings struct {
	mapped map[string]string // meaning → field, the setting "fields" of live stores
	seen   map[string]bool
	items  int
}

func newMeanings(store *matrix.Backend) *meanings {
	var settings struct {
		Fields map[string]string `json:"fields"`
	}
	if json.Unmarshal(store.Settings, &settings) != nil {
		settings.Fields = nil // an adapter whose fields are something else
	}
	return &meanings{mapped: settings.Fields, seen: map[string]bool{}}
}

func (m *meanings) see(item *adapters.Item) {
	m.items++
	if len(m.mapped) == 0 {
		return
	}
	for meaning, has := range map[string]bool{
		"source": item.Source != "", "revision": item.Revision != "", "access": len(item.Access) > 0, "embed_model": item.EmbedModel != "",
		"indexed_at": !item.IndexedAt.IsZero(), "updated_at": !item.UpdatedAt.IsZero(), "text": item.Text != "",
	} {
		if has {
			m.seen[meaning] = true
		}
	}
}

// unmapped returns the meanings that are mapped and that no item has, sorted; none where there are no items.
func (m *meanings) unmapped() []string {
	var out []string
	for meaning, field := range m.mapped {
		if m.items > 0 && field != "" && !m.seen[meaning] {
			out = append(out, meaning)
		}
	}
	slices.Sort(out)
	return out
}
