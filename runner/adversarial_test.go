package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/experiments"
)

// written loads an experiment that stands in a test.
func written(t *testing.T, text string) *experiments.Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(file, []byte("culprit: v1\nname: test\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return load(t, file, change{})
}

// TestTemptingVerdicts holds the rules against cases that look like another failure than they are.
func TestTemptingVerdicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, expected, finding string
	}{
		{
			name: "a short span stands in an unrelated document", expected: "index/missing",
			text: `
backends:
  store:
    adapter: embedded
    documents: [{id: fee, text: The fee is 40.}, {id: desks, text: The fee office has 40 desks.}]
    faults: {omit: [fee]}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: fee, span: "40"}]}, claims: [{id: fee, any: [fee is 40]}]}
`,
		},
		{
			name: "the span stands in the question", expected: "prompt/wrong-variable",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: fee, text: "A berth costs 40 crowns."}, {id: desks, text: The office has desks.}]}
  generator: {adapter: embedded}
pipeline:
  search: {mode: keyword, k: 2}
  prompt: {user: "{{#context}}[{{id}}] {{source}}\n{{/context}}\nQuestion: {{query}}"}
cases:
  - {id: c, query: Does a berth cost 40 or 50 crowns, evidence: {required: [{source: fee, span: "40"}]}, claims: [{id: fee, any: [40 crowns]}]}
`,
		},
		{
			name: "an id of one letter is a word of the prompt", expected: "prompt/not-serialised",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: a, text: Berths cost forty crowns.}, {id: I, text: The office has desks.}]}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 2}, faults: {empty_context: true}}
cases:
  - {id: c, query: What does a berth cost, evidence: {required: [{source: a, span: forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
		{
			name: "a renamed document is told by its text", expected: "pass", finding: "fixture/gold-id-stale",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: new-7, text: The fee is 40.}]}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: old-7, span: "40", text: The fee is 40.}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "the right answer is memory", expected: "pass/without-evidence",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: fee, text: The fee is 40.}, {id: desks, text: The office has desks.}], faults: {omit: [fee]}}
  generator: {adapter: embedded, memory: The fee is 40.}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: fee, span: "40", text: The fee is 40.}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "a copy that is forbidden is returned beside the right one, and the answer is right", expected: "access/leak",
			text: `
backends:
  store:
    adapter: embedded
    documents: [{id: mine, text: The fee is 40., access: [north]}, {id: theirs, text: The fee is 40., access: [south]}]
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, as: {group: north}, query: what is the fee, evidence: {required: [{source: mine, span: "40"}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "the gold itself is forbidden", expected: "fixture/gold-unauthorised",
			text: `
backends:
  store:
    adapter: embedded
    documents: [{id: theirs, text: The fee is 40., access: [south]}]
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: keyword, k: 2, filter: {access: "{{as.group}}"}}}
cases:
  - {id: c, as: {group: north}, query: what is the fee, evidence: {required: [{source: theirs, span: "40"}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "one of two alternatives is enough", expected: "pass",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: guide, text: The fee is 40.}]}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{any_of: [{source: tariff, span: costs 40}, {source: guide, span: fee is 40}]}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "k is larger than the corpus", expected: "pass",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: fee, text: The fee is 40.}]}
  embedder: {adapter: embedded}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: hybrid, k: 500, depth: 900}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: fee, span: "40"}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "the store is empty", expected: "index/missing",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: fee, text: The fee is 40.}], faults: {omit: [fee]}}
  embedder: {adapter: embedded}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: dense, k: 3}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: fee, span: "40", text: The fee is 40.}]}, claims: [{id: fee, any: ["40"]}]}
`,
		},
		{
			name: "a refusal is right although items were returned", expected: "pass/correct-refusal",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: fee, text: The fee is 40.}]}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 3}}
cases:
  - {id: c, query: "to whom is the fee paid", expect: abstain}
`,
		},
		{
			name: "a superseded text is ahead because the model is another one", expected: "embed/model-mismatch",
			text: `
backends:
  store:
    adapter: embedded
    documents: [{id: a-old, text: The old fee was 30.}, {id: fee, text: The fee is 40.}]
    index: {model: other}
  embedder: {adapter: embedded}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: dense, k: 1}}
cases:
  - id: c
    query: what is the fee
    evidence: {required: [{source: fee, span: fee is 40}], distractors: [{source: a-old, kind: superseded}]}
    claims: [{id: fee, any: ["40"]}]
`,
		},
		{
			name: "without the filter the gold comes back behind what the filter keeps out", expected: "retrieve/filtered-out",
			text: `
