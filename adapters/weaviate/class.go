package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// class is what the server's schema says of a class.
type class struct {
	name        string // the real one, after aliases
	raw         []byte // the schema as it came
	description string
	properties  []property // that can be read, in the order of the schema
	unread      []string   // properties of other types
	vectors     map[string]vectorIndex
	tenants     bool // it has tenants
	activates   bool // a read wakes tenants up
	replicas    int
	stopwords   map[string]bool
}

// property is one that an item can be made of.
type property struct {
	Name            string   `json:"name"`
	DataType        []string `json:"dataType"`
	Tokenization    string   `json:"tokenization"`
	IndexFilterable *bool    `json:"indexFilterable"`
	IndexSearchable *bool    `json:"indexSearchable"`
	ModuleConfig    map[string]struct {
		Skip         bool `json:"skip"`
		PropertyName bool `json:"vectorizePropertyName"`
	} `json:"moduleConfig"`
}

func (p property) kind() string { return strings.TrimSuffix(p.DataType[0], "[]") }

func (p property) isText() bool { return p.kind() == "text" || p.kind() == "string" }

func (p property) filterable() bool {
	return p.IndexFilterable == nil || *p.IndexFilterable || p.IndexSearchable != nil && *p.IndexSearchable
}

// vectorIndex is a vector that a class has, under its name.
type vectorIndex struct {
	distance   string // the server's name
	kind       string // "hnsw", "flat", "dynamic"
	cutoff     int    // a search over fewer objects that a filter admits compares all of them
	compressed []string
	multi      bool // many vectors for each object
	skipped    bool // not indexed at all
	vectorizer string
	module     map[string]any // its settings
}

// schemaOf is the form of a class in the schema.
type schemaOf struct {
	Class             string                    `json:"class"`
	Description       string                    `json:"description"`
	Properties        []property                `json:"properties"`
	Vectorizer        string                    `json:"vectorizer"`
	VectorIndexType   string                    `json:"vectorIndexType"`
	VectorIndexConfig map[string]any            `json:"vectorIndexConfig"`
	ModuleConfig      map[string]map[string]any `json:"moduleConfig"`
	VectorConfig      map[string]struct {
		Vectorizer        map[string]map[string]any `json:"vectorizer"`
		VectorIndexType   string                    `json:"vectorIndexType"`
		VectorIndexConfig map[string]any            `json:"vectorIndexConfig"`
	} `json:"vectorConfig"`
	MultiTenancyConfig struct {
		Enabled              bool `json:"enabled"`
		AutoTenantActivation bool `json:"autoTenantActivation"`
	} `json:"multiTenancyConfig"`
	ReplicationConfig struct {
		Factor int `json:"factor"`
	} `json:"replicationConfig"`
	InvertedIndexConfig struct {
		Stopwords struct {
			Preset    string   `json:"preset"`
			Additions []string `json:"additions"`
		} `json:"stopwords"`
	} `json:"invertedIndexConfig"`
}

// lookUp reads the schema of a class or alias.
func (s *store) lookUp(ctx context.Context, name string) (*class, error) {
	if !className.MatchString(name) {
		return nil, problemf(adapters.KindNotFound, "there is no class %q: that is no name of one", name)
	}
	raw, err := s.raw(ctx, "/schema/"+url.PathEscape(name))
	if err != nil {
		var status *statusError
		if errors.As(err, &status) && status.status == http.StatusNotFound {
			return nil, s.noClass(ctx, name)
		}
		return nil, err
	}
	var schema schemaOf
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, notJSON(s, "/schema/"+name, err)
	}
	if !className.MatchString(schema.Class) {
		return nil, notJSON(s, "/schema/"+name, errors.New("it names no class"))
	}
	return newClass(schema, raw), nil
}

// noClass names the classes that there are.
func (s *store) noClass(ctx context.Context, name string) error {
	names, err := s.classNames(ctx)
	if err != nil {
		return problemf(adapters.KindNotFound, "there is no class %q: check backends.store.collection", name)
	}
	if len(names) == 0 {
		return problemf(adapters.KindNotFound, "there is no class %q, nor any other on this server: check backends.store.collection and backends.store.address", name)
	}
	return problemf(adapters.KindNotFound, "there is no class %q: set backends.store.collection to one of %s", name, listed(names))
}

func (s *store) classNames(ctx context.Context) ([]string, error) {
	dump, err := s.schema.Getter().Do(ctx)
	if err != nil {
		return nil, unwrapFault(err)
	}
	var names []string
	for _, c := range dump.Classes {
		if c != nil {
			names = append(names, c.Class)
		}
	}
	slices.Sort(names)
	return names, nil
}

const longestList = 30

// listed shows names in a message.
func listed(names []string) string {
	more := ""
	if len(names) > longestList {
		names, more = names[:longestList], ", …"
	}
	return strings.Join(slices.Collect(func(yield func(string) bool) {
		for _, name := range names {
			if !yield(quote(name)) {
				return
			}
		}
	}), ", ") + more
}

// scalar are the types whose values an item can hold; others would need a selection of their own in a query.
var scalar = map[string]bool{"text": true, "string": true, "int": true, "number": true, "boolean": true, "date": true, "uuid": true}

