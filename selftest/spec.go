package selftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tree is a part of an experiment file, as YAML would have it.
type tree = map[string]any

// base is one healthy experiment with one case, and what a fault needs to know of it.
type base struct {
	shape string
	spec  tree

	gold     string // id of the item that holds the evidence
	goldText string
	span     string
	rival    string // id of an item that ranks ahead of the gold, or beside it
	other    string // id of an item that has nothing to do with the question
	second   string // id of the second required item, where there are two
	old      string // a value that was right once
	needs    int    // words of the gold's text
	tail     int    // bytes of the gold's text before what the claim asks for
	question string
	terms    []string // content words of the question
}

// set puts a value at a path such as "backends.store.faults.omit"; nil takes it away.
func (b *base) set(path string, value any) {
	at := b.spec
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := at[key].(tree)
		if !ok {
			next = tree{}
			at[key] = next
		}
		at = next
	}
	last := keys[len(keys)-1]
	if value == nil {
		delete(at, last)
		return
	}
	if own, ok := at[last].(tree); ok {
		if more, ok := value.(tree); ok {
			maps.Copy(own, more)
			return
		}
	}
	at[last] = value
}

// theCase is the one case.
func (b *base) theCase() tree { return b.spec["cases"].([]any)[0].(tree) }

// document returns an item by its id.
func (b *base) document(id string) tree {
	list := b.spec["backends"].(tree)["store"].(tree)["documents"].([]any)
	i := slices.IndexFunc(list, func(d any) bool { return d.(tree)["id"] == id })
	return list[i].(tree)
}

// beforeSpan is the gold's text up to the span.
func (b *base) beforeSpan() string {
	before, _, _ := strings.Cut(b.goldText, b.span)
	return before
}

// cloned copies a value, so that two experiments share nothing.
func cloned(v any) any {
	switch v := v.(type) {
	case tree:
		out := make(tree, len(v))
		for key, value := range v {
			out[key] = cloned(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloned(v[i])
		}
		return out
	}
	return v
}

func words(s string) int { return len(strings.Fields(s)) }

// document writes an item.
func document(id, text string, more ...tree) tree {
	d := tree{"id": id, "text": text}
	for _, m := range more {
		maps.Copy(d, m)
	}
	return d
}

// experiment writes an experiment in which nothing is broken.
func experiment(name, mode string, k int, documents []any, generator, theCase tree) tree {
	backends := tree{"store": tree{"adapter": "embedded", "documents": documents}, "generator": generator}
	if mode != "keyword" {
		backends["embedder"] = tree{"adapter": "embedded", "dimensions": 4096} // so many that words seldom share one
	}
	generator["adapter"] = "embedded"
	theCase["id"] = "case"
	return tree{
		"culprit": "v1", "name": name, "backends": backends,
		"pipeline": tree{"search": tree{"mode": mode, "k": k}},
		"cases":    []any{theCase},
	}
}

func required(source, span, text string) tree {
	return tree{"source": source, "span": span, "text": text}
}

func claim(id string, any ...string) tree { return tree{"id": id, "any": list(any)} }

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

func id(rank int, name string) string { return fmt.Sprintf("%c-%s", 'a'+rank, strings.ToLower(name)) }

func budget(n int) string { return fmt.Sprintf("%d words", n) }
