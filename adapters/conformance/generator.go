package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

// GeneratorHarness is what a generator must bring to be tested.
type GeneratorHarness struct {
	Harness[adapters.Generator]
	// Reads says that it can be relied on to copy an answer out of its context, as a test double does.
	Reads bool
	// Finish returns a generator whose answers end with this finish reason; ErrCannot or nil where none can be had.
	Finish func(ctx context.Context, reason string) (adapters.Generator, error)
}

// Generator holds a generator to the contract of [adapters.Generator].
func Generator(t T, h GeneratorHarness) {
	t.Helper()
	runChecks(t, h, generatorChecks())
}

// prompt is a request in the form of the built-in prompt.
func prompt(contextText, question string) adapters.GenerateRequest {
	return adapters.GenerateRequest{Messages: []adapters.Message{
		{Role: "system", Text: "Answer the question from the context only. Cite the id of what you use in square brackets."},
		{Role: "user", Text: "Context:\n" + contextText + "\n\nQuestion: " + question},
	}}
}

const (
	lockers  = "[g1] The lockers on the ground floor open with the code 7781 until nine in the evening.\n[g2] Lunch is at noon."
	lockerQ  = "With what code do the lockers on the ground floor open?"
	exotic   = "退款期限是三十天 Ünïcödé naïve 🦊 e\u0301"
	exoticQ  = "What is the note, naïve 🦊?"
	oneMiB   = 1 << 20
	longText = "The quick brown fox jumps over the lazy dog. "
)

func generatorMethods() []method[adapters.Generator] {
	return []method[adapters.Generator]{
		{"Describe", func(ctx context.Context, g adapters.Generator) (any, error) { return g.Describe(ctx) }, reflect.DeepEqual},
		{"Generate", func(ctx context.Context, g adapters.Generator) (any, error) {
			resp, err := g.Generate(ctx, prompt(lockers, lockerQ))
			if err != nil {
				return nil, err
			}
			if info, err := g.Describe(ctx); err != nil || !info.Deterministic {
				return nil, nil //nolint:nilerr // what it says may differ from call to call; Describe is a method of its own
			}
			return steady(resp), nil
		}, reflect.DeepEqual},
	}
}

// steady leaves out of a response what may differ between equal calls.
func steady(resp adapters.GenerateResponse) adapters.GenerateResponse {
	resp.WireTime, resp.RequestID, resp.CachedInputTokens, resp.Metadata = 0, "", nil, nil
	return resp
}

func generatorChecks() []check[GeneratorHarness] {
	return append([]check[GeneratorHarness]{
		{"Describe names the adapter and the model", func(ctx context.Context, h GeneratorHarness) error {
			return with(ctx, h.Open, func(g adapters.Generator) error {
				info, err := g.Describe(ctx)
				if err == nil && (info.Adapter == "" || info.Model == "") {
					err = fmt.Errorf("it is %+v", info)
				}
				return err
			})
		}},
		{"an answer is whole", func(ctx context.Context, h GeneratorHarness) error {
			return answers(ctx, h, prompt(lockers, lockerQ), "7781")
		}},
		{"equal requests have equal answers, where it says so", sameAgain},
		{"a request without messages is invalid", func(ctx context.Context, h GeneratorHarness) error {
			return refuses(ctx, h, adapters.GenerateRequest{})
		}},
		{"a role that does not exist is invalid", func(ctx context.Context, h GeneratorHarness) error {
			req := prompt(lockers, lockerQ)
			req.Messages[0].Role = "oracle"
			return refuses(ctx, h, req)
		}},
		{"the output limit is a finish reason", atTheLimit},
		{"a stop text is not part of the answer", atTheStop},
		{"the temperature zero and a seed may be sent", func(ctx context.Context, h GeneratorHarness) error {
			req := prompt(lockers, lockerQ)
			zero, seed := 0.0, int64(0)
			req.Temperature, req.TopP, req.Seed = &zero, new(float64), &seed
			*req.TopP = 1
			return answers(ctx, h, req, "7781")
		}},
		{"letters of all scripts come through", func(ctx context.Context, h GeneratorHarness) error {
			return answers(ctx, h, prompt("[g1] The note is "+exotic, exoticQ), exotic)
		}},
		{"empty messages are messages", func(ctx context.Context, h GeneratorHarness) error {
			return with(ctx, h.Open, func(g adapters.Generator) error {
				req := adapters.GenerateRequest{Messages: []adapters.Message{{Role: "user", Text: ""}}}
				if _, err := g.Generate(ctx, req); err != nil { // a provider may refuse it, and then says so
					return fails("Generate", err, adapters.KindInvalid)
				}
				return nil
			})
		}},
		{"a prompt of a megabyte is answered or refused", func(ctx context.Context, h GeneratorHarness) error {
			return with(ctx, h.Open, func(g adapters.Generator) error {
				resp, err := g.Generate(ctx, prompt("[g1] "+strings.Repeat(longText, oneMiB/len(longText)), lockerQ))
				if err != nil {
					return errors.Join(fails("Generate", err, ""), notRetried(err))
				}
				return whole(resp)
			})
		}},
		{"a block and a cut-off are responses, not errors", finishes},
	}, also(func(h GeneratorHarness) Harness[adapters.Generator] { return h.Harness }, common(generatorMethods()))...)
}

