package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// service is what the user's own pipeline has told of one case before the trials are made.
type service struct {
	packed []matrix.Packed // of production; nil: not told
	first  *matrix.Trial   // the first trial of A, where it had to be made to see the retrieval or the context
	trace  adapters.Trace  // of that trial
}

// openPipeline opens the user's own service, and makes sure that what it cannot do itself can be done from the other backends.
func (b *backends) openPipeline(ctx context.Context, e *matrix.Experiment, o Options, config func(*matrix.Backend) adapters.Config, policy func(string, *matrix.Backend) adapters.Policy) error {
	spec := e.Backends.Pipeline
	if spec == nil {
		return nil
	}
	pipeline, err := o.Registry.Pipeline(ctx, spec.Adapter, config(spec))
	if err != nil {
		return err
	}
	b.pipeline = adapters.WrapPipeline(pipeline, policy(matrix.RoleGenerator, spec)) // what it buys is the generations of production
	if b.pipelineInfo, err = b.pipeline.Describe(ctx); err != nil {
		return fmt.Errorf("asking the pipeline what it can do: %w", err)
	}
	if !b.pipelineInfo.Context && e.Backends.Generator == nil {
		return adapters.NewError(spec.Adapter, "open", adapters.KindInvalid, errors.New(
			"the service takes no context, so that B and D need another way: a tap (backends.service.tap), or backends.generator and pipeline.prompt as the service has them"))
	}
	return nil
}

// deterministic reports whether equal requests get equal answers, in whichever way a trial is made.
func (b *backends) deterministic() bool {
	switch {
	case b.pipeline == nil:
		return b.generatorInfo.Deterministic
	case b.pipelineInfo.Context:
		return b.pipelineInfo.Deterministic
	}
	return b.pipelineInfo.Deterministic && b.generatorInfo.Deterministic
}

// serves reports whether the user's own service runs a cell itself: A always, B and D where it answers from a given context.
func (b *backends) serves(cell matrix.CellID) bool {
	return b.pipeline != nil && (cell.Run() == matrix.Production || b.pipelineInfo.Context)
}

// asks returns the backend that answers the trials of a cell.
func (r *caseRun) asks(cell matrix.CellID) *matrix.Backend {
	if r.serves(cell) {
		return r.experiment.Backends.Pipeline
	}
	return r.experiment.Backends.Generator
}

// askFirst makes the first trial of A before all others: what it shows, the other cells are made of.
func (r *caseRun) askFirst(ctx context.Context) error {
	if r.service.first != nil {
		return nil
	}
	t := matrix.Trial{Cell: matrix.CellA, Rep: 1, Packed: []matrix.Packed{}, Seed: r.experiment.Pipeline.Generate.Seed}
	if err := r.prepareService(&t); err != nil {
		return err
	}
	if known := r.before.trial(t.CallKey); known != nil {
		t = *known
	} else if done, err := r.answeredBefore(&t, true); err != nil {
		return err
	} else if !done {
		if err := r.serve(ctx, &t); err != nil {
			return err
		}
	}
	if r.service.first = &t; !t.Unseen(matrix.PackedUnobserved) && r.service.packed == nil && t.Status != matrix.StatusError {
		r.service.packed = t.Packed
	}
	return nil
}

// productionContext is production's final context, from which A and some cells of D start.
func (r *caseRun) productionContext(ctx context.Context) ([]matrix.Packed, []matrix.Dropped, error) {
	if r.pipeline == nil {
		packed, dropped := r.assemble(&r.obs.Retrievals[0], r.experiment.Pipeline.Assemble)
		return packed, dropped, nil
	}
	if r.service.packed == nil {
		if err := r.askFirst(ctx); err != nil {
			return nil, nil, err
		}
	}
	packed, dropped := []matrix.Packed{}, []matrix.Dropped(nil)
	if r.service.packed != nil {
		packed, dropped = r.service.packed, r.droppedBy(r.service.packed)
	}
	if t := r.service.first; t != nil {
		t.Retrieval, t.Dropped = r.obs.Retrievals[0].CallKey, dropped
	}
	return packed, dropped, nil
}

// droppedBy says what the service left out, and why, where the experiment's own settings of assemble explain it: a budget is
// declared, and everything up to the item fits while the item does not.
func (r *caseRun) droppedBy(packed []matrix.Packed) []matrix.Dropped {
	c := &r.obs.Retrievals[0]
	if c.By == "" {
		return nil
	}
	declared, dropped := r.assemble(c, r.experiment.Pipeline.Assemble)
	same := slices.EqualFunc(declared, packed, func(a, b matrix.Packed) bool { return a.ID == b.ID })
	if !same {
		return nil // the service packs otherwise than declared, and its reasons are its own
	}
	return dropped
}

