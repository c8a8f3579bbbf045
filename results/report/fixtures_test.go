package report

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

func ptr[T any](v T) *T { return &v }

func recall(at1, at2, at3 results.Number) map[string]*results.Number {
	return map[string]*results.Number{"1": &at1, "2": &at2, "3": &at3}
}

// travelPolicy is an execution with one case of each outcome that its example has.
func travelPolicy() *results.Summary {
	s := &results.Summary{
		Schema: results.SummarySchema, Execution: "20261129T200000Z-k3f9qa", Name: "travel-policy", WallMS: 212,
		Bundles: "culprit-results/20261129T200000Z-k3f9qa",
		Setup:   results.Setup{Store: "embedded", Search: "keyword", Generator: "extractive", K: 2, Budget: "50 words", Local: true},
	}
	add := func(id string, outcome verdict.Outcome, qualifier, name verdict.Stage, label, line string, recall map[string]*results.Number, rank *int) {
		c := results.CaseSummary{
			ID: id, Risk: matrix.RiskInvestigate, Outcome: outcome, Qualifier: string(qualifier), Summary: line,
			Gold: recall != nil, Retrieval: results.RetrievalSummary{Ranks: map[string]*int{}, Recall: recall},
			Cells:  map[matrix.CellID]results.CellSummary{"A": {Trials: 1, Scored: 1, Exact: true}, "D/closed-book": {Trials: 1, Scored: 1, Exact: true}},
			Answer: results.AnswerTotals{Scored: 1, Answered: 1, Copied: 1}, Totals: results.Totals{Calls: 7, Generation: 6, Reused: 1},
		}
		if name != "" {
			c.Defects = []results.DefectSummary{{Stage: name, Label: label, Grade: verdict.Shown, Evidence: []string{"the second thing that was seen"}}}
		}
		if recall != nil {
			c.Retrieval.Ranks["gold"] = rank
			c.Retrieval.Metrics = map[string]*results.Number{
				"rr": ptr(results.Number(0)), "ndcg@2": recall["2"], "hit@2": recall["2"], "complete@2": recall["2"], "precision@2": ptr(*recall["2"] / 2),
			}
			if rank != nil {
				*c.Retrieval.Metrics["rr"] = 1 / results.Number(*rank)
			}
			c.Cells["B"] = results.CellSummary{Trials: 1, Scored: 1, Pass: 1, Exact: true}
		}
		if outcome == verdict.Pass {
			c.Answer.Correct = 1
		}
		s.Cases = append(s.Cases, c)
	}
	add("mileage-rate", verdict.Fail, "", verdict.StageIndex, "missing", "gold c15: in none of 14 chunks (14 of 14 scanned)", recall(0, 0, 0), nil)
	add("lie-flat-seat", verdict.Fail, "", verdict.StageRetrieve, "vocabulary-miss", "gold c08: in the store, shares no term with the query", recall(0, 0, 0), nil)
	add("long-haul-cabin", verdict.Fail, "", verdict.StageRetrieve, "below-cutoff", "gold c08: rank 3, cutoff 2; gold context restores 1/1", recall(0, 0, 1), ptr(3))
	add("taxi-receipt", verdict.Fail, "", verdict.StageAssemble, "budget-cut", "gold c11: rank 2, cut by the 50-word budget (needs 71)", recall(0.5, 1, 1), ptr(2))
	add("business-10h", verdict.Fail, "", verdict.StageGenerate, "position-sensitive", "gold c08: packed 2nd; passes alone and when first", recall(0, 1, 1), ptr(2))
	add("zurich-hotel", verdict.Fail, "", verdict.StageAbstain, "answered-unanswerable", "no gold exists; answered from c04", nil, nil)
	s.Cases[4].Defects[0].Grade = verdict.Verified
	add("gym-fee", verdict.Pass, verdict.CorrectRefusal, "", "", "refused", nil, nil)
	add("per-diem-dinner", verdict.Pass, "", "", "", "answered from c12", recall(1, 1, 1), ptr(1))
	s.Total()
	return s
}

