package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// Options say how much is run. The zero value of a number runs none of that part.
type Options struct {
	Seeds   int       // corpora for each fault and shape
	Rates   []float64 // pass rates of the noisy generators, 0 to 1
	Noisy   int       // noisy corpora for each fault and rate
	Healthy int       // healthy cases with a noisy generator, shared out over the rates
	Pairs   int       // compound faults, two at once
	Only    func(name, label string) bool
	// Show is told how much is done. Nil: nobody is.
	Show func(phase string, done, total int)
}

// Defaults are what culprit selftest runs.
func Defaults() Options {
	return Options{Seeds: 1, Rates: []float64{0.6, 0.7, 0.8, 0.9, 0.98}, Noisy: 1, Healthy: 2000, Pairs: 300}
}

// noisyRepeats is runs.repeats of a stochastic generator; fixedRepeats is the number that its generations are compared with.
const (
	noisyRepeats = "auto"
	fixedRepeats = 20
)

// seen is the verdict of one run of one case, as far as it is counted.
type seen struct {
	given       string   // stage/label of the first defect, or the outcome where there is none
	all         []string // of every defect
	behind      []string // of those that a repair revealed
	verified    []string // what is blamed with the grade verified: a defect, or the production prompt
	span        string   // what the span script says
	right       bool     // A passes
	generations int
	fixed       int // generations that a fixed number of repeats takes for the same cells
}

// job is one experiment to run, and what must come of it.
type job struct {
	fault string
	want  string
	also  string // as true as want; "": nothing
	later string // the fault that it hides; "": none
	shape string
	seed  uint64
	rate  float64 // pass rate of the generator; 0: deterministic
	spec  tree
	seeds []int64 // of the generator: one run for each; none: the experiment's own

	got []seen
}

// harness runs experiments in a folder of its own.
type harness struct {
	dir      string
	registry *adapters.Registry
	schemas  map[string]map[string]json.RawMessage
	next     atomic.Int64
	show     func(phase string, done, total int)
}

func newHarness(show func(string, int, int)) (*harness, error) {
	registry, err := adapters.NewRegistry(embedded.Factory())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "culprit-selftest-")
	if err != nil {
		return nil, err
	}
	if show == nil {
		show = func(string, int, int) {}
	}
	return &harness{dir: dir, registry: registry, schemas: registry.Schemas(), show: show}, nil
}

// Close removes what was written.
func (h *harness) Close() error { return os.RemoveAll(h.dir) }

// runAll runs the jobs side by side; each gets its own results.
func (h *harness) runAll(ctx context.Context, phase string, jobs []*job) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var done atomic.Int64
	for _, j := range jobs {
		group.Go(crash.Guard(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := h.run(ctx, j); err != nil {
				return fmt.Errorf("%s in %s, seed %d: %w", j.fault, j.shape, j.seed, err)
			}
			h.show(phase, int(done.Add(1)), len(jobs))
			return nil
		}))
	}
	return group.Wait()
}

// run takes one experiment the way of a user's: a file, read and checked, run, and judged from its sealed bundle.
func (h *harness) run(ctx context.Context, j *job) (err error) {
	dir := filepath.Join(h.dir, strconv.FormatInt(h.next.Add(1), 10))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "experiment.yaml")
	data, err := json.Marshal(j.spec) // JSON is YAML
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	loaded, err := experiments.Load(file, experiments.Options{Schemas: h.schemas}) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	seeds := j.seeds
	if len(seeds) == 0 {
		seeds = []int64{loaded.Experiment.Pipeline.Generate.Seed}
	}
	for _, seed := range seeds {
		loaded.Experiment.Pipeline.Generate.Seed = seed
		summary, err := runner.Run(ctx, loaded, runner.Options{Registry: h.registry, Out: filepath.Join(dir, "results"), CacheDir: filepath.Join(dir, "cache"), Now: time.Now})
		if err != nil {
			return err
		}
		for i := range summary.Cases {
			bundle, err := results.Open(summary.Cases[i].Bundle)
			if err != nil {
				return err
			}
			j.got = append(j.got, look(bundle))
		}
	}
	return nil
}

// thePrompt is what is blamed where the generator answers right through the reference prompt.
const thePrompt = string(verdict.StagePrompt)

// look reads from a bundle what is counted.
func look(b *results.Bundle) seen {
	e := &b.Evaluation
	s := seen{given: string(e.Outcome), span: spanScript(b), right: majority(&b.Evaluation)}
	for _, d := range e.Defects {
		s.all = append(s.all, d.Name())
	}
	if len(s.all) > 0 {
		s.given = s.all[0]
	}
	for _, d := range e.Behind {
		s.behind = append(s.behind, d.Name())
	}
	for _, d := range slices.Concat(e.Defects, e.Behind) {
		switch byPrompt := d.Repair == string(matrix.RungPrompt) && d.Stage != verdict.StagePrompt; {
		case d.Grade != verdict.Verified:
		case byPrompt:
			s.verified = append(s.verified, thePrompt) // which the reference prompt acquits the generator for
		default:
			s.verified = append(s.verified, d.Name())
		}
	}
	for i := range b.Observations.Trials {
		t := &b.Observations.Trials[i]
		if t.Status != matrix.StatusNotRun && t.SameAs == "" && !t.Cached {
			s.generations++
		}
	}
	for _, c := range e.Cells {
		if c.Scored+c.Failed+c.Unscored > 0 {
			s.fixed += fixedRepeats
		}
	}
	return s
}

// majority reports whether A is right more often than not: what a person who asks a few times sees.
func majority(e *verdict.Evaluation) bool {
	for _, c := range e.Cells {
		if c.Cell == matrix.CellA {
			return 2*c.Pass > c.Scored
		}
	}
	return false
}
