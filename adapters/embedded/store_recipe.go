package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// recipe is everything that decides what a store's file holds. Equal recipes make equal files, so its digest names the file.
type recipe struct {
	Format     int                    `json:"format"`
	Documents  string                 `json:"documents"` // their digest
	Collection string                 `json:"collection"`
	Keyword    keywordSettings        `json:"keyword"`
	Index      indexSettings          `json:"index"` // with the embedder's model and prefix where the settings name none
	Embedder   *adapters.EmbedderInfo `json:"embedder,omitempty"`
	Faults     storeFaults            `json:"faults"`
}

func newRecipe(ctx context.Context, cfg adapters.Config, s storeSettings) (*recipe, error) {
	digest, err := cfg.Documents.Digest(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the documents: %w", err)
	}
	r := &recipe{Format: storeFormat, Documents: digest, Collection: s.Collection, Keyword: s.Keyword, Index: s.Index, Faults: s.Faults.builtIn()}
	// Neither these nor the embedder's way with queries change what is stored.
	r.Keyword.Operator, r.Keyword.Stopwords = "", ""
	r.Index.QueryPrefix, r.Index.Revision = nil, ""
	if cfg.IndexEmbedder == nil {
		return r, nil
	}
	info, err := cfg.IndexEmbedder.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the embedder what it is: %w", err)
	}
	if r.Index.Model == "" {
		r.Index.Model = info.Model
	}
	if r.Index.PassagePrefix == nil {
		r.Index.PassagePrefix = &info.PassagePrefix
	}
	r.Embedder = &adapters.EmbedderInfo{Adapter: info.Adapter, Model: info.Model, Dimensions: info.Dimensions, Revision: info.Revision}
	return r, nil
}

// digest identifies the recipe.
func (r *recipe) digest() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("a recipe of plain values cannot be written: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// timeText is a time as text, "" for none.
type timeText string

func newTimeText(t time.Time) timeText {
	if t.IsZero() {
		return ""
	}
	return timeText(t.UTC().Format(time.RFC3339Nano))
}

func (t timeText) time() (time.Time, error) {
	if t == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, string(t))
}