func decimal(d matrix.Decimal) *matrix.Decimal { return &d }

func hit(rank int, id string, score matrix.Decimal, text string) matrix.Hit {
	return matrix.Hit{Rank: rank, ID: id, Source: id, Score: decimal(score), Text: matrix.NewText(text)}
}

// longHaul is a case whose gold stands behind the cutoff.
func longHaul() *results.Bundle {
	const economy = "Employees book economy class fares for all flights, whatever their length and whatever their grade."
	const exception = "Exception: flights longer than 8 hours may be booked in business class with written approval of the line manager."
	c := matrix.Case{
		ID: "long-haul-cabin", Query: "Which class must employees book for flights, and is there an exception for long flights?",
		Risk: matrix.RiskInvestigate, Expect: matrix.ExpectAnswer, As: matrix.Principal{"groups": {"employees", "managers"}, "tenant": {"acme"}},
		Evidence: matrix.Evidence{
			Required:    []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "c08", Span: "business class"}}}},
			Distractors: []matrix.Distractor{{Source: "c05", Kind: matrix.Superseded}},
		},
		Claims: []matrix.Claim{{ID: "class"}, {ID: "approval"}},
	}
	e := matrix.Experiment{Name: "travel-policy", Pipeline: matrix.Pipeline{
		Search:   matrix.Search{Mode: "keyword", K: 2, Depth: 200},
		Assemble: matrix.Assemble{Budget: matrix.Budget{N: 50, Unit: "words"}},
	}}
	r := matrix.Retrieval{
		CallKey: "r1", Cell: matrix.CellC, Query: c.Query, QueryEffective: "class book flights exception long", Mode: "keyword", K: 2, Depth: 200, Status: matrix.StatusOK,
		Filter: matrix.Filter{{Field: "tenant", AnyOf: []string{"acme"}}, {Field: "status", AnyOf: []string{"draft", "old"}, Not: true}},
		Candidates: []matrix.Hit{
			hit(1, "c01", "8.6123", economy), hit(2, "c02", "5.5", "Meals on flights of the company are paid for by the company."),
			hit(3, "c08", "3.61", exception), hit(4, "c05", "1.2", "Old rule: all flights longer than 6 hours in business class."), hit(5, "c09", "0.2", "Hotels."),
		},
	}
	trial := func(cell matrix.CellID, answer string, packed ...matrix.Packed) matrix.Trial {
		return matrix.Trial{CallKey: string(cell), Cell: cell, Rep: 1, Retrieval: "r1", Packed: packed, Answer: matrix.NewText(answer), Status: matrix.StatusOK, PromptTokensLocal: 112, Usage: matrix.Usage{InputTokens: ptr(104)}}
	}
	a := trial("A", economy+" [c01]", matrix.Packed{Position: 1, ID: "c01", Units: 15, Text: matrix.NewText(economy)}, matrix.Packed{Position: 2, ID: "c02", Units: 11, Text: r.Candidates[1].Text})
	return &results.Bundle{
		Path: "culprit-results/20261129T200000Z-k3f9qa/long-haul-cabin.bundle.zip", Case: c, Experiment: e, Status: results.StatusComplete,
		Observations: matrix.Observations{
			Store:      matrix.StoreFacts{Scan: matrix.ScanFacts{Scanned: 14, Counted: 14, Complete: true}},
			Retrievals: []matrix.Retrieval{r},
			Trials: []matrix.Trial{
				a, trial("B", exception+" [c08]", matrix.Packed{Position: 1, ID: "c08", Units: 18, Gold: true, Text: matrix.NewText(exception)}),
				trial("D/drop-span:c08", "I don't know."), trial("D/closed-book", "I don't know."),
				{CallKey: "x", Cell: "D/gold-first", Rep: 1, Status: matrix.StatusNotRun, Reason: matrix.IfGoldPacked},
			},
		},
		Features: verdict.Features{
			Retrievals: []verdict.RetrievalFeatures{{Cell: "C", Gold: []verdict.Place{{BySpan: 3, BySource: 3, ID: "c08"}}}},
			Trials: []verdict.TrialFeatures{{
				CallKey: "A", Cell: "A", Rep: 1, Gold: []verdict.GoldPlace{{}}, Unsupported: []verdict.Extent{{From: 0, To: len(economy)}},
				Claims: []verdict.ClaimResult{
					{ID: "class", State: verdict.ClaimMissing, Near: verdict.NearNegated, At: &verdict.Extent{From: 15, To: 28}},
					{ID: "approval", State: verdict.ClaimMissing},
					{ID: "old", State: verdict.ClaimViolated, At: &verdict.Extent{From: 39, To: 50}, Support: []string{"c05"}},
				},
			}, {CallKey: "B", Cell: "B", Rep: 1, Meets: true, Claims: []verdict.ClaimResult{
				{ID: "class", State: verdict.ClaimMet, At: &verdict.Extent{From: 11, To: 18}},
				{ID: "approval", State: verdict.ClaimMet, At: &verdict.Extent{From: 76, To: 92}, Support: []string{"c08"}},
			}}},
		},
		Evaluation: verdict.Evaluation{
			Case: c.ID, Outcome: verdict.Fail, Summary: "gold c08: rank 3, cutoff 2; gold context restores 1/1",
			Story: "The evidence is in the store and was found, but ranked 3 where only 2 are passed on. With the evidence in the prompt the same generator answers correctly, so nothing after the search is at fault here.",
			Defects: []verdict.Defect{{
				Stage: verdict.StageRetrieve, Label: "below-cutoff", Grade: verdict.Shown, Rule: "R4", Evidence: []string{"gold c08 is ranked 3 of 5", "k is 2"},
				Decided: "rank of the gold item in the full ranking: 3 > 2", TryFirst: "a reranker, or a larger k together with a larger budget: culprit sweep",
				Wasted: "prompt edits: the model never saw the exception",
			}},
			Stages: []verdict.StageState{
				{Stage: verdict.StageFixture, State: verdict.Clear, Tested: "gold text supports every claim; a wrong answer is refused"},
				{Stage: verdict.StageAccess, State: verdict.Clear, Tested: "5 of 5 returned items are for the asker"},
				{Stage: verdict.StageIndex, State: verdict.Clear, Tested: "span found in c08 by a scan of 14 of 14 items"},
				{Stage: verdict.StageEmbed, State: verdict.NotUsed},
				{Stage: verdict.StageRetrieve, State: verdict.Broken},
				{Stage: verdict.StageRerank, State: verdict.NotUsed},
				{Stage: verdict.StageAssemble, State: verdict.NotReached},
				{Stage: verdict.StagePrompt, State: verdict.Unobserved, Tested: "no trial had the gold in A's context"},
				{Stage: verdict.StageGenerate, State: verdict.Clear, Tested: "B passes 1/1 under the same settings"},
				{Stage: verdict.StageAbstain, State: verdict.NotUsed},
			},
			Cells: []verdict.CellResult{
				{Cell: "A", Planned: 1, Scored: 1, Decision: "fails", Exact: true, Claims: []verdict.ClaimCount{{ID: "class", Met: 0, N: 1}, {ID: "approval", Met: 0, N: 1}}},
				{Cell: "B", Planned: 1, Scored: 1, Decision: "passes", Pass: 1, Exact: true, Claims: []verdict.ClaimCount{{ID: "class", Met: 1, N: 1}, {ID: "approval", Met: 1, N: 1}}},
				{Cell: "D/drop-span:c08", Planned: 1, Scored: 1, Decision: "fails", Exact: true, Expect: matrix.ExpectAbstains, Held: matrix.Yes, Claims: []verdict.ClaimCount{{ID: "class", N: 1}, {ID: "approval", N: 1}}},
				{Cell: "D/gold-first", Planned: 1, NotRun: 1, Reason: matrix.IfGoldPacked},
				{Cell: "D/closed-book", Planned: 1, Scored: 1, Decision: "fails", Exact: true, Expect: matrix.ExpectAbstains, Held: matrix.Yes},
			},
			Checks:    []verdict.Check{{Name: "corpus_hit", Result: matrix.Yes}, {Name: "fresh", Result: matrix.Unknown, Evidence: "no field for the source's time"}},
			Retrieval: verdict.RetrievalResult{Gold: []verdict.GoldRank{{Source: "c08", ID: "c08", Rank: ptr(3)}}},
			Findings:  []string{"the generator reported 104 input tokens where 112 were counted here"},
		},
	}
}

