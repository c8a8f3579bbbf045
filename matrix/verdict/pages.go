package verdict

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Page is what a label's page says besides its rules.
type Page struct {
	Near    []string // the labels that it is most easily taken for
	Example Example
}

// Example is the smallest experiment that yields a label. None says why there is none in one file.
type Example struct {
	File string   // from the root of the repository
	Set  []string // overrides that break what is healthy without them
	Case string   // "" where the file has one
	None string
	// Service is how the service of experiments/examples/remote is started for it, nil where it takes none.
	Service []string
}

const exampleService = "./experiments/examples/remote/service"

// Command is the command line that runs the example.
func (e Example) Command() string {
	out := "culprit run " + e.File
	if e.Case != "" {
		out += " --case " + e.Case
	}
	for _, set := range e.Set {
		out += " --set '" + set + "'"
	}
	return out
}

// PageFile is the name of a label's file in docs/labels.
func PageFile(label string) string { return strings.ReplaceAll(label, "/", "-") + ".md" }

// LabelPage writes the page of a label in Markdown, "" for one that does not exist. Link makes a reference to another label.
func LabelPage(label string, link func(label string) string) string {
	rules := Rules()
	var b strings.Builder
	var page Page
	for i := range rules {
		r := &rules[i]
		if r.ID() != label {
			continue
		}
		if page = r.Page; b.Len() == 0 {
			fmt.Fprintf(&b, "# %s\n", label)
		}
		fmt.Fprintf(&b, "\n%s\n\n- needs: %s\n- decided by: %s\n- try first: %s\n- wasted effort: %s\n", r.Says, r.Needs, r.Decides, r.TryFirst, r.Wasted)
	}
	if b.Len() == 0 {
		return ""
	}
	if cell := RepairOf(label); cell != "" {
		fmt.Fprintf(&b, "\nThe repair, which is run as a cell of its own where it may decide: %s.\n", cell)
	}
	b.WriteString("\n## Told from its neighbours\n\n")
	for _, near := range page.Near {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID() == near })
		fmt.Fprintf(&b, "- %s: %s It is decided by %s.\n", link(near), rules[i].Says, strings.TrimSuffix(rules[i].Decides, "."))
	}
	b.WriteString("\n## The smallest example\n\n")
	if page.Example.None != "" {
		fmt.Fprintf(&b, "%s\n", page.Example.None)
	} else {
		b.WriteString("```console\n")
		if len(page.Example.Service) > 0 {
			fmt.Fprintf(&b, "$ go run %s %s &\n", exampleService, strings.Join(page.Example.Service, " "))
		}
		fmt.Fprintf(&b, "$ %s\n```\n", page.Example.Command())
	}
	return b.String()
}

