package runner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// pins is everything, declared and resolved, that can change a result, as known before the first call.
func (s *session) pins() (results.Pins, error) {
	p, err := results.NewPins(s.experiment)
	if err != nil {
		return p, err
	}
	info := s.storeInfo
	p.Documents = info.Revision
	p.Store.Version, p.Store.Collection = info.Version, info.Collection
	if s.experiment.Backends.Store != nil {
		p.Store.Count = strconv.Itoa(info.Count)
	}
	p.Store.Fingerprint, p.Store.Revision, p.Store.EmbedModel = info.Fingerprint, info.Revision, info.EmbedModel
	p.Store.Dimensions, p.Store.Distance = info.Dimensions, info.Distance
	if p.Embedder != nil {
		e := s.embedderInfo
		p.Embedder.Model, p.Embedder.Dimensions, p.Embedder.QueryPrefix, p.Embedder.PassagePrefix = e.Model, e.Dimensions, e.QueryPrefix, e.PassagePrefix
	}
	if p.Reranker != nil {
		p.Reranker.Model = s.rerankerInfo.Model
	}
	if s.pipeline != nil {
		p.Extra = map[string]string{"pipeline": strings.TrimSpace(s.pipelineInfo.Name + " " + s.pipelineInfo.Version)}
	}
	if p.Judge != nil {
		p.Judge.ModelRequested, p.Judge.Prompt, p.Judge.Local = s.judgeInfo.Model, judgeDigest(), s.judgeInfo.Local
	}
	g := s.generatorInfo
	p.Generator.ModelRequested, p.Generator.DeterministicDeclared, p.Generator.Local = g.Model, g.Deterministic, g.Local
	return p, nil
}

// pinsAfter adds what only the calls could tell.
func (s *session) pinsAfter(o *matrix.Observations) (results.Pins, error) {
	p, err := s.pins()
	if err != nil {
		return p, err
	}
	p.Generator.DeterministicObserved = s.observed
	for _, t := range o.Trials {
		p.Generator.ModelReported = withValue(p.Generator.ModelReported, t.ModelReported)
		p.Generator.SystemFingerprint = withValue(p.Generator.SystemFingerprint, t.SystemFingerprint)
	}
	for _, j := range o.Judgements {
		p.Judge.ModelReported = withValue(p.Judge.ModelReported, j.ModelReported)
		p.Judge.SystemFingerprint = withValue(p.Judge.SystemFingerprint, j.SystemFingerprint)
	}
	return p, nil
}

// withValue adds a value to a sorted set; the empty one is not told.
func withValue(set []string, value string) []string {
	at, found := slices.BinarySearch(set, value)
	if value == "" || found {
		return set
	}
	return slices.Insert(set, at, value)
}