// perturbed is a case of a stochastic generator that loses the middle of its context, and bears one item beside the evidence and not four.
func perturbed() *results.Bundle {
	b := longHaul()
	b.Case.Evidence.Distractors = nil
	cell := func(id matrix.CellID, pass, scored int, interval []string, expect matrix.Expectation, held matrix.Answer, shows string) {
		decision := "undecided"
		switch pass {
		case scored:
			decision = "passes"
		case 0:
			decision = "fails"
		}
		b.Evaluation.Cells = append(b.Evaluation.Cells, verdict.CellResult{
			Cell: id, Planned: scored, Scored: scored, Pass: pass, Decision: decision, Wilson95: interval, Expect: expect, Held: held, Shows: shows,
		})
		for rep := range scored {
			answer := exceptionSays
			if rep >= pass {
				answer = "Employees book economy class fares for all flights."
			}
			b.Observations.Trials = append(b.Observations.Trials, matrix.Trial{CallKey: fmt.Sprint(id, rep), Cell: id, Rep: rep + 1, Status: matrix.StatusOK, Answer: matrix.NewText(answer)})
		}
	}
	b.Evaluation.Cells, b.Observations.Trials = nil, nil
	all, none := []string{"0.722", "1.000"}, []string{"0.000", "0.278"}
	cell("A", 10, 10, all, "", "", "")
	cell("B", 10, 10, all, "", "", "")
	cell("D/swap-span:c08", 10, 10, all, matrix.ExpectBreaks, matrix.No, verdict.Insensitive)
	cell("D/irrelevant", 10, 10, all, matrix.ExpectInvariant, matrix.Yes, verdict.Robust)
	cell("D/gold-first", 10, 10, all, matrix.ExpectInvariant, matrix.Yes, verdict.Robust)
	cell("D/gold-last", 0, 10, none, matrix.ExpectInvariant, matrix.No, verdict.Fragile)
	cell("D/closed-book", 0, 10, none, matrix.ExpectAbstains, matrix.No, verdict.Sensitive)
	cell("D/noise:1", 10, 10, all, matrix.ExpectInvariant, matrix.Yes, verdict.Robust)
	cell("D/noise:4", 7, 10, []string{"0.397", "0.892"}, matrix.ExpectInvariant, matrix.Unknown, "")
	cell("D/noise:16", 0, 10, none, matrix.ExpectInvariant, matrix.No, verdict.Fragile)
	cell("D/position:1", 10, 10, all, matrix.ExpectInvariant, matrix.Yes, verdict.Robust)
	cell("D/position:2", 3, 10, []string{"0.108", "0.603"}, matrix.ExpectInvariant, matrix.No, verdict.Fragile)
	cell("D/position:3", 10, 10, all, matrix.ExpectInvariant, matrix.Yes, verdict.Robust)
	b.Evaluation.Cells = append(b.Evaluation.Cells, verdict.CellResult{Cell: "D/noise:32", Planned: 10, NotRun: 10, Reason: "32 items are needed beside the gold, and only 30 could be drawn"})
	return b
}

