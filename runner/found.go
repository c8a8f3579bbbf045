package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// found is what a run knew of its backends and its store before its first case, as its work folder keeps it: with it what was bought is
// sealed where nobody can be asked any more.
type found struct {
	Store     adapters.StoreInfo         `json:"store"`
	Can       adapters.StoreCapabilities `json:"can"`
	Embedder  adapters.EmbedderInfo      `json:"embedder"`
	Generator adapters.GeneratorInfo     `json:"generator"`
	Reranker  adapters.RerankerInfo      `json:"reranker"`
	Pipeline  adapters.PipelineInfo      `json:"pipeline"`
	Judge     adapters.GeneratorInfo     `json:"judge"`

	Facts  map[string]matrix.StoreFacts `json:"facts"` // of the scan, by case id
	Sample []keptItem                   `json:"sample"`
	Others map[string]adapters.Item     `json:"others"`
	Embed  *matrix.EmbedFacts           `json:"embed,omitempty"` // nil: nothing is embedded
	Texts  map[string][]byte            `json:"texts"`           // by reference
}

// keptItem is an item of the seeded sample.
type keptItem struct {
	Seed uint64        `json:"seed"`
	Item adapters.Item `json:"item"`
}

// found is nil where every backend lives in this process: it is there for whoever goes on, too.
func (s *session) found() ([]byte, error) {
	b := s.experiment.Backends
	if !slices.ContainsFunc([]*matrix.Backend{b.Store, b.Embedder, b.Generator, b.Reranker, b.Pipeline, b.Judge}, func(b *matrix.Backend) bool { return !b.Free() }) {
		return nil, nil
	}
	f := found{
		Store: s.storeInfo, Can: s.store.Capabilities(), Embedder: s.embedderInfo, Generator: s.generatorInfo, Reranker: s.rerankerInfo, Pipeline: s.pipelineInfo,
		Judge: s.judgeInfo, Facts: map[string]matrix.StoreFacts{}, Others: s.presence.others, Texts: map[string][]byte{},
	}
	p := s.presence
	for id, gold := range p.gold {
		facts := matrix.StoreFacts{Scan: p.scan, Fresh: p.fresh, Unmapped: p.unmapped, Content: p.content, Gold: gold}
		if p.err != nil {
			facts.Error = callError(p.err)
		}
		f.Facts[id] = facts
		o := matrix.Observations{Store: facts}
		if err := o.Texts(func(t *matrix.Text) error { f.Texts[t.Ref] = []byte(t.Value); return nil }); err != nil {
			return nil, err
		}
	}
	for _, v := range p.sample {
		f.Sample = append(f.Sample, keptItem{v.seed, v.item})
	}
	if s.identity != nil {
		facts := s.identity.facts
		facts.Sample = s.identity.sample
		f.Embed = &facts
	}
	return json.Marshal(f)
}

// readFound reads what a run knew; nil where it kept nothing.
func readFound(e *results.Execution) (*found, error) {
	data, err := e.ReadFound()
	if err != nil || data == nil {
		return nil, err
	}
	f := &found{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("what it knew of its backends: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(f.Facts)) {
		o := matrix.Observations{Store: f.Facts[id]}
		err := o.Texts(func(t *matrix.Text) error {
			text, ok := f.Texts[t.Ref]
			if !ok || matrix.DigestBytes(text) != t.Ref {
				return fmt.Errorf("what it knew of its store: text %q is not at hand", t.Ref)
			}
			t.Value = string(text)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// know takes over what the start of the run found.
func (s *session) know(f *found) {
	s.presence = &presence{gold: map[string][]matrix.GoldFacts{}, others: f.Others}
	for id, facts := range f.Facts {
		p := s.presence
		p.scan, p.fresh, p.unmapped, p.content, p.gold[id] = facts.Scan, facts.Fresh, facts.Unmapped, facts.Content, facts.Gold
		if facts.Error != nil {
			p.err = pastError{facts.Error}
		}
	}
	for _, v := range f.Sample {
		s.presence.sample = append(s.presence.sample, sampled{v.Seed, v.Item})
	}
	if f.Embed != nil {
		s.identity = &identity{facts: *f.Embed, sample: f.Embed.Sample}
	}
}

// registry opens no backend that leaves this process: those say of themselves what they said before, and answer nothing.
func (f *found) registry(e *matrix.Experiment, opens *adapters.Registry) *adapters.Registry {
	b := e.Backends
	silent := adapters.Factory{
		OpenStore: func(context.Context, adapters.Config) (adapters.VectorStore, error) {
			return &silentStore{found: f}, nil
		},
		OpenEmbedder: func(context.Context, adapters.Config) (adapters.Embedder, error) {
			return silentEmbedder{info: f.Embedder}, nil
		},
		OpenReranker: func(context.Context, adapters.Config) (adapters.Reranker, error) {
			return silentReranker{info: f.Reranker}, nil
		},
		OpenPipeline: func(context.Context, adapters.Config) (adapters.Pipeline, error) {
			return silentPipeline{info: f.Pipeline}, nil
		},
		OpenGenerator: func(_ context.Context, cfg adapters.Config) (adapters.Generator, error) {
			if b.Generator == nil || !bytes.Equal(cfg.Settings, b.Generator.Settings) {
				return silentGenerator{info: f.Judge}, nil
			}
			return silentGenerator{info: f.Generator}, nil
		},
	}
	for _, spec := range []*matrix.Backend{b.Store, b.Embedder, b.Generator, b.Reranker, b.Pipeline, b.Judge} {
		if !spec.Free() {
			silent.Name = spec.Adapter
			opens = opens.With(silent)
		}
	}
	return opens
}

// silentStore says once what it said before: what it is behind the calls nobody asks.
type silentStore struct {
	enactedStore
	found *found
	told  atomic.Bool
}

func (s *silentStore) Describe(context.Context) (adapters.StoreInfo, error) {
	if s.told.Swap(true) {
		return adapters.StoreInfo{}, notRecorded("what the store is now")
	}
	return s.found.Store, nil
}

func (s *silentStore) Capabilities() adapters.StoreCapabilities { return s.found.Can }

func (s *silentStore) Fetch(context.Context, adapters.FetchRequest) ([]adapters.Item, error) {
	return nil, notRecorded("a text of the store")
}

// Models are not asked either.
type (
	silentEmbedder struct {
		enactedEmbedder
		info adapters.EmbedderInfo
	}
	silentReranker struct {
		enactedReranker
		info adapters.RerankerInfo
	}
	silentGenerator struct {
		enactedGenerator
		info adapters.GeneratorInfo
	}
	silentPipeline struct {
		enactedPipeline
		info adapters.PipelineInfo
	}
)

func (e silentEmbedder) Describe(context.Context) (adapters.EmbedderInfo, error) { return e.info, nil }

func (r silentReranker) Describe(context.Context) (adapters.RerankerInfo, error) { return r.info, nil }

func (g silentGenerator) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return g.info, nil
}

func (p silentPipeline) Describe(context.Context) (adapters.PipelineInfo, error) { return p.info, nil }
