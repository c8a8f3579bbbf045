package selftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Run injects the faults, runs the experiments and counts. An error is one of the work; a wrong verdict is none.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	began := time.Now()
	h, err := newHarness(o.Show)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	s := &study{
		deterministic: deterministicJobs(o), noisy: noisyJobs(o), healthy: healthyJobs(o), pairs: pairs(o),
	}
	for _, part := range []struct {
		phase string
		jobs  []*job
	}{
		{"faults", s.deterministic}, {"faults under noise", s.noisy}, {"two faults", s.compound()}, {"healthy cases", s.healthy},
	} {
		if err := h.runAll(ctx, part.phase, part.jobs); err != nil {
			return nil, err
		}
	}
	r := s.report(o)
	r.WallMS = time.Since(began).Milliseconds()
	return r, nil
}

// study is what was run.
type study struct {
	deterministic, noisy, healthy []*job
	pairs                         []*pair
}

// again is between the seeds of two runs of one system: more than any cell is repeated.
const again = 1000

func (o *Options) chosen() []fault {
	all := faults()
	if o.Only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(f fault) bool { return !o.Only(f.name, f.want) })
}

func newJob(f *fault, s shape, seed uint64) *job {
	b := s.newBase(seed)
	f.inject(b)
	return &job{fault: f.name, want: f.want, also: f.also, shape: s.name, seed: seed, spec: b.spec}
}

func deterministicJobs(o Options) []*job {
	var jobs []*job
	for _, f := range o.chosen() {
		for _, s := range shapes() {
			if f.random || !f.fits(s.name) {
				continue
			}
			for seed := range o.Seeds {
				jobs = append(jobs, newJob(&f, s, uint64(seed)+1))
			}
		}
	}
	return jobs
}