const exceptionSays = "Business class, with written approval. [c08]"

// hostile is what a store, a model, a document or a case may try on a terminal or in a build log.
const hostile = "::error file=a::\x1b[2J\x1b]52;c;aGk=\a<img src=x onerror=alert(1)>\r##[error]\u202egnp.exe\u200b\n::stop-commands::x"

// hostileBundle has that text everywhere where text can be.
func hostileBundle() *results.Bundle {
	b := longHaul()
	b.Path = hostile
	b.Case.ID, b.Case.Query = hostile, hostile
	b.Case.As = matrix.Principal{hostile: {hostile}}
	r := &b.Observations.Retrievals[0]
	r.QueryEffective, r.Mode, r.RerankModel, r.RerankTop = hostile+" ", hostile, hostile, 1
	r.Threshold = decimal(hostile)
	r.Filter = matrix.Filter{{Field: hostile, AnyOf: []string{hostile}}}
	for i := range r.Candidates {
		h := &r.Candidates[i]
		h.ID, h.Text, h.Score = hostile, matrix.NewText(hostile), decimal(hostile)
	}
	r.Reranked = r.Candidates
	b.Experiment.Pipeline.Assemble.Budget.Unit = hostile
	for i := range b.Observations.Trials {
		t := &b.Observations.Trials[i]
		t.Answer, t.Reason = matrix.NewText(strings.Repeat(hostile, 10<<20/len(hostile))), hostile
		t.Dropped = []matrix.Dropped{{ID: hostile, Reason: hostile}, {ID: hostile, Reason: matrix.DroppedDuplicate, Of: hostile}}
		for j := range t.Packed {
			t.Packed[j].ID, t.Packed[j].Text = hostile, matrix.NewText(hostile)
		}
	}
	b.Observations.Trials[2].Status, b.Observations.Trials[2].Error = matrix.StatusError, &matrix.CallError{Kind: hostile, Message: hostile}
	e := &b.Evaluation
	e.Summary, e.Story, e.Outcome, e.Qualifier = hostile, hostile, hostile, hostile
	e.Defects = append(e.Defects, verdict.Defect{Stage: hostile, Label: hostile, Grade: hostile, Evidence: []string{hostile}, Decided: hostile, TryFirst: hostile, Wasted: hostile})
	e.Stages = append(e.Stages, verdict.StageState{Stage: hostile, State: verdict.Clear, Tested: hostile}, verdict.StageState{Stage: hostile + "2", State: hostile, Tested: hostile})
	e.Cells = append(e.Cells, verdict.CellResult{Cell: hostile, Planned: 1, Scored: 1, Decision: "fails", Expect: hostile, Held: hostile, Wilson95: []string{hostile, hostile}})
	e.Cells[0].Claims[0].ID = hostile
	e.Checks = append(e.Checks, verdict.Check{Name: hostile, Result: hostile, Evidence: hostile})
	e.Missing, e.Findings = []string{hostile}, []string{hostile}
	e.Retrieval.Gold = append(e.Retrieval.Gold, verdict.GoldRank{Source: hostile})
	return b
}

