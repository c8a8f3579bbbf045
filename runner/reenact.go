package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// ErrNotRecorded means that a bundle which is enacted again does not hold what is asked for.
var ErrNotRecorded = errors.New("not recorded")

// Reenact runs the case of a bundle again, from its plan to a bundle of its own, and every call is answered from the recording: no
// backend is opened. A call, or a text of the store, that the recording does not hold ends the run with [ErrNotRecorded]. What a scan
// of the store showed is taken as it stands there. What follows is marked by the digest of the recording.
func Reenact(ctx context.Context, recording *results.Recording, o Options) (*results.Summary, error) {
	if err := enactable(&recording.Experiment); err != nil {
		return nil, fmt.Errorf("the experiment of bundle %q: %w", recording.Path, err)
	}
	o.recording, o.Registry, o.Secrets, o.Fresh, o.Invocation, o.Resume = recording, nil, nil, true, nil, Resuming{}
	return Run(ctx, &experiments.Loaded{
		Path: recording.Path, Experiment: recording.Experiment,
		Cases: []experiments.LoadedCase{{Case: recording.Case, File: recording.Path, Source: recording.CaseSource}},
	}, o)
}

// enactable refuses what no loader lets through and a bundle of elsewhere may hold all the same: such a run would never end, or fail at a
// place that says nothing.
func enactable(e *matrix.Experiment) error {
	const most = 4096 // as of the loader
	switch n := e.Limits.Concurrency; {
	case n < 1 || n > most:
		return fmt.Errorf("limits.concurrency is %d, and it is 1 to %d", n, most)
	case e.Backends.Generator == nil && e.Backends.Pipeline == nil:
		return errors.New("it has neither backends.generator nor backends.service")
	}
	return nil
}

func notRecorded(what string) error {
	return adapters.NewError("bundle", "recall", adapters.KindNotFound, fmt.Errorf("%w: %s", ErrNotRecorded, what))
}

// enact fills in backends that answer from the recording alone, as they were when it was made.
func (b *backends) enact(rec *results.Recording) {
	e, pins, facts := &rec.Experiment, &rec.Pins, &rec.Observations.Store
	b.store = noStore{}
	if e.Backends.Store != nil {
		b.storeInfo = adapters.StoreInfo{
			Version: facts.Version, Collection: facts.Collection, Count: facts.Items, Dimensions: pins.Store.Dimensions, Distance: pins.Store.Distance,
			EmbedModel: pins.Store.EmbedModel, Revision: facts.Revision, Fingerprint: facts.Fingerprint, FingerprintMisses: facts.FingerprintBlind, Notes: facts.Notes,
		}
		if facts.Embed != nil {
			b.storeInfo.QueryPrefix = facts.Embed.IndexQueryPrefix
		}
		b.store = enactedStore{rec}
	}
	if p := pins.Embedder; p != nil {
		b.embedderInfo = adapters.EmbedderInfo{Adapter: p.Adapter, Model: p.Model, Dimensions: p.Dimensions, QueryPrefix: p.QueryPrefix, PassagePrefix: p.PassagePrefix}
	}
	if p := pins.Reranker; p != nil {
		b.rerankerInfo = adapters.RerankerInfo{Adapter: p.Adapter, Model: p.Model}
	}
	if g := pins.Generator; e.Backends.Generator != nil {
		b.generatorInfo = adapters.GeneratorInfo{Adapter: g.Adapter, Model: g.ModelRequested, Deterministic: g.DeterministicDeclared, Local: g.Local}
	}
	if p := pins.Judge; p != nil {
		b.judge = enactedGenerator{}
		b.judgeInfo = adapters.GeneratorInfo{Adapter: p.Adapter, Model: p.ModelRequested, Local: p.Local}
		b.judgeInfo.Formats = slices.ContainsFunc(rec.Observations.Judgements, func(j matrix.Judgement) bool { return j.Structured })
	}
	b.embedder, b.reranker, b.generator = enactedEmbedder{}, enactedReranker{}, enactedGenerator{}
	if spec := e.Backends.Pipeline; spec != nil {
		b.pipeline = enactedPipeline{}
		b.pipelineInfo = adapters.PipelineInfo{Adapter: spec.Adapter, Name: pins.Extra["pipeline"]} // the version among it
		for _, t := range rec.Observations.Trials {
			if t.By != "" && t.Cell.Run() != matrix.Production {
				b.pipelineInfo.Context = true
			}
			if t.By == matrix.ByTap {
				b.pipelineInfo.Through = t.By
			}
		}
		b.pipelineInfo.Retrieval = slices.ContainsFunc(rec.Calls, func(c matrix.Call) bool { return c.Step == "retrieve" && c.Provider == spec.Adapter })
	}
}