backends:
  store:
    adapter: embedded
    documents:
      - {id: x, text: Fee., metadata: {kind: note}}
      - {id: z, text: Fee fee., metadata: {kind: note}}
      - {id: gold, text: In this port the fee is forty crowns., metadata: {kind: tarif}}
      - {id: w, text: "The fee, if any, is written on a board beside the door.", metadata: {kind: tariff}}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: keyword, k: 1, filter: {kind: tariff}}}
cases:
  - {id: c, query: fee, evidence: {required: [{source: gold, span: forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
		{
			name: "without the threshold the gold is still below the cutoff", expected: "retrieve/below-cutoff",
			text: `
backends:
  store:
    adapter: embedded
    documents:
      - {id: x, text: Fee fee.}
      - {id: z, text: Fee.}
      - {id: gold, text: In this port and in all others along the coast the fee is forty crowns.}
      - {id: o1, text: Towels are washed.}
      - {id: o2, text: Lunch is served.}
      - {id: o3, text: Boats are counted.}
      - {id: o4, text: Cranes lift boats.}
  embedder: {adapter: embedded}
  generator: {adapter: embedded, min_overlap: 1}
pipeline: {search: {mode: dense, k: 1, threshold: 0.8}}
cases:
  - {id: c, query: fee, evidence: {required: [{source: gold, span: forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
		{
			name: "an answer out of the evidence that leaves out the fact invents nothing", expected: "generate/incomplete",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: fee, text: The port was built in 1904. Its fee is forty crowns.}]}
  generator: {adapter: embedded, spots: [built in 1904]}
pipeline: {search: {mode: keyword, k: 1}}
cases:
  - id: c
    query: the fee of the port
    evidence: {required: [{source: fee, span: forty crowns}]}
    claims: [{id: fee, any: [forty crowns]}, {id: not-thirty, never: [thirty crowns]}, {id: cited, cites: [fee]}]
`,
		},
		{
			name: "a section of a document was not ingested, its other sections were", expected: "index/missing",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: m1, source: manual, text: The port was built in 1904.}, {id: m2, source: manual, text: The port has two cranes and a lift.}]}
  generator: {adapter: embedded, spots: [forty crowns]}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, query: the fee of the port, evidence: {required: [{source: manual, span: fee is forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
		{
			name: "facts that differ in a name and a number are no copies", expected: "retrieve/below-cutoff",
			text: `
backends:
  store:
    adapter: embedded
    documents:
      - {id: emden, text: The mooring fee in Emden is 40 crowns a night.}
      - {id: varel, text: The mooring fee in Varel is 41 crowns a night.}
      - {id: leer, text: The mooring fee in Leer is 42 crowns a night.}
      - {id: husum, text: "The mooring fee in Husum is 44 crowns a night, paid on arrival to the harbour office."}
  generator: {adapter: embedded, spots: [44 crowns]}
pipeline: {search: {mode: keyword, k: 2}}
cases:
  - {id: c, query: What is the mooring fee a night?, evidence: {required: [{source: husum, span: 44 crowns}]}, claims: [{id: fee, any: [44 crowns]}]}
`,
		},
		{
			name: "every text scores the best, and nothing was truncated", expected: "rerank/demoted",
			text: `
backends:
  store: {adapter: embedded, documents: [{id: a, text: Fee fee.}, {id: gold, text: In this port the fee is forty crowns.}]}
  reranker: {adapter: embedded}
  generator: {adapter: embedded, spots: [forty crowns]}
pipeline: {search: {mode: keyword, k: 2}, rerank: {top: 1}}
cases:
  - {id: c, query: fee, evidence: {required: [{source: gold, span: forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
		{
			name: "a chunk is cut behind its fact", expected: "retrieve/below-cutoff",
			text: `
backends:
  store:
    adapter: embedded
    documents:
      - {id: a, text: Fee fee.}
      - {id: gold, text: "The fee is forty crowns, and what follows is a long list of exceptions for boats of all sizes and for all seasons of the year."}
  embedder: {adapter: embedded, max_tokens: 12}
  generator: {adapter: embedded, spots: [forty crowns]}
pipeline: {search: {mode: dense, k: 1}}
cases:
  - {id: c, query: fee, evidence: {required: [{source: gold, span: forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			e := run(t, written(t, test.text))["c"].Evaluation
			consistent(t, e)
			if got := verdictOf(e); got != test.expected {
				t.Errorf("got %s, want %s\n    %s", got, test.expected, explained(e))
			}
			if found := strings.Join(e.Findings, "\n"); test.finding != "" && !strings.Contains(found, test.finding) {
				t.Errorf("findings %q, want %s", found, test.finding)
			}
		})
	}
}