func hostileSummary() *results.Summary {
	s := travelPolicy()
	s.Name, s.Bundles = hostile, hostile
	s.Setup = results.Setup{Store: hostile, Search: hostile, Reranker: hostile, Generator: hostile, Budget: hostile, K: 2}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.ID, c.Summary, c.Qualifier = hostile, hostile, hostile
		for j := range c.Defects {
			c.Defects[j] = results.DefectSummary{Stage: hostile, Label: hostile, Evidence: []string{hostile}}
		}
		c.Defects = append(c.Defects, c.Defects...)
		c.Risk = matrix.RiskBlocking
	}
	s.Total()
	s.Recall[hostile], s.Metrics["ndcg@"+hostile] = nil, results.Mean{Share: results.Share{Used: 1}}
	s.ByStage = []results.StageCount{{Stage: hostile, Cases: 1}}
	return s
}

// noisy is an execution on a stochastic generator with every outcome.
func noisy() *results.Summary {
	s := travelPolicy()
	s.Setup.Local, s.Setup.Currency = false, "USD"
	outcomes := []verdict.Outcome{verdict.Fail, verdict.Inconclusive, verdict.Environment, verdict.InvalidFixture, verdict.Fail, verdict.Pass, verdict.Pass, verdict.Pass}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Outcome, c.Risk = outcomes[i], matrix.RiskBlocking
		c.Totals.TokensIn, c.Totals.TokensOut = ptr(int64(12345)), ptr(int64(678))
		c.Totals.Paid, c.Totals.CostLeast, c.Totals.CostMicro = c.Totals.Generation, 30_114, ptr(int64(30_114))
		if c.Outcome != verdict.Fail {
			c.Defects = nil
		}
		c.Cells = map[matrix.CellID]results.CellSummary{
			"A": {Trials: 5, Scored: 5, Wilson95: []string{"0.000000", "0.434482"}},
			"B": {Trials: 5, Scored: 5, Pass: 4, Wilson95: []string{"0.375535", "0.963778"}},
		}
	}
	s.Cases[0].Defects = append(s.Cases[0].Defects, results.DefectSummary{Stage: verdict.StageGenerate, Label: "ignored-evidence", Grade: verdict.Inferred, Evidence: []string{"B fails 4 of 5 too"}})
	s.Cases[1].Summary = "context, provisional: about 6 more pairs settle it"
	s.Cases[2].Summary = "3 of 5 production trials: rate-limited"
	s.Cases[3].Summary = "gold text does not support claim \"class\""
	s.Cases[6].Qualifier = verdict.WithoutEvidence
	s.Cases[7].ID = "日本語のとても長いケース識別子がここにあります-0001"
	s.Rebuilt = true
	s.Total()
	return s
}

