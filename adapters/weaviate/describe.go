package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/culprit-rag/culprit/adapters"
)

// Describe looks the class up again, an alias with it, so that what follows reads what is there now.
func (s *store) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	ctx, leave, err := s.enter(ctx, "describe")
	if err != nil {
		return adapters.StoreInfo{}, err
	}
	defer leave()
	info, err := s.describe(ctx)
	if err != nil {
		return adapters.StoreInfo{}, s.failure(ctx, "describe", err)
	}
	return info, nil
}

func (s *store) describe(ctx context.Context) (adapters.StoreInfo, error) {
	if err := s.readMeta(ctx); err != nil {
		return adapters.StoreInfo{}, err
	}
	c, err := s.refresh(ctx)
	if err != nil {
		return adapters.StoreInfo{}, err
	}
	list, err := s.tenants(ctx, c)
	if err != nil {
		return adapters.StoreInfo{}, err
	}
	index := c.index(s.set.Vector)
	declared := c.declared()
	info := adapters.StoreInfo{
		Engine: Name, Version: s.told(), Collection: c.name, Distance: distanceName(index.distance), VectorType: "float32",
		EmbedModel: index.model(), QueryPrefix: declared.QueryPrefix, PassagePrefix: declared.PassagePrefix, Revision: declared.Revision,
		EmbedInput: c.embedInput(s.set), FingerprintMisses: fingerprintMisses,
	}
	if info.EmbedModel == "" {
		info.EmbedModel = declared.EmbedModel
	}
	if info.Collections, err = s.classNames(ctx); err != nil {
		return info, err
	}
	if info.Fingerprint, info.Count, err = s.fingerprint(ctx, c, list); err != nil {
		return info, s.explainQuery(c, err)
	}
	if info.Dimensions, err = s.storedDimensions(ctx, c); err != nil {
		return info, err
	}
	if info.DeclaredPerItem, err = s.declaredPerItem(ctx, c, list.active); err != nil {
		return info, s.explainQuery(c, err)
	}
	info.Notes, err = s.notes(ctx, c, list, info.Count)
	return info, err
}

// declaration is what the description of a class declares of it, where that is a JSON object with these names. It is how a
// class whose vectors are made elsewhere can say by what.
type declaration struct {
	EmbedModel    string  `json:"embed_model"`
	Dimensions    int     `json:"dimensions"`
	QueryPrefix   *string `json:"query_prefix"`
	PassagePrefix *string `json:"passage_prefix"`
	Revision      string  `json:"revision"`
}

func (c *class) declared() declaration {
	var d declaration
	if json.Unmarshal([]byte(c.description), &d) != nil {
		return declaration{} // a description in words
	}
	return d
}

// model is the model that the store's own vectorizer names.
func (v vectorIndex) model() string {
	for _, name := range []string{"model", "modelId", "modelName"} {
		if model, ok := v.module[name].(string); ok && model != "" {
			return model
		}
	}
	return ""
}

// embedInput says what the store's own vectorizer embeds where that is not the text alone.
func (c *class) embedInput(s storeSettings) string {
	index := c.index(s.Vector)
	if index.vectorizer == "" || index.vectorizer == "none" {
		return ""
	}
	var parts, only []string
	if flag, told := index.module["vectorizeClassName"].(bool); flag || !told {
		parts = append(parts, "the name of the class")
	}
	if named, told := index.module["properties"].([]any); told {
		only = texts(valuesOf(named))
	} else if named, told := index.module["sourceProperties"].([]any); told {
		only = texts(valuesOf(named))
	}
	text := false
	for _, p := range c.properties {
		if !p.isText() || p.ModuleConfig[index.vectorizer].Skip || only != nil && !slices.Contains(only, p.Name) {
			continue
		}
		if p.ModuleConfig[index.vectorizer].PropertyName {
			parts = append(parts, "the name of property "+quote(p.Name))
		}
		if p.Name == s.Fields.Text {
			text = true
			continue
		}
		parts = append(parts, "property "+quote(p.Name))
	}
	if text && len(parts) == 0 {
		return ""
	}
	with := "without the text"
	if text {
		with = "with the text"
	}
	return fmt.Sprintf("the store's vectorizer %q embeds %s, %s", index.vectorizer, strings.Join(parts, ", "), with)
}

// count is exact, at once after a write too.
func (s *store) count(ctx context.Context, c *class, tenant string) (int, error) {
	var args arguments
	args.add("tenant", tenantArgument(tenant))
	rows, err := s.query(ctx, "Aggregate", c.name, document("Aggregate", c.name, args, "meta{count}"))
	if err != nil {
		return 0, s.explainQuery(c, err)
	}
	n, ok := groupCount(rows)
	if !ok {
		return 0, problemf(adapters.KindPermanent, "the server counts nothing in class %q", c.name)
	}
	return n, nil
}

func groupCount(rows []any) (int, bool) {
	if len(rows) != 1 {
		return 0, false
	}
	row, _ := rows[0].(map[string]any)
	meta, _ := row["meta"].(map[string]any)
	n, ok := meta["count"].(float64)
	return int(n), ok
}

