package results

import (
	"slices"
	"strconv"

	"github.com/culprit-rag/culprit/matrix"
)

// checkPins holds the pins to what they follow from: the experiment, and what was observed. What nothing else in a bundle tells is theirs.
func (v *verifier) checkPins() {
	b := &v.bundle
	have, o := &b.Pins, &b.Observations
	want, err := NewPins(&b.Experiment)
	if err != nil {
		return // which was reported
	}
	want.Experiment, want.Toolchain, want.Extra = have.Experiment, have.Toolchain, have.Extra // the first of which was looked at
	facts := &o.Store
	want.Documents = facts.Revision
	want.Store = StorePin{
		Adapter: want.Store.Adapter, Version: facts.Version, Collection: facts.Collection, Fingerprint: facts.Fingerprint, Revision: facts.Revision,
		EmbedModel: have.Store.EmbedModel, Dimensions: have.Store.Dimensions, Distance: have.Store.Distance,
	}
	if b.Experiment.Backends.Store != nil {
		want.Store.Count = strconv.Itoa(facts.Items)
	}
	if want.Embedder != nil && have.Embedder != nil {
		adapter := want.Embedder.Adapter
		*want.Embedder = *have.Embedder
		want.Embedder.Adapter = adapter
	}
	if want.Reranker != nil && have.Reranker != nil {
		want.Reranker.Model = have.Reranker.Model
	}
	g := &want.Generator
	g.ModelRequested, g.Local = have.Generator.ModelRequested, have.Generator.Local
	g.DeterministicDeclared, g.DeterministicObserved = have.Generator.DeterministicDeclared, have.Generator.DeterministicObserved
	for i := range o.Trials {
		t := &o.Trials[i]
		g.ModelReported, g.SystemFingerprint = append(g.ModelReported, t.ModelReported), append(g.SystemFingerprint, t.SystemFingerprint)
		if t.By == "" {
			g.ModelRequested = t.ModelRequested
		}
		if t.By == "" && t.Attempts > 0 {
			g.Local = !t.Outside
		}
	}
	g.ModelReported, g.SystemFingerprint = distinct(g.ModelReported), distinct(g.SystemFingerprint)
	if j := want.Judge; j != nil && have.Judge != nil {
		j.ModelRequested, j.Prompt, j.Local = have.Judge.ModelRequested, have.Judge.Prompt, have.Judge.Local
		for i := range o.Judgements {
			judged := &o.Judgements[i]
			j.ModelRequested = judged.ModelRequested
			j.ModelReported, j.SystemFingerprint = append(j.ModelReported, judged.ModelReported), append(j.SystemFingerprint, judged.SystemFingerprint)
		}
		j.ModelReported, j.SystemFingerprint = distinct(j.ModelReported), distinct(j.SystemFingerprint)
	}
	differs, err := have.Difference(&want)
	if err != nil {
		v.report(pinsFile, 0, "%v", err)
	}
	for _, says := range differs {
		v.report(pinsFile, 0, "by the experiment and what was observed it is another: %s", says)
	}
}

// distinct is the set of the values that are told, sorted.
func distinct(values []string) []string {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(s string) bool { return s == "" })
}

// begunPins is the digest of the pins as they were before the first call, without where a run stops for what it has spent.
func begunPins(b *Bundle) (string, error) {
	e, p := b.Experiment, b.Pins
	e.Limits.Budget = matrix.Spending{}
	var err error
	if p.Experiment, err = experimentDigest(&e); err != nil {
		return "", err
	}
	p.Generator.ModelReported, p.Generator.SystemFingerprint, p.Generator.DeterministicObserved = nil, nil, matrix.Unknown
	if p.Judge != nil {
		judge := *p.Judge
		judge.ModelReported, judge.SystemFingerprint = nil, nil
		p.Judge = &judge
	}
	return matrix.Digest(p)
}