// reranked is a case whose gold is demoted by the reranker, with a budget cut, a duplicate and a lost item behind it.
func reranked() *results.Bundle {
	b := longHaul()
	r := &b.Observations.Retrievals[0]
	r.K, r.RerankModel, r.RerankTop = 5, "overlap", 3
	r.Reranked = []matrix.Hit{r.Candidates[4], r.Candidates[0], r.Candidates[3], r.Candidates[2], r.Candidates[1]}
	for i := range r.Reranked {
		r.Reranked[i].Rank, r.Reranked[i].Score = i+1, decimal("0.5")
	}
	r.Reranked[1].InputTruncated = true
	f := &b.Features.Retrievals[0]
	f.Gold[0].Reranked, f.Duplicate, f.Forbidden = 4, []int{2}, []int{5}
	a := &b.Observations.Trials[0]
	a.Packed = a.Packed[:1]
	a.Packed[0].Cut = true
	a.Dropped = []matrix.Dropped{{ID: "c09", Rank: 1, Reason: matrix.DroppedBudget, Units: 71}, {ID: "c05", Rank: 3, Reason: matrix.DroppedDuplicate, Of: "c01"}}
	b.Observations.Trials[0].Packed[0].ID = "c07"
	b.Evaluation.Defects = append(b.Evaluation.Defects, verdict.Defect{Stage: verdict.StageRerank, Label: "demoted", Grade: verdict.Verified, Evidence: []string{"rank 3 before, 4 after"}, Decided: "rank before and after: 3, 4"})
	b.Evaluation.Stages[5].State = verdict.Broken
	b.Evaluation.Retrieval.Gold = append(b.Evaluation.Retrieval.Gold, verdict.GoldRank{Source: "c99"})
	b.Observations.Store.Gold = []matrix.GoldFacts{{Requirement: 1, Exact: []string{"c99#3"}}}
	b.Evaluation.Cells[0] = verdict.CellResult{Cell: "A", Planned: 5, Scored: 4, Decision: "fails", Pass: 1, Failed: 1, Wilson95: []string{"0.045587", "0.699358"}}
	for rep := 2; rep <= 5; rep++ {
		again := *a
		again.Rep, again.CallKey = rep, "A"+string(rune('0'+rep))
		if rep == 4 {
			again.Answer = matrix.NewText("Business class, with approval. [c08]")
		}
		if rep == 5 {
			again.Status, again.Error = matrix.StatusError, &matrix.CallError{Kind: "rate-limited", Message: "429, try again in 7 s"}
		}
		b.Observations.Trials = append(b.Observations.Trials, again)
	}
	return b
}

