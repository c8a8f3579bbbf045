package runner_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// withheld takes an observation away from a bundle, as if it had not been made.
type withheld func(*matrix.Observations)

func without(cells ...matrix.CellID) withheld {
	return func(o *matrix.Observations) {
		o.Retrievals = slices.DeleteFunc(o.Retrievals, func(r matrix.Retrieval) bool { return slices.Contains(cells, r.Cell) })
	}
}

func changed(cell matrix.CellID, change func(*matrix.Retrieval)) withheld {
	return func(o *matrix.Observations) {
		for i := range o.Retrievals {
			if o.Retrievals[i].Cell == cell {
				change(&o.Retrievals[i])
			}
		}
	}
}

// TestRivals takes away, one after the other, the observation that decides between labels: the verdict is then inconclusive, and
// names the labels and what would tell them apart; or it keeps to the label that holds either way.
func TestRivals(t *testing.T) {
	t.Parallel()
	const faults = "backends.store.faults."
	cut := func(d string) *matrix.Decimal {
		v := matrix.Decimal(d)
		return &v
	}
	unscored := func(cell matrix.CellID) withheld {
		return func(o *matrix.Observations) {
			for i := range o.Trials {
				if o.Trials[i].Cell == cell {
					o.Trials[i].Status, o.Trials[i].Error = matrix.StatusError, &matrix.CallError{Kind: "timeout", Message: "too late"}
				}
			}
		}
	}
	noScan := func(o *matrix.Observations) {
		o.Store.Scan.Complete, o.Store.Scan.Reason = false, "the scan stopped"
	}
	noVectors := func(o *matrix.Observations) { o.Store.Embed.BehaviourObserved = false }
	noControl := func(o *matrix.Observations) { o.Store.RerankControl = nil }
	const inconclusive = "inconclusive"
	for _, test := range []struct {
		name, file string
		set        []string
		withhold   withheld
		want       string   // the verdict without the observation
		missing    []string // of which each stands in what is missing
	}{
		{
			"the scan of the store", "keyword",
			[]string{faults + "omit=[fee]"},
			noScan, inconclusive,
			[]string{"a complete scan of the store: the scan stopped", "index/missing", "index/ghost", "index/stale", "index/wrong-collection", "index/not-yet-visible", " from retrieve/"},
		},
		{
			"the second look", "keyword",
			[]string{faults + "late={fee: 1}", "checks.second_look=1ms"},
			without(matrix.ProbeLater), inconclusive,
			[]string{"index: it changed during the run"},
		},
		{"stored vectors", "dense", []string{faults + "vectors={fee: {model: other}}"}, noVectors, inconclusive, []string{"the stored vectors", "embed/mixed-models", "embed/model-mismatch", "embed/zero-vector", "from retrieve/"}},
		{"the cached query vector", "dense", []string{"backends.embedder.cached={mooring fee for one night: other}"}, without(matrix.ProbeUncached), inconclusive, []string{"(C/uncached), to tell embed/model-mismatch from retrieve/below-cutoff"}},
		{"an embedder that white space moves", "dense", []string{"backends.embedder.cached={mooring fee for one night: other}"}, changed(matrix.ProbeUncached, func(r *matrix.Retrieval) { r.Uncached.Space = cut("0.7") }), "retrieve/below-cutoff", nil},
		{"a query vector that is near", "dense", []string{"backends.embedder.cached={mooring fee for one night: other}"}, changed(matrix.ProbeUncached, func(r *matrix.Retrieval) { r.Uncached.Own = cut("0.8") }), "retrieve/below-cutoff", nil},
		{"a vector that does not find the gold", "dense", []string{"backends.embedder.cached={mooring fee for one night: other}"}, changed(matrix.ProbeUncached, func(r *matrix.Retrieval) { r.Candidates = []matrix.Hit{} }), "retrieve/below-cutoff", nil},
		{"the search with the declared prefix", "dense", []string{`backends.embedder.query_prefix=""`}, without(matrix.ProbeIndexEmbed), inconclusive, []string{"the search with the declared query prefix", "embed/prefix-mismatch"}},
		{"the search without the filter", "keyword", []string{"pipeline.search.filter={kind: notice}"}, without(matrix.ProbeNoFilter), inconclusive, []string{"(C/no-filter), to tell retrieve/filtered-out"}},
		{"the search without the threshold", "keyword", []string{"pipeline.search.threshold=90"}, without(matrix.ProbeNoThreshold), inconclusive, []string{"(C/no-threshold), to tell retrieve/below-threshold"}},
		{"the exact search", "dense", []string{faults + "approximate=[fee]"}, without(matrix.ProbeExact, matrix.ProbeNamed), inconclusive, []string{"(C/exact), to tell retrieve/approximate-miss"}},
		{"the search as typed", "dense", []string{"pipeline.query=served lunch at noon in the boat house for {{query}}"}, without(matrix.ProbeAsTyped), inconclusive, []string{"(C/as-typed), to tell retrieve/query-altered from retrieve/below-cutoff"}},
		{
			"its own vector, where a dense search does not rank the gold", "dense",
			[]string{faults + "vectors={fee: {none: true}}"},
			func(o *matrix.Observations) {
				o.Store.Embed.Sample = slices.DeleteFunc(o.Store.Embed.Sample, func(s matrix.EmbedSample) bool { return s.ID == "fee" })
			}, inconclusive,
			[]string{"the gold's own similarity (C/named)"},
		},
		{"the reranker's control", "rerank", []string{"backends.reranker.by_position=true"}, noControl, "rerank/demoted", nil},
		{"the prompt", "keyword", []string{"pipeline.faults.empty_context=true"}, func(o *matrix.Observations) {
			for i := range o.Trials {
				o.Trials[i].Prompt = nil
			}
		}, inconclusive, []string{"the prompt as the model received it, to tell prompt/wrong-variable, prompt/not-serialised, prompt/escaped-away"}},
		{"B", "keyword", []string{"backends.generator.fixed=The fee is 99 crowns."}, unscored(matrix.CellB), inconclusive, []string{"B was not scored, so the generator cannot be told from the context: timeout"}},
		{"A", "keyword", []string{faults + "omit=[fee]"}, unscored(matrix.CellA), "environment", nil},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			loaded := load(t, filepath.Join("testdata/switches", test.file+".yaml"), change{set: test.set})
			b := run(t, loaded)[loaded.Cases[0].Case.ID]
			if got := verdictOf(b.Evaluation); got == test.want {
				t.Fatalf("%s already with the observation", got)
			}
			test.withhold(&b.Observations)
			e := judgedWithout(t, b)
			consistent(t, e)
			if got := verdictOf(e); got != test.want {
				t.Errorf("got %s, want %s\n    %s", got, test.want, explained(e))
			}
			for _, want := range test.missing {
				if !strings.Contains(strings.Join(e.Missing, "; "), want) {
					t.Errorf("missing %q, want %q in it", e.Missing, want)
				}
			}
			if i := slices.IndexFunc(e.Defects, func(d verdict.Defect) bool { return d.Name() == "rerank/demoted" }); i >= 0 && e.Defects[i].Grade != verdict.Inferred {
				t.Errorf("demoted is %s although the reranker's control was not made", e.Defects[i].Grade)
			}
		})
	}
}

