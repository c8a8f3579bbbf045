package runner_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// switched is one defect, switched on in an experiment that is otherwise healthy.
type switched struct {
	name     string
	file     string // in testdata/switches
	set      []string
	caseID   string // "" where the file has one case
	expected string
}

func switches() []switched {
	const (
		faults    = "backends.store.faults."
		generator = "backends.generator."
	)
	one := func(file, name, expected string, set ...string) switched {
		return switched{name: name, file: file, set: set, expected: expected}
	}
	return []switched{
		// The store: what was ingested, and as what.
		one("keyword", "a document is not ingested", "index/missing", faults+"omit=[fee]"),
		one("keyword", "a document is truncated", "index/partial", faults+"replace={fee: {text: The mooring fee for one night is 60}}"),
		one("keyword", "a document is overwritten", "index/overwritten", faults+"replace={fee: {text: Lunch is served at noon.}}"),
		one("keyword", "a stale copy is stored", "index/stale", faults+`replace={fee: {text: The mooring fee for one night is 55 crowns., revision: "2024"}}`),
		one("keyword", "a document is in another collection", "index/wrong-collection", faults+"move={fee: archive}"),
		one("keyword", "a document's body is gone", "index/ghost", faults+"ghost=[fee]"),
		one("keyword", "a write is not visible at once", "index/not-yet-visible", faults+"late={fee: 1}", "checks.second_look=1ms"),
		one("flood", "copies flood the results", "retrieve/crowded-out", faults+"duplicate={motors: 5}"),

		// Vectors.
		one("dense", "another model embeds the query", "embed/model-mismatch", "backends.embedder.model=other", "backends.store.index.model=hashing"),
		one("dense", "another model embeds the query, with other dimensions", "embed/dimension-mismatch", "backends.store.index.dimensions=64"),
		one("dense", "another model embedded some chunks", "embed/mixed-models", faults+"vectors={fee: {model: other}}"),
		one("dense", "the query's prefix is lost", "embed/prefix-mismatch", `backends.embedder.query_prefix=""`),
		one("dense", "the passages' prefix is lost", "embed/prefix-mismatch", `backends.store.index.passage_prefix=""`),
		one("dense", "the prefix of one passage is lost", "embed/prefix-mismatch", faults+`vectors={fee: {prefix: ""}}`),
		one("dense", "a zero vector is stored", "embed/zero-vector", faults+"vectors={fee: {zero: true}}"),
		one("dense", "no vector is stored", "embed/zero-vector", faults+"vectors={fee: {none: true}}"),
		one("dense", "two vectors are swapped", "embed/vectors-misassigned", faults+"vectors={fee: {swap: towels}}"),
		one("dense", "the embedder reads the first tokens only", "embed/input-truncated", "backends.embedder.max_tokens=1"),

		one("dense", "a cache keeps the query's vector of another model", "embed/model-mismatch", "backends.embedder.cached={mooring fee for one night: other}"),

		// The search.
		one("keyword", "a threshold", "retrieve/below-threshold", "pipeline.search.threshold=90"),
		one("dense", "a threshold on similarity", "retrieve/below-threshold", "pipeline.search.threshold=0.99"),
		one("keyword", "a filter", "retrieve/filtered-out", "pipeline.search.filter={kind: notice}"),
		one("keyword", "a filter that removes everything", "retrieve/filtered-out", "pipeline.search.filter={kind: nothing}"),
		one("keyword", "a filter's index covers texts only", "retrieve/filtered-out", faults+"filter=texts", "pipeline.search.filter={valid: {not: [withdrawn]}}"),
		one("dense", "a lossy approximate search", "retrieve/approximate-miss", faults+"approximate=[fee]"),
		one("flood", "a small cutoff", "retrieve/below-cutoff", "pipeline.search.k=1"),
		one("dense", "a query template that pollutes", "retrieve/query-altered", "pipeline.query=served lunch at noon in the boat house for {{query}}"),
		one("rewrite", "the rewriting loses a word", "retrieve/query-altered", generator+"rewrites={loses: [mooring, night]}"),
		one("rewrite", "the rewriting gives nothing", "retrieve/query-altered", generator+"rewrites={loses: [what, is, the, mooring, fee, for, one, night]}"),
		one("rewrite", "several queries crowd out the evidence", "retrieve/query-altered", generator+"rewrites={loses: [mooring, night], adds: [crane tonnes]}", "pipeline.rewrite.several=true"),
		{name: "every word is asked for", file: "order", caseID: "two-facts", expected: "retrieve/vocabulary-miss", set: []string{"backends.store.keyword={operator: and}"}},

		// Rights.
		one("tenants", "the filter is ignored", "access/leak", faults+"filter=ignored"),
		one("tenants", "the filter is not sent", "access/leak", "pipeline.search.filter=null"),
		one("tenants", "a filter that matches nothing is open", "access/filter-open", faults+"filter=open"),

		// The reranker.
		one("rerank", "scores are inverted", "rerank/wrong-direction", "backends.reranker.invert=true"),
		one("rerank", "results are read in the order in which they came", "rerank/wrong-direction", "backends.reranker.unsorted=true", "pipeline.rerank.order=returned"),
		one("rerank", "scores are joined by position", "rerank/scores-misassigned", "backends.reranker.by_position=true"),
		one("rerank", "the last document gets no score", "rerank/dropped", "backends.reranker.drops=1"),
		one("rerank", "long texts are truncated, and it is told", "rerank/input-truncated", "backends.reranker={adapter: embedded, max_words: 4, reports_truncation: true}"),
		one("rerank", "long texts are truncated silently", "rerank/input-truncated", "backends.reranker.max_words=4"),
		one("rerank", "long texts all score the same", "rerank/input-truncated", "backends.reranker={adapter: embedded, constant_over: 10, scores: {Anchor chain: 0.6}}"),
		one("rerank", "a threshold on raw scores", "rerank/below-threshold", "backends.reranker={adapter: embedded, scores: {In the harbour: -0.4, Anchor chain: -5}}", "pipeline.rerank.threshold=0.1"),
		one("rerank", "the reranker prefers another item", "rerank/demoted", "backends.reranker.scores={Anchor chain: 1.5}"),

		// Assembly.
		one("keyword", "the packer drops an item", "assemble/lost", "pipeline.faults.drop=[fee]"),
		one("keyword", "the packer cuts items", "assemble/span-truncated", "pipeline.faults.cut=30"),
		one("keyword", "the packer shows an item under another id", "assemble/id-body-mismatch", "pipeline.faults.relabel={fee: lunch}"),
		one("keyword", "a budget that stops", "assemble/budget-cut", "pipeline.assemble.budget=5 words"),
		one("keyword", "a budget that skips", "assemble/budget-cut", "pipeline.assemble={budget: 8 words, overflow: skip}"),
		one("keyword", "a budget that truncates", "assemble/span-truncated", "pipeline.assemble={budget: 6 words, overflow: truncate}"),
		one("copies", "copies are merged by their text", "assemble/deduplicated", "pipeline.assemble.dedupe=text"),

		// The prompt.
		one("keyword", "the context is filled with nothing", "prompt/not-serialised", "pipeline.faults.empty_context=true"),
		one("keyword", "the template does not carry the context", "prompt/not-serialised", `pipeline.prompt.user="Question: {{query}}"`),
		one("keyword", "the template binds another variable", "prompt/wrong-variable", `pipeline.prompt.user="{{#context}}[{{id}}] {{source}}\n{{/context}}\nQuestion: {{query}}"`),
		one("keyword", "text is replaced in the finished prompt", "prompt/escaped-away", "pipeline.faults.replace={60 crowns: 60 kr}"),
		one("keyword", "the server cuts the prompt", "prompt/truncated-by-server", generator+"context_tokens=46"),
		one("keyword", "the server drops a role", "prompt/role-dropped", generator+"drops_role=user"),

		// The generator.
		one("keyword", "the generator ignores the context", "generate/ignored-evidence", generator+"ignores_context=true", generator+"memory=The fee is 99 crowns."),
		one("keyword", "the generator knows the answer by heart", "pass/from-memory", generator+"ignores_context=true", generator+"memory='The fee is 60 crowns. [fee]'"),
		one("keyword", "the generator invents", "generate/ignored-evidence", generator+"ignores_context=true", generator+"unable=invent"),
		one("keyword", "the generator gives one answer to everything", "generate/ignored-evidence", generator+"fixed=The fee is 99 crowns."),
		one("keyword", "the generator states what no text says", "generate/unsupported-claim", generator+"fixed=Ninety-nine shillings a fortnight.", "runs.perturbations=none"),
		one("keyword", "the generator mixes up a number", "generate/unsupported-claim", generator+"misreads={60 crowns: 66 crowns}"),
		one("keyword", "the generator states what is ruled out", "generate/contradicts", generator+"misreads={60 crowns: 45 crowns}"),
		one("keyword", "the generator makes up its source", "generate/fabricated-citation", generator+"cites_as=annex-7"),
		one("keyword", "the generator refuses with the evidence in its prompt", "abstain/refused-answerable", generator+"min_overlap=9"),
		one("keyword", "the generator prefers the old text", "generate/prefers-superseded", generator+"prefers=old"),
		one("keyword", "the generator obeys the context", "generate/distracted", generator+"obeys=true"),
		one("keyword", "the generator flips at random", "generate/unstable", generator+"flip={rate: 0.5, to: wrong}"),
		one("keyword", "the generator refuses at random", "generate/unstable", generator+"flip={rate: 0.5, to: refuse}"),
		{name: "the generator answers with another sentence", file: "order", caseID: "one-fact", expected: "generate/incomplete", set: []string{generator + "spots=[dug in 1904]", faults + "replace={depth: {text: The harbour basin was dug in 1904. Its depth is four metres.}}"}},
		{name: "the generator prefers the last block", file: "order", caseID: "one-fact", expected: "generate/position-sensitive", set: []string{generator + "spots=[]", generator + "prefers=last"}},
		{name: "the generator reads the first block only", file: "order", caseID: "one-fact", expected: "generate/position-sensitive", set: []string{generator + "spots=[]", generator + "reads=first", "pipeline.assemble.order=reverse", generator + "min_overlap=1"}},
		{name: "the generator refuses unless the last block helps", file: "order", caseID: "one-fact", expected: "abstain/refused-answerable", set: []string{generator + "reads=last", generator + "spots=[four metres]"}},
		{name: "the generator states the first fact only", file: "order", caseID: "two-facts", expected: "generate/incomplete", set: []string{generator + "spots_all=false"}},

		// The provider and what stands before it.
		one("keyword", "a cached answer", "seam/cached-answer", `pipeline.faults.cache=[{query: "What is the mooring fee for one week?", answer: It is 300 crowns., similarity: 0.8}]`),
		one("keyword", "the provider fails", "environment", generator+"provider=[{error: permanent}]"),
		one("keyword", "the provider blocks", "environment", generator+"provider=[{finish: content_filter}]"),
		one("keyword", "the provider stops at length", "environment", generator+"provider=[{finish: length}]"),
		one("rewrite", "the provider fails while it rewrites", "environment", generator+"provider=[{error: permanent, when: search query}]"),
		one("rewrite", "the provider blocks the rewriting", "environment", generator+"provider=[{finish: content_filter, when: search query}]"),
		one("rewrite", "the rewriting is cut off", "environment", "pipeline.rewrite.max_tokens=2"),
		one("keyword", "the provider fails once and is asked again", "pass", generator+"provider=[{error: transient, times: 1, retry_after: 1ms}]"),

		// Two defects in one case.
		one("keyword", "not ingested, and the generator ignores the context", "index/missing, generate/ignored-evidence", faults+"omit=[fee]", generator+"fixed=The fee is 99 crowns."),
		one("flood", "below the cutoff, and the server drops a role", "retrieve/below-cutoff, prompt/role-dropped", "pipeline.search.k=1", generator+"drops_role=user"),
		one("keyword", "a write is not visible at once, and a threshold is too high", "index/not-yet-visible", faults+"late={fee: 2}", "checks.second_look=1ms", "pipeline.search.threshold=90"),
		one("keyword", "a cached answer, and a write is not visible at once", "seam/cached-answer, index/not-yet-visible", `pipeline.faults.cache=[{query: "What is the mooring fee for one week?", answer: It is 300 crowns., similarity: 0.8}]`, faults+"late={fee: 1}", "checks.second_look=1ms"),
		one("dense", "in another collection, where the approximate search would miss it", "index/wrong-collection", faults+"move={fee: archive}", faults+"approximate=[fee]"),
		{name: "two facts are lost at two stages", file: "order", caseID: "two-facts", expected: "index/missing, assemble/lost", set: []string{faults + "omit=[width]", "pipeline.faults.drop=[depth]"}},
	}
}

// TestSwitches switches one defect on after the other and expects its label, in experiments that pass without it.
func TestSwitches(t *testing.T) {
	t.Parallel()
	for _, s := range switches() {
		t.Run(s.file+"/"+strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			loaded := load(t, filepath.Join("testdata/switches", s.file+".yaml"), change{set: s.set})
			id := s.caseID
			if id == "" {
				id = loaded.Cases[0].Case.ID
			}
			e := run(t, loaded)[id].Evaluation
			consistent(t, e)
			t.Logf("%s: %s", verdictOf(e), e.Summary)
			if got := verdictOf(e); got != s.expected {
				t.Errorf("got %s, want %s\n    %s", got, s.expected, explained(e))
			}
		})
	}
}

// TestHealthyTwins runs the experiments of the switches with none of them on.
func TestHealthyTwins(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/switches/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			for id, b := range run(t, load(t, file, change{})) {
				consistent(t, b.Evaluation)
				if got := verdictOf(b.Evaluation); got != "pass" {
					t.Errorf("case %s: got %s, want pass\n    %s", id, got, explained(b.Evaluation))
				}
			}
		})
	}
}
