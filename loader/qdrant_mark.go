package loader

import (
	"context"
	"strings"

	"github.com/qdrant/go-client/qdrant"
)

// metadataMark is the key of a collection's metadata that holds the whole mark. The keys beside it say the same to everybody.
const metadataMark = "culprit_load"

func declared(m mark) map[string]*qdrant.Value {
	out := map[string]*qdrant.Value{
		metadataMark: qdrant.NewValueString(m.text()),
		"documents":  qdrant.NewValueString(m.Documents),
	}
	if m.Embedder.Dimensions > 0 {
		out["dimensions"] = qdrant.NewValueInt(int64(m.Embedder.Dimensions))
	}
	if m.Embedder.Model != "" {
		out["embed_model"] = qdrant.NewValueString(m.Embedder.Model)
		out["query_prefix"] = qdrant.NewValueString(m.Embedder.QueryPrefix)
		out["passage_prefix"] = qdrant.NewValueString(m.Embedder.PassagePrefix)
	}
	return out
}

// Servers before 1.16 keep no metadata. There the mark is a payload index on a field that no item has: it belongs to the
// collection, so it goes when the collection goes, and it adds no item to what is searched and counted. A name is short, so
// it holds the state and a digest.
const namedMark = "culprit_load_"

func (m *mark) asName() string { return namedMark + m.State + "_" + m.digest() }

func markByName(info *qdrant.CollectionInfo) *mark {
	var out *mark
	for name := range info.GetPayloadSchema() {
		rest, ours := strings.CutPrefix(name, namedMark)
		state, digest, whole := strings.Cut(rest, "_")
		if !ours || !whole {
			continue
		}
		// Both stand there when a load ended between writing the one and taking away the other.
		if out == nil || state == stateComplete {
			out = &mark{State: state, recipe: digest}
		}
	}
	return out
}

func (q *qdrantTarget) remark(ctx context.Context, m mark) error {
	if !q.byName {
		err := q.client.UpdateCollection(ctx, &qdrant.UpdateCollection{CollectionName: q.at.Collection, Metadata: declared(m)})
		return q.fail(ctx, q.about("marking"), err)
	}
	if err := q.index(ctx, m.asName()); err != nil {
		return err
	}
	m.State = stateLoading
	_, err := q.client.DeleteFieldIndex(ctx, &qdrant.DeleteFieldIndexCollection{CollectionName: q.at.Collection, FieldName: m.asName(), Wait: qdrant.PtrOf(true)})
	return q.fail(ctx, q.about("marking"), err)
}