// pages are the pages by label.
var pages = sync.OnceValue(func() map[string]Page {
	near := func(e Example, labels ...string) Page { return Page{Near: labels, Example: e} }
	reported := func(id string) Example { return Example{File: "experiments/cases/" + id + ".yaml"} }
	own := func(name string) Example { return Example{File: "experiments/labels/" + name + ".yaml"} }
	broken := func(file string, set ...string) Example {
		return Example{File: "runner/testdata/switches/" + file + ".yaml", Set: set}
	}
	of := func(e Example, id string) Example {
		e.Case = id
		return e
	}
	const faults, generator = "backends.store.faults.", "backends.generator."
	return map[string]Page{
		"fixture/checker-broken":    near(own("checker-broken"), "fixture/gold-insufficient"),
		"fixture/gold-insufficient": near(of(reported("FX-03"), "fx-03"), "fixture/checker-broken", "generate/unsupported-claim"),
		"fixture/gold-unauthorised": near(own("gold-unauthorised"), "retrieve/filtered-out", "access/leak"),
		"fixture/gold-id-stale":     near(own("gold-id-stale"), "index/missing", "generate/fabricated-citation"),
		"access/leak":               near(reported("PL-01"), "access/filter-open", "retrieve/filter-ignored"),
		"access/filter-open":        near(broken("tenants", faults+"filter=open"), "access/leak", "retrieve/filter-ignored"),
		"seam/cached-answer":        near(reported("SM-05"), "generate/ignored-evidence", "seam/isolated-parts-pass"),

		"index/not-yet-visible":  near(reported("IX-09"), "index/missing"),
		"index/wrong-collection": near(reported("IX-08"), "index/missing"),
		"index/missing":          near(reported("IX-03"), "index/not-yet-visible", "index/wrong-collection", "index/partial"),
		"index/ghost":            near(broken("keyword", faults+"ghost=[fee]"), "index/missing", "index/overwritten"),
		"index/stale":            near(reported("IX-11"), "index/overwritten", "generate/prefers-superseded"),
		"index/partial":          near(broken("keyword", faults+"replace={fee: {text: The mooring fee for one night is 60}}"), "index/overwritten", "assemble/span-truncated"),
		"index/overwritten":      near(broken("keyword", faults+"replace={fee: {text: Lunch is served at noon.}}"), "index/stale", "assemble/id-body-mismatch"),

		"embed/dimension-mismatch":  near(broken("dense", "backends.store.index.dimensions=64"), "embed/model-mismatch"),
		"embed/zero-vector":         near(broken("dense", faults+"vectors={fee: {zero: true}}"), "embed/vectors-misassigned", "index/missing"),
		"embed/vectors-misassigned": near(broken("dense", faults+"vectors={fee: {swap: towels}}"), "embed/mixed-models", "index/overwritten"),
		"embed/input-truncated":     near(reported("EM-11"), "embed/mixed-models", "rerank/input-truncated"),
		"embed/prefix-mismatch":     near(reported("EM-01"), "embed/model-mismatch"),
		"embed/mixed-models":        near(broken("dense", faults+"vectors={fee: {model: other}}"), "embed/model-mismatch", "embed/vectors-misassigned"),
		"embed/model-mismatch":      near(reported("EM-09"), "embed/mixed-models", "embed/prefix-mismatch", "retrieve/vocabulary-miss"),
		"embed/not-normalised":      near(Example{File: "runner/testdata/tempting/longer-vector-ahead.yaml"}, "embed/model-mismatch", "retrieve/below-cutoff"),

		"retrieve/query-altered":     near(reported("SM-01"), "retrieve/vocabulary-miss", "seam/isolated-parts-pass"),
		"retrieve/filtered-out":      near(reported("RT-08"), "index/missing", "fixture/gold-unauthorised"),
		"retrieve/filter-ignored":    near(reported("RT-10"), "access/leak", "retrieve/below-cutoff"),
		"retrieve/below-threshold":   near(of(reported("AB-04"), "ab-04-answerable"), "retrieve/below-cutoff", "rerank/below-threshold"),
		"retrieve/approximate-miss":  near(broken("dense", faults+"approximate=[fee]"), "embed/mixed-models", "retrieve/below-cutoff"),
		"retrieve/vocabulary-miss":   near(reported("RT-01"), "retrieve/below-cutoff", "embed/model-mismatch"),
		"retrieve/crowded-out":       near(reported("RT-15"), "retrieve/below-cutoff", "index/stale"),
		"retrieve/corpus-statistics": near(reported("RK-12"), "retrieve/below-cutoff", "access/leak"),
		"retrieve/below-cutoff":      near(broken("flood", "pipeline.search.k=1"), "retrieve/crowded-out", "retrieve/vocabulary-miss", "rerank/demoted"),

		"rerank/wrong-direction":    near(reported("RK-06"), "rerank/scores-misassigned", "rerank/demoted"),
		"rerank/scores-misassigned": near(reported("RK-04"), "rerank/wrong-direction", "assemble/id-body-mismatch"),
		"rerank/dropped":            near(broken("rerank", "backends.reranker.drops=1"), "rerank/demoted", "assemble/lost"),
		"rerank/below-threshold":    near(reported("RK-10"), "retrieve/below-threshold", "rerank/demoted"),
		"rerank/input-truncated":    near(reported("RK-09"), "rerank/demoted", "embed/input-truncated"),
		"rerank/demoted":            near(broken("rerank", "backends.reranker.scores={Anchor chain: 1.5}"), "rerank/wrong-direction", "rerank/input-truncated"),

		"assemble/budget-cut":       near(broken("keyword", "pipeline.assemble.budget=5 words"), "assemble/span-truncated", "prompt/truncated-by-server"),
		"assemble/deduplicated":     near(reported("AS-06"), "assemble/lost", "assemble/id-body-mismatch"),
		"assemble/span-truncated":   near(broken("keyword", "pipeline.faults.cut=30"), "index/partial", "assemble/budget-cut"),
		"assemble/id-body-mismatch": near(reported("RK-05"), "index/overwritten", "assemble/deduplicated"),
		"assemble/lost":             near(reported("AS-05"), "assemble/budget-cut", "rerank/dropped"),

		"prompt/wrong-variable":      near(broken("keyword", `pipeline.prompt.user="{{#context}}[{{id}}] {{source}} {{/context}}Question: {{query}}"`), "prompt/not-serialised"),
		"prompt/not-serialised":      near(reported("AS-09"), "prompt/wrong-variable", "generate/ignored-evidence"),
		"prompt/escaped-away":        near(reported("AS-02"), "prompt/not-serialised", "assemble/span-truncated"),
		"prompt/role-dropped":        near(reported("AS-08"), "prompt/truncated-by-server", "generate/ignored-evidence"),
		"prompt/truncated-by-server": near(reported("AS-04"), "prompt/role-dropped", "generate/position-sensitive"),

		"generate/empty-answer":         near(Example{File: "runner/testdata/tempting/empty-answer.yaml"}, "abstain/refused-answerable"),
		"generate/unstable":             near(broken("keyword", generator+"flip={rate: 0.5, to: wrong}"), "generate/incomplete", "seam/cause-not-shown"),
		"generate/ignored-evidence":     near(broken("keyword", generator+"fixed=The fee is 99 crowns."), "prompt/not-serialised", "seam/cached-answer"),
		"generate/prefers-superseded":   near(broken("keyword", generator+"prefers=old"), "index/stale", "generate/distracted"),
		"generate/position-sensitive":   near(reported("GN-01"), "generate/distracted", "prompt/truncated-by-server"),
		"generate/fabricated-citation":  near(broken("keyword", generator+"fixed=The fee is 60 crowns. [c99]", "runs.perturbations=none"), "fixture/gold-id-stale", "assemble/deduplicated"),
		"generate/contradicts":          near(broken("keyword", generator+"fixed=The fee is 45 crowns.", "runs.perturbations=none"), "generate/unsupported-claim", "generate/prefers-superseded"),
		"generate/incomplete":           near(of(broken("order", generator+"spots_all=false"), "two-facts"), "index/partial", "generate/unsupported-claim"),
		"generate/distracted":           near(broken("keyword", generator+"obeys=true"), "generate/position-sensitive", "generate/prefers-superseded"),
		"generate/unsupported-claim":    near(broken("keyword", generator+"fixed=Ninety-nine shillings a fortnight.", "runs.perturbations=none"), "generate/ignored-evidence", "generate/contradicts"),
		"abstain/undeclared-refusal":    near(Example{File: "experiments/cases/AB-04.yaml", Case: "ab-04", Set: []string{"pipeline.refusal=null"}}, "abstain/answered-unanswerable", "fixture/checker-broken"),
		"abstain/answered-unanswerable": near(reported("FX-07"), "abstain/undeclared-refusal", "generate/unsupported-claim", "fixture/checker-broken"),
		"abstain/refused-answerable":    near(reported("AB-03"), "retrieve/below-threshold", "generate/incomplete"),

		"seam/isolated-parts-pass": near(Example{File: "experiments/examples/remote", Case: "per-diem-dinner", Service: []string{"--mask"}},
			"seam/cached-answer", "generate/distracted", "prompt/truncated-by-server"),
		"seam/cause-not-shown": near(Example{None: "It is what is left where no other rule fires although everything was observed. No fault is known that yields it: one that did would be given a rule."},
			"seam/isolated-parts-pass"),
	}
})

// ExampleOf is the example of a label's page.
func ExampleOf(label string) Example { return pages()[label].Example }
