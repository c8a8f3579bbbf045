package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/culprit-rag/culprit/adapters"
)

// generator answers with sentences of its prompt. It knows nothing but the messages.
type generator struct {
	life
	set generatorSettings

	mu   sync.Mutex // keeps each provider rule to its number of times
	used []int      // how often each provider rule has fired
}

func openGenerator(_ context.Context, cfg adapters.Config) (adapters.Generator, error) {
	set, err := readGeneratorSettings(cfg.Settings)
	if err != nil {
		return nil, err
	}
	return &generator{set: set, used: make([]int, len(set.Provider))}, nil
}

// Describe returns the settings. A generator that flips says that it is not deterministic, unless it is told to lie.
func (g *generator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	if err := g.enter(ctx, "describe"); err != nil {
		return adapters.GeneratorInfo{}, err
	}
	deterministic := g.set.Flip == nil
	if g.set.Deterministic != nil {
		deterministic = *g.set.Deterministic
	}
	return adapters.GeneratorInfo{Adapter: Name, Model: g.set.Model, Deterministic: deterministic, Local: true}, nil
}

// Generate answers. Tokens are what stands between spaces, here and for req.MaxTokens.
func (g *generator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	if err := g.enter(ctx, "generate"); err != nil {
		return adapters.GenerateResponse{}, err
	}
	if err := checkRequest(req); err != nil {
		return adapters.GenerateResponse{}, err
	}
	rule := g.fault(req.Messages)
	if rule != nil && rule.Error != "" {
		return adapters.GenerateResponse{}, &adapters.Error{
			Adapter: Name, Op: "generate", Kind: rule.Error, RetryAfter: rule.retryAfter,
			Err: errors.New("the settings make the provider fail here"),
		}
	}
	messages := req.Messages
	if g.set.DropsRole != "" {
		messages = withoutRole(messages, g.set.DropsRole)
	}
	if g.set.ContextTokens > 0 {
		messages = lastTokens(messages, g.set.ContextTokens)
	}
	p := readPrompt(messages, g.set.Paragraphs)
	resp := adapters.GenerateResponse{ModelReported: g.set.Model, FinishReason: adapters.FinishStop, InputTokens: &p.tokens}
	if rule != nil {
		resp.FinishReason = rule.Finish // and no text, as of a model whose reasoning used the limit up
	} else if query, asked := g.rewritten(messages, p.question); asked {
		resp.Text, resp.FinishReason = limit(query, req)
	} else {
		resp.Text, resp.FinishReason = limit(g.answer(p, req), req)
	}
	if err := ctx.Err(); err != nil {
		return adapters.GenerateResponse{}, fail("generate", adapters.KindCanceled, err)
	}
	out := runs(inToken).count(resp.Text)
	resp.OutputTokens = &out
	return resp, nil
}

func checkRequest(req adapters.GenerateRequest) error {
	if len(req.Messages) == 0 {
		return invalid("generate", "the request has no messages")
	}
	for i, m := range req.Messages {
		if !slices.Contains([]string{"system", "user", "assistant"}, m.Role) {
			return invalid("generate", "message %d has the role %q, which is none of system, user, assistant", i+1, m.Role)
		}
	}
	if req.MaxTokens < 0 {
		return invalid("generate", "max tokens is %d, and must be 0 (not sent) or more", req.MaxTokens)
	}
	return nil
}

// fault returns the first provider rule that applies to the messages and is not used up.
func (g *generator) fault(messages []adapters.Message) *providerRule {
	for i := range g.set.Provider {
		rule := &g.set.Provider[i]
		if rule.When != "" && !slices.ContainsFunc(messages, func(m adapters.Message) bool { return strings.Contains(m.Text, rule.When) }) {
			continue
		}
		if rule.Times == nil || g.use(i, *rule.Times) {
			return rule
		}
	}
	return nil
}

func (g *generator) use(rule, times int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.used[rule] >= times {
		return false
	}
	g.used[rule]++
	return true
}

// limit cuts the answer at a stop text and at the output limit.
func limit(text string, req adapters.GenerateRequest) (answer, finish string) {
	for _, stop := range req.Stop {
		if stop != "" {
			text, _, _ = strings.Cut(text, stop)
		}
	}
	if req.MaxTokens > 0 {
		if head, cut := runs(inToken).first(text, req.MaxTokens); cut {
			return head, adapters.FinishLength
		}
	}
	return text, adapters.FinishStop
}

// flips draws whether this request is one of those that are flipped. Equal messages with an equal seed draw the same.
func (f *flip) flips(req adapters.GenerateRequest) bool {
	h := sha256.New()
	write := func(s string) {
		_ = binary.Write(h, binary.LittleEndian, int64(len(s))) // a hash never fails
		_, _ = h.Write([]byte(s))
	}
	for _, m := range req.Messages {
		write(m.Role)
		write(m.Text)
	}
	if req.Seed != nil {
		_ = binary.Write(h, binary.LittleEndian, *req.Seed)
	}
	draw := binary.LittleEndian.Uint64(h.Sum(nil)) >> 11 // 53 bits, as many as a float64 holds
	return float64(draw)/(1<<53) < f.Rate
}
