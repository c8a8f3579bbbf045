package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

const ledger = `backends:
  store:
    adapter: embedded
    documents:
      - {id: z2, source: harbour, text: "September 2026 onwards, for every boat.", indexed_at: "2026-07-01", updated_at: "2026-06-01"}
      - {id: a1, source: harbour, text: "The new fee applies from 1", indexed_at: "2026-07-01", updated_at: "2026-08-01"}
      - {id: m3, source: mooring, text: "MOORING COSTS\n twelve crowns a day.", metadata: {note: "Mooring is free on the day of the regatta"}}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 3}}
`

func ledgerCase(source, span string) string {
	return ledger + `cases: [{id: c, query: "what does the fee or mooring of a boat cost", evidence: {required: [{source: ` + source + `, span: "` + span + `", text: "` + span + `"}]}, claims: [{id: x, any: ["` + span + `"]}], risk: investigate}]`
}

func probe(t *testing.T, text string, registry *adapters.Registry, set ...string) *results.Probe {
	t.Helper()
	loaded := load(t, written(t, text).Path, change{set: set})
	p, err := runner.Probe(t.Context(), loaded, runner.Options{
		Registry: registry, CacheDir: t.TempDir(), Now: func() time.Time { return time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkNamed(t *testing.T, p *results.Probe, name string) results.ProbedCheck {
	t.Helper()
	i := slices.IndexFunc(p.Checks, func(c results.ProbedCheck) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s among %+v", name, p.Checks)
	}
	return p.Checks[i]
}

// TestProbeSaysHowNear: what is stored only nearly is told from what is not stored.
func TestProbeSaysHowNear(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, source, span string
		result             matrix.Answer
		evidence           string // of corpus_hit
		label              string
	}{
		{"exact", "harbour", "for every boat", matrix.Yes, "harbour: z2;", ""},
		{"by case and space", "mooring", "Mooring costs twelve crowns", matrix.Yes, "m3 (only when several is folded)", ""},
		{"by case", "mooring", "Twelve Crowns", matrix.Yes, "m3 (only when case is folded)", ""},
		{"split, its second half stored first", "harbour", "applies from 1 September 2026", matrix.No, "in none; split over a1 and z2", "index/stale"},
		{"in a field that is not served", "mooring", "free on the day of the regatta", matrix.No, "only in a field that is not served: note of m3", "index/missing"},
		{"not at all", "mooring", "thirteen crowns", matrix.No, "mooring: in none;", "index/missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := probe(t, ledgerCase(test.source, test.span), registry(t))
			check := checkNamed(t, p, "corpus_hit")
			if check.Result != test.result || !strings.Contains(check.Evidence, test.evidence) {
				t.Errorf("corpus_hit is %s: %q, want %s: %q", check.Result, check.Evidence, test.result, test.evidence)
			}
			label := ""
			for _, d := range p.Cases[0].Defects {
				label = d.Name()
			}
			if label != test.label {
				t.Errorf("it names %q, want %q", label, test.label)
			}
		})
	}
}

// TestProbeSaysOutOfReach: what is stored only where production's search cannot get at it is said so.
func TestProbeSaysOutOfReach(t *testing.T) {
	t.Parallel()
	const documents = `backends:
  store:
    adapter: embedded
    documents:
      - {id: b9, source: berth, revision: "2024", text: A berth costs nine crowns., metadata: {tenant: north}}
      - {id: k1, source: dock, revision: "2026", text: A dock costs eleven crowns., metadata: {tenant: south}}
      - {id: l2, source: lunch, text: Lunch is served at noon., metadata: {tenant: north}}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 3, filter: {tenant: north}}}
cases: [{id: c, query: "what does it cost", evidence: {required: [{source: %s, revision: "2026", span: "%s"}]}, claims: [{id: x, any: ["%s"]}]}]`
	for _, test := range []struct{ source, span, evidence, label string }{
		{"berth", "nine crowns", `berth: b9, but only in revision "2024";`, "index/stale"},
		{"dock", "eleven crowns", "dock: k1, but only with tenant south;", "retrieve/filtered-out"},
	} {
		p := probe(t, fmt.Sprintf(documents, test.source, test.span, test.span), registry(t))
		if check := checkNamed(t, p, "corpus_hit"); !strings.Contains(check.Evidence, test.evidence) {
			t.Errorf("corpus_hit is %s: %q, want %q", check.Result, check.Evidence, test.evidence)
		}
		if len(p.Cases[0].Defects) != 1 || p.Cases[0].Defects[0].Name() != test.label {
			t.Errorf("%s: %+v, want %s", test.source, p.Cases[0].Defects, test.label)
		}
	}
}

func TestProbeSaysWhatIsOutdated(t *testing.T) {
	t.Parallel()
	p := probe(t, ledgerCase("harbour", "for every boat"), registry(t))
	check := checkNamed(t, p, "fresh")
	if check.Result != matrix.No || !strings.Contains(check.Evidence, "a1: its source was updated at 2026-08-01T00:00:00Z, after it was indexed at 2026-07-01T00:00:00Z") {
		t.Errorf("fresh is %s: %q", check.Result, check.Evidence)
	}
	if p.Fresh.Items != 3 || p.Fresh.Timed != 2 || p.Fresh.Updated != 1 || p.Fresh.Old != 0 {
		t.Errorf("of the whole store: %+v", p.Fresh)
	}
	p = probe(t, ledgerCase("harbour", "for every boat"), registry(t), "checks.max_age=720h")
	if check := checkNamed(t, p, "fresh"); check.Result != matrix.No || !strings.Contains(check.Evidence, "z2: it was indexed at 2026-07-01T00:00:00Z, longer ago than checks.max_age (720h0m0s)") || p.Fresh.Old != 2 {
		t.Errorf("with a limit fresh is %s: %q, %+v", check.Result, check.Evidence, p.Fresh)
	}
	p = probe(t, ledgerCase("mooring", "twelve crowns"), registry(t), "checks.max_age=720h")
	if check := checkNamed(t, p, "fresh"); check.Result != matrix.Unknown || !strings.Contains(check.Evidence, "fields.indexed_at") {
		t.Errorf("without times fresh is %s: %q", check.Result, check.Evidence)
	}
}

// edited is a store whose text of one item changes after the first scan, while all counts and the cheap fingerprint stay.
type edited struct {
	adapters.VectorStore
	scans atomic.Int64
}

func (e *edited) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	again := e.scans.Add(1) > 1
	return e.VectorStore.Scan(ctx, req, func(item adapters.Item) error {
		if again && item.ID == "b" {
			item.Text += " Or so."
		}
		return visit(item)
	})
}

// halfRead is a store of which a part is left out, and whose other collections have items that cannot be read as texts.
type halfRead struct{ adapters.VectorStore }

func (h halfRead) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	report, err := h.VectorStore.Scan(ctx, req, visit)
	if req.Collection == "" {
		report.LeftOut = "2 of 3 tenants"
	} else {
		report.Unread = "no item of collection \"" + req.Collection + "\" has a text"
	}
	return report, err
}

