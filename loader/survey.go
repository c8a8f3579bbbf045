package loader

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/culprit-rag/culprit/adapters"
)

// survey is what one reading of the documents tells before anything is written.
type survey struct {
	Documents string // digest
	Items     int
	Embedder  embedder
	names     []string        // of metadata, sorted
	lists     map[string]bool // metadata that has several values somewhere
	vectors   bool            // an item has a vector
	fields    fields
}

// entry is an item on its way into the store.
type entry struct {
	id   string // a UUID made of the document's id, so that loading again writes the same item
	item adapters.Item
	// values are the fields by the names that they have in the store: a text, or a list of texts.
	values map[string]any
}

// documentField keeps the document's own id, since a store's ids have a form of their own.
const documentField = "document_id"

// namespace of the ids: the UUIDv5 of the project's name in the namespace of URLs.
var namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/culprit-rag/culprit"))

func itemID(document string) string { return uuid.NewSHA1(namespace, []byte(document)).String() }

// newSurvey reads every document once, and refuses those that the collection could not hold.
func newSurvey(ctx context.Context, job Job, at *settings) (survey, error) {
	s := survey{lists: map[string]bool{}, fields: at.Fields}
	if job.Embedder != nil {
		info, err := job.Embedder.Describe(ctx)
		if err != nil {
			return s, fmt.Errorf("asking the embedder what it is: %w", err)
		}
		s.Embedder, s.vectors = newEmbedder(info), true
	}
	first := ""
	for item, err := range job.Documents.Items(ctx) {
		if err != nil {
			return s, err
		}
		if first == "" {
			first = item.Text
		}
		if err := s.add(&item, at); err != nil {
			return s, err
		}
	}
	if s.Items == 0 {
		return s, refuse("the documents hold no item: backends.store.documents names nothing to load")
	}
	if job.Embedder != nil && s.Embedder.Dimensions == 0 { // not told: one vector tells it
		response, err := job.Embedder.Embed(ctx, adapters.EmbedRequest{Texts: []string{first}, Purpose: adapters.ForPassage})
		if err != nil {
			return s, fmt.Errorf("asking the embedder for its dimensions: %w", err)
		}
		s.Embedder.Dimensions = len(response.Vectors[0])
	}
	var err error
	s.names = slices.Sorted(maps.Keys(s.lists))
	s.Documents, err = job.Documents.Digest(ctx)
	return s, err
}

// add takes an item into account.
func (s *survey) add(item *adapters.Item, at *settings) error {
	s.Items++
	if item.Collection != "" && item.Collection != at.Collection {
		return refuse("document %q belongs to collection %q: a load fills backends.store.collection alone. Take the document out, or its collection", item.ID, item.Collection)
	}
	if n := len(item.Vector); n > 0 {
		s.vectors = true
		if s.Embedder.Dimensions == 0 && s.Embedder.Model == "" {
			s.Embedder.Dimensions = n
		}
		if s.Embedder.Dimensions != 0 && n != s.Embedder.Dimensions {
			return refuse("the vector of document %q has %d dimensions, and those of backends.embedder have %d: one collection holds one length", item.ID, n, s.Embedder.Dimensions)
		}
	}
	for name, values := range item.Metadata {
		if what := at.Fields.holds(name); what != "" {
			return refuse("metadata %q of document %q has the name of backends.store.fields.%s: rename one of the two", name, item.ID, what)
		}
		if why := at.badName(name); why != "" {
			return refuse("metadata %q of document %q %s: rename it", name, item.ID, why)
		}
		s.lists[name] = s.lists[name] || len(values) > 1
	}
	return nil
}

// entry lays an item out under the names of the store.
func (s *survey) entry(item adapters.Item) entry {
	e := entry{id: itemID(item.ID), item: item, values: map[string]any{documentField: item.ID}}
	put := func(field, value string) {
		if field != "" && value != "" {
			e.values[field] = value
		}
	}
	e.values[s.fields.Text] = item.Text
	put(s.fields.Source, item.Source)
	put(s.fields.Revision, item.Revision)
	put(s.fields.IndexedAt, timeText(item.IndexedAt))
	put(s.fields.UpdatedAt, timeText(item.UpdatedAt))
	model := item.EmbedModel
	if model == "" && item.Vector == nil {
		model = s.Embedder.Model
	}
	put(s.fields.EmbedModel, model)
	if s.fields.Access != "" && len(item.Access) > 0 {
		e.values[s.fields.Access] = item.Access
	}
	for name, values := range item.Metadata {
		switch {
		case len(values) == 0:
		case s.lists[name]:
			e.values[name] = values
		default:
			e.values[name] = values[0]
		}
	}
	return e
}
