package experiments

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// load loads an experiment that must be good.
func load(t testing.TB, dir string, o Options) *Loaded {
	t.Helper()
	if o.Schemas == nil {
		o.Schemas = schemas(t)
	}
	loaded, err := Load(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

const minimal = `
-- experiment.yaml --
culprit: v1
name: minimal
backends: {store: {adapter: plain}, generator: {adapter: plain}}
cases: [{id: a, query: q, expect: abstain}]
`

func TestDefaults(t *testing.T) {
	t.Parallel()
	got := load(t, folderOf(t, minimal), Options{}).Experiment
	want := matrix.Experiment{
		Version: "v1", Name: "minimal",
		Backends: matrix.Backends{
			Store:     &matrix.Backend{Adapter: "plain", Settings: json.RawMessage(`{}`)},
			Generator: &matrix.Backend{Adapter: "plain", Settings: json.RawMessage(`{}`)},
		},
		Pipeline: matrix.Pipeline{
			Search:   matrix.Search{Mode: "keyword", K: 5, Depth: 200},
			Assemble: matrix.Assemble{Overflow: "stop", Order: "rank", Dedupe: "none"},
			Prompt:   matrix.Prompt{System: defaultSystem, User: defaultUser},
			Generate: matrix.Generate{Temperature: "0", Seed: 1, MaxTokens: 400},
			Refusal:  []string{"I don't know", "I do not know"},
		},
		Runs:   matrix.Runs{Repeats: matrix.Auto, MaxRepeats: 20, Alpha: "0.05", Repairs: true, Perturbations: matrix.Perturbations()},
		Checks: matrix.Checks{Sample: 32, Fingerprint: matrix.FingerprintCheap, SecondLook: matrix.Duration(2 * time.Second), Elsewhere: 200000},
		Limits: matrix.Limits{Concurrency: 4, Timeout: matrix.Duration(time.Minute), Retries: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("experiment (-want +got):\n%s", diff)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	loaded := load(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: full
backends:
  store: {adapter: plain, index: {model: 7}, cache: c.db}
  embedder: {adapter: plain, dimensions: 3}
  generator: {adapter: plain, model: 4.10, rate: 0.50}
  reranker: {adapter: plain}
pins: {corpus: 2026-07-01, index: {embed_model: m, dimensions: 3, revision: 1.10, query_prefix: "", passage_prefix: "p: "}, generator: {model_reported: g}}
pipeline:
  query: "{{history}} {{query}}"
  search: {mode: hybrid, k: 20, depth: 50, filter: {b: {not: [red, 7]}, a: "{{as.tenant}}"}, threshold: .20, exact: true}
  rerank: {top: 5, threshold: -0, order: returned}
  assemble: {budget: 1500 tokens, overflow: truncate, order: reverse, dedupe: text}
  prompt: {user: "{{query}} {{#context}}{{text}}{{/context}}"}
  generate: {temperature: 0.20, top_p: 1.0, seed: 0, max_tokens: 9, stop: [no]}
  refusal: []
  faults: {drop: [7], cut: 20, relabel: {a: b}, empty_context: true, replace: {x: y}, cache: [{query: q, answer: a, similarity: 0.60}]}
runs: {repeats: 1, perturbations: none}
limits: {concurrency: 1, requests_per_minute: 10, timeout: 1m30s, retries: 0, tokens_per_minute: 9000, budget: {calls: 5, tokens: 100000, cost: 10.50 USD}}
prices: {generator: {input: 2.00, cached_input: 0.5, output: 8}, embedder: {input: 0.02}, reranker: {search: 2}}
cases: [{id: a, query: q, expect: abstain, as: {tenant: acme}}]
`), Options{})
	got, err := json.MarshalIndent(loaded.Experiment, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/full.json", strings.ReplaceAll(string(got), filepath.ToSlash(loaded.Dir), "DIR")+"\n")
	if _, err := matrix.Digest(loaded.Experiment); err != nil {
		t.Errorf("the experiment has no digest: %v", err)
	}
}

func TestReorderingAFileChangesNothing(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		d, err := matrix.Digest(load(t, folderOf(t, text), Options{}).Experiment)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one := digest(`
-- experiment.yaml --
culprit: v1
name: order
backends: {store: {adapter: plain}, generator: {adapter: plain, model: m, rate: 0.1}}
pipeline: {search: {k: 2, filter: {b: x, a: y}}}
cases: [{id: a, query: q, expect: abstain}]
`)
	other := digest(`
-- experiment.yaml --
cases: [{id: b, query: other, expect: abstain}]
pipeline: {search: {filter: {a: [y], b: [x]}, k: 2, depth: 200}}
backends:
  generator: {rate: 0.1, model: m, adapter: plain}
  store: {adapter: plain}
name: order
culprit: v1
`)
	if one != other {
		t.Errorf("the same experiment in another order: %s and %s", one, other)
	}
}

// TestTextStaysAsWritten holds ids, spans, claim values and revisions to what stands in the file.
func TestTextStaysAsWritten(t *testing.T) {
	t.Parallel()
	loaded := load(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: text
backends: {store: {adapter: plain}, generator: {adapter: plain}}
cases: [case.yaml]
-- case.yaml --
id: 007
query: no
as: {tenant: 1e3, groups: [true, 0x1F]}
tags: {freshness: 2026-07-01}
evidence:
  required:
    - source: 9007199254740993
      revision: 2026-07-01
      span: 1.10
    - any_of: [{source: 18446744073709551615, revision: yes, span: off}]
claims:
  - {id: 1, any: [1.971, 1_250, "null", '~', .inf, -0, 0o17, 12:30, +1], never: [No], cites: [007]}
`), Options{})
	want := matrix.Case{
		ID: "007", Query: "no", Risk: matrix.RiskBlocking, Expect: matrix.ExpectAnswer,
		Tags: map[string]string{"freshness": "2026-07-01"},
		As:   matrix.Principal{"tenant": {"1e3"}, "groups": {"true", "0x1F"}},
		Evidence: matrix.Evidence{Required: []matrix.Requirement{
			{AnyOf: []matrix.Gold{{Source: "9007199254740993", Revision: "2026-07-01", Span: "1.10"}}},
			{AnyOf: []matrix.Gold{{Source: "18446744073709551615", Revision: "yes", Span: "off"}}},
		}},
		Claims: []matrix.Claim{{ID: "1", Any: []string{"1.971", "1_250", "null", "~", ".inf", "-0", "0o17", "12:30", "+1"}, Never: []string{"No"}, Cites: []string{"007"}}},
	}
	if diff := cmp.Diff(want, loaded.Cases[0].Case); diff != "" {
		t.Errorf("case (-want +got):\n%s", diff)
	}
}

func TestByteOrderMarkAndLineEnds(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, minimal)
	text := "culprit: v1\r\nname: crlf\r\nbackends: {store: {adapter: plain}, generator: {adapter: plain}}\r\n" +
		"pipeline:\r\n  prompt:\r\n    user: |\r\n      {{#context}}{{text}}{{/context}}\r\n      {{query}}\r\ncases: [case.yaml]\r\n"
	write(t, filepath.Join(dir, "experiment.yaml"), "\ufeff"+text)
	write(t, filepath.Join(dir, "case.yaml"), "\ufeffid: a\r\nquery: |-\r\n  one\r\n  two\r\nexpect: abstain\r\n")
	loaded := load(t, dir, Options{})
	if want, got := "{{#context}}{{text}}{{/context}}\n{{query}}\n", loaded.Experiment.Pipeline.Prompt.User; want != got {
		t.Errorf("prompt: want %q, got %q", want, got)
	}
	if want, got := "one\ntwo", loaded.Cases[0].Case.Query; want != got {
		t.Errorf("query: want %q, got %q", want, got)
	}
	if got := string(loaded.Cases[0].Source); !strings.HasPrefix(got, "\ufeffid: a\r\n") {
		t.Errorf("the source is not the file's own bytes: %q", got)
	}
}

func TestCaseSources(t *testing.T) {
	t.Parallel()
	const list = "- {id: c, query: q, expect: abstain}\n- {id: d, query: q, expect: abstain}\n"
	dir := folderOf(t, `
-- experiment.yaml --
culprit: v1
name: sources
backends: {store: {adapter: plain}, generator: {adapter: plain}}
cases:
  - {id: a, query: "}", expect: abstain} # behind
  - id: b
    query: q

    expect: abstain # mine
  # before the next

  - sub
  - deep/**/*.yaml
limits: {retries: 1}
-- deep/er/est/f.yaml --
cases:
  - id: f
    query: q
    expect: abstain
-- deep/g.yaml --
id: g
query: q
expect: abstain
-- sub/ignored.txt --
x
`)
	write(t, filepath.Join(dir, "sub", "list.yaml"), list)
	var got []string
	for _, c := range load(t, dir, Options{}).Cases {
		got = append(got, c.Case.ID+" "+filepath.Base(c.File)+" "+string(c.Source))
	}
	want := []string{
		`a experiment.yaml {id: a, query: "}", expect: abstain}`,
		"b experiment.yaml id: b\n    query: q\n\n    expect: abstain # mine",
		"c list.yaml {id: c, query: q, expect: abstain}", "d list.yaml {id: d, query: q, expect: abstain}",
		"f f.yaml id: f\n    query: q\n    expect: abstain",
		"g g.yaml id: g\nquery: q\nexpect: abstain\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestIncludeProfileAndSet(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, `
-- experiment.yaml --
culprit: v1
name: merged
include: [base/base.yaml]
backends: {generator: {model: mine}}
pipeline: {search: {k: 3}}
cases: [{id: own, query: q, expect: abstain}]
profiles:
  production: {backends: {store: {facts: null}, generator: {model: prod}}, pipeline: {search: {filter: {tenant: acme}}}}
-- base/base.yaml --
backends: {store: {adapter: plain, facts: true, cache: c.db}, generator: {adapter: plain, model: base, rate: 0.5}}
pipeline:
  search: {k: 9, depth: 90}
  prompt: {user: ../prompts/user.md}
cases: [never/*.yaml]
-- prompts/user.md --
{{#context}}{{text}}{{/context}}{{query}}
`)
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"the file over what it includes": {Options{}, "k=3 depth=90 facts=true model=mine rate=0.5 cache=base/c.db filter=0"},
		"a profile over the file":        {Options{Profile: "production"}, "k=3 depth=90 facts=<nil> model=prod rate=0.5 cache=base/c.db filter=1"},
		"the command line over all": {
			Options{Profile: "production", Set: []string{"pipeline.search.k=7", "backends.generator.model=1.10", "backends.generator.rate=null", "pipeline.search.filter={}"}},
			"k=7 depth=90 facts=<nil> model=1.10 rate=<nil> cache=base/c.db filter=0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded := load(t, dir, test.options)
			var store, generator map[string]any
			unmarshal(t, loaded.Experiment.Backends.Store.Settings, &store)
			unmarshal(t, loaded.Experiment.Backends.Generator.Settings, &generator)
			cache, _ := store["cache"].(string)
			got := sprint("k=", loaded.Experiment.Pipeline.Search.K, " depth=", loaded.Experiment.Pipeline.Search.Depth, " facts=", store["facts"],
				" model=", generator["model"], " rate=", generator["rate"],
				" cache=", strings.TrimPrefix(cache, filepath.ToSlash(dir)+"/"), " filter=", len(loaded.Experiment.Pipeline.Search.Filter))
			if got != test.want {
				t.Errorf("want %s, got %s", test.want, got)
			}
			if want := "{{#context}}{{text}}{{/context}}{{query}}\n"; loaded.Experiment.Pipeline.Prompt.User != want {
				t.Errorf("prompt of the included file: %q", loaded.Experiment.Pipeline.Prompt.User)
			}
			if len(loaded.Files) != 3 {
				t.Errorf("want 3 files read, got %q", loaded.Files)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, minimal+`
-- sub/other.yml --
# a comment
culprit: v1
broken: [
-- sub/base.yaml --
pipeline: {}
note: "culprit: v1"
-- .hidden/experiment.yaml --
culprit: v1
-- notes.md --
culprit: v1
`)
	got, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "experiment.yaml"), filepath.Join(dir, "sub", "other.yml")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if _, err := Find(filepath.Join(dir, ".hidden")); err != nil {
		t.Errorf("a hidden folder that is named: %v", err)
	}
	if _, err := Find(t.TempDir()); err == nil {
		t.Error("an empty folder holds an experiment")
	}
	if _, err := Find(filepath.Join(dir, "gone")); err == nil {
		t.Error("a folder that does not exist holds an experiment")
	}
}

func TestLoadRefusesWhatIsNoExperiment(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, "-- other.yaml --\nx: y\n")
	for name, path := range map[string]string{"no such path": filepath.Join(dir, "gone"), "a folder without one": dir} {
		var found Problems
		if _, err := Load(path, Options{}); !errors.As(err, &found) || found[0].File != path {
			t.Errorf("%s: want a problem that names it, got %v", name, err)
		}
	}
}