// TestProbeSaysWhereItDidNotLook: evidence that is missing may stand in what was not read of other collections.
func TestProbeSaysWhereItDidNotLook(t *testing.T) {
	t.Parallel()
	factory := embedded.Factory()
	open := factory.OpenStore
	factory.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
		store, err := open(ctx, cfg)
		return halfRead{store}, err
	}
	r, err := adapters.NewRegistry(factory)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(ledgerCase("mooring", "thirteen crowns"), "  generator:", "      - {id: old, collection: archive, text: another}\n  generator:", 1)
	p := probe(t, text, r)
	if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, `no item of collection "archive" has a text`) }) {
		t.Errorf("the warnings are %q", p.Warnings)
	}
	d := p.Cases[0].Defects[0]
	if d.Name() != "index/missing" || d.Grade != verdict.Inferred || !strings.Contains(strings.Join(d.Evidence, "; "), "2 of 3 tenants") {
		t.Errorf("what the settings leave out is no part of %s (%s): %q", d.Name(), d.Grade, d.Evidence)
	}
}

// TestCompleteFingerprint: an edit in place during the run is seen by the complete fingerprint alone, and then nothing is judged.
func TestCompleteFingerprint(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fingerprint string
		moves       bool
		stable      matrix.Answer
		outcome     verdict.Outcome
	}{
		{"cheap", true, matrix.Yes, verdict.Fail},
		{"complete", true, matrix.No, verdict.Inconclusive},
		{"complete", false, matrix.Yes, verdict.Fail},
	} {
		factory := embedded.Factory()
		open := factory.OpenStore
		factory.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
			store, err := open(ctx, cfg)
			if err != nil || !test.moves {
				return store, err
			}
			return &edited{VectorStore: store}, nil
		}
		r, err := adapters.NewRegistry(factory)
		if err != nil {
			t.Fatal(err)
		}
		text := "backends:" + port + "  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: keyword, k: 1}}\nchecks: {fingerprint: " + test.fingerprint + "}" + portCase
		b := runWith(t, written(t, text), r)["c"]
		if b.Evaluation.Outcome != test.outcome {
			t.Errorf("%+v: got %s\n%s", test, b.Evaluation.Outcome, explained(b.Evaluation))
		}
		i := slices.IndexFunc(b.Evaluation.Checks, func(c verdict.Check) bool { return c.Name == "index_stable" })
		if got := b.Evaluation.Checks[i]; got.Result != test.stable {
			t.Errorf("%+v: index_stable is %s: %s", test, got.Result, got.Evidence)
		}
		probed, err := runner.Probe(t.Context(), written(t, text), runner.Options{Registry: r, CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got := checkNamed(t, probed, "index_stable"); got.Result != test.stable {
			t.Errorf("%+v: a probe says that index_stable is %s: %s", test, got.Result, got.Evidence)
		}
	}
}