// reenact takes over what the start of the recorded run found.
func (s *session) reenact() {
	rec := s.recording
	facts := &rec.Observations.Store
	s.deterministic, s.observed = rec.Plan.Deterministic, rec.Pins.Generator.DeterministicObserved
	s.presence = &presence{
		scan: facts.Scan, fresh: facts.Fresh, unmapped: facts.Unmapped, content: facts.Content, gold: map[string][]matrix.GoldFacts{rec.Case.ID: facts.Gold},
	}
	if facts.Error != nil {
		s.presence.err = pastError{facts.Error}
	}
}

// recordedStore are the store checks of the recording, nil where there is none: its controls and comparisons of vectors are not made again.
func (s *session) recordedStore() *matrix.Observations {
	if s.recording == nil {
		return nil
	}
	return &matrix.Observations{Store: s.recording.Observations.Store}
}

// enact answers a call from the recording.
func (r *caseRun) enact(call matrix.Call, key string) (_ *recorded, notMade string, err error) {
	k := &recorded{Told: true}
	o := &r.recording.Observations
	status, reason := matrix.Status(""), ""
	switch call.Step {
	case "rewrite":
		if w := o.Rewriting; w != nil && w.CallKey == key {
			known := *w
			k.Rewriting, status, reason = &known, w.Status, w.Reason
		}
	case "retrieve":
		if i := slices.IndexFunc(o.Retrievals, func(q matrix.Retrieval) bool { return q.CallKey == key }); i >= 0 {
			known := o.Retrievals[i]
			k.Retrieval, status, reason = &known, known.Status, known.Reason
		}
	case "generate":
		if i := slices.IndexFunc(o.Trials, func(t matrix.Trial) bool { return t.CallKey == key && t.SameAs == "" }); i >= 0 {
			known := o.Trials[i]
			k.Trial, status, reason = &known, known.Status, known.Reason
		}
	case "judge":
		if i := slices.IndexFunc(o.Judgements, func(j matrix.Judgement) bool { return j.CallKey == key && j.SameAs == "" }); i >= 0 {
			known := o.Judgements[i]
			k.Judgement, status, reason = &known, known.Status, known.Reason
		}
	}
	switch status {
	case "":
		return nil, "", notRecorded(fmt.Sprintf("call %s (%s of cell %q, repetition %d)", key, call.Step, call.Cell, call.Rep))
	case matrix.StatusNotRun:
		return nil, cmp.Or(reason, "it was not made"), nil
	}
	if p := r.recording.Past(key); p != nil {
		err = r.recorder.Reuse(p)
	}
	return k, "", err
}

// toldSearch is production's search as the service told it with the answer to a call, nil where it did not.
func (r *caseRun) toldSearch(key string) *matrix.Retrieval {
	for _, q := range r.recording.Observations.Retrievals {
		if q.CallKey == key && q.By != "" {
			q.FromJournal = true
			return &q
		}
	}
	return nil
}

// recordedContext is the context of a cell that is made of more than the observations, from its first trial: of items of the sample of the
// store, or of what limits.budget had left for repairs. recorded is false for what is made as ever.
func (r *caseRun) recordedContext(cell matrix.PlannedCell) (_ made, recorded bool) {
	o := &r.recording.Observations
	i := slices.IndexFunc(o.Trials, func(t matrix.Trial) bool { return t.Cell == cell.Cell })
	if i < 0 {
		return made{}, false // the first call that it asks for is missed
	}
	t := &o.Trials[i]
	m := made{packed: t.Packed, dropped: t.Dropped, retrieval: t.Retrieval, irrelevant: t.Irrelevant, seeded: t.Seeded}
	if t.Status == matrix.StatusNotRun && len(t.Packed) == 0 {
		m.reason = t.Reason
	}
	if ofStore(cell.Cell) {
		return m, true
	}
	return m, cell.Condition == matrix.IfDecides && m.reason != "" && !slices.ContainsFunc(o.Retrievals, func(q matrix.Retrieval) bool { return q.Cell == cell.Cell })
}

// ofStore reports whether a context may hold items of the store that nobody searched for.
func ofStore(cell matrix.CellID) bool {
	switch cell.Variant() {
	case matrix.WithSuperseded, matrix.WithDistractor, matrix.WithIrrelevant, matrix.NoiseCurve, matrix.GoldPositions:
		return true
	}
	return false
}

