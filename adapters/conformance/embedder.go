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

// EmbedderHarness is what an embedder must bring to be tested.
type EmbedderHarness struct {
	Harness[adapters.Embedder]
	// Unit says that its vectors have unit length.
	Unit bool
	// Tolerance is how far the cosine of a text's vectors may be from 1 between two calls; 0 is 1e-4.
	Tolerance float64
	// MaxTokens is how many tokens of a text it reads, where it says when it did not read all; 0: it reads all, or stays silent.
	MaxTokens int
}

// Embedder holds an embedder to the contract of [adapters.Embedder].
func Embedder(t T, h EmbedderHarness) {
	t.Helper()
	runChecks(t, h, embedderChecks())
}

// passages are texts with words in common and without, and of several scripts.
var passages = []string{
	"The parental leave policy applies from September.",
	"From September the policy for parental leave applies.",
	"Trains are free on Sundays.",
	"退款期限是三十天。",
	"Ünïcödé naïve 🦊 e\u0301",
	"a",
	"The seal torque of all pumps is 18 Nm, measured dry.",
}

func passageRequest(texts ...string) adapters.EmbedRequest {
	return adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForPassage}
}

func embedderMethods() []method[adapters.Embedder] {
	return []method[adapters.Embedder]{
		{"Describe", func(ctx context.Context, e adapters.Embedder) (any, error) { return e.Describe(ctx) }, reflect.DeepEqual},
		{"Embed", func(ctx context.Context, e adapters.Embedder) (any, error) {
			return e.Embed(ctx, passageRequest(passages...))
		}, func(a, b any) bool {
			before, ok := a.(adapters.EmbedResponse)
			after, too := b.(adapters.EmbedResponse)
			return ok && too && sameVectors(before, after, 1e-3) == nil
		}},
	}
}

func embedderChecks() []check[EmbedderHarness] {
	one := func(run func(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error) func(context.Context, EmbedderHarness) error {
		return func(ctx context.Context, h EmbedderHarness) error {
			if h.Tolerance == 0 {
				h.Tolerance = 1e-4
			}
			return with(ctx, h.Open, func(e adapters.Embedder) error { return run(ctx, h, e) })
		}
	}
	return append([]check[EmbedderHarness]{
		{"Describe names the adapter and the model", one(func(ctx context.Context, _ EmbedderHarness, e adapters.Embedder) error {
			info, err := e.Describe(ctx)
			if err == nil && (info.Adapter == "" || info.Model == "" || info.Dimensions < 0) {
				err = fmt.Errorf("it is %+v", info)
			}
			return err
		})},
		{"each text has a vector", one(eachHasAVector)},
		{"the order of the vectors is that of the texts", one(orderOfTexts)},
		{"no texts have no vectors", one(func(ctx context.Context, _ EmbedderHarness, e adapters.Embedder) error {
			resp, err := e.Embed(ctx, passageRequest())
			if err == nil && len(resp.Vectors) != 0 {
				err = fmt.Errorf("%d vectors", len(resp.Vectors))
			}
			return err
		})},
		{"an empty text has a vector or is invalid", one(func(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
			resp, err := e.Embed(ctx, passageRequest("word", ""))
			if err != nil {
				return fails("Embed", err, adapters.KindInvalid)
			}
			return vectorsOf(resp, 2, h.Unit)
		})},
		{"what is alike is near", one(alikeIsNear)},
		{"a prefix is put before the text", one(prefixes)},
		{"a purpose that does not exist is invalid", one(func(ctx context.Context, _ EmbedderHarness, e adapters.Embedder) error {
			_, err := e.Embed(ctx, adapters.EmbedRequest{Texts: []string{"word"}, Purpose: "title"})
			return fails("Embed", err, adapters.KindInvalid)
		})},
		{"another model is another model or unsupported", one(otherModel)},
		{"a text that is not read to its end is reported", one(truncation)},
		{"a thousand texts and a megabyte", one(large)},
	}, also(func(h EmbedderHarness) Harness[adapters.Embedder] { return h.Harness }, common(embedderMethods()))...)
}

// vectorsOf says what is wrong with the vectors of n texts.
func vectorsOf(resp adapters.EmbedResponse, n int, unit bool) error {
	if len(resp.Vectors) != n {
		return fmt.Errorf("%d vectors for %d texts", len(resp.Vectors), n)
	}
	if resp.ModelReported == "" {
		return errors.New("no model is reported")
	}
	for i, v := range resp.Vectors {
		if len(v) == 0 || len(v) != len(resp.Vectors[0]) {
			return fmt.Errorf("vector %d has %d dimensions, vector 0 has %d", i, len(v), len(resp.Vectors[0]))
		}
		for _, x := range v {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) || f == 0 && math.Signbit(f) {
				return fmt.Errorf("vector %d holds %v", i, f)
			}
		}
		if length := math.Sqrt(product(v, v)); unit && length != 0 && math.Abs(length-1) > 1e-5 {
			return fmt.Errorf("vector %d has length %v", i, length)
		}
	}
	for i, tokens := range resp.Truncated {
		if i < 0 || i >= n || tokens < 1 {
			return fmt.Errorf("text %d of %d is said to be read to token %d", i, n, tokens)
		}
	}
	return nil
}