func newClass(schema schemaOf, raw []byte) *class {
	c := &class{
		name: schema.Class, raw: raw, description: schema.Description, vectors: map[string]vectorIndex{},
		tenants: schema.MultiTenancyConfig.Enabled, activates: schema.MultiTenancyConfig.AutoTenantActivation, replicas: schema.ReplicationConfig.Factor,
		stopwords: map[string]bool{},
	}
	for _, p := range schema.Properties {
		switch {
		case len(p.DataType) == 1 && scalar[p.kind()] && propertyName.MatchString(p.Name):
			c.properties = append(c.properties, p)
		default:
			c.unread = append(c.unread, p.Name)
		}
	}
	if schema.VectorIndexType != "" {
		c.vectors[""] = newVectorIndex(schema.VectorIndexType, schema.VectorIndexConfig, schema.Vectorizer, schema.ModuleConfig[schema.Vectorizer])
	}
	for name, v := range schema.VectorConfig {
		vectorizer := ""
		for module := range maps.Keys(v.Vectorizer) {
			vectorizer = module // there is one
		}
		c.vectors[name] = newVectorIndex(v.VectorIndexType, v.VectorIndexConfig, vectorizer, v.Vectorizer[vectorizer])
	}
	if schema.InvertedIndexConfig.Stopwords.Preset != "none" {
		for _, word := range englishStopwords {
			c.stopwords[word] = true
		}
	}
	for _, word := range schema.InvertedIndexConfig.Stopwords.Additions {
		c.stopwords[strings.ToLower(word)] = true
	}
	return c
}

func newVectorIndex(kind string, config map[string]any, vectorizer string, module map[string]any) vectorIndex {
	v := vectorIndex{kind: kind, vectorizer: vectorizer, module: module, distance: "cosine"}
	if distance, ok := config["distance"].(string); ok && distance != "" {
		v.distance = distance
	}
	if kind == "dynamic" { // its settings stand in those of the index that it is at first and later becomes
		if hnsw, ok := config["hnsw"].(map[string]any); ok {
			v.cutoff = number(hnsw["flatSearchCutoff"])
			v.compressed = enabled(hnsw)
		}
		if flat, ok := config["flat"].(map[string]any); ok {
			v.compressed = append(v.compressed, enabled(flat)...)
		}
		return v
	}
	v.cutoff = number(config["flatSearchCutoff"])
	v.compressed = enabled(config)
	v.skipped, _ = config["skip"].(bool)
	if multi, ok := config["multivector"].(map[string]any); ok {
		v.multi, _ = multi["enabled"].(bool)
	}
	return v
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}

// enabled returns the kinds of quantization that are on.
func enabled(config map[string]any) []string {
	var on []string
	for _, kind := range []string{"bq", "pq", "rq", "sq"} {
		if settings, ok := config[kind].(map[string]any); ok && settings["enabled"] == true {
			on = append(on, kind)
		}
	}
	return on
}

func (c *class) property(name string) (property, bool) {
	for _, p := range c.properties {
		if p.Name == name {
			return p, true
		}
	}
	return property{}, false
}

// index returns the index of a vector. The zero value is of a class that does not have it.
func (c *class) index(vector string) vectorIndex { return c.vectors[vector] }

// serves says whether the class has what the settings name.
func (c *class) serves(s storeSettings) error {
	if err := c.hasText(s.Fields.Text); err != nil {
		return err
	}
	index, ok := c.vectors[s.Vector]
	switch {
	case !ok && len(c.vectors) == 1 && c.vectors[""].kind != "":
		return invalid("class %q has no vector %q: its vector has no name, leave backends.store.vector out", c.name, s.Vector)
	case !ok:
		return invalid("class %q has no vector %q: set backends.store.vector to one of %s", c.name, s.Vector, listed(slices.Sorted(maps.Keys(c.vectors))))
	case index.multi:
		return invalid("vector %q of class %q holds many vectors for each object, which cannot be compared with one: set backends.store.vector to another", s.Vector, c.name)
	case len(s.Tenants) > 0 && !c.tenants:
		return invalid("class %q has no tenants: leave backends.store.tenants out", c.name)
	}
	for _, field := range s.Keyword.Fields {
		name := keywordName.FindStringSubmatch(field)[1]
		if p, ok := c.property(name); !ok || !p.isText() {
			return invalid("backends.store.keyword.fields: class %q has no text property %q; it has %s", c.name, name, listed(c.textProperties()))
		}
	}
	return nil
}

func (c *class) hasText(name string) error {
	p, ok := c.property(name)
	switch {
	case !ok:
		return invalid("class %q has no property %q: set backends.store.fields.text to one of %s", c.name, name, listed(c.textProperties()))
	case !p.isText() || p.DataType[0] != p.kind():
		return invalid("property %q of class %q is of type %s and holds no text: set backends.store.fields.text to one of %s", name, c.name, p.DataType[0], listed(c.textProperties()))
	}
	return nil
}

// searchable says whether the fields have an index for keyword search.
func (c *class) searchable(fields []string) error {
	for _, field := range fields {
		name := keywordName.FindStringSubmatch(field)[1]
		if p, _ := c.property(name); p.IndexSearchable != nil && !*p.IndexSearchable {
			return invalid("property %q of class %q has no index for keyword search (indexSearchable): set backends.store.keyword.fields to others", name, c.name)
		}
	}
	return nil
}

func (c *class) textProperties() []string {
	var names []string
	for _, p := range c.properties {
		if p.isText() {
			names = append(names, p.Name)
		}
	}
	return names
}

// englishStopwords are those of the server's preset "en", which is the default.
var englishStopwords = strings.Fields(`a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
	to was will with`)
