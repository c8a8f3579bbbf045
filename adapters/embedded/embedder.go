package embedded

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// embedderSettings are described in embedder.schema.json.
type embedderSettings struct {
	Model           string               `json:"model"`
	Dimensions      int                  `json:"dimensions"`
	QueryPrefix     string               `json:"query_prefix"`
	PassagePrefix   string               `json:"passage_prefix"`
	TrainedPrefixes []string             `json:"trained_prefixes"`
	MaxTokens       int                  `json:"max_tokens"`
	ASCII           bool                 `json:"ascii"`
	Vectors         map[string][]float64 `json:"vectors"`
	Cached          map[string]string    `json:"cached"`
}

const (
	defaultEmbedModel = "hashing"
	defaultDimensions = 512
	maxDimensions     = 65536
)

// embedder embeds by hashing words.
type embedder struct {
	life
	set      embedderSettings
	revision string
	table    map[string][]float32 // unit vectors of set.Vectors
	prefix   []string             // set.TrainedPrefixes, longest first
}

func openEmbedder(_ context.Context, cfg adapters.Config) (adapters.Embedder, error) {
	var set embedderSettings
	if err := decodeSettings(cfg.Settings, &set); err != nil {
		return nil, err
	}
	set.Model = cmp.Or(set.Model, defaultEmbedModel)
	if set.MaxTokens < 0 {
		return nil, invalid("open", "max_tokens is %d, and must be 0 (no limit) or more", set.MaxTokens)
	}
	tableSize, err := vectorSize(set.Vectors)
	if err != nil {
		return nil, err
	}
	if tableSize != 0 && set.Dimensions != 0 && set.Dimensions != tableSize {
		return nil, invalid("open", "dimensions is %d, but the vectors have %d; leave dimensions out", set.Dimensions, tableSize)
	}
	set.Dimensions = cmp.Or(set.Dimensions, tableSize, defaultDimensions)
	if set.Dimensions < 1 || set.Dimensions > maxDimensions {
		return nil, invalid("open", "dimensions is %d, and must be 1 to %d", set.Dimensions, maxDimensions)
	}
	revision, err := revisionOf(set)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, err)
	}
	e := &embedder{set: set, revision: revision, table: map[string][]float32{}, prefix: slices.Clone(set.TrainedPrefixes)}
	slices.SortStableFunc(e.prefix, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for text, vector := range set.Vectors {
		e.table[text] = unit(vector)
	}
	return e, nil
}

// vectorSize returns the size that all explicit vectors have, 0 for none.
func vectorSize(vectors map[string][]float64) (int, error) {
	size := 0
	for _, text := range slices.Sorted(maps.Keys(vectors)) {
		n := len(vectors[text])
		switch {
		case n == 0:
			return 0, invalid("open", "the vector of %q is empty", text)
		case size != 0 && n != size:
			return 0, invalid("open", "the vector of %q has %d dimensions, another has %d; all must be of one size", text, n, size)
		}
		size = n
	}
	return size, nil
}

// Describe returns the settings.
func (e *embedder) Describe(ctx context.Context) (adapters.EmbedderInfo, error) {
	if err := e.enter(ctx, "describe"); err != nil {
		return adapters.EmbedderInfo{}, err
	}
	return adapters.EmbedderInfo{
		Adapter: Name, Model: e.set.Model, Dimensions: e.set.Dimensions,
		QueryPrefix: e.set.QueryPrefix, PassagePrefix: e.set.PassagePrefix, Revision: e.revision, Local: true,
	}, nil
}

// revisionOf identifies what decides a vector apart from text, model, dimensions and prefix. It is empty where nothing does.
func revisionOf(set embedderSettings) (string, error) {
	set.Model, set.Dimensions, set.QueryPrefix, set.PassagePrefix = "", 0, "", ""
	if len(set.TrainedPrefixes) == 0 && set.MaxTokens == 0 && !set.ASCII && len(set.Vectors) == 0 && len(set.Cached) == 0 {
		return "", nil
	}
	data, err := json.Marshal(set) // maps are written in the order of their keys
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))[:16], nil
}

// Embed returns the vectors. Another model than the configured one is another hash, so another space of the same size.
func (e *embedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	if err := e.enter(ctx, "embed"); err != nil {
		return adapters.EmbedResponse{}, err
	}
	prefix, err := e.prefixFor(req)
	if err != nil {
		return adapters.EmbedResponse{}, err
	}
	model := cmp.Or(req.Model, e.set.Model)
	hash := newSpace(model, e.set)
	size := e.set.Dimensions
	resp := adapters.EmbedResponse{ModelReported: model, Vectors: make([][]float32, len(req.Texts))}
	// One array for the batch: a store embeds a hundred thousand chunks, and one allocation for each would dominate.
	values := make([]float32, len(req.Texts)*size)
	for i, text := range req.Texts {
		if err := ctx.Err(); err != nil {
			return adapters.EmbedResponse{}, fail("embed", adapters.KindCanceled, fmt.Errorf("after %d of %d texts: %w", i, len(req.Texts), err))
		}
		vector := values[i*size : (i+1)*size : (i+1)*size]
		resp.Vectors[i] = vector
		if old, ok := e.set.Cached[text]; ok && req.Purpose == adapters.ForQuery && model == e.set.Model {
			e.hash(newSpace(old, e.set), vector, prefix, text)
			continue
		}
		if len(e.table) > 0 && model == e.set.Model {
			explicit, ok := e.table[prefix+text]
			if !ok { // white space at the ends is no other text
				explicit, ok = e.table[strings.TrimSpace(prefix+text)]
			}
			if ok {
				copy(vector, explicit)
				continue
			}
		}
		if cut := e.hash(hash, vector, prefix, text); cut {
			if resp.Truncated == nil {
				resp.Truncated = map[int]int{}
			}
			resp.Truncated[i] = e.set.MaxTokens
		}
	}
	return resp, nil
}

func (e *embedder) prefixFor(req adapters.EmbedRequest) (string, error) {
	switch req.Purpose {
	case adapters.ForQuery, adapters.ForPassage:
	default:
		return "", invalid("embed", "purpose %q is neither %q nor %q", req.Purpose, adapters.ForQuery, adapters.ForPassage)
	}
	switch {
	case req.Prefix != nil:
		return *req.Prefix, nil
	case req.Purpose == adapters.ForQuery:
		return e.set.QueryPrefix, nil
	default:
		return e.set.PassagePrefix, nil
	}
}

// hash puts the vector of prefix+text into vector, which is all zeros, and reports whether max_tokens left tokens out.
func (e *embedder) hash(s space, vector []float32, prefix, text string) (cut bool) {
	if prefix != "" {
		text = prefix + text
	}
	if len(e.prefix) > 0 {
		i := slices.IndexFunc(e.prefix, func(p string) bool { return strings.HasPrefix(text, p) })
		if i < 0 {
			s = s.untrained()
		} else {
			text = text[len(e.prefix[i]):]
		}
	}
	return s.add(vector, text)
}
