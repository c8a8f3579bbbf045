package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/runner"
)

// formed is a generator that is held to the form of the answer.
type formed struct {
	adapters.Generator
	formats bool
	calls   *atomic.Int64
	request *atomic.Pointer[adapters.GenerateRequest]
}

func (f *formed) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{Adapter: "embedded", Model: "m", Formats: f.formats, Local: true}, nil
}

func (f *formed) Generate(_ context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	f.calls.Add(1)
	f.request.Store(&req)
	return adapters.GenerateResponse{Text: `{"answer":"It is forty crowns.","citations":["gold"],"refused":false}`, FinishReason: adapters.FinishStop}, nil
}

func TestStructuredAnswers(t *testing.T) {
	t.Parallel()
	loaded := written(t, strings.Replace(fees, "k: 2}}", "k: 2}, answer: {format: structured}}", 1)+"runs: {repeats: 5, perturbations: []}\n")
	for _, formats := range []bool{true, false} {
		g := &formed{formats: formats, calls: &atomic.Int64{}, request: &atomic.Pointer[adapters.GenerateRequest]{}}
		f := embedded.Factory()
		open := f.OpenGenerator
		f.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
			next, err := open(ctx, cfg)
			return &formed{next, g.formats, g.calls, g.request}, err
		}
		registry, err := adapters.NewRegistry(f)
		if err != nil {
			t.Fatal(err)
		}
		if !formats {
			_, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
			if !errors.Is(err, adapters.ErrInvalid) || !strings.Contains(err.Error(), "pipeline.answer.format") || g.calls.Load() != 0 {
				t.Errorf("%d calls, and %v", g.calls.Load(), err)
			}
			continue
		}
		b := runWith(t, loaded, registry)["c"]
		if b.Evaluation.Outcome != verdict.Pass || len(b.Features.Trials[0].Citations) != 1 {
			t.Error(explained(b.Evaluation))
		}
		if answer := b.Observations.Trials[0].Answer.Value; !strings.HasPrefix(answer, "{") {
			t.Errorf("kept as %q", answer)
		}
		if form := g.request.Load().Format; form == nil || form.Name != "answer" || !json.Valid(form.Schema) {
			t.Errorf("asked for %+v", form)
		}
	}
}

// TestJudgeReadsTheAnswerItself: of a structured answer the judge gets the text, and not the JSON around it.
func TestJudgeReadsTheAnswerItself(t *testing.T) {
	t.Parallel()
	j := &judge{name: "judge-1", answer: func(kind string, texts map[string]string) (adapters.GenerateResponse, error) {
		if got := texts["ANSWER"]; got != "It is forty crowns." {
			t.Errorf("the judge is asked about %q", got)
		}
		return fair(kind, texts)
	}}
	f := embedded.Factory()
	open := f.OpenGenerator
	f.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		if strings.Contains(string(cfg.Settings), "judge-1") {
			return j, nil
		}
		next, err := open(ctx, cfg)
		return &formed{next, true, &atomic.Int64{}, &atomic.Pointer[adapters.GenerateRequest]{}}, err
	}
	registry, err := adapters.NewRegistry(f)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(judgedFees("claims: true"), "k: 2}}", "k: 2}, answer: {format: structured}}", 1)
	b := runWith(t, written(t, text), registry)["c"]
	if len(b.Observations.Judgements) == 0 || b.Evaluation.Judged.Void > 0 {
		t.Errorf("%d judgements: %s", len(b.Observations.Judgements), explained(b.Evaluation))
	}
}
