package runner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
)

// textHash stands for a text in a table that is held in memory.
type textHash [16]byte

func hashText(s string) textHash {
	sum := sha256.Sum256([]byte(s))
	return textHash(sum[:16])
}

// sources are the texts of the experiment's documents, by source; each is true once a stored item has it.
type sources map[string]map[textHash]bool

// readSources reads the documents of an experiment, which its store is held against. A store that fills itself from them
// needs no such comparison.
func readSources(ctx context.Context, set *experiments.DocumentSet, store adapters.VectorStore) (sources, error) {
	if set == nil || store.Capabilities().Local {
		return nil, nil
	}
	out := sources{}
	for d, err := range set.Documents(ctx) {
		if err != nil {
			return nil, fmt.Errorf("reading the documents to compare the store with: %w", err)
		}
		if d.Collection != "" {
			continue
		}
		if out[d.Source] == nil {
			out[d.Source] = map[textHash]bool{}
		}
		out[d.Source][hashText(d.Text)] = false
	}
	return out, nil
}

func (s *session) freshness() *matrix.FreshFacts {
	return &matrix.FreshFacts{MaxAge: s.experiment.Checks.MaxAge}
}

// age counts one item, and says why it is not as its source is now.
func (s *session) age(f *matrix.FreshFacts, item *adapters.Item) []string {
	var out []string
	maxAge := time.Duration(f.MaxAge)
	if !item.IndexedAt.IsZero() && (!item.UpdatedAt.IsZero() || maxAge > 0) {
		f.Timed++
	}
	if !item.IndexedAt.IsZero() && item.UpdatedAt.After(item.IndexedAt) {
		f.Updated++
		out = append(out, matrix.OutdatedSource)
	}
	if maxAge > 0 && !item.IndexedAt.IsZero() && s.now().Sub(item.IndexedAt) > maxAge {
		f.Old++
		out = append(out, matrix.OutdatedAge)
	}
	if s.sources != nil {
		source := item.Source
		if source == "" {
			source = item.ID
		}
		texts, known := s.sources[source]
		if known || item.Source != "" {
			f.Compared++
		}
		hash := hashText(item.Text)
		_, same := texts[hash]
		switch {
		case !known && item.Source == "": // nobody can tell which document it is of
		case !known:
			f.Gone++
			out = append(out, matrix.OutdatedGone)
		case !same:
			f.Differ++
			out = append(out, matrix.OutdatedText)
		default:
			texts[hash] = true
		}
	}
	if len(out) > 0 && len(f.Examples) < keepItems {
		f.Examples = append(f.Examples, item.ID)
	}
	return out
}

// unstored counts the documents that a complete scan did not meet.
func (s *session) unstored(f *matrix.FreshFacts) {
	for _, texts := range s.sources {
		for _, stored := range texts {
			if !stored {
				f.Unstored++
			}
		}
	}
}

// contentSum is a digest over items in any order. The nil sum adds nothing up.
type contentSum struct {
	words [4]uint64
	items int
}

func (c *contentSum) add(item *adapters.Item) {
	if c == nil {
		return
	}
	h := sha256.New()
	for _, text := range []string{item.ID, item.Source, item.Revision, item.Text, item.EmbedModel, stampOf(item.IndexedAt), stampOf(item.UpdatedAt)} {
		hashPart(h, text)
	}
	hashList(h, item.Access)
	for _, field := range slices.Sorted(maps.Keys(item.Metadata)) {
		hashPart(h, field)
		hashList(h, item.Metadata[field])
	}
	for _, x := range item.Vector {
		_ = binary.Write(h, binary.LittleEndian, math.Float32bits(x)) // a hash takes everything
	}
	sum := h.Sum(nil)
	for i := range c.words {
		c.words[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
	c.items++
}

func hashList(h hash.Hash, list []string) {
	hashPart(h, fmt.Sprint(len(list)))
	for _, s := range list {
		hashPart(h, s)
	}
}

func hashPart(h hash.Hash, s string) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
	h.Write(size[:])
	h.Write([]byte(s))
}

func (c *contentSum) String() string {
	if c == nil {
		return ""
	}
	sum := make([]byte, 0, 40)
	for _, w := range append(c.words[:], uint64(c.items)) {
		sum = binary.LittleEndian.AppendUint64(sum, w)
	}
	return "sum:" + hex.EncodeToString(sum)
}
