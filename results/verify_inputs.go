package results

import (
	"reflect"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// checkInputs holds what was asked to what it follows from: the case, the experiment, and what was observed before.
func (v *verifier) checkInputs() {
	if v.broken || v.journal == nil {
		return // which was reported
	}
	o := &v.bundle.Observations
	v.calls, v.restricted = map[string]matrix.Call{}, map[string]bool{}
	for _, r := range v.journal.Records {
		if r.Type == RecordIntent && r.Call != nil {
			v.calls[r.CallKey] = *r.Call
		}
	}
	for _, key := range o.RestrictedCalls() {
		v.restricted[key] = true
	}
	v.checkRewriting()
	for i := range o.Retrievals {
		v.checkRetrieval(i+1, &o.Retrievals[i])
	}
	v.checkFilterControl()
	v.checkTrials()
	for i := range o.Judgements {
		v.checkJudgement(i+1, &o.Judgements[i])
	}
}

// setting is a field of an observation, and what it must be.
type setting struct {
	name     string
	is, want any
}

func (v *verifier) checkSettings(file string, line int, all ...setting) {
	for _, s := range all {
		if !reflect.DeepEqual(s.is, s.want) {
			v.report(file, line, "its %s is %s, and follows as %s", s.name, shown(s.is), shown(s.want))
		}
	}
}

// shown writes a setting as it stands in a file.
func shown(value any) string {
	data, err := matrix.Canonical(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// checkKey holds the key of a call to what it says was asked. Each of several forms will do.
func (v *verifier) checkKey(file string, line int, key string, call matrix.Call, inputs ...func() (string, error)) {
	for _, input := range inputs {
		made := call
		var err error
		if made.Input, err = input(); err == nil {
			if is, err := made.Key(); err == nil && is == key {
				return
			}
		}
	}
	v.report(file, line, "call %s is not of what it says was asked", key)
}

// checkRewriting holds the rewriting to its template, and its queries to its answer.
func (v *verifier) checkRewriting() {
	b := &v.bundle
	w, settings := b.Observations.Rewriting, b.Experiment.Pipeline.Rewrite
	if w == nil || settings == nil || b.Plan.Rewrite == nil || b.Experiment.Backends.Generator == nil {
		return
	}
	template, mistakes := matrix.ParseRewriteTemplate(settings.Prompt)
	if len(mistakes) > 0 {
		return // of which nothing could be made
	}
	v.checkPrompt(rewritingFile, 1, w.Prompt, []matrix.Message{{Role: "user", Text: template.RenderRewrite(&b.Case)}})
	v.checkSettings(rewritingFile, 1, setting{"seed", w.Seed, settings.Seed})
	v.checkKey(rewritingFile, 1, w.CallKey, matrix.Call{
		Case: v.manifest.Digests.Case, Cell: matrix.CellC, Step: "rewrite", Rep: 1,
		Provider: b.Experiment.Backends.Generator.Adapter, Model: w.ModelRequested, Params: b.Plan.Rewrite.Settings,
	}, func() (string, error) { return matrix.RewriteInput(w.Prompt) })
	queries := []string{}
	if w.Status == matrix.StatusOK && !w.Refused {
		queries = append(queries, settings.Queries(w.Answer.Value)...)
	}
	if !w.Answer.Withheld() && !slices.Equal(queries, w.Queries) {
		v.report(rewritingFile, 1, "its queries are %s, and its answer gives %s", shown(w.Queries), shown(queries))
	}
}

// checkPrompt holds a prompt to what its template makes of the case, where all of it is here.
func (v *verifier) checkPrompt(file string, line int, prompt []matrix.PromptMessage, want []matrix.Message) {
	same := func(m matrix.PromptMessage, want matrix.Message) bool {
		return m.Role == want.Role && (m.Text.Withheld() || m.Text.Value == want.Text)
	}
	if !slices.EqualFunc(prompt, want, same) {
		v.report(file, line, "its prompt is not what the template makes of the case and the context")
	}
}

// queries is what production searches for, or what its service told that it did.
func (v *verifier) queries() ([]string, bool) {
	b := &v.bundle
	if c := b.Observations.Retrievals; len(c) > 0 && c[0].By != "" {
		return []string{c[0].QueryEffective}, true
	}
	p := &b.Experiment.Pipeline
	switch {
	case p.Query != "":
		template, mistakes := matrix.ParseQueryTemplate(p.Query)
		if len(mistakes) > 0 {
			return nil, false
		}
		return []string{template.RenderQuery(&b.Case)}, true
	case p.Rewrite != nil && b.Observations.Rewriting != nil:
		return p.Rewrite.Searched(&b.Case, b.Observations.Rewriting), true
	}
	return []string{b.Case.Question()}, true
}

// checkRetrieval holds a retrieval to the search that the plan has for its cell.
func (v *verifier) checkRetrieval(line int, r *matrix.Retrieval) {
	b := &v.bundle
	v.checkRankings(line, r)
	if r.By != "" {
		return
	}
	if b.Experiment.Backends.Store == nil {
		v.report(retrievalsFile, line, "it is said to be of a store, and the experiment declares none")
		return
	}
	v.checkRerank(line, r)
	if r.Cell.Run() != matrix.RetrievalRun {
		v.checkRepaired(line, r)
		return
	}
	p := b.Experiment.Pipeline.Search
	want := matrix.SearchInput{
		Store: b.Experiment.Backends.Store, Mode: p.Mode, Filter: p.Filter.Resolve(b.Case.As), Threshold: p.Threshold, Exact: p.Exact, Depth: max(p.Depth, p.K),
		Way: matrix.SearchWay(r.Cell),
	}
	if b.Pins.Embedder != nil {
		want.QueryBase = b.Pins.Embedder.Model
	}
	queries, ok := v.queries()
	if !ok {
		return
	}
	byName := func() { want.Filter, want.Threshold, want.Exact = nil, nil, r.Exact } // which is exact where the store can be
	decided := true                                                                  // all that was asked is told
	switch r.Cell {
	case matrix.ProbeNoFilter:
		want.Filter = nil
	case matrix.ProbeNoThreshold:
		want.Threshold = nil
	case matrix.ProbeExact:
		want.Exact = true
	case matrix.ProbeAsTyped:
		queries = []string{b.Case.Question()}
	case matrix.ProbeKeyword:
		want.Mode = matrix.ModeKeyword
	case matrix.ProbeDense:
		want.Mode = matrix.ModeDense
	case matrix.ProbeNamed:
		byName()
		for _, n := range r.Named {
			want.Only = append(want.Only, n.ID)
		}
		decided = r.Status == matrix.StatusOK
	case matrix.ProbeOwn(matrix.ModeDense), matrix.ProbeOwn(matrix.ModeKeyword):
		byName()
		_, want.Mode, _ = strings.Cut(string(r.Cell), string(matrix.ProbeOwn("")))
		want.Only = b.Observations.Store.GoldIDs()
		want.Only = want.Only[:min(r.Depth, len(want.Only))]
		want.Depth = len(want.Only)
	}
	want.Query = strings.Join(queries, "\n")
	if len(queries) > 1 {
		want.Merged = &matrix.MergedQueries{Queries: queries, How: b.Experiment.Pipeline.Rewrite.Merge, K: p.K}
	}
	v.checkSettings(retrievalsFile, line,
		setting{"query", r.Query, b.Case.Question()}, setting{"mode", r.Mode, want.Mode}, setting{"k", r.K, p.K}, setting{"depth", r.Depth, want.Depth},
		setting{"filters_effective", append(matrix.Filter{}, r.Filter...), append(matrix.Filter{}, want.Filter...)}, setting{"threshold", r.Threshold, want.Threshold}, setting{"exact", r.Exact, want.Exact},
	)
	call := matrix.Call{Case: v.manifest.Digests.Case, Cell: r.Cell, Step: "retrieve", Rep: 1, Provider: want.Store.Adapter}
	inputs := []func() (string, error){want.Digest}
	if r.Cell == matrix.ProbeIndexEmbed {
		call.Model = b.Experiment.Pins.Index.EmbedModel
		if call.Model == "" {
			call.Model = b.Pins.Store.EmbedModel
		}
		if call.Model == want.QueryBase {
			call.Model = ""
		}
		want.Model = call.Model
		other := want
		other.Prefix = &r.QueryPrefix
		inputs, decided = []func() (string, error){want.Digest, other.Digest}, r.Status == matrix.StatusOK
	}
	if decided {
		v.checkKey(retrievalsFile, line, r.CallKey, call, inputs...)
	}
}

// checkRankings holds the rankings of a retrieval to each other.
func (v *verifier) checkRankings(line int, r *matrix.Retrieval) {
	rankings := make([][]matrix.Hit, 0, len(r.Searches))
	for i := range r.Searches {
		rankings = append(rankings, r.Searches[i].Candidates)
	}
	for _, hits := range append([][]matrix.Hit{r.Candidates, r.Reranked}, rankings...) {
		for i := range hits {
			if hits[i].Rank != i+1 {
				v.report(retrievalsFile, line, "item %q stands in place %d of a ranking, and has the rank %d", hits[i].ID, i+1, hits[i].Rank)
				return
			}
		}
	}
	if r.By != "" {
		return
	}
	if len(rankings) > 0 && r.Cell.Run() == matrix.RetrievalRun {
		same := func(a, b matrix.Hit) bool {
			return a.ID == b.ID && a.Text.Ref == b.Text.Ref && reflect.DeepEqual(a.Score, b.Score)
		}
		if merged := matrix.MergeHits(r.Merge, rankings, r.K, r.Depth); r.Status == matrix.StatusOK && !slices.EqualFunc(merged, r.Candidates, same) {
			v.report(retrievalsFile, line, "its candidates are not what its searches give when they are merged (%s)", r.Merge)
		}
	}
}

// checkRerank holds what was reranked to the settings and to what was passed on.
func (v *verifier) checkRerank(line int, r *matrix.Retrieval) {
	b := &v.bundle
	settings := b.Experiment.Pipeline.Rerank
	switch {
	case r.RerankModel == "" && len(r.Reranked) == 0:
		if settings != nil && r.Cell == matrix.CellC && r.Status == matrix.StatusOK {
			v.report(retrievalsFile, line, "the experiment declares a reranker, and nothing tells what it was asked")
		}
		return
	case settings == nil || b.Pins.Reranker == nil || r.Cell.Run() == matrix.RetrievalRun && r.Cell != matrix.CellC:
		v.report(retrievalsFile, line, "it is said to be reranked, and by the experiment it is not")
		return
	}
	v.checkSettings(retrievalsFile, line, setting{"rerank_model", r.RerankModel, b.Pins.Reranker.Model}, setting{"rerank_top", r.RerankTop, settings.Top}, setting{"rerank_order", r.RerankOrder, settings.Order})
	if r.Cell != matrix.RepairReversed && r.Cell != matrix.RungReranked { // which keep what they are made for, whatever it scored
		v.checkSettings(retrievalsFile, line, setting{"rerank_floor", r.RerankFloor, settings.Threshold})
	}
	passed, seen := map[string]matrix.Hit{}, map[string]bool{}
	for _, h := range r.PassedOn() {
		passed[h.ID] = h
	}
	for _, h := range r.Reranked {
		from, known := passed[h.ID]
		switch {
		case r.Cell == matrix.RungReranked && v.isGold(h.ID, h.Text):
		case !known || seen[h.ID] || h.Text.Ref != from.Text.Ref || h.Source != from.Source || h.Revision != from.Revision:
			v.report(retrievalsFile, line, "item %q is reranked, and is none that was passed on, or another than that", h.ID)
		}
		seen[h.ID] = true
	}
}

// checkRepaired holds the retrieval of a repair to the one that it is made of.
func (v *verifier) checkRepaired(line int, r *matrix.Retrieval) {
	b := &v.bundle
	at := slices.IndexFunc(b.Observations.Retrievals, func(from matrix.Retrieval) bool { return from.Cell == r.Cell.Search() })
	if at < 0 {
		v.report(retrievalsFile, line, "it is made of the search %q, which was not observed", r.Cell.Search())
		return
	}
	from := &b.Observations.Retrievals[at]
	k := from.K
	if r.Cell == matrix.RepairMoreK {
		k = max(k, r.K)
	}
	v.checkSettings(retrievalsFile, line,
		setting{"query", r.Query, from.Query}, setting{"query_effective", r.QueryEffective, from.QueryEffective}, setting{"mode", r.Mode, from.Mode}, setting{"k", r.K, k},
		setting{"filters_effective", r.Filter, from.Filter}, setting{"threshold", r.Threshold, from.Threshold}, setting{"exact", r.Exact, from.Exact})
	for _, h := range r.Candidates {
		made := slices.ContainsFunc(from.Candidates, func(c matrix.Hit) bool {
			return c.ID == h.ID && c.Source == h.Source && c.Revision == h.Revision && (c.Text.Ref == "" || c.Text.Ref == h.Text.Ref)
		})
		if !made && (r.Cell != matrix.RungCandidates || !v.isGold(h.ID, h.Text)) {
			v.report(retrievalsFile, line, "its item %q is none of the search %q", h.ID, from.Cell)
		}
	}
	v.checkKey(retrievalsFile, line, r.CallKey, matrix.Call{
		Case: v.manifest.Digests.Case, Cell: r.Cell, Step: "retrieve", Rep: 1, Provider: b.Experiment.Backends.Store.Adapter,
	}, func() (string, error) { return matrix.RepairInput(from.CallKey, r.K, r.PassedOn()) })
}

// isGold reports whether an item is one that stands for evidence, with its text.
func (v *verifier) isGold(id string, text matrix.Text) bool {
	return slices.ContainsFunc(v.bundle.Observations.Store.Gold, func(g matrix.GoldFacts) bool { return g.TextID == id && g.Text.Ref == text.Ref })
}

// checkFilterControl holds the search with a value that cannot exist to what is told of it.
func (v *verifier) checkFilterControl() {
	b := &v.bundle
	control, p := b.Observations.Store.FilterControl, b.Experiment.Pipeline.Search
	queries, ok := v.queries()
	if !ok || b.Experiment.Backends.Store == nil {
		return
	}
	for i, r := range v.journal.Records {
		if r.Type != RecordIntent || r.Call == nil || r.Call.Cell != matrix.ControlFilter {
			continue
		}
		if control == nil {
			v.report(journalFile, i+1, "call %s (%s of cell %q) was announced, and what came of it was not observed", r.CallKey, r.Call.Step, r.Call.Cell)
			continue
		}
		want := matrix.SearchInput{
			Store: b.Experiment.Backends.Store, Query: strings.Join(queries, "\n"), Mode: p.Mode, Filter: control.Filter, Threshold: p.Threshold, Exact: p.Exact, Depth: max(p.Depth, p.K),
		}
		if b.Pins.Embedder != nil {
			want.QueryBase = b.Pins.Embedder.Model
		}
		if len(queries) > 1 {
			want.Merged = &matrix.MergedQueries{Queries: queries, How: b.Experiment.Pipeline.Rewrite.Merge, K: p.K}
		}
		v.checkKey(journalFile, i+1, r.CallKey, *r.Call, want.Digest)
	}
}