// TestProbeAsksNoModel: a probe opens neither a generator nor a reranker.
func TestProbeAsksNoModel(t *testing.T) {
	t.Parallel()
	factory := embedded.Factory()
	factory.OpenGenerator = func(context.Context, adapters.Config) (adapters.Generator, error) {
		t.Error("the generator is opened")
		return nil, context.Canceled
	}
	factory.OpenReranker = func(context.Context, adapters.Config) (adapters.Reranker, error) {
		t.Error("the reranker is opened")
		return nil, context.Canceled
	}
	r, err := adapters.NewRegistry(factory)
	if err != nil {
		t.Fatal(err)
	}
	loaded := load(t, "../experiments/examples/handbook", change{})
	p, err := runner.Probe(t.Context(), loaded, runner.Options{Registry: r, CacheDir: t.TempDir()})
	if err != nil || len(p.Cases) != len(loaded.Cases) {
		t.Fatalf("%d cases, %v", len(p.Cases), err)
	}
}

// TestProbeSaysWhatARunSays: what a probe names of a case whose answer is wrong, a run names, too.
func TestProbeSaysWhatARunSays(t *testing.T) {
	t.Parallel()
	for _, example := range []string{"travel-policy", "handbook"} {
		loaded := load(t, "../experiments/examples/"+example, change{})
		p, err := runner.Probe(t.Context(), loaded, runner.Options{Registry: registry(t), CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		bundles := run(t, loaded)
		judged := 0
		for _, c := range p.Cases {
			e := bundles[c.Case].Evaluation
			for _, d := range c.Defects {
				if e.Outcome == verdict.Pass {
					continue
				}
				judged++
				if !slices.ContainsFunc(e.Defects, func(r verdict.Defect) bool { return r.Name() == d.Name() }) {
					t.Errorf("case %s: the probe names %s, the run %s", c.Case, d.Name(), verdictOf(e))
				}
			}
		}
		if judged < 3 {
			t.Errorf("%s: only %d defects were compared", example, judged)
		}
	}
}

// TestFilteredByType: a value that reads as the filter wants it and is of another type is told from one that differs.
func TestFilteredByType(t *testing.T) {
	t.Parallel()
	factory := embedded.Factory()
	open := factory.OpenStore
	factory.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
		store, err := open(ctx, cfg)
		return numbers{store}, err
	}
	r, err := adapters.NewRegistry(factory)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(ledgerCase("mooring", "twelve crowns"), "k: 3", "k: 3, filter: {level: 3}", 1)
	text = strings.ReplaceAll(text, `metadata: {note:`, `metadata: {level: "3", note:`)
	d := probe(t, text, r).Cases[0].Defects
	if len(d) != 1 || d[0].Name() != "retrieve/filtered-out" || !strings.Contains(d[0].Evidence[0], "its level reads 3, which is what the filter wants") {
		t.Errorf("got %+v", d)
	}
}

// numbers is a store whose metadata are numbers, which no filter by text admits.
type numbers struct{ adapters.VectorStore }

func (n numbers) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if len(req.Filter) > 0 {
		return adapters.SearchResponse{}, nil
	}
	return n.VectorStore.Search(ctx, req)
}

// TestFilterAsksForWhatTheAskerLacks: where the filter has no value of the asker to hold the items against, it is the asker who is
// looked at first, and not the filter.
func TestFilterAsksForWhatTheAskerLacks(t *testing.T) {
	t.Parallel()
	const text = `backends:
  store: {adapter: embedded, documents: [{id: k1, text: A dock costs eleven crowns., metadata: {region: south}}]}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 3, filter: {region: "%s"}}}
cases: [{id: c, query: "what does a dock cost", as: {team: docks}, evidence: {required: [{source: k1, span: eleven crowns}]}, claims: [{id: x, any: [eleven crowns]}]}]`
	for filter, want := range map[string]struct{ evidence, first string }{
		"{{as.region}}": {"its region is south, the filter wants {{as.region}}, and the asker has none", "give the case's asker the attribute"},
		"north":         {"its region is south, the filter wants north", "compare the item's stored fields"},
	} {
		d := probe(t, fmt.Sprintf(text, filter), registry(t)).Cases[0].Defects
		if len(d) != 1 || d[0].Name() != "retrieve/filtered-out" || !strings.Contains(d[0].Evidence[0], want.evidence) || !strings.HasPrefix(d[0].TryFirst, want.first) {
			t.Errorf("%s: got %+v", filter, d)
		}
	}
}
