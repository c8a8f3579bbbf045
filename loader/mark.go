package loader

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// The states of a load.
const (
	stateLoading  = "loading"
	stateComplete = "complete"
)

// markFormat changes with the way in which items are written.
const markFormat = 1

// mark is what a collection says of the load that made it. Everything but State decides what the collection holds.
type mark struct {
	Format     int      `json:"format"`
	Collection string   `json:"collection"` // by its own name, not an alias
	State      string   `json:"state"`
	Documents  string   `json:"documents"` // digest of the corpus
	Items      int      `json:"items"`
	Embedder   embedder `json:"embedder"`
	Layout     string   `json:"layout"` // digest of the names of fields and vectors
	recipe     string   // of a mark that keeps nothing else: its digest
}

// embedder is what made the vectors; without a model nothing did, and Dimensions are those of the documents' own.
type embedder struct {
	Adapter       string `json:"adapter,omitempty"`
	Model         string `json:"model,omitempty"`
	Dimensions    int    `json:"dimensions,omitempty"`
	QueryPrefix   string `json:"query_prefix"`
	PassagePrefix string `json:"passage_prefix"`
	Revision      string `json:"revision,omitempty"`
}

func newEmbedder(info adapters.EmbedderInfo) embedder {
	return embedder{info.Adapter, info.Model, info.Dimensions, info.QueryPrefix, info.PassagePrefix, info.Revision}
}

func newMark(at *settings, s survey) mark {
	return mark{Format: markFormat, Collection: at.Collection, Documents: s.Documents, Items: s.Items, Embedder: s.Embedder, Layout: at.layout()}
}

// differences says in what two loads differ.
func (m *mark) differences(want mark) []string {
	if m.recipe != "" {
		if m.recipe != want.digest() {
			return []string{"the documents, the embedder or the names of fields are others"}
		}
		return nil
	}
	var out []string
	add := func(what string, there, now any) {
		if there != now {
			out = append(out, fmt.Sprintf("%s: %v there, %v now", what, there, now))
		}
	}
	if m.Documents != want.Documents {
		out = append(out, fmt.Sprintf("the documents are others (%d items there, %d now)", m.Items, want.Items))
	}
	was, now := m.Embedder, want.Embedder
	add("the embedder's adapter", name(was.Adapter), name(now.Adapter))
	add("the embedding model", name(was.Model), name(now.Model))
	add("the dimensions", was.Dimensions, now.Dimensions)
	add("the passage prefix", fmt.Sprintf("%q", was.PassagePrefix), fmt.Sprintf("%q", now.PassagePrefix))
	add("the query prefix", fmt.Sprintf("%q", was.QueryPrefix), fmt.Sprintf("%q", now.QueryPrefix))
	if len(out) == 0 && was.Revision != now.Revision {
		out = append(out, "the embedder has another revision")
	}
	if m.Layout != want.Layout {
		out = append(out, "the names of fields or vectors in backends.store are others")
	}
	if m.Format != want.Format {
		out = append(out, "another version of Culprit made it")
	}
	return out
}

func name(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func joined(list []string) string { return strings.Join(list, "; ") }

// digest identifies everything but the state.
func (m *mark) digest() string {
	plain := *m
	plain.State = ""
	sum := sha256.Sum256([]byte(plain.text()))
	return hex.EncodeToString(sum[:16])
}

func (m *mark) text() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("a mark of plain values cannot be written: %v", err))
	}
	return string(text)
}

// readMark returns nil for a text that is no mark.
func readMark(text string) *mark {
	var m mark
	if json.Unmarshal([]byte(text), &m) != nil || !m.whole() {
		return nil
	}
	return &m
}

// whole reports whether m is a mark, and not what was read of something else.
func (m *mark) whole() bool {
	return m != nil && m.Format > 0 && (m.State == stateLoading || m.State == stateComplete)
}
