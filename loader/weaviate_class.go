package loader

import (
	"github.com/weaviate/weaviate/entities/models"
)

// class is the schema of a class that a load makes. Values are kept whole ("field"), so that a filter compares them as they
// are; the text is the only one that keyword search reads, in words.
func class(at *settings, m mark, s survey) *models.Class {
	c := &models.Class{Class: at.Collection, Description: description(m)}
	index := map[string]any{"distance": "cosine"}
	if at.Vector == "" {
		c.Vectorizer, c.VectorIndexType, c.VectorIndexConfig = "none", "hnsw", index
	} else {
		c.VectorConfig = map[string]models.VectorConfig{
			at.Vector: {Vectorizer: map[string]any{"none": map[string]any{}}, VectorIndexType: "hnsw", VectorIndexConfig: index},
		}
	}
	yes, no := true, false
	add := func(name, kind, what string) {
		if name == "" {
			return
		}
		p := &models.Property{Name: name, DataType: []string{kind}, Description: what, IndexFilterable: &yes}
		if kind != "date" {
			p.Tokenization, p.IndexSearchable = models.PropertyTokenizationField, &no
		}
		c.Properties = append(c.Properties, p)
	}
	c.Properties = append(c.Properties, &models.Property{
		Name: at.Fields.Text, DataType: []string{"text"}, Description: "what is searched and read",
		Tokenization: models.PropertyTokenizationWord, IndexFilterable: &yes, IndexSearchable: &yes,
	})
	add(documentField, "text", "the document's own id")
	add(at.Fields.Source, "text", "where the text comes from")
	add(at.Fields.Revision, "text", "of the source")
	add(at.Fields.Access, "text[]", "who may see it; none: everybody")
	add(at.Fields.IndexedAt, "date", "when it was indexed")
	add(at.Fields.UpdatedAt, "date", "when the source was changed last")
	add(at.Fields.EmbedModel, "text", "what made the vector")
	for _, name := range s.names {
		kind := "text"
		if s.lists[name] {
			kind = "text[]"
		}
		add(name, kind, "")
	}
	return c
}