// recordedInput is the input of a call of the service. Of the items of the store that the service was given, the recording has what it
// told of them in turn; such a call is the one of its cell and repetition.
func (r *caseRun) recordedInput(t *matrix.Trial, call matrix.Call) string {
	for _, known := range r.recording.Calls {
		same := known
		if same.Input = call.Input; ofStore(t.Cell) && same == call {
			return known.Input
		}
	}
	return call.Input
}

// enactedStore is the store of a recording. It has the texts that the recording holds, and answers nothing else: searches are
// told by their call keys before it is asked.
type enactedStore struct{ *results.Recording }

// Describe is asked for once, behind the calls of the case.
func (s enactedStore) Describe(context.Context) (adapters.StoreInfo, error) {
	return adapters.StoreInfo{Fingerprint: s.Observations.Store.FingerprintAfter, Count: s.Observations.Store.ItemsAfter}, nil
}

// Capabilities are those that were made use of.
func (s enactedStore) Capabilities() adapters.StoreCapabilities {
	asked := func(cells ...matrix.CellID) bool {
		return slices.ContainsFunc(s.Calls, func(c matrix.Call) bool { return slices.Contains(cells, c.Cell) }) ||
			slices.ContainsFunc(s.Observations.Retrievals, func(q matrix.Retrieval) bool { return slices.Contains(cells, q.Cell) })
	}
	exact := asked(matrix.ProbeExact)
	for _, q := range s.Observations.Retrievals {
		byName := q.Cell == matrix.ProbeNamed || q.Cell == matrix.ProbeOwn(matrix.ModeDense) || q.Cell == matrix.ProbeOwn(matrix.ModeKeyword)
		exact = exact || byName && q.Exact
	}
	return adapters.StoreCapabilities{
		Local: true, Exact: exact, FilterStatistics: asked(matrix.ProbeStatistics), Threshold: asked(matrix.ProbeAhead),
		Only: asked(matrix.ProbeNamed, matrix.ProbeOwn(matrix.ModeDense), matrix.ProbeOwn(matrix.ModeKeyword)),
	}
}

func (s enactedStore) Search(context.Context, adapters.SearchRequest) (adapters.SearchResponse, error) {
	return adapters.SearchResponse{}, notRecorded("a search of the store")
}

func (s enactedStore) Scan(context.Context, adapters.ScanRequest, func(adapters.Item) error) (adapters.ScanReport, error) {
	return adapters.ScanReport{}, notRecorded("a scan of the store")
}

// Fetch returns id and text of the items.
func (s enactedStore) Fetch(_ context.Context, req adapters.FetchRequest) (items []adapters.Item, err error) {
	texts := map[string]string{}
	for _, q := range s.Observations.Retrievals {
		for _, h := range q.Candidates {
			if h.Text.Ref != "" {
				texts[h.ID] = h.Text.Value
			}
		}
	}
	for _, id := range req.IDs {
		text, ok := texts[id]
		if !ok {
			return nil, notRecorded(fmt.Sprintf("the text of item %q", id))
		}
		items = append(items, adapters.Item{ID: id, Text: text})
	}
	return items, nil
}

func (enactedStore) Close() error { return nil }

// Models are not asked either.
type (
	enactedEmbedder  struct{}
	enactedReranker  struct{}
	enactedGenerator struct{}
	enactedPipeline  struct{}
)

func (enactedEmbedder) Describe(context.Context) (adapters.EmbedderInfo, error) {
	return adapters.EmbedderInfo{}, notRecorded("what the embedder says of itself")
}

func (enactedEmbedder) Embed(context.Context, adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	return adapters.EmbedResponse{}, notRecorded("a call of the embedder")
}

func (enactedEmbedder) Close() error { return nil }

func (enactedReranker) Describe(context.Context) (adapters.RerankerInfo, error) {
	return adapters.RerankerInfo{}, notRecorded("what the reranker says of itself")
}

func (enactedReranker) Rerank(context.Context, adapters.RerankRequest) (adapters.RerankResponse, error) {
	return adapters.RerankResponse{}, notRecorded("a call of the reranker")
}

func (enactedReranker) Close() error { return nil }

func (enactedGenerator) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{}, notRecorded("what the generator says of itself")
}

func (enactedGenerator) Generate(context.Context, adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	return adapters.GenerateResponse{}, notRecorded("a call of the generator")
}

func (enactedGenerator) Close() error { return nil }

func (enactedPipeline) Describe(context.Context) (adapters.PipelineInfo, error) {
	return adapters.PipelineInfo{}, notRecorded("what the service says of itself")
}

func (enactedPipeline) Ask(context.Context, adapters.PipelineRequest) (adapters.Trace, error) {
	return adapters.Trace{}, notRecorded("a call of the service")
}

func (enactedPipeline) Close() error { return nil }