// asked is what identifies a request.
func (r *caseRun) asked(packed []matrix.Packed, seed *int64) (string, error) {
	return matrix.ServiceInput(r.c, r.production().filter, r.experiment.Pipeline.Search.K, packed, seed)
}

func (r *caseRun) serviceCall(cell matrix.CellID, step string, rep int) matrix.Call {
	return matrix.Call{
		Case: r.plan.CaseDigest, Cell: cell, Step: step, Rep: rep, Provider: r.experiment.Backends.Pipeline.Adapter,
		Model: strings.TrimSpace(r.pipelineInfo.Name + " " + r.pipelineInfo.Version), Params: r.plan.Cells[0].Settings,
	}
}

// serviceRequest is a request with an id of its own, which no cache of the service has seen.
func (r *caseRun) serviceRequest(packed []matrix.Packed, seed *int64) adapters.PipelineRequest {
	g := r.experiment.Pipeline.Generate
	temperature := g.Temperature.Float()
	req := adapters.PipelineRequest{
		RequestID: "culprit-" + strings.ToLower(rand.Text()), // and nothing of the call, whose key is made of texts
		Query:     r.c.Question(), Principal: r.c.As, Filters: conditions(r.production().filter), K: r.experiment.Pipeline.Search.K,
		Answer: true, Temperature: &temperature, Seed: seed, MaxTokens: g.MaxTokens, Stop: g.Stop,
	}
	if g.TopP != nil {
		topP := g.TopP.Float()
		req.TopP = &topP
	}
	for _, m := range r.c.Messages {
		req.Messages = append(req.Messages, adapters.Message{Role: m.Role, Text: m.Text})
	}
	if packed != nil {
		req.Context = []adapters.ContextItem{}
		for _, p := range packed {
			req.Context = append(req.Context, adapters.ContextItem{ID: p.ID, Source: p.Source, Text: p.Text.Value})
		}
	}
	return req
}

// given is the context that a trial gives to the service; nil: its own.
func given(t *matrix.Trial) []matrix.Packed {
	if t.Cell.Run() == matrix.Production {
		return nil
	}
	return t.Packed
}

// prepareService names the call of a trial that the service makes.
func (r *caseRun) prepareService(t *matrix.Trial) error {
	call := r.serviceCall(t.Cell, "generate", t.Rep)
	t.By = matrix.ByService
	if t.Cell.Run() != matrix.Production && r.pipelineInfo.Through != "" {
		t.By = matrix.ByTap
	}
	var err error
	if call.Input, err = r.asked(given(t), &t.Seed); err != nil {
		return err
	}
	if r.recording != nil {
		call.Input = r.recordedInput(t, call)
	}
	if t.CallKey, err = call.Key(); err != nil {
		return err
	}
	r.calls[t.CallKey] = call
	return nil
}

// serve makes one trial by the service and records its trace. A failing call is an observation.
func (r *caseRun) serve(ctx context.Context, t *matrix.Trial) error {
	callCtx, journal := r.begin(ctx, r.calls[t.CallKey], t.CallKey, true)
	req := r.serviceRequest(given(t), &t.Seed)
	journal.privately(r.experiment.Sensitivity.Unseen(), packedTexts(t.Packed)...)
	t.At, t.RequestID = r.stamp(), req.RequestID
	trace, failure := r.pipeline.Ask(callCtx, req)
	if failure == nil {
		failure = r.nameByText(&trace)
	}
	if gaveUp(ctx, failure) {
		return ctx.Err()
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return err
	}
	if failure == nil {
		failure = r.strayed(t, &trace)
	}
	t.Attempts, t.Outside = journal.made(matrix.RoleGenerator), true
	t.Untold, t.Unpaid = untold(journal.asked)
	if failure != nil {
		r.ledger.offs[r.experiment.Backends.Pipeline].failed(t, failure, matrix.Usage{})
		t.Error = journal.conceal(t.Error)
		if t.Unobserved = []string{matrix.PromptUnobserved}; given(t) == nil && r.service.packed == nil {
			t.Unobserved = append(t.Unobserved, matrix.PackedUnobserved)
		}
	} else if err := r.readTrace(callCtx, t, &trace); err != nil {
		return err
	}
	r.classify(t)
	if t.Cell == matrix.CellA && t.Rep == 1 {
		r.service.trace = trace
	}
	r.progress.generated()
	shown := recorded{Trial: answerOf(t)}
	if t.Cell == matrix.CellA && t.Rep == 1 {
		shown.Trace = &trace
	}
	return journal.end(results.Outcome{Status: t.Status, Error: t.Error, Response: []byte(trace.Answer), FinishReason: t.FinishReason, LatencyMS: t.LatencyMS}, shown)
}

