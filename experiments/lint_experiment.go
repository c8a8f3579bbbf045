package experiments

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// lintExperiment reports settings that are fine one by one and cannot work together.
func (l *loader) lintExperiment(root *node, e *matrix.Experiment) {
	pipeline := func(path ...string) position { return root.place(append([]string{"pipeline"}, path...)...) }
	search, rerank := e.Pipeline.Search, e.Pipeline.Rerank
	if search.K > search.Depth && !root.lost("pipeline", "search", "k") && !root.lost("pipeline", "search", "depth") {
		l.fail(pipeline("search", "k"), "k is %d and depth %d: the ranking must be recorded at least as far as items are passed on", search.K, search.Depth)
	}
	if search.Mode != matrix.ModeKeyword && e.Backends.Embedder == nil && !e.WithoutStore() && !root.lost("backends", "embedder") {
		l.fail(pipeline("search", "mode"), "mode %s searches by vectors: add backends.embedder, or use mode keyword", search.Mode)
	}
	switch {
	case rerank != nil && e.Backends.Reranker == nil && !e.WithoutStore() && !root.lost("backends", "reranker"):
		l.fail(pipeline("rerank"), "pipeline.rerank needs a reranker: add backends.reranker, or take rerank away")
	case rerank == nil && e.Backends.Reranker != nil && !l.reranks && !root.lost("pipeline", "rerank"):
		l.warn(root.place("backends", "reranker"), "this reranker is not used: add pipeline.rerank, such as rerank: {top: %d}", search.K)
	case rerank != nil && rerank.Top > search.K && !root.lost("pipeline", "search", "k"):
		l.fail(pipeline("rerank", "top"), "top is %d and search.k %d: no more items can be kept than are passed on", rerank.Top, search.K)
	}
	switch unit, tokenizer := e.Pipeline.Assemble.Budget.Unit, e.Pipeline.Assemble.Tokenizer; {
	case unit == "words" && tokenizer != "words":
		l.fail(pipeline("assemble", "tokenizer"), "tokenizer %s counts tokens, and the budget is in words: write the budget in tokens, or take tokenizer away", tokenizer)
	case unit == "tokens" && tokenizer == "words":
		l.fail(pipeline("assemble", "tokenizer"), "tokenizer words counts words, and the budget is in tokens: name a tokenizer such as o200k_base")
	case unit == "" && tokenizer != "" && !root.lost("pipeline", "assemble", "budget"):
		l.warn(pipeline("assemble", "tokenizer"), "without a budget there is nothing to count: add budget, or take tokenizer away")
	}
	if e.WithoutStore() && !root.lost("backends", "store") {
		l.warn(root.place("backends"), "no store is declared: index, embedding and freshness are not tested, why the service does not find a piece of evidence is not known, and evidence without a text of its own is what the service tells of its items: add backends.store where culprit can reach it")
	}
	l.lintBackends(root, e)
	l.lintRewrite(root, e)
	l.lintBudget(root, e)
	l.lintRuns(root, e)
	if !l.promptless {
		l.lintPrompt(root, e)
	}
	l.lintAnswer(root, e.Pipeline.Answer)
	l.lintJudge(root, e)
	l.lintFloor(root, e)
	l.lintSensitivity(root, e)
}

// lintProbes warns of contexts that need more items than there are beside the evidence.
func (l *loader) lintProbes(root *node, runs *matrix.Runs, documents int) {
	needed := runs.SeededItems()
	if needed == 0 || needed < documents {
		return
	}
	key := "noise"
	if runs.Positions-1 == needed {
		key = "positions"
	}
	l.warn(root.place("runs", key), "%s puts up to %d other items beside the evidence, and there are %d documents with it: cells that need more are not run", key, needed, documents)
}

// lintRefusal warns of cases that no answer can meet, since nothing counts as a refusal.
func (l *loader) lintRefusal(root *node, e *matrix.Experiment, cases []placedCase) {
	for _, phrase := range root.get("pipeline").get("refusal").entries() {
		l.lintWording(phrase)
	}
	if len(e.Pipeline.Refusal) > 0 || e.Pipeline.Answer.Structured() || root.lost("pipeline", "refusal") || root.get("pipeline").get("refusal").lost(anything) {
		return
	}
	for _, c := range cases {
		if c.Case.Expect == matrix.ExpectAnswer {
			continue
		}
		p := root.place("pipeline", "refusal").problem(fmt.Sprintf("refusal is an empty list, and %s expects %s: no answer can pass, so name the words by which a refusal is known", c.name(), c.Case.Expect))
		p.Warning, p.Case = true, c.id
		l.add(p)
	}
}

