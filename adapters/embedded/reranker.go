package embedded

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// rerankerSettings are described in reranker.schema.json.
type rerankerSettings struct {
	Model             string             `json:"model"`
	Invert            bool               `json:"invert"`
	MaxWords          int                `json:"max_words"`
	ReportsTruncation bool               `json:"reports_truncation"`
	ConstantOver      int                `json:"constant_over"`
	ByPosition        bool               `json:"by_position"`
	Drops             int                `json:"drops"`
	Unsorted          bool               `json:"unsorted"`
	Scores            map[string]float64 `json:"scores"`
	Logits            bool               `json:"logits"`
}

const defaultRerankModel = "overlap"

// reranker scores by shared words.
type reranker struct {
	life
	set    rerankerSettings
	scored []string // the keys of set.Scores, longest first
}

func openReranker(_ context.Context, cfg adapters.Config) (adapters.Reranker, error) {
	var set rerankerSettings
	if err := decodeSettings(cfg.Settings, &set); err != nil {
		return nil, err
	}
	set.Model = cmp.Or(set.Model, defaultRerankModel)
	if set.MaxWords < 0 || set.ConstantOver < 0 || set.Drops < 0 {
		return nil, invalid("open", "max_words, constant_over and drops must be 0 (off) or more")
	}
	r := &reranker{set: set, scored: slices.Sorted(maps.Keys(set.Scores))}
	slices.SortStableFunc(r.scored, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return r, nil
}

// Describe returns the settings.
func (r *reranker) Describe(ctx context.Context) (adapters.RerankerInfo, error) {
	if err := r.enter(ctx, "describe"); err != nil {
		return adapters.RerankerInfo{}, err
	}
	return adapters.RerankerInfo{Adapter: Name, Model: r.set.Model, Local: true}, nil
}

// Rerank scores each document by the share of the query's content words that it holds, best first, ties by index.
func (r *reranker) Rerank(ctx context.Context, req adapters.RerankRequest) (adapters.RerankResponse, error) {
	if err := r.enter(ctx, "rerank"); err != nil {
		return adapters.RerankResponse{}, err
	}
	wanted := contentSet(req.Query)
	results := make([]adapters.RerankResult, 0, len(req.Documents))
	for i, document := range req.Documents[:max(0, len(req.Documents)-r.set.Drops)] {
		if err := ctx.Err(); err != nil {
			return adapters.RerankResponse{}, fail("rerank", adapters.KindCanceled, err)
		}
		result := r.result(wanted, document)
		result.Index = i
		results = append(results, result)
	}
	if !r.set.Unsorted {
		slices.SortStableFunc(results, func(a, b adapters.RerankResult) int { return cmp.Compare(b.Score, a.Score) })
	}
	if r.set.ByPosition {
		for i := range results {
			results[i].Index = i
		}
	}
	return adapters.RerankResponse{Results: results, ModelReported: r.set.Model}, nil
}

// result scores one document. A score from the settings is final; the switches work on counted ones.
func (r *reranker) result(wanted map[string]bool, document string) adapters.RerankResult {
	var result adapters.RerankResult
	read := document
	if r.set.MaxWords > 0 {
		var cut bool
		read, cut = runs(inWord).first(document, r.set.MaxWords)
		result.Truncated = cut && r.set.ReportsTruncation
	}
	if i := slices.IndexFunc(r.scored, func(key string) bool { return strings.HasPrefix(document, key) }); i >= 0 {
		if score := r.set.Scores[r.scored[i]]; score != 0 { // never a negative zero
			result.Score = score
		}
		return result
	}
	score := 0.0
	if len(wanted) > 0 {
		score = float64(shared(read, wanted, len(wanted))) / float64(len(wanted))
	}
	if r.set.ConstantOver > 0 && runs(inWord).count(document) > r.set.ConstantOver {
		score = 0.5
	}
	if r.set.Invert {
		score = 1 - score
	}
	if r.set.Logits {
		score = float64(10*score) - 5 // converted, so that no machine fuses the two
	}
	result.Score = score
	return result
}