// strayed returns an error where the trace shows that the service, which says that it answers from exactly the context that it is given,
// packed something else: what it answered then says nothing of the context. Another order is its own affair.
func (r *caseRun) strayed(t *matrix.Trial, trace *adapters.Trace) error {
	sent := given(t)
	if sent == nil || trace.Packed == nil {
		return nil
	}
	same := func(s *matrix.Packed, p *adapters.TraceItem) bool {
		return s.ID == p.ID || p.Source != "" && s.Source == p.Source || p.Text != nil && strings.TrimSpace(*p.Text) == strings.TrimSpace(s.Text.Value)
	}
	missing := slices.ContainsFunc(sent, func(s matrix.Packed) bool {
		return !slices.ContainsFunc(trace.Packed, func(p adapters.TraceItem) bool { return same(&s, &p) })
	})
	added := slices.ContainsFunc(trace.Packed, func(p adapters.TraceItem) bool {
		return !slices.ContainsFunc(sent, func(s matrix.Packed) bool { return same(&s, &p) })
	})
	if !missing && !added {
		return nil
	}
	var gave, packed []string
	for _, s := range sent {
		gave = append(gave, s.ID)
	}
	for _, p := range trace.Packed {
		packed = append(packed, p.ID)
	}
	return adapters.NewError(r.experiment.Backends.Pipeline.Adapter, "ask", adapters.KindInvalid, fmt.Errorf(
		"the service's capability \"context\" says that it answers from exactly the context that it is given, and its trace shows another: %s was given, and %s packed: mend that, or say context: false in backends.service.capabilities",
		listed(gave), listed(packed)))
}

// listed quotes the first of some ids, and counts the others.
func listed(ids []string) string {
	const most = 5
	var out []string
	for _, id := range ids[:min(len(ids), most)] {
		out = append(out, strconv.Quote(id))
	}
	switch {
	case len(ids) == 0:
		return "nothing"
	case len(ids) > most:
		out = append(out, fmt.Sprintf("%d more", len(ids)-most))
	}
	return strings.Join(out, ", ")
}

func (r *caseRun) readTrace(ctx context.Context, t *matrix.Trial, trace *adapters.Trace) (err error) {
	r.noteAll(trace.Notes)
	sent := given(t)
	switch {
	case trace.Packed != nil:
		if t.Packed, err = r.packedOf(ctx, trace, sent); err != nil {
			return err
		}
	case sent == nil:
		t.Packed, t.Unobserved = []matrix.Packed{}, append(t.Unobserved, matrix.PackedUnobserved)
	default: // it stays what was given; that it was packed, nobody says
		t.Unobserved = append(t.Unobserved, matrix.PackedUnobserved)
	}
	if trace.Prompt == nil {
		t.Unobserved = append(t.Unobserved, matrix.PromptUnobserved)
	}
	for _, m := range trace.Prompt {
		message := matrix.PromptMessage{Role: m.Role, Text: matrix.NewText(m.Text), Tokens: r.count(m.Text)}
		t.Prompt = append(t.Prompt, message)
		t.PromptTokensLocal += message.Tokens
	}
	id := t.RequestID
	record(t, &adapters.GenerateResponse{
		Text: trace.Answer, FinishReason: trace.FinishReason, ModelReported: trace.ModelReported, SystemFingerprint: trace.SystemFingerprint,
		InputTokens: trace.InputTokens, OutputTokens: trace.OutputTokens, CachedInputTokens: trace.CachedInputTokens, WireTime: trace.WireTime,
	})
	t.RequestID = id
	return nil
}

// noteAll warns of what bears on the traces of the service, each once in a run.
func (r *caseRun) noteAll(notes []string) {
	for _, n := range notes {
		r.notes.mu.Lock()
		if !slices.Contains(r.notes.list, n) {
			r.notes.list = append(r.notes.list, n)
		}
		r.notes.mu.Unlock()
	}
}
