package report

import (
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
	s := &results.Summary{Schema: results.SummarySchema, Execution: "20261129T200000Z-k3f9qa", Name: "travel-policy", WallMS: 212,
		Bundles: "culprit-results/20261129T200000Z-k3f9qa",
		Setup:   results.Setup{Store: "embedded", Search: "keyword", Generator: "extractive", K: 2, Budget: "50 words", Local: true}}
	add := func(id string, outcome verdict.Outcome, qualifier, name verdict.Stage, label, line string, recall map[string]*results.Number, rank *int) {
		c := results.CaseSummary{ID: id, Risk: matrix.RiskInvestigate, Outcome: outcome, Qualifier: string(qualifier), Summary: line,
			Gold: recall != nil, Retrieval: results.RetrievalSummary{Ranks: map[string]*int{}, Recall: recall},
			Cells:  map[matrix.CellID]results.CellSummary{"A": {Trials: 1, Scored: 1, Exact: true}, "D/closed-book": {Trials: 1, Scored: 1, Exact: true}},
			Answer: results.AnswerTotals{Scored: 1, Answered: 1, Copied: 1}, Totals: results.Totals{Calls: 7, Generation: 6, Reused: 1}}
		if name != "" {
			c.Defects = []results.DefectSummary{{Stage: name, Label: label, Evidence: []string{"the second thing that was seen"}}}
		}
		if recall != nil {
			c.Retrieval.Ranks["gold"] = rank
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
	c := matrix.Case{ID: "long-haul-cabin", Query: "Which class must employees book for flights, and is there an exception for long flights?",
		Risk: matrix.RiskInvestigate, Expect: matrix.ExpectAnswer, As: matrix.Principal{"groups": {"employees", "managers"}, "tenant": {"acme"}},
		Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "c08", Span: "business class"}}}},
			Distractors: []matrix.Distractor{{Source: "c05", Kind: matrix.Superseded}}},
		Claims: []matrix.Claim{{ID: "class"}, {ID: "approval"}}}
	e := matrix.Experiment{Name: "travel-policy", Pipeline: matrix.Pipeline{Search: matrix.Search{Mode: "keyword", K: 2, Depth: 200},
		Assemble: matrix.Assemble{Budget: matrix.Budget{N: 50, Unit: "words"}}}}
	r := matrix.Retrieval{CallKey: "r1", Cell: matrix.CellC, Query: c.Query, QueryEffective: "class book flights exception long", Mode: "keyword", K: 2, Depth: 200, Status: matrix.StatusOK,
		Filter: matrix.Filter{{Field: "tenant", AnyOf: []string{"acme"}}, {Field: "status", AnyOf: []string{"draft", "old"}, Not: true}},
		Candidates: []matrix.Hit{hit(1, "c01", "8.6123", economy), hit(2, "c02", "5.5", "Meals on flights of the company are paid for by the company."),
			hit(3, "c08", "3.61", exception), hit(4, "c05", "1.2", "Old rule: all flights longer than 6 hours in business class."), hit(5, "c09", "0.2", "Hotels.")}}
	trial := func(cell matrix.CellID, answer string, packed ...matrix.Packed) matrix.Trial {
		return matrix.Trial{CallKey: string(cell), Cell: cell, Rep: 1, Retrieval: "r1", Packed: packed, Answer: matrix.NewText(answer), Status: matrix.StatusOK, PromptTokensLocal: 112, Usage: matrix.Usage{InputTokens: ptr(104)}}
	}
	a := trial("A", economy+" [c01]", matrix.Packed{Position: 1, ID: "c01", Units: 15, Text: matrix.NewText(economy)}, matrix.Packed{Position: 2, ID: "c02", Units: 11, Text: r.Candidates[1].Text})
	return &results.Bundle{Dir: "culprit-results/20261129T200000Z-k3f9qa/long-haul-cabin.bundle", Case: c, Experiment: e, Status: results.StatusComplete,
		Observations: matrix.Observations{Store: matrix.StoreFacts{Scan: matrix.ScanFacts{Scanned: 14, Counted: 14, Complete: true}},
			Retrievals: []matrix.Retrieval{r},
			Trials: []matrix.Trial{a, trial("B", exception+" [c08]", matrix.Packed{Position: 1, ID: "c08", Units: 18, Gold: true, Text: matrix.NewText(exception)}),
				trial("D/drop-span:c08", "I don't know."), trial("D/closed-book", "I don't know."),
				{CallKey: "x", Cell: "D/gold-first", Rep: 1, Status: matrix.StatusNotRun, Reason: matrix.IfGoldPacked}}},
		Features: verdict.Features{Retrievals: []verdict.RetrievalFeatures{{Cell: "C", Gold: []verdict.Place{{BySpan: 3, BySource: 3, ID: "c08"}}}},
			Trials: []verdict.TrialFeatures{{CallKey: "A", Cell: "A", Rep: 1, Gold: []verdict.GoldPlace{{}}}}},
		Evaluation: verdict.Evaluation{Case: c.ID, Outcome: verdict.Fail, Summary: "gold c08: rank 3, cutoff 2; gold context restores 1/1",
			Story: "The evidence is in the store and was found, but ranked 3 where only 2 are passed on. With the evidence in the prompt the same generator answers correctly, so nothing after the search is at fault here.",
			Defects: []verdict.Defect{{Stage: verdict.StageRetrieve, Label: "below-cutoff", Grade: verdict.Shown, Rule: "R4", Evidence: []string{"gold c08 is ranked 3 of 5", "k is 2"},
				Decided: "rank of the gold item in the full ranking: 3 > 2", TryFirst: "a reranker, or a larger k together with a larger budget: culprit sweep --case long-haul-cabin",
				Wasted: "prompt edits: the model never saw the exception"}},
			Stages: []verdict.StageState{{Stage: verdict.StageFixture, State: verdict.Clear, Tested: "gold text supports every claim; a wrong answer is refused"},
				{Stage: verdict.StageAccess, State: verdict.Clear, Tested: "5 of 5 returned items are for the asker"},
				{Stage: verdict.StageIndex, State: verdict.Clear, Tested: "span found in c08 by a scan of 14 of 14 items"}, {Stage: verdict.StageEmbed, State: verdict.NotUsed},
				{Stage: verdict.StageRetrieve, State: verdict.Broken}, {Stage: verdict.StageRerank, State: verdict.NotUsed},
				{Stage: verdict.StageAssemble, State: verdict.NotReached}, {Stage: verdict.StagePrompt, State: verdict.Unobserved, Tested: "no trial had the gold in A's context"},
				{Stage: verdict.StageGenerate, State: verdict.Clear, Tested: "B passes 1/1 under the same settings"}, {Stage: verdict.StageAbstain, State: verdict.NotUsed}},
			Cells: []verdict.CellResult{{Cell: "A", Planned: 1, Scored: 1, Exact: true, Claims: []verdict.ClaimCount{{ID: "class", Met: 0, N: 1}, {ID: "approval", Met: 0, N: 1}}},
				{Cell: "B", Planned: 1, Scored: 1, Pass: 1, Exact: true, Claims: []verdict.ClaimCount{{ID: "class", Met: 1, N: 1}, {ID: "approval", Met: 1, N: 1}}},
				{Cell: "D/drop-span:c08", Planned: 1, Scored: 1, Exact: true, Expect: matrix.ExpectAbstains, Held: matrix.Yes, Claims: []verdict.ClaimCount{{ID: "class", N: 1}, {ID: "approval", N: 1}}},
				{Cell: "D/gold-first", Planned: 1, NotRun: 1, Reason: matrix.IfGoldPacked},
				{Cell: "D/closed-book", Planned: 1, Scored: 1, Exact: true, Expect: matrix.ExpectAbstains, Held: matrix.Yes}},
			Checks:    []verdict.Check{{Name: "corpus_hit", Result: matrix.Yes}, {Name: "fresh", Result: matrix.Unknown, Evidence: "no field for the source's time"}},
			Retrieval: verdict.RetrievalResult{Gold: []verdict.GoldRank{{Source: "c08", ID: "c08", Rank: ptr(3)}}},
			Findings:  []string{"the generator reported 104 input tokens where 112 were counted here"}}}
}