// noisyJobs breaks experiments whose generator is wrong, or refuses, now and then. Each is run twice, which is the same system twice.
func noisyJobs(o Options) []*job {
	var jobs []*job
	for fi, f := range o.chosen() {
		fitting := slices.DeleteFunc(shapes(), func(s shape) bool { return !f.fits(s.name) })
		for ri, rate := range o.Rates {
			if f.random && ri > 0 {
				break // it brings its own rate
			}
			for n := range o.Noisy {
				j := newJob(&f, fitting[(fi+ri+n)%len(fitting)], uint64(1000+ri*o.Noisy+n))
				j.rate = rate
				j.stochastic(!f.random, fi+ri+n)
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// stochastic makes the generator one that varies. Odd ones refuse now and then, even ones are wrong.
func (j *job) stochastic(flips bool, n int) {
	b := base{spec: j.spec}
	if flips {
		b.set(generator+"flip", tree{"rate": 1 - j.rate, "to": []string{"wrong", "refuse"}[n%2]})
	}
	b.set("runs.repeats", noisyRepeats)
	j.seeds = []int64{1, 1 + again}
}

// perCorpus is how often one healthy corpus is run; one in so many as perturbed says is run with all perturbations.
const (
	perCorpus = 10
	perturbed = 4
)

func healthyJobs(o Options) []*job {
	var jobs []*job
	all := shapes()
	for i := 0; i*perCorpus < o.Healthy && len(o.Rates) > 0 && o.Only == nil; i++ {
		rate, s := o.Rates[i%len(o.Rates)], all[i/len(o.Rates)%len(all)]
		j := &job{want: string(verdict.Pass), shape: s.name, seed: uint64(2000 + i), rate: rate, spec: s.newBase(uint64(2000 + i)).spec}
		j.stochastic(true, i/len(o.Rates))
		if i/len(o.Rates)%perturbed != 0 { // D is dear, and explains a failing A; whether A fails, A and B decide
			b := base{spec: j.spec}
			b.set("runs.perturbations", "none")
		}
		j.seeds = nil
		for n := range min(perCorpus, o.Healthy-i*perCorpus) {
			j.seeds = append(j.seeds, int64(1+n*again))
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// pair is two faults at once, the second hidden by the first.
type pair struct {
	first, second *fault
	both, mended  *job // mended: the first is not injected any more
}

// hides reports whether the fault keeps another one from having an effect: it comes before, and the evidence does not get past it.
func (f *fault) hides(g *fault) bool {
	at, behind := slices.Index(pipelineOrder, stageOf(f.want)), slices.Index(pipelineOrder, stageOf(g.want))
	switch {
	case f.random, g.random, f.shows, at < 0, at >= behind:
		return false
	case g.want == "embed/dimension-mismatch": // nothing can be searched, whatever is stored
		return false
	case stageOf(f.want) == "generate" && stageOf(g.want) == "abstain": // who refuses says nothing, be it right or wrong
		return false
	case f.want == "index/missing" && (g.want == "embed/vectors-misassigned" || g.want == "retrieve/approximate-miss"): // nothing is there to do it to
		return false
	case f.want == "index/not-yet-visible" && g.want != "retrieve/filtered-out": // a later search shows it, and does not find it either
		return stageOf(g.want) != "embed" && stageOf(g.want) != "retrieve"
	case g.want == "retrieve/query-altered": // it comes before the embedding
		return stageOf(f.want) != "embed"
	}
	return true
}

// pipelineOrder is the order in which the stages of a pipeline come.
var pipelineOrder = []string{"index", "embed", "retrieve", "rerank", "assemble", "prompt", "generate", "abstain"}

func pairs(o Options) []*pair {
	var all []*pair
	chosen := o.chosen()
	for _, s := range shapes() {
		for i := range chosen {
			for j := range chosen {
				f, g := &chosen[i], &chosen[j]
				if f.fits(s.name) && g.fits(s.name) && f.hides(g) && apart(s, f, g) {
					all = append(all, &pair{first: f, second: g, both: &job{shape: s.name}})
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same ones are to be drawn again
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), o.Pairs)]
	for i, p := range all {
		s := shapes()[slices.IndexFunc(shapes(), func(s shape) bool { return s.name == p.both.shape })]
		seed := uint64(3000 + i)
		p.mended = newJob(p.second, s, seed)
		p.both = newJob(p.second, s, seed)
		b := s.newBase(seed)
		b.spec = p.both.spec
		p.first.inject(b)
		p.both.fault, p.both.want, p.both.also, p.both.later = p.first.name+", and "+p.second.name, p.first.want, "", p.second.want
	}
	return all
}

func (s *study) compound() []*job {
	var jobs []*job
	for _, p := range s.pairs {
		jobs = append(jobs, p.both, p.mended)
	}
	return jobs
}

// apart reports whether two faults touch different settings, so that both can be there at once and one mended alone.
func apart(s shape, f, g *fault) bool {
	whole := s.newBase(1)
	touched := func(f *fault) map[string]string {
		b := s.newBase(1)
		f.inject(b)
		before, after := map[string]string{}, map[string]string{}
		leaves("", whole.spec, before)
		leaves("", b.spec, after)
		maps.DeleteFunc(after, func(path, value string) bool { return before[path] == value })
		for path := range before {
			if _, kept := after[path]; !kept && !has(b.spec, path) {
				after[path] = ""
			}
		}
		return after
	}
	of, og := touched(f), touched(g)
	for p := range of {
		for q := range og {
			if p == q || strings.HasPrefix(p, q+".") || strings.HasPrefix(q, p+".") {
				return false
			}
		}
	}
	return true
}

// leaves lists what stands at the ends of a tree, by path.
func leaves(path string, v any, into map[string]string) {
	t, ok := v.(tree)
	if !ok {
		into[path] = fmt.Sprint(v)
		return
	}
	for key, value := range t {
		leaves(strings.TrimPrefix(path+"."+key, "."), value, into)
	}
}

func has(t tree, path string) bool {
	all := map[string]string{}
	leaves("", t, all)
	_, ok := all[path]
	return ok
}

// Knows reports whether a choice holds for any fault.
func Knows(only func(name, label string) bool) bool {
	return slices.ContainsFunc(faults(), func(f fault) bool { return only(f.name, f.want) })
}
