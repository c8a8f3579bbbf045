package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// storeFaults are the defects that can be switched on. All but the last three are built into the file.
type storeFaults struct {
	Omit        []string               `json:"omit,omitempty"`
	Replace     map[string]replacement `json:"replace,omitempty"`
	Move        map[string]string      `json:"move,omitempty"`
	Duplicate   map[string]int         `json:"duplicate,omitempty"`
	Ghost       []string               `json:"ghost,omitempty"`
	Vectors     map[string]vectorFault `json:"vectors,omitempty"`
	Approximate []string               `json:"approximate,omitempty"`
	Filter      string                 `json:"filter,omitempty"`
	Late        map[string]int         `json:"late,omitempty"`
}

// replacement is the content that stands under a document's id instead of its own; what is nil stays.
type replacement struct {
	Text     *string           `json:"text,omitempty"`
	Revision *string           `json:"revision,omitempty"`
	Source   *string           `json:"source,omitempty"`
	Access   *values           `json:"access,omitempty"`
	Metadata map[string]values `json:"metadata,omitempty"`
}

// vectorFault says what is wrong with one stored vector.
type vectorFault struct {
	Zero   bool    `json:"zero,omitempty"`
	None   bool    `json:"none,omitempty"`
	Swap   string  `json:"swap,omitempty"`
	Model  string  `json:"model,omitempty"`
	Prefix *string `json:"prefix,omitempty"`
}

// values is a list of strings that may be written as one string.
type values []string

// UnmarshalJSON reads one string or a list of strings.
func (v *values) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*v = values{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return err
	}
	*v = many
	return nil
}

func (f *storeFaults) check() error {
	if !slices.Contains([]string{"", filterIgnored, filterOpen, filterTexts}, f.Filter) {
		return fmt.Errorf("fault \"filter\": %q is neither ignored nor open nor texts", f.Filter)
	}
	for _, id := range slices.Sorted(maps.Keys(f.Duplicate)) {
		if n := f.Duplicate[id]; n < 1 {
			return fmt.Errorf("fault \"duplicate\": %d copies of %q", n, id)
		}
	}
	swapped := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(f.Vectors)) {
		other := f.Vectors[id].Swap
		if other == "" {
			continue
		}
		if other == id {
			return fmt.Errorf("fault \"vectors\": %q is swapped with itself", id)
		}
		for _, pair := range [][2]string{{id, other}, {other, id}} {
			if with, ok := swapped[pair[0]]; ok && with != pair[1] {
				return fmt.Errorf("fault \"vectors\": %q is swapped with both %q and %q", pair[0], with, pair[1])
			}
			swapped[pair[0]] = pair[1]
		}
	}
	return nil
}

// swaps lists the pairs of documents whose vectors are exchanged, each pair once.
func (f *storeFaults) swaps() [][2]string {
	var pairs [][2]string
	for _, id := range slices.Sorted(maps.Keys(f.Vectors)) {
		other := f.Vectors[id].Swap
		if other != "" && (id < other || f.Vectors[other].Swap != id) {
			pairs = append(pairs, [2]string{id, other})
		}
	}
	return pairs
}

// builtIn returns the faults that change what the file holds.
func (f storeFaults) builtIn() storeFaults {
	f.Approximate, f.Filter, f.Late = nil, "", nil
	return f
}

// keepsOut reports whether a document is not to be in a collection: it is not ingested, or goes into another one.
func (f *storeFaults) keepsOut(id, collection string) bool {
	to, moved := f.Move[id]
	return moved && to != collection || slices.Contains(f.Omit, id)
}

// entry is a document on its way into the file.
type entry struct {
	adapters.Item
	indexed string      // the text that keyword search and vector are made of
	vector  vectorFault // the zero value: none
	copies  int
}

// ingest yields the documents as the faulty pipeline would ingest them. After the last one it reports a fault that names
// an unknown document.
func (f *storeFaults) ingest(ctx context.Context, documents adapters.Documents) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		unseen := f.names()
		for item, err := range documents.Items(ctx) {
			if err != nil {
				yield(entry{}, err)
				return
			}
			delete(unseen, item.ID)
			if slices.Contains(f.Omit, item.ID) {
				continue
			}
			if !yield(f.apply(item), nil) {
				return
			}
		}
		for _, id := range slices.Sorted(maps.Keys(unseen)) {
			yield(entry{}, unknownID(ctx, unseen[id], id, documents))
			return
		}
	}
}

// unknownID names the setting that names no document, and the document that was most likely meant.
func unknownID(ctx context.Context, fault, id string, documents adapters.Documents) error {
	guess := meant(id)
	for item, err := range documents.Items(ctx) {
		if err != nil {
			return err
		}
		guess.see(item.ID, item.Source)
	}
	return invalid("open", "backends.store.faults.%s names %q, which is not among the documents%s", fault, id, guess)
}

func (f *storeFaults) apply(item adapters.Item) entry {
	if r, ok := f.Replace[item.ID]; ok {
		item = r.on(item)
	}
	if to, ok := f.Move[item.ID]; ok {
		item.Collection = to
	}
	e := entry{Item: item, indexed: item.Text, vector: f.Vectors[item.ID], copies: f.Duplicate[item.ID]}
	if slices.Contains(f.Ghost, item.ID) {
		e.Text = ""
	}
	return e
}

func (r replacement) on(item adapters.Item) adapters.Item {
	if r.Text != nil {
		item.Text = *r.Text
		item.Vector = nil // it was the vector of another text
	}
	if r.Revision != nil {
		item.Revision = *r.Revision
	}
	if r.Source != nil {
		item.Source = *r.Source
	}
	if r.Access != nil {
		item.Access = *r.Access
	}
	if r.Metadata != nil {
		item.Metadata = make(map[string][]string, len(r.Metadata))
		for name, v := range r.Metadata {
			item.Metadata[name] = v
		}
	}
	return item
}

// names maps every id that a built-in fault names to the fault's name.
func (f *storeFaults) names() map[string]string {
	names := map[string]string{}
	for _, id := range f.Omit {
		names[id] = "omit"
	}
	for _, id := range f.Ghost {
		names[id] = "ghost"
	}
	for id := range f.Replace {
		names[id] = "replace"
	}
	for id := range f.Move {
		names[id] = "move"
	}
	for id := range f.Duplicate {
		names[id] = "duplicate"
	}
	for id, v := range f.Vectors {
		names[id] = "vectors"
		if v.Swap != "" {
			names[v.Swap] = "vectors"
		}
	}
	return names
}