// lintPrompt warns of a prompt that cannot carry what is needed.
func (l *loader) lintPrompt(root *node, e *matrix.Experiment) {
	at := root.place("pipeline", "prompt")
	whole := e.Pipeline.Prompt.System + e.Pipeline.Prompt.User
	carries := false
	for _, text := range []string{e.Pipeline.Prompt.System, e.Pipeline.Prompt.User} {
		if t, mistakes := matrix.ParseTemplate(text); len(mistakes) == 0 && t.Carries() {
			carries = true
		}
	}
	switch {
	case !strings.Contains(strings.ReplaceAll(whole, " ", ""), "{{#context}}"):
		l.warn(at, "the prompt has no {{#context}}…{{/context}}: what was retrieved never reaches the generator")
	case !carries:
		l.warn(at, "the prompt's {{#context}} section has no {{text}}: the generator sees no text of what was retrieved")
	}
	if !slices.Contains(variables(whole), "query") {
		l.warn(at, "the prompt has no {{query}}: the generator never sees the question")
	}
}

// lintQuery checks the template of what is searched for.
func (l *loader) lintQuery(n *node) {
	if n == nil || n.form != scalar {
		return
	}
	_, mistakes := matrix.ParseQueryTemplate(n.text)
	l.templateProblems(mistakes, matrix.QueryTemplateNames(), n.inside)
	if len(mistakes) == 0 && !slices.Contains(variables(n.text), "query") {
		l.warn(n.at, "the search never sees the question: add {{query}}")
	}
}

var variablePattern = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// variables lists the names between braces.
func variables(text string) []string {
	var out []string
	for _, m := range variablePattern.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// lintFilter checks the values of the filter, and warns of cases whose asker lacks an attribute that it, or a template,
// asks for.
func (l *loader) lintFilter(root *node, e *matrix.Experiment, cases []placedCase) {
	filter, _ := root.find("pipeline", "search", "filter")
	needed := map[string]string{} // attribute → what asks for it
	templates := []string{e.Pipeline.Query, e.Pipeline.Prompt.System, e.Pipeline.Prompt.User}
	if rewrite := e.Pipeline.Rewrite; rewrite != nil {
		templates = append(templates, rewrite.Prompt)
	}
	for _, text := range templates {
		for _, name := range variables(text) {
			if attribute, ok := strings.CutPrefix(name, "as."); ok && attribute != "" {
				needed[attribute] = "a template asks for it, and it stays empty"
			}
		}
	}
	for _, c := range e.Pipeline.Search.Filter {
		at := filter.place(c.Field)
		for _, value := range c.AnyOf {
			if !strings.Contains(value, "{{") && !strings.Contains(value, "}}") {
				if c.Typed && !numberOrBoolean(value) {
					l.fail(at, "filter value %s is no number, true or false, as typed takes them: leave typed away to compare it as text", show(value))
				}
				continue
			}
			name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(value), "{{"), "}}"))
			attribute, ok := strings.CutPrefix(name, "as.")
			if !ok || attribute == "" || strings.ContainsAny(attribute, "{}") {
				l.fail(at, "filter value %s: a value is plain text, or one variable of the asker such as {{as.tenant}} and nothing beside it", show(value))
				continue
			}
			needed[attribute] = "the filter on " + show(c.Field) + " asks for it, and finds nothing without it"
		}
	}
	defer func() { l.about = "" }()
	for _, c := range cases {
		l.about = c.id
		for attribute, why := range needed {
			if _, ok := c.Case.As[attribute]; !ok && !c.node.lost("as", attribute) {
				l.warn(c.node.place("as"), "%s does not say as.%s: %s", c.name(), attribute, why)
			}
		}
	}
}

// numberOrBoolean reports whether a text is what JSON writes for a number, true or false.
func numberOrBoolean(text string) bool {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	switch value.(type) {
	case float64, bool:
		return true
	}
	return false
}