// judgedWithout is the verdict of what is left of a bundle's observations.
func judgedWithout(t *testing.T, b *results.Bundle) verdict.Evaluation {
	t.Helper()
	features, err := verdict.Extract(&b.Experiment, &b.Case, &b.Observations)
	if err != nil {
		t.Fatal(err)
	}
	e, err := verdict.Evaluate(&b.Experiment, &b.Case, &b.Plan, &b.Observations, &features)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCitationOfASourceThatIsGone: no system can meet a case that asks for a citation of a source that nobody stores, and one that
// asks for facts alone can be met all the same.
func TestCitationOfASourceThatIsGone(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]string{
		`[{id: fee, any: [60 crowns]}, {id: source, cites: [tariff-old]}]`:         "fixture/gold-id-stale",
		`[{id: fee, any: [60 crowns]}, {id: source, cites: [tariff-old, tariff]}]`: "pass",
		`[{id: fee, any: [60 crowns]}]`:                                            "pass",
	} {
		file := written(t, `backends:
  store:
    adapter: embedded
    documents:
      - {id: fee, source: tariff, text: The mooring fee for one night is 60 crowns.}
      - {id: lunch, source: handbook, text: Lunch is served at noon.}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 3}}
cases: [{id: c, query: What is the mooring fee for one night?, evidence: {required: [{source: tariff-old, span: The mooring fee for one night is 60 crowns}]}, claims: `+claims+`}]`)
		if got := verdictOf(run(t, load(t, file.Path, change{}))["c"].Evaluation); got != want {
			t.Errorf("%s: got %s, want %s", claims, got, want)
		}
	}
}
