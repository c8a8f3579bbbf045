package matrix

// Repairs: production with exactly one thing changed, which undoes what a label names. Each is run only for such a label.
const (
	RepairMoreK       CellID = "A/larger-k"
	RepairBudget      CellID = "A/larger-budget"
	RepairNoDedupe    CellID = "A/no-dedupe"
	RepairNoFilter    CellID = "A/no-filter"
	RepairNoThreshold CellID = "A/no-threshold"
	RepairExact       CellID = "A/exact"
	RepairKeyword     CellID = "A/keyword"
	RepairDense       CellID = "A/dense"
	RepairAsTyped     CellID = "A/as-typed"
	RepairIndexEmbed  CellID = "A/index-embed"
	RepairNoRerank    CellID = "A/no-rerank"
	RepairReversed    CellID = "A/rerank-reversed"
	RepairPastCache   CellID = "A/past-cache"
	RepairPrompt      CellID = "A/reference-prompt"
)

// The rungs of the ladder: the gold is put in at one boundary, and production does the rest.
const (
	RungCandidates CellID = "B/candidates" // at rank 1 of what the search passes on
	RungReranked   CellID = "B/reranked"   // at rank 1 of what the reranker keeps
	RungPacked     CellID = "B/packed"     // among production's packed items, where its rank would have put it
	// RungPrompt is B through a plain reference prompt: what it answers there is the production prompt's doing.
	RungPrompt CellID = "B/reference-prompt"
)

// MostRepairs is how many repairs and rungs are run for one case.
const MostRepairs = 4

// referencePrompt is a plain prompt that every instructed model follows.
var referencePrompt = Prompt{User: `Answer the question from the context below, and from nothing else. If the context does not answer it, say: I don't know.

Context:
{{#context}}
[{{id}}] {{text}}
{{/context}}

Question: {{query}}`}

// WithReferencePrompt returns the pipeline with its prompt, and what befalls it, replaced by a plain one.
func (p Pipeline) WithReferencePrompt() Pipeline {
	p.Prompt = referencePrompt
	if p.Faults != nil {
		faults := *p.Faults
		faults.EmptyContext, faults.Replace = false, nil
		p.Faults = &faults
	}
	return p
}

// ReferencePrompt reports whether the cell is asked through the reference prompt.
func (c CellID) ReferencePrompt() bool { return c == RepairPrompt || c == RungPrompt }

// Search returns the retrieval of C that made the search which the repair needs: C itself where the search is production's.
func (c CellID) Search() CellID {
	switch c {
	case RepairNoFilter:
		return ProbeNoFilter
	case RepairNoThreshold:
		return ProbeNoThreshold
	case RepairExact:
		return ProbeExact
	case RepairKeyword:
		return ProbeKeyword
	case RepairDense:
		return ProbeDense
	case RepairAsTyped:
		return ProbeAsTyped
	case RepairIndexEmbed:
		return ProbeIndexEmbed
	}
	return CellC
}

// expandRepairs lists the repairs that the experiment's pipeline has something to undo by, and the rungs. A service of the user's own
// makes its steps itself, so that none of them can be changed alone.
func expandRepairs(e *Experiment, c *Case) []PlannedCell {
	if !e.Runs.Repairs || e.Backends.Pipeline != nil || !c.HasGold() || c.Expect != ExpectAnswer {
		return nil
	}
	var cells []PlannedCell
	add := func(wanted bool, cell CellID, change string) {
		if wanted {
			base := CellA
			if cell.Run() == GoldRun {
				base = CellB
			}
			cells = append(cells, PlannedCell{Cell: cell, Base: base, Change: change, Condition: IfDecides})
		}
	}
	p := &e.Pipeline
	vectors, hybrid := p.Search.Mode != ModeKeyword, p.Search.Mode == ModeHybrid
	add(true, RungPrompt, "the prompt is a plain reference prompt")
	add(true, RungCandidates, "the gold is put at rank 1 of what the search passes on")
	add(p.Rerank != nil, RungReranked, "the gold is put at rank 1 of what the reranker keeps")
	add(true, RungPacked, "the gold is packed where its rank would have put it")
	add(true, RepairMoreK, "k reaches down to the gold")
	add(len(p.Search.Filter) > 0, RepairNoFilter, "the filter is removed")
	add(p.Search.Threshold != nil, RepairNoThreshold, "the threshold is removed")
	add(vectors && !p.Search.Exact, RepairExact, "the search is exact")
	add(hybrid, RepairKeyword, "the keyword arm alone")
	add(hybrid, RepairDense, "the dense arm alone")
	add(p.Query != "" || p.Rewrite != nil, RepairAsTyped, "the question as typed is searched for")
	add(vectors, RepairIndexEmbed, "the query is embedded as the index is pinned or declared to be")
	add(p.Rerank != nil, RepairNoRerank, "the reranker is removed")
	add(p.Rerank != nil, RepairReversed, "the reranker's order is turned round")
	add(p.Assemble.Budget.N > 0, RepairBudget, "the budget holds all that the retrieval keeps")
	add(p.Assemble.Dedupe != "none", RepairNoDedupe, "nothing is taken for a duplicate")
	add(p.Faults != nil && len(p.Faults.Cache) > 0, RepairPastCache, "no cache answers")
	add(true, RepairPrompt, "the prompt is a plain reference prompt")
	return cells
}