// notRetried holds for an error that the same request would meet again.
func notRetried(err error) error {
	switch kind := adapters.KindOf(err); kind {
	case adapters.KindTransient, adapters.KindRateLimited, adapters.KindTimeout:
		return fmt.Errorf("%w is of kind %q, and would be tried again", err, kind)
	}
	return nil
}

func answers(ctx context.Context, h GeneratorHarness, req adapters.GenerateRequest, want string) error {
	return with(ctx, h.Open, func(g adapters.Generator) error {
		resp, err := g.Generate(ctx, req)
		if err != nil {
			return err
		}
		if resp.Text == "" || resp.FinishReason != adapters.FinishStop {
			return fmt.Errorf("the answer is %q, finish reason %q", resp.Text, resp.FinishReason)
		}
		if h.Reads && !strings.Contains(resp.Text, want) {
			return fmt.Errorf("the answer %q does not hold %q", resp.Text, want)
		}
		return whole(resp)
	})
}

// whole says what is wrong with any response.
func whole(resp adapters.GenerateResponse) error {
	if !utf8.ValidString(resp.Text) {
		return fmt.Errorf("the answer %q is not valid UTF-8", resp.Text)
	}
	if resp.FinishReason == "" || resp.ModelReported == "" {
		return fmt.Errorf("finish reason %q, model %q: both must be told", resp.FinishReason, resp.ModelReported)
	}
	for name, tokens := range map[string]*int{"input": resp.InputTokens, "output": resp.OutputTokens, "cached input": resp.CachedInputTokens} {
		if tokens != nil && *tokens < 0 {
			return fmt.Errorf("%d %s tokens", *tokens, name)
		}
	}
	if resp.InputTokens != nil && *resp.InputTokens == 0 {
		return errors.New("0 input tokens; what is not reported is nil")
	}
	if resp.WireTime < 0 {
		return fmt.Errorf("wire time %v", resp.WireTime)
	}
	return nil
}

func sameAgain(ctx context.Context, h GeneratorHarness) error {
	return with(ctx, h.Open, func(g adapters.Generator) error {
		info, err := g.Describe(ctx)
		if err != nil {
			return err
		}
		if !info.Deterministic {
			return skipped("it does not declare itself deterministic")
		}
		first, err := g.Generate(ctx, prompt(lockers, lockerQ))
		if err != nil {
			return err
		}
		for range 3 {
			again, err := g.Generate(ctx, prompt(lockers, lockerQ))
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(steady(again), steady(first)) {
				return fmt.Errorf("%+v, and again %+v", first, again)
			}
		}
		return nil
	})
}

func refuses(ctx context.Context, h GeneratorHarness, req adapters.GenerateRequest) error {
	return with(ctx, h.Open, func(g adapters.Generator) error {
		_, err := g.Generate(ctx, req)
		return fails("Generate", err, adapters.KindInvalid)
	})
}

func atTheLimit(ctx context.Context, h GeneratorHarness) error {
	return with(ctx, h.Open, func(g adapters.Generator) error {
		req := prompt(lockers, lockerQ)
		full, err := g.Generate(ctx, req)
		if err != nil {
			return err
		}
		if len(strings.Fields(full.Text)) < 5 {
			return skipped("its answer is too short to be cut")
		}
		req.MaxTokens = 1
		cut, err := g.Generate(ctx, req)
		if err != nil {
			return err
		}
		if cut.FinishReason != adapters.FinishLength || len(cut.Text) >= len(full.Text) {
			return fmt.Errorf("with one token it answers %q, finish reason %q", cut.Text, cut.FinishReason)
		}
		return whole(cut)
	})
}

func atTheStop(ctx context.Context, h GeneratorHarness) error {
	if !h.Reads {
		return skipped("what it answers cannot be relied on")
	}
	return with(ctx, h.Open, func(g adapters.Generator) error {
		req := prompt(lockers, lockerQ)
		req.Stop = []string{"7781"}
		resp, err := g.Generate(ctx, req)
		if err != nil {
			return err
		}
		if strings.Contains(resp.Text, "7781") || resp.FinishReason != adapters.FinishStop {
			return fmt.Errorf("it answers %q, finish reason %q", resp.Text, resp.FinishReason)
		}
		return whole(resp)
	})
}

func finishes(ctx context.Context, h GeneratorHarness) error {
	if h.Finish == nil {
		return skipped("the harness provokes no finish reason")
	}
	for _, reason := range []string{adapters.FinishContentFilter, adapters.FinishLength} {
		err := with(ctx, func(ctx context.Context) (adapters.Generator, error) { return h.Finish(ctx, reason) }, func(g adapters.Generator) error {
			resp, err := g.Generate(ctx, prompt(lockers, lockerQ))
			if err != nil {
				return err
			}
			if resp.FinishReason != reason {
				return fmt.Errorf("finish reason %q, want %q", resp.FinishReason, reason)
			}
			return whole(resp)
		})
		var why skipped
		if err != nil && !errors.As(err, &why) {
			return err
		}
	}
	return nil
}
