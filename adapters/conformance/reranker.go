package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// RerankerHarness is what a reranker must bring to be tested.
type RerankerHarness struct {
	Harness[adapters.Reranker]
	// Tolerance is how far scores of one text may be apart; 0 is 1e-4.
	Tolerance float64
	// MaxWords is a length in words beyond which it says that it did not read all; 0: it reads all, or stays silent.
	MaxWords int
	// Unnamed: the server does not say which model answered.
	Unnamed bool
}

// Reranker holds a reranker to the contract of [adapters.Reranker].
func Reranker(t T, h RerankerHarness) {
	t.Helper()
	runChecks(t, h, rerankerChecks())
}

const torqueQ = "What is the seal torque of the pumps?"

// torques are documents of which number 2 answers the question and number 0 does not touch it; 3 and 4 are the same text.
var torques = []string{
	"Lunch is at noon on Sundays.",
	"The pumps are blue.",
	"The seal torque of all pumps is 18 Nm, measured dry.",
	"退款期限是三十天 Ünïcödé 🦊.",
	"退款期限是三十天 Ünïcödé 🦊.",
}

func rerankerMethods() []method[adapters.Reranker] {
	return []method[adapters.Reranker]{
		{"Describe", func(ctx context.Context, r adapters.Reranker) (any, error) { return r.Describe(ctx) }, reflect.DeepEqual},
		{"Rerank", func(ctx context.Context, r adapters.Reranker) (any, error) {
			return scores(ctx, r, torqueQ, torques)
		}, func(a, b any) bool {
			before, ok := a.([]float64)
			after, too := b.([]float64)
			return ok && too && slices.EqualFunc(before, after, func(x, y float64) bool { return math.Abs(x-y) <= 1e-3 })
		}},
	}
}

func rerankerChecks() []check[RerankerHarness] {
	one := func(run func(ctx context.Context, h RerankerHarness, r adapters.Reranker) error) func(context.Context, RerankerHarness) error {
		return func(ctx context.Context, h RerankerHarness) error {
			if h.Tolerance == 0 {
				h.Tolerance = 1e-4
			}
			return with(ctx, h.Open, func(r adapters.Reranker) error { return run(ctx, h, r) })
		}
	}
	return append([]check[RerankerHarness]{
		{"Describe names the adapter and the model", one(func(ctx context.Context, _ RerankerHarness, r adapters.Reranker) error {
			info, err := r.Describe(ctx)
			if err == nil && (info.Adapter == "" || info.Model == "") {
				err = fmt.Errorf("it is %+v", info)
			}
			return err
		})},
		{"each document has one score", one(func(ctx context.Context, _ RerankerHarness, r adapters.Reranker) error {
			_, err := scores(ctx, r, torqueQ, torques)
			return err
		})},
		{"the model that answers is named, or is not known", one(func(ctx context.Context, h RerankerHarness, r adapters.Reranker) error {
			resp, err := r.Rerank(ctx, adapters.RerankRequest{Query: torqueQ, Documents: torques})
			if err == nil && (resp.ModelReported == "") != h.Unnamed {
				err = fmt.Errorf("the model is %q", resp.ModelReported)
			}
			return err
		})},
		{"what answers is better than what does not", one(func(ctx context.Context, _ RerankerHarness, r adapters.Reranker) error {
			list, err := scores(ctx, r, torqueQ, torques)
			if err != nil {
				return err
			}
			if list[2] <= list[0] || list[2] <= list[1] {
				return fmt.Errorf("%q scores %v, with %v for document 2", torques, list, list[2])
			}
			return nil
		})},
		{"a score belongs to its document, not to its place", one(byDocument)},
		{"no documents have no scores", one(func(ctx context.Context, _ RerankerHarness, r adapters.Reranker) error {
			_, err := scores(ctx, r, torqueQ, nil)
			return err
		})},
		{"empty texts have scores or are invalid", one(func(ctx context.Context, _ RerankerHarness, r adapters.Reranker) error {
			for query, documents := range map[string][]string{"": torques, torqueQ: {"", torques[2]}} {
				if _, err := scores(ctx, r, query, documents); err != nil && !errors.Is(err, adapters.ErrInvalid) {
					return fmt.Errorf("query %q, documents %q: %w", query, documents, err)
				}
			}
			return nil
		})},
		{"a thousand documents and a megabyte", one(func(ctx context.Context, _ RerankerHarness, r adapters.Reranker) error {
			many := make([]string, 1000)
			for i := range many {
				many[i] = torques[i%len(torques)]
			}
			if _, err := scores(ctx, r, torqueQ, many); err != nil {
				return err
			}
			_, err := scores(ctx, r, torqueQ, []string{strings.Repeat(longText, oneMiB/len(longText)), torques[2]})
			if err != nil {
				return errors.Join(fails("Rerank", err, ""), notRetried(err))
			}
			return nil
		})},
		{"a document that is not read to its end is reported", one(readToTheEnd)},
	}, also(func(h RerankerHarness) Harness[adapters.Reranker] { return h.Harness }, common(rerankerMethods()))...)
}

// scores reranks and returns the score of each document by its index.
func scores(ctx context.Context, r adapters.Reranker, query string, documents []string) ([]float64, error) {
	resp, err := r.Rerank(ctx, adapters.RerankRequest{Query: query, Documents: documents})
	if err != nil {
		return nil, err
	}
	if len(resp.Results) != len(documents) {
		return nil, fmt.Errorf("%d results for %d documents", len(resp.Results), len(documents))
	}
	list, seen := make([]float64, len(documents)), map[int]bool{}
	for _, result := range resp.Results {
		if result.Index < 0 || result.Index >= len(documents) || seen[result.Index] {
			return nil, fmt.Errorf("index %d of %d documents, or twice", result.Index, len(documents))
		}
		if s := result.Score; math.IsNaN(s) || math.IsInf(s, 0) || s == 0 && math.Signbit(s) {
			return nil, fmt.Errorf("document %d scores %v", result.Index, s)
		}
		seen[result.Index], list[result.Index] = true, result.Score
	}
	return list, nil
}

// byDocument turns the documents round: the scores must turn with them. Two equal texts must have equal scores.
func byDocument(ctx context.Context, h RerankerHarness, r adapters.Reranker) error {
	list, err := scores(ctx, r, torqueQ, torques)
	if err != nil {
		return err
	}
	turned := make([]string, 0, len(torques))
	for i := range torques {
		turned = append(turned, torques[(i+2)%len(torques)])
	}
	after, err := scores(ctx, r, torqueQ, turned)
	if err != nil {
		return err
	}
	for i := range turned {
		if before := list[(i+2)%len(list)]; math.Abs(after[i]-before) > h.Tolerance {
			return fmt.Errorf("%q scores %v at one place and %v at another", turned[i], before, after[i])
		}
	}
	if math.Abs(list[3]-list[4]) > h.Tolerance {
		return fmt.Errorf("equal documents score %v and %v", list[3], list[4])
	}
	return nil
}

func readToTheEnd(ctx context.Context, h RerankerHarness, r adapters.Reranker) error {
	if h.MaxWords == 0 {
		return skipped("it reads everything, or stays silent about what it does not")
	}
	documents := []string{"pumps", strings.Repeat("pumps ", 4*h.MaxWords), "pumps"}
	resp, err := r.Rerank(ctx, adapters.RerankRequest{Query: torqueQ, Documents: documents})
	if err != nil {
		return err
	}
	for _, result := range resp.Results {
		if result.Truncated != (result.Index == 1) {
			return fmt.Errorf("document %d: truncated is %v", result.Index, result.Truncated)
		}
	}
	return nil
}
