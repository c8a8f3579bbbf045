package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/runner"
)

// paying is the program with one adapter more, "paid": the models of the embedded one as if a provider served them. Nobody reaches it where
// PAID_DOWN is set, and its generator panics in the call whose number is PAID_PANICS.
func paying() int {
	down := func() error {
		if os.Getenv("PAID_DOWN") == "" {
			return nil
		}
		return adapters.NewError("paid", "open", adapters.KindUnauthorised, errors.New("PAID_DOWN is set"))
	}
	paid := embedded.Factory()
	openGenerator, openEmbedder := paid.OpenGenerator, paid.OpenEmbedder
	paid.Name, paid.OpenStore, paid.OpenReranker = "paid", nil, nil
	paid.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		g, err := openGenerator(ctx, cfg)
		at, _ := strconv.ParseInt(os.Getenv("PAID_PANICS"), 10, 64) // 0: in none
		return paidGenerator{&panicking{Generator: g, at: at}}, errors.Join(err, down())
	}
	paid.OpenEmbedder = func(ctx context.Context, cfg adapters.Config) (adapters.Embedder, error) {
		e, err := openEmbedder(ctx, cfg)
		return paidEmbedder{e}, errors.Join(err, down())
	}
	registry, err := adapters.NewRegistry(embedded.Factory(), paid)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitInternal
	}
	var out, errs strings.Builder
	a := &app{out: stream{Writer: &out}, err: stream{Writer: &errs}, env: os.Getenv, registry: registry}
	code := a.main(context.Background(), os.Args[1:])
	fmt.Fprint(os.Stdout, steady(out.String()))
	fmt.Fprint(os.Stderr, steady(errs.String()))
	return code
}

type paidGenerator struct{ adapters.Generator }

func (g paidGenerator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	info, err := g.Generator.Describe(ctx)
	info.Local, info.Deterministic = false, false
	return info, err
}

type paidEmbedder struct{ adapters.Embedder }

func (e paidEmbedder) Describe(ctx context.Context) (adapters.EmbedderInfo, error) {
	info, err := e.Embedder.Describe(ctx)
	info.Local = false
	return info, err
}

func (e paidEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	resp, err := e.Embedder.Embed(ctx, req)
	tokens := len(strings.Fields(strings.Join(req.Texts, " ")))
	resp.InputTokens = &tokens
	return resp, err
}

// TestNeedsStayApart: an amount that is wider than its column moves the rest, and does not run into its neighbour.
func TestNeedsStayApart(t *testing.T) {
	t.Parallel()
	in, out, cost := int64(11_891_560), int64(1_104_000), int64(123_456_789_000)
	got := strings.Fields(needOf(runner.Need{Calls: 5616, TokensIn: &in, TokensOut: &out, CostMicro: &cost}))
	if want := []string{"5,616", "11,891,560", "1,104,000", "123456.789"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
