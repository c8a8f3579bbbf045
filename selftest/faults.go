package selftest

import (
	"slices"
	"strings"
)

// fault is one way to break a healthy experiment, with the verdict that is then true.
type fault struct {
	name   string
	want   string   // stage/label of the first defect, or the outcome where there is none
	shapes []string // in which it is injected; one that ends in "/" stands for all that begin with it
	inject func(*base)
	random bool   // it makes the generator stochastic by itself, so that it is no deterministic fault
	acts   string // where it takes effect, one of places; "": at its stage
	also   string // a label that is as true, where a generator that varies leaves open which of the two is seen
}

// stage returns the stage that is at fault, or the outcome.
func stageOf(name string) string { stage, _, _ := strings.Cut(name, "/"); return stage }

// fits reports whether the fault is injected into a shape.
func (f *fault) fits(shape string) bool {
	return slices.ContainsFunc(f.shapes, func(s string) bool { return s == shape || strings.HasSuffix(s, "/") && strings.HasPrefix(shape, s) })
}

// setting is a fault that is nothing but settings.
func setting(pairs ...any) func(*base) {
	return func(b *base) {
		for i := 0; i < len(pairs); i += 2 {
			value := pairs[i+1]
			if of, ok := value.(func(*base) any); ok {
				value = of(b)
			}
			b.set(pairs[i].(string), cloned(value))
		}
	}
}

const (
	storeFaults = "backends.store.faults."
	generator   = "backends.generator."
	reranker    = "backends.reranker."
)

// stored gives the gold another content in the store.
func stored(content func(*base) tree) func(*base) {
	return func(b *base) { b.set(storeFaults+"replace", tree{b.gold: content(b)}) }
}

// vector gives the gold another vector in the store.
func vector(how tree) func(*base) {
	return func(b *base) { b.set(storeFaults+"vectors", tree{b.gold: cloned(how)}) }
}