func product(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// cosineOf is the cosine of two vectors, 1 for two zero vectors.
func cosineOf(a, b []float32) float64 {
	lengths := math.Sqrt(product(a, a) * product(b, b))
	if lengths == 0 {
		if slices.Equal(a, b) {
			return 1
		}
		return 0
	}
	return product(a, b) / lengths
}

// sameVectors says where the vectors of two responses are not the same but for the tolerance.
func sameVectors(a, b adapters.EmbedResponse, tolerance float64) error {
	if len(a.Vectors) != len(b.Vectors) {
		return fmt.Errorf("%d vectors and %d", len(a.Vectors), len(b.Vectors))
	}
	for i := range a.Vectors {
		if len(a.Vectors[i]) != len(b.Vectors[i]) {
			return fmt.Errorf("vectors of text %d have %d and %d dimensions", i, len(a.Vectors[i]), len(b.Vectors[i]))
		}
		if c := cosineOf(a.Vectors[i], b.Vectors[i]); c < 1-tolerance-1e-9 {
			return fmt.Errorf("vectors of text %d have the cosine %v", i, c)
		}
	}
	return nil
}

func eachHasAVector(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	info, err := e.Describe(ctx)
	if err != nil {
		return err
	}
	for _, purpose := range []adapters.Purpose{adapters.ForQuery, adapters.ForPassage} {
		resp, err := e.Embed(ctx, adapters.EmbedRequest{Texts: passages, Purpose: purpose})
		if err != nil {
			return err
		}
		if err := vectorsOf(resp, len(passages), h.Unit); err != nil {
			return fmt.Errorf("as %s: %w", purpose, err)
		}
		if n := len(resp.Vectors[0]); info.Dimensions != 0 && n != info.Dimensions {
			return fmt.Errorf("as %s: %d dimensions, and Describe says %d", purpose, n, info.Dimensions)
		}
	}
	return nil
}

func orderOfTexts(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	batch, err := e.Embed(ctx, passageRequest(passages...))
	if err != nil {
		return err
	}
	turned := slices.Clone(passages)
	slices.Reverse(turned)
	back, err := e.Embed(ctx, passageRequest(turned...))
	if err != nil {
		return err
	}
	if err := vectorsOf(batch, len(passages), h.Unit); err != nil {
		return err
	}
	slices.Reverse(back.Vectors)
	if err := sameVectors(batch, back, h.Tolerance); err != nil {
		return fmt.Errorf("in the other order: %w", err)
	}
	for i, text := range passages {
		alone, err := e.Embed(ctx, passageRequest(text))
		if err != nil {
			return err
		}
		if err := sameVectors(adapters.EmbedResponse{Vectors: batch.Vectors[i : i+1]}, alone, h.Tolerance); err != nil {
			return fmt.Errorf("%q alone: %w", text, err)
		}
	}
	return nil
}

func alikeIsNear(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	resp, err := e.Embed(ctx, passageRequest(passages...))
	if err != nil {
		return err
	}
	if err := vectorsOf(resp, len(passages), h.Unit); err != nil {
		return err
	}
	alike, unlike := cosineOf(resp.Vectors[0], resp.Vectors[1]), cosineOf(resp.Vectors[0], resp.Vectors[2])
	if alike <= unlike {
		return fmt.Errorf("the cosine of %q and %q is %v, with %q it is %v", passages[0], passages[1], alike, passages[2], unlike)
	}
	return nil
}

func prefixes(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	info, err := e.Describe(ctx)
	if err != nil {
		return err
	}
	none, other := "", "find this text: "
	for purpose, own := range map[adapters.Purpose]string{adapters.ForQuery: info.QueryPrefix, adapters.ForPassage: info.PassagePrefix} {
		for given, prefix := range map[*string]string{nil: own, &none: "", &other: other} {
			got, err := e.Embed(ctx, adapters.EmbedRequest{Texts: passages[:1], Purpose: purpose, Prefix: given})
			if err != nil {
				return err
			}
			want, err := e.Embed(ctx, adapters.EmbedRequest{Texts: []string{prefix + passages[0]}, Purpose: purpose, Prefix: &none})
			if err != nil {
				return err
			}
			if err := sameVectors(want, got, h.Tolerance); err != nil {
				return fmt.Errorf("as %s, with the prefix %q by the embedder and by hand: %w", purpose, prefix, err)
			}
		}
	}
	return nil
}

func otherModel(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	req := passageRequest(passages...)
	req.Model = "another-model"
	resp, err := e.Embed(ctx, req)
	if err != nil {
		return fails("Embed", err, adapters.KindUnsupported)
	}
	own, err := e.Embed(ctx, passageRequest(passages...))
	if err != nil {
		return err
	}
	if resp.ModelReported == own.ModelReported || sameVectors(own, resp, h.Tolerance) == nil {
		return fmt.Errorf("asked for %q, it answers as the model %q", req.Model, resp.ModelReported)
	}
	return vectorsOf(resp, len(passages), h.Unit)
}

func truncation(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	if h.MaxTokens == 0 {
		return skipped("it reads everything, or stays silent about what it does not")
	}
	short, long := "fox", strings.Repeat("fox ", 4*h.MaxTokens)
	resp, err := e.Embed(ctx, passageRequest(short, long, short))
	if err != nil {
		return err
	}
	if n, ok := resp.Truncated[1]; !ok || n != h.MaxTokens || len(resp.Truncated) != 1 {
		return fmt.Errorf("it reports %v, want text 1 at %d tokens", resp.Truncated, h.MaxTokens)
	}
	return vectorsOf(resp, 3, h.Unit)
}

func large(ctx context.Context, h EmbedderHarness, e adapters.Embedder) error {
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("chunk number %d of many", i)
	}
	resp, err := e.Embed(ctx, passageRequest(texts...))
	if err != nil {
		return err
	}
	if err := vectorsOf(resp, len(texts), h.Unit); err != nil {
		return err
	}
	resp, err = e.Embed(ctx, passageRequest(strings.Repeat(longText, oneMiB/len(longText))))
	if err != nil {
		return errors.Join(fails("Embed", err, ""), notRetried(err))
	}
	return vectorsOf(resp, 1, h.Unit)
}
