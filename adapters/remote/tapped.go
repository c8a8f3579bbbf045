package remote

import (
	"context"
	"errors"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
	"github.com/culprit-rag/culprit/adapters/remote/tap"
)

// tapped asks the service while the tap records, and lets it put a context into the prompt where the service takes none. A service that
// was to get another context and whose model did not see it has answered something else: that is an error, and no answer.
func (p *pipeline) tapped(ctx context.Context, op string, req adapters.PipelineRequest, substitutes bool) (adapters.Trace, error) {
	var none adapters.Trace
	var substitution *tap.Substitution
	if req.Context != nil && substitutes {
		substitution = &tap.Substitution{Begin: p.set.Tap.Begin, End: p.set.Tap.End, With: p.written(req.Context)}
		req.Context = nil
	}
	if err := p.tap.Open(ctx, req.RequestID, substitution); err != nil {
		return none, p.ofTap(ctx, op, err)
	}
	trace, err := p.ask(ctx, op, req)
	known, readErr := p.tap.Recorded(ctx, req.RequestID)
	closeErr := p.tap.Close(context.WithoutCancel(ctx), req.RequestID)
	if refused := refusal(known.Calls); refused != "" {
		return none, p.Says(op, adapters.KindInvalid, "the tap sent nothing to the model: %s: see backends.service.tap", refused)
	}
	switch {
	case err != nil:
		return none, err
	case readErr != nil:
		return none, p.ofTap(ctx, op, readErr)
	case closeErr != nil:
		return none, p.ofTap(ctx, op, closeErr)
	}
	call := answering(known.Calls, substitution != nil)
	switch {
	case call == nil && substitution != nil:
		return none, p.Says(op, adapters.KindPermanent, "the context was not put into any prompt: %d calls of the request came through the tap, and %d that belong to no request: "+
			"hand the id on to the model in the header, or set limits.concurrency to 1; and see backends.service.tap.begin and end", len(known.Calls), known.Unopened)
	case call == nil:
		trace.Notes = append(trace.Notes, "no call of the request came through the tap, so that its prompt was not seen")
		return trace, nil
	}
	trace.Prompt = []adapters.Message{}
	for _, m := range call.Messages {
		if p.WithoutKeys(m.Text) != m.Text {
			return none, adapters.SecretInOutput(Name, op)
		}
		trace.Prompt = append(trace.Prompt, adapters.Message{Role: m.Role, Text: m.Text})
	}
	if substitution != nil {
		trace.Packed = nil // what the service packed is not what the model saw
	}
	for _, text := range []*string{&call.ModelReported, &call.SystemFingerprint, &call.FinishReason} {
		*text = p.WithoutKeys(*text)
	}
	fill(&trace, call)
	return trace, nil
}

// fill adds what the model told the tap and the service did not tell.
func fill(t *adapters.Trace, c *tap.Call) {
	for to, from := range map[*string]string{&t.ModelReported: c.ModelReported, &t.SystemFingerprint: c.SystemFingerprint, &t.FinishReason: c.FinishReason} {
		if *to == "" {
			*to = from
		}
	}
	for to, from := range map[**int]*int{&t.InputTokens: c.PromptTokens, &t.OutputTokens: c.CompletionTokens, &t.CachedInputTokens: c.CachedTokens} {
		if *to == nil {
			*to = from
		}
	}
}

func refusal(calls []tap.Call) string {
	for _, c := range calls {
		if c.Refused != "" {
			return c.Refused
		}
	}
	return ""
}

// answering returns the call that the answer came of: the one in which the context was substituted, else the last.
func answering(calls []tap.Call, substituted bool) *tap.Call {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].Substituted || !substituted {
			return &calls[i]
		}
	}
	return nil
}

// written is the context as the service's prompt shows one.
func (p *pipeline) written(items []adapters.ContextItem) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(strings.NewReplacer("{{id}}", i.ID, "{{source}}", i.Source, "{{text}}", i.Text).Replace(p.set.Tap.Item))
	}
	return b.String()
}

func (p *pipeline) ofTap(ctx context.Context, op string, err error) *adapters.Error {
	var refused *tap.Refused
	switch {
	case ctx.Err() != nil:
		return p.Failed(ctx, op, &modelapi.Exchange{}, err)
	case errors.As(err, &refused):
		return p.Says(op, adapters.KindInvalid, "%v: see backends.service.tap", refused)
	}
	return p.Says(op, adapters.KindTransient, "the tap at %s: %v: is culprit tap running there?", p.set.Tap.URL, err)
}