// faults is the table: every label that the embedded backends can produce, in the order of the pipeline.
func faults() []fault {
	anywhere := []string{"plain/", "flood/", "prefixes", "rerank/", "status", "order", "tail", "vectors", "rewrite", "statistics"}
	behind := append(slices.Clone(anywhere), "copies")                                              // the search, where a copy of the evidence may be found in its stead
	heard := slices.DeleteFunc(slices.Clone(behind), func(s string) bool { return s == "rewrite" }) // there the same server is asked before
	keywords := []string{"plain/keyword", "flood/keyword", "order"}
	gold := func(b *base) any { return []any{b.gold} }
	var all []fault
	add := func(name, want string, shapes []string, inject func(*base)) *fault {
		all = append(all, fault{name: name, want: want, shapes: shapes, inject: inject})
		return &all[len(all)-1]
	}

	// The case itself.
	add("a claim takes any number", "fixture/checker-broken", []string{"plain/", "flood/"}, func(b *base) {
		_, unit, _ := strings.Cut(b.span, " ")
		b.theCase()["claims"] = []any{claim("value", `/\d+ `+unit+`/`)}
	})
	add("the evidence does not say what is claimed", "fixture/gold-insufficient", []string{"plain/", "flood/"}, func(b *base) {
		b.theCase()["claims"] = []any{claim("value", "1234567 crowns")}
	})
	add("no item has the evidence's source any more", "fixture/gold-id-stale", []string{"plain/"}, func(b *base) {
		c := b.theCase()
		c["evidence"].(tree)["required"] = []any{tree{"source": "tariff-of-old", "span": b.goldText}}
		c["claims"] = []any{claim("value", b.span), tree{"id": "source", "cites": list([]string{"tariff-of-old"})}}
	})
	add("the asker has no right to the evidence", "fixture/gold-unauthorised", []string{"tenants"}, stored(func(*base) tree { return tree{"metadata": tree{"tenant": "south"}} }))

	// Rights.
	add("the filter is ignored", "access/leak", []string{"tenants"}, setting(storeFaults+"filter", "ignored"))
	add("the filter is not sent", "access/leak", []string{"tenants"}, setting("pipeline.search.filter", nil))
	add("a filter that matches nothing is open", "access/filter-open", []string{"tenants"}, setting(storeFaults+"filter", "open"))

	// What stands before the generator.
	add("a cached answer to another question", "seam/cached-answer", []string{"plain/", "flood/", "order"}, func(b *base) {
		b.set("pipeline.faults.cache", []any{tree{"query": "Now then: " + b.question, "answer": "Nothing at all.", "similarity": 0.7}})
	})

	// The store.
	add("it is not ingested", "index/missing", anywhere, setting(storeFaults+"omit", gold))
	add("its write is not visible at once", "index/not-yet-visible", []string{"plain/", "flood/"}, setting(storeFaults+"late", func(b *base) any { return tree{b.gold: 2} }, "checks.second_look", "1ms"))
	add("its section is not ingested", "index/missing", []string{"tail"}, func(b *base) {
		b.document(b.other)["source"] = "tariff"
		b.set(storeFaults+"omit", []any{b.gold})
	})
	add("it is truncated", "index/partial", anywhere, stored(func(b *base) tree { return tree{"text": b.beforeSpan() + b.span[:len(b.span)/2]} }))
	add("its end is not ingested", "index/partial", []string{"tail"}, stored(func(b *base) tree { return tree{"text": b.goldText[:b.tail]} }))
	// Where the case names a source and not the item, as in tail, another body may be any other section.
	add("it is overwritten", "index/overwritten", []string{"plain/", "flood/", "prefixes", "rerank/", "status", "order"}, stored(func(*base) tree { return tree{"text": "Nobody keeps bees here any more."} }))
	add("it is edited around the span", "index/overwritten", []string{"tail"}, stored(func(b *base) tree {
		return tree{"text": "Some still believe that " + b.span + ", and ask us every week."}
	}))
	add("a stale copy is stored", "index/stale", []string{"plain/"}, stored(func(b *base) tree {
		return tree{"text": strings.Replace(b.goldText, b.span, b.old, 1), "revision": "2024"}
	}))
	add("the superseded text takes the place", "index/stale", []string{"flood/"}, func(b *base) {
		b.theCase()["evidence"].(tree)["distractors"] = []any{tree{"source": b.rival, "kind": "superseded"}}
		b.set("pipeline.search.k", 1)
	}).acts = "order"
	add("it is in another collection", "index/wrong-collection", anywhere, setting(storeFaults+"move", func(b *base) any { return tree{b.gold: "archive"} }))
	add("its body is gone", "index/ghost", anywhere, setting(storeFaults+"ghost", gold))

	// The vectors.
	add("another model embeds the query", "embed/model-mismatch", []string{"prefixes"}, setting("backends.embedder.model", "other", "backends.store.index.model", "hashing"))
	add("a cache keeps the query's vector of another model", "embed/model-mismatch", []string{"prefixes"}, setting("backends.embedder.cached", func(b *base) any { return tree{b.question: "other"} }))
	add("the query has other dimensions", "embed/dimension-mismatch", []string{"prefixes"}, setting("backends.store.index.dimensions", 64)).acts = "opening"
	add("another model embedded the evidence", "embed/mixed-models", []string{"prefixes"}, vector(tree{"model": "other"}))
	add("the query's prefix is lost", "embed/prefix-mismatch", []string{"prefixes"}, setting("backends.embedder.query_prefix", ""))
	add("the passages' prefix is lost", "embed/prefix-mismatch", []string{"prefixes"}, setting("backends.store.index.passage_prefix", ""))
	add("the prefix of the evidence is lost", "embed/prefix-mismatch", []string{"prefixes"}, vector(tree{"prefix": ""}))
	add("a zero vector is stored", "embed/zero-vector", []string{"prefixes"}, vector(tree{"zero": true}))
	add("no vector is stored", "embed/zero-vector", []string{"prefixes"}, vector(tree{"none": true}))
	add("two vectors are swapped", "embed/vectors-misassigned", []string{"prefixes", "plain/dense", "flood/dense"}, func(b *base) { vector(tree{"swap": b.other})(b); b.set("pipeline.search.k", 1) })
	add("the embedder reads the first token only", "embed/input-truncated", []string{"prefixes"}, setting("backends.embedder.max_tokens", 1))
	add("a vector is not of unit length", "embed/not-normalised", []string{"vectors"}, func(b *base) { b.document(b.rival)["vector"] = []any{6.0, 0.0, 8.0} })

	// The search.
	add("the query template pollutes", "retrieve/query-altered", []string{"prefixes"}, func(b *base) {
		b.set("pipeline.query", strings.Repeat("towels washed on mondays lunch served at noon upstairs no charged sundays permit renewed each spring ", 2)+"{{query}}")
	})
	add("the rewriting loses words", "retrieve/query-altered", []string{"rewrite"}, setting(generator+"rewrites", func(b *base) any { return tree{"loses": list(b.terms)} }))
	add("the rewriting gives nothing", "retrieve/query-altered", []string{"rewrite"}, setting(generator+"rewrites", func(b *base) any { return tree{"loses": list(strings.Fields(strings.Trim(b.question, "?")))} }))
	add("a filter removes it", "retrieve/filtered-out", []string{"plain/"}, setting("pipeline.search.filter", tree{"kind": "notice"}))
	add("a filter removes everything", "retrieve/filtered-out", []string{"plain/"}, setting("pipeline.search.filter", tree{"kind": "nothing"}))
	add("the filter does not filter", "retrieve/filter-ignored", []string{"status"}, setting(storeFaults+"filter", "ignored"))
	add("words are counted over all tenants", "retrieve/corpus-statistics", []string{"statistics"}, setting(storeFaults+"move", nil))
	add("a threshold on the words' score", "retrieve/below-threshold", keywords, setting("pipeline.search.threshold", 90))
	add("a threshold on similarity", "retrieve/below-threshold", []string{"prefixes", "plain/dense", "flood/dense"}, setting("pipeline.search.threshold", 0.99))
	add("the approximate search misses it", "retrieve/approximate-miss", []string{"prefixes", "plain/dense", "flood/dense"}, setting(storeFaults+"approximate", gold))
	add("every word is asked for", "retrieve/vocabulary-miss", []string{"flood/keyword", "twofold"}, setting("backends.store.keyword", tree{"operator": "and"}))
	add("the asker uses other words", "retrieve/vocabulary-miss", []string{"flood/keyword", "order"}, func(b *base) { b.theCase()["query"] = "Quanto costa oggi?" })
	add("near copies take the places", "retrieve/crowded-out", []string{"flood/"}, setting(storeFaults+"duplicate", func(b *base) any { return tree{b.rival: 5} })).acts = "order"
	add("a small cutoff", "retrieve/below-cutoff", []string{"flood/"}, setting("pipeline.search.k", 1))

	// The reranker.
	add("the reranker's scores are inverted", "rerank/wrong-direction", []string{"rerank/"}, setting(reranker+"invert", true))
	add("the reranker's order is lost", "rerank/wrong-direction", []string{"rerank/"}, setting(reranker+"unsorted", true, "pipeline.rerank.order", "returned"))
	add("the reranker's scores are joined by position", "rerank/scores-misassigned", []string{"rerank/"}, setting(reranker+"by_position", true))
	add("the last document gets no score", "rerank/dropped", []string{"rerank/"}, setting(reranker+"drops", 1))
	add("the reranker truncates, and tells", "rerank/input-truncated", []string{"rerank/"}, setting(reranker+"max_words", 4, reranker+"reports_truncation", true))
	add("the reranker truncates silently", "rerank/input-truncated", []string{"rerank/"}, setting(reranker+"max_words", 4))
	add("long texts all score the same", "rerank/input-truncated", []string{"rerank/"}, setting(reranker+"constant_over", 10, reranker+"scores", func(b *base) any { return tree{b.rival: 0.6} }))
	add("a threshold on raw scores", "rerank/below-threshold", []string{"rerank/"}, setting(reranker+"scores", func(b *base) any { return tree{b.goldText: -0.4, b.rival: -5} }, "pipeline.rerank.threshold", 0.1))
	add("the reranker prefers another item", "rerank/demoted", []string{"rerank/"}, setting(reranker+"scores", func(b *base) any { return tree{b.rival: 1.5} }))

	// The assembly.
	add("the packer drops it", "assemble/lost", anywhere, setting("pipeline.faults.drop", gold))
	add("the packer cuts it before the fact", "assemble/span-truncated", []string{"plain/", "flood/", "order"}, setting("pipeline.faults.cut", func(b *base) any { return len(b.beforeSpan()) + 1 }))
	add("the packer cuts it behind the span", "assemble/span-truncated", []string{"tail"}, setting("pipeline.faults.cut", func(b *base) any { return b.tail }))
	add("the packer shows it under another id", "assemble/id-body-mismatch", []string{"plain/"}, setting("pipeline.faults.relabel", func(b *base) any { return tree{b.gold: b.other} })).acts = "ids"
	add("the budget stops before it", "assemble/budget-cut", []string{"plain/", "order"}, setting("pipeline.assemble.budget", func(b *base) any { return budget(b.needs - 3) }))
	add("the budget skips it", "assemble/budget-cut", []string{"plain/", "order"}, setting("pipeline.assemble", func(b *base) any { return tree{"budget": budget(b.needs - 3), "overflow": "skip"} }))
	add("the budget truncates it", "assemble/span-truncated", []string{"plain/", "order"}, setting("pipeline.assemble", func(b *base) any {
		return tree{"budget": budget(words(b.beforeSpan())), "overflow": "truncate"}
	}))
	add("copies are merged by their text", "assemble/deduplicated", []string{"copies"}, setting("pipeline.assemble.dedupe", "text")).acts = "ids"

	// The prompt.
	add("the context is filled with nothing", "prompt/not-serialised", behind, setting("pipeline.faults.empty_context", true))
	add("the template carries no context", "prompt/not-serialised", behind, setting("pipeline.prompt.user", "Question: {{query}}"))
	add("the template binds another variable", "prompt/wrong-variable", behind, setting("pipeline.prompt.user", "{{#context}}[{{id}}] {{source}}\n{{/context}}\nQuestion: {{query}}"))
	add("text is replaced in the finished prompt", "prompt/escaped-away", []string{"plain/", "flood/", "order"}, setting("pipeline.faults.replace", func(b *base) any { return tree{b.span: "as posted"} }))
	add("the server cuts the prompt", "prompt/truncated-by-server", []string{"plain/", "order"}, setting(generator+"context_tokens", func(b *base) any { return 1 + b.needs + 1 + words(b.question) + 1 }))
	add("the server drops a role", "prompt/role-dropped", heard, setting(generator+"drops_role", "user"))

	// The generator.
	add("the generator says nothing", "generate/empty-answer", behind, setting(generator+"fixed", ""))
	add("the generator flips between right and wrong", "generate/unstable", []string{"plain/", "flood/", "order"}, setting(generator+"flip", tree{"rate": 0.65, "to": "wrong"})).random = true
	add("the generator refuses now and then", "generate/unstable", []string{"plain/", "flood/", "order"}, setting(generator+"flip", tree{"rate": 0.65, "to": "refuse"})).random = true
	add("the generator answers from memory", "generate/ignored-evidence", []string{"plain/", "flood/", "order"}, setting(generator+"ignores_context", true, generator+"memory", "It is a hundred and one doubloons."))
	add("the generator invents", "generate/ignored-evidence", behind, setting(generator+"ignores_context", true, generator+"unable", "invent"))
	add("the generator gives one answer to everything", "generate/ignored-evidence", behind, setting(generator+"fixed", "It is a hundred and one doubloons."))
	add("the generator prefers the old text", "generate/prefers-superseded", []string{"plain/"}, setting(generator+"prefers", "old")).acts = "words"
	add("the generator prefers the last block", "generate/position-sensitive", []string{"order"}, setting(generator+"spots", nil, generator+"prefers", "last")).acts = "words"
	add("the generator reads the first block only", "generate/position-sensitive", []string{"order"}, setting(generator+"spots", nil, generator+"reads", "first", generator+"min_overlap", 1, "pipeline.assemble.order", "reverse")).acts = "words"
	add("the generator cites what is not there", "generate/fabricated-citation", []string{"plain/"}, setting(generator+"cites_as", "appendix-7")).acts = "citations"
	add("the generator states the opposite", "generate/contradicts", []string{"plain/"}, setting(generator+"misreads", func(b *base) any { return tree{b.span: b.old} })).acts = "words"
	add("the generator leaves a fact out", "generate/incomplete", []string{"twofold"}, setting(generator+"spots_all", false)).acts = "words"
	add("the generator quotes another sentence", "generate/incomplete", []string{"tail"}, setting(generator+"spots", func(b *base) any { return []any{b.span} })).acts = "words"
	add("the generator obeys the context", "generate/distracted", []string{"plain/"}, setting(generator+"obeys", true)).acts = "words"
	add("the generator changes what it quotes", "generate/unsupported-claim", []string{"plain/", "flood/", "order"}, setting(generator+"misreads", func(b *base) any { return tree{b.span: "1001 doubloons"} })).acts = "words"

	// Refusals.
	add("it answers what nothing answers", "abstain/answered-unanswerable", []string{"unanswerable"}, setting(generator+"unable", "invent"))
	add("it answers from what is beside the point", "abstain/answered-unanswerable", []string{"unanswerable"}, setting(generator+"min_overlap", 0))
	add("it refuses in words that are not declared", "abstain/undeclared-refusal", []string{"unanswerable"}, setting(generator+"refusal", "The documents do not cover that.")).also = "abstain/answered-unanswerable"
	add("it refuses with the evidence in its prompt", "abstain/refused-answerable", []string{"plain/", "tenants"}, setting(generator+"min_overlap", 9))
	add("it refuses unless the last block helps", "abstain/refused-answerable", []string{"order"}, setting(generator+"reads", "last")).also = "generate/position-sensitive"

	// The provider: no stage is to blame.
	add("the provider fails", environment, append(slices.Clone(behind), "unanswerable"), setting(generator+"provider", []any{tree{"error": "permanent"}}))
	add("the provider blocks", environment, append(slices.Clone(behind), "unanswerable"), setting(generator+"provider", []any{tree{"finish": "content_filter"}}))
	add("the provider stops at length", environment, append(slices.Clone(behind), "unanswerable"), setting(generator+"provider", []any{tree{"finish": "length"}}))
	return all
}

const environment = "environment"

// unproduced are the labels that no fault of the embedded backends brings about, with why.
func unproduced() map[string]string {
	return map[string]string{
		"seam/isolated-parts-pass": "Culprit's own pipeline builds A's and B's prompts with one function, so that A cannot fail on the evidence with which B passes unless something else in its context, its order or a cache explains it; the page of the label has it of a service that serves production otherwise",
		"seam/cause-not-shown":     "it is what is left where no rule fires although every boundary was observed, and here every injected fault is observed",
	}
}