// declaredPerItem counts the models that items declare; those that declare none stand under "".
func (s *store) declaredPerItem(ctx context.Context, c *class, tenants []string) (map[string]int, error) {
	field := s.set.Fields.EmbedModel
	if _, ok := c.property(field); !ok {
		return nil, nil
	}
	parts, err := overTenants(ctx, tenants, func(ctx context.Context, tenant string) (map[string]int, error) {
		total, err := s.count(ctx, c, tenant)
		if err != nil || total == 0 {
			return nil, err
		}
		var args arguments
		args.add("tenant", tenantArgument(tenant))
		args.add("groupBy", quoteAll([]string{field}))
		args.add("limit", strconv.Itoa(total)) // of groups; it is 100 otherwise
		rows, err := s.query(ctx, "Aggregate", c.name, document("Aggregate", c.name, args, "meta{count} groupedBy{value}"))
		if err != nil {
			return nil, err
		}
		counts, declared := map[string]int{}, 0
		for _, row := range rows {
			n, ok := groupCount([]any{row})
			group, _ := row.(map[string]any)
			by, named := group["groupedBy"].(map[string]any)
			if !ok || !named {
				return nil, problemf(adapters.KindPermanent, "the server groups class %q by %q without counts", c.name, field)
			}
			counts[first(valuesOf(by["value"]))] += n
			declared += n
		}
		if declared < total {
			counts[""] += total - declared
		}
		return counts, nil
	})
	if err != nil {
		return nil, err
	}
	sum := map[string]int{}
	for _, counts := range parts {
		for model, n := range counts {
			sum[model] += n
		}
	}
	return sum, nil
}

// shardState is what the server says of a shard of a class.
type shardState struct {
	Class                string `json:"class"`
	VectorIndexingStatus string `json:"vectorIndexingStatus"`
	VectorQueueLength    int    `json:"vectorQueueLength"`
	ObjectCount          int    `json:"objectCount"` // in segments; what is still in memory is not counted
	Replicas             int    `json:"numberOfReplicas"`
	Loaded               *bool  `json:"loaded"`
}

// notes are what else bears on what is read.
func (s *store) notes(ctx context.Context, c *class, list tenantList, count int) ([]string, error) {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if version := s.told(); release(version) != release(tested) {
		add("the server is Weaviate %s; this adapter was tested with %s.", version, tested)
	}
	if upperFirst(s.set.Collection) != c.name {
		add("%q is an alias of class %q.", s.set.Collection, c.name)
	}
	if index := c.index(s.set.Vector); len(index.compressed) > 0 {
		add("the vector index is quantized (%s): searches are approximate in one more way, and an exact search compares the stored vectors here.", strings.Join(index.compressed, ", "))
	} else if index.skipped {
		add("the vectors are not indexed (vectorIndexConfig.skip): only an exact search finds by them.")
	}
	for _, f := range s.set.Fields.named() {
		if _, ok := c.property(f[1]); f[1] != "" && !ok {
			add("class %q has no property %q, which backends.store.fields.%s names.", c.name, f[1], f[0])
		}
	}
	if len(c.unread) > 0 {
		add("properties of other types than text, number, boolean, date and uuid are not read: %s.", listed(c.unread))
	}
	if c.tenants {
		add("the class has %d active tenants that are read; an item's tenant stands in its metadata %q.", len(list.active), s.set.TenantField)
	}
	if unread := list.unread(c); unread != "" {
		add("%s.", "not read: "+unread)
		if c.activates {
			add("the class has autoTenantActivation: a read of a tenant that is not active would wake it up.")
		}
	}
	states, err := s.indexing(ctx, c, count)
	return append(notes, states...), err
}

// indexing says which objects the vector index does not have yet.
func (s *store) indexing(ctx context.Context, c *class, count int) ([]string, error) {
	var nodes struct {
		Nodes []struct {
			Name   string       `json:"name"`
			Shards []shardState `json:"shards"`
		} `json:"nodes"`
	}
	if err := s.get(ctx, "/nodes/"+url.PathEscape(c.name)+"?output=verbose", &nodes); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return []string{"the state of the vector index could not be read: " + unwrapFault(err).Error() + "."}, nil
	}
	queued, unloaded, written := 0, 0, 0
	states := map[string]int{}
	for _, node := range nodes.Nodes {
		for _, shard := range node.Shards {
			if shard.Class != c.name {
				continue
			}
			queued += shard.VectorQueueLength
			written += shard.ObjectCount / max(shard.Replicas, 1)
			if shard.Loaded != nil && !*shard.Loaded {
				unloaded++
			} else if shard.VectorIndexingStatus != "" && shard.VectorIndexingStatus != "READY" {
				states[shard.VectorIndexingStatus]++
			}
		}
	}
	var notes []string
	if queued > 0 {
		notes = append(notes, fmt.Sprintf("%d objects wait for the vector index: searches do not find them yet.", queued))
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		notes = append(notes, fmt.Sprintf("%d shards are %s and not READY.", states[state], state))
	}
	if written < count && unloaded == 0 {
		notes = append(notes, fmt.Sprintf("%d of %d objects are not in segments yet: a keyword search with a small limit may lose the best of them, as seen with Weaviate 1.35.2.", count-written, count))
	}
	if unloaded > 0 {
		notes = append(notes, fmt.Sprintf("%d shards are loaded when they are first read (LAZY_LOADING): the first searches are slow.", unloaded))
	}
	return notes, nil
}

// release is a version without its last number.
func release(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// upperFirst makes the name that the server makes of a class's.
func upperFirst(name string) string {
	if name == "" {
		return ""
	}
	return string(unicode.ToUpper(rune(name[0]))) + name[1:]
}