// refusal is a case without gold that passes.
func refusal() *results.Bundle {
	b := longHaul()
	b.Case.ID, b.Case.Query, b.Case.Evidence, b.Case.Claims, b.Case.Expect = "gym-fee", "Is the gym paid for?", matrix.Evidence{}, nil, matrix.ExpectAbstain
	b.Features = verdict.Features{}
	b.Observations.Trials = b.Observations.Trials[2:3]
	b.Observations.Trials[0].Cell = matrix.CellA
	b.Evaluation = verdict.Evaluation{
		Case: "gym-fee", Outcome: verdict.Pass, Qualifier: verdict.CorrectRefusal, Story: "Nothing in the store answers, and the generator said so.",
		Stages: []verdict.StageState{{Stage: verdict.StageAccess, State: verdict.Clear, Tested: "5 of 5 returned items are for the asker"}, {Stage: verdict.StageAbstain, State: verdict.Clear, Tested: "A refuses 1/1"}},
		Cells:  []verdict.CellResult{{Cell: "A", Planned: 1, Scored: 1, Decision: "passes", Pass: 1, Refused: 1, Exact: true}},
	}
	return b
}

// unanswerable is a case without gold that is answered all the same, and shows something to those who may not see it.
func unanswerable() *results.Bundle {
	b := refusal()
	b.Case.Expect = matrix.ExpectClarify
	b.Evaluation.Outcome, b.Evaluation.Qualifier = verdict.Fail, ""
	b.Evaluation.Stages = []verdict.StageState{
		{Stage: verdict.StageAccess, State: verdict.Broken},
		{Stage: verdict.StageIndex, State: verdict.Unobserved, Tested: "the case names no evidence"},
		{Stage: verdict.StageAbstain, State: verdict.Broken},
	}
	b.Evaluation.Defects = []verdict.Defect{{Stage: verdict.StageAccess, Label: "leak", Grade: verdict.Shown}, {Stage: verdict.StageAbstain, Label: "answered-unanswerable", Grade: verdict.Shown}}
	return b
}

// prompted is a case whose texts have lines, indents and what a page would take for its own.
func prompted() *results.Bundle {
	b := longHaul()
	a := &b.Observations.Trials[0]
	a.Prompt = []matrix.PromptMessage{
		{Role: "system", Text: matrix.NewText("Answer from the context.\n\n  - cite the id\n::error::\x1b[2J\r\n")},
		{Role: "user", Text: matrix.NewText(strings.Repeat("Many words of the context. ", 160))},
	}
	a.Answer = matrix.Text{Ref: "sha256:withheld"}
	return b
}

// stoppedEarly is an execution that was stopped after two of nine cases, both of which pass with something to say.
func stoppedEarly() *results.Summary {
	s := travelPolicy()
	s.Cases, s.Planned, s.Stopped = s.Cases[6:], 9, results.StoppedLimit
	s.Setup.Reranker, s.Setup.K, s.Setup.Top = "overlap", 20, 5
	s.Cases[0].Cells["A"] = results.CellSummary{Trials: 5, Scored: 5, Pass: 4, Wilson95: []string{"0.375535", "0.963778"}}
	s.Cases[1].Cells["D/closed-book"] = results.CellSummary{Trials: 1, Scored: 1, Pass: 1, Exact: true}
	s.Cases[1].Findings = []string{
		"memory: D/closed-book passes 1 of 1 without any context", "fixture/gold-id-stale: no item has the source c12; its span stands in c13", "answer: cut",
	}
	s.Total()
	return s
}
