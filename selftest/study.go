package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// places is where faults take effect, each before the next. Beside the stages they are what lies before or behind the stage of a label.
var places = []string{
	"fixture", "seam", "opening", environment, // nothing of the pipeline is judged, or was asked; nothing can be searched; nobody answers
	"index", "embed", "retrieve",
	"order", // of what is ranked
	"rerank", "assemble", "prompt",
	"generate", "abstain", "words", // whoever heeds no context does not refuse for it, and whoever refuses quotes nothing
	"ids", "citations", // which are wrong beside right words
}

// place is where the fault takes effect, -1 for one that keeps nothing from anybody.
func (f *fault) place() int { return slices.Index(places, cmp.Or(f.acts, stageOf(f.want))) }

// hides reports whether the fault keeps another one, of another stage, from having an effect or from being seen.
func (f *fault) hides(g *fault) bool {
	return f.place() >= 0 && f.place() < g.place() && stageOf(f.want) != stageOf(g.want) && leftOut(f, g) == ""
}

// leftOut says why a pair of faults is not tried although they are of two stages, "" where it is.
func leftOut(f, g *fault) string {
	for _, l := range exempt() {
		if l.one(f) && l.other(g) || l.one(g) && l.other(f) {
			return l.why
		}
	}
	return ""
}

// exemption is a kind of pairs that are left out.
type exemption struct {
	why        string
	one, other func(*fault) bool
}

func exempt() []exemption {
	any := func(*fault) bool { return true }
	called := func(names ...string) func(*fault) bool {
		return func(f *fault) bool { return slices.Contains(names, f.name) }
	}
	label := func(name string) func(*fault) bool {
		return func(f *fault) bool { return f.want == name || stageOf(f.want) == name }
	}
	return []exemption{
		{"a fault of `access` and any other: a leak keeps nothing from anybody, and is named beside it", label("access"), any},
		{"`generate/unstable` and any other: it shows now and then, and the noisy faults count how often it is told", func(f *fault) bool { return f.random }, any},
		{"`fixture/gold-id-stale` and a fault of `index`: that the text is stored, under another source, is what the first is", label("fixture/gold-id-stale"), label("index")},
		{"`index/missing` and swapped vectors: what is not stored has no vector to swap", label("index/missing"), called("two vectors are swapped")},
		{"a cached answer and an asker who uses other words: the cache answers what is asked in much the same ones", label("seam/cached-answer"), called("the asker uses other words")},
		{"superseded texts and near copies ahead of the evidence: they are in one order, of which either may be first", called("the superseded text takes the place"), called("near copies take the places")},
		{
			"a query template that pollutes, and a query prefix that is lost or a cached vector of the query: each keeps the evidence from every search that leaves the other as it is, so that no single change shows either",
			called("the query template pollutes"), called("the query's prefix is lost", "a cache keeps the query's vector of another model"),
		},
	}
}

// pipelineOrder is the order in which the stages of a pipeline come.
var pipelineOrder = []string{"index", "embed", "retrieve", "rerank", "assemble", "prompt", "generate", "abstain"}

func pairs(o Options) []*pair {
	var all []*pair
	chosen := o.chosen()
	for _, s := range shapes() {
		touched := make([][]string, len(chosen))
		for i := range chosen {
			if chosen[i].fits(s.name) {
				touched[i] = s.touched(&chosen[i])
			}
		}
		for i := range chosen {
			for j := range chosen {
				f, g := &chosen[i], &chosen[j]
				if touched[i] != nil && touched[j] != nil && f.hides(g) && apart(touched[i], touched[j]) {
					all = append(all, &pair{first: f, second: g, both: &job{shape: s.name}})
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same ones are to be drawn again
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = evenly(all, o.Pairs)
	for i, p := range all {
		s := shapes()[slices.IndexFunc(shapes(), func(s shape) bool { return s.name == p.both.shape })]
		seed := uint64(3000 + i)
		p.mended = newJob(p.second, s, seed)
		p.both = newJob(p.second, s, seed)
		b := s.newBase(seed)
		b.spec = p.both.spec
		p.first.inject(b)
		p.both.fault, p.both.want, p.both.also, p.both.later = p.first.name+", and "+p.second.name, p.first.want, p.first.also, p.second.want
	}
	return all
}

// evenly takes up to n of the pairs, in rounds: each takes, in their order, those of which one fault had no more turns than there were rounds.
func evenly(pairs []*pair, n int) []*pair {
	var taken []*pair
	turns := map[string]int{}
	for most := 1; len(taken) < n && len(pairs) > 0; most++ {
		pairs = slices.DeleteFunc(pairs, func(p *pair) bool {
			if len(taken) == n || turns[p.first.name] >= most && turns[p.second.name] >= most {
				return false
			}
			turns[p.first.name]++
			turns[p.second.name]++
			taken = append(taken, p)
			return true
		})
	}
	return taken
}

func (s *study) compound() []*job {
	var jobs []*job
	for _, p := range s.pairs {
		jobs = append(jobs, p.both, p.mended)
	}
	return jobs
}

// touched lists the settings that a fault changes.
func (s shape) touched(f *fault) []string {
	b := s.newBase(1)
	before, after := map[string]string{}, map[string]string{}
	leaves("", b.spec, before)
	f.inject(b)
	leaves("", b.spec, after)
	var paths []string
	for path, value := range after {
		if was, ok := before[path]; !ok || was != value {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, kept := after[path]; !kept {
			paths = append(paths, path)
		}
	}
	return paths
}

// apart reports whether two faults touch different settings, so that both can be there at once and one mended alone.
func apart(of, other []string) bool {
	for _, p := range of {
		for _, q := range other {
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

// Knows reports whether a choice holds for any fault.
func Knows(only func(name, label string) bool) bool {
	return slices.ContainsFunc(faults(), func(f fault) bool { return only(f.name, f.want) })
}
