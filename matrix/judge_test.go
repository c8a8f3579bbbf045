package matrix

import "testing"

func TestJudgeJudges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		named, cell CellID
		want        bool
	}{
		{"A", "A", true},
		{"A", "B", false},
		{"A", CellAgain, false},
		{"B", "B", true},
		{"D", "D/closed-book", true},
		{"D", "D/drop-span:hr", true},
		{"D/drop-span", "D/drop-span:hr", true},
		{"D/drop-span:hr", "D/drop-span:hr", true},
		{"D/drop-span:hr", "D/drop-span:other", false},
		{"D/gold-first", "D/gold-last", false},
	} {
		if got := (&Judge{Cells: []CellID{test.named}}).Judges(test.cell); got != test.want {
			t.Errorf("%s judges %s: want %v, got %v", test.named, test.cell, test.want, got)
		}
	}
	if (*Judge)(nil).Judges(CellA) || (*Judge)(nil).Asks() {
		t.Error("no judge judges")
	}
}

func TestClaimStatement(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		claim     Claim
		want      string
		forbidden bool
	}{
		{"the sentence", Claim{Says: "It is forty.", Any: []string{"40"}}, "It is forty.", false},
		{"the wordings, without expressions", Claim{Any: []string{"forty crowns", "/forty.*/", "40 crowns"}}, `"forty crowns" or "40 crowns"`, false},
		{"what must never be said, whatever the sentence says of it", Claim{Says: "not the old fee", Never: []string{"thirty crowns"}}, `"thirty crowns"`, true},
		{"the sentence, where both are given", Claim{Says: "It is forty.", Any: []string{"40"}, Never: []string{"30"}}, "It is forty.", false},
		{"expressions alone", Claim{Any: []string{"/x/"}}, "", false},
		{"citations alone", Claim{Cites: []string{"doc"}}, "", false},
		{"a slash is no expression", Claim{Any: []string{"/"}}, `"/"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, forbidden := test.claim.Statement()
			if got != test.want || forbidden != test.forbidden {
				t.Errorf("want %s (forbidden %v), got %s (forbidden %v)", test.want, test.forbidden, got, forbidden)
			}
		})
	}
}

func TestPlanCountsJudgements(t *testing.T) {
	t.Parallel()
	gold := func(source string) Requirement { return Requirement{AnyOf: []Gold{{Source: source, Span: "s"}}} }
	c := &Case{
		ID: "c", Query: "q", Expect: ExpectAnswer,
		Evidence: Evidence{Required: []Requirement{gold("one"), gold("two")}},
		Claims:   []Claim{{ID: "fee", Says: "It is forty."}, {ID: "not", Never: []string{"thirty"}}, {ID: "cited", Cites: []string{"one"}}},
	}
	for _, test := range []struct {
		name  string
		judge *Judge
		want  int
	}{
		{"no judge", nil, 0},
		{"claims with a statement, of each repeat of A and B", &Judge{Claims: true, Cells: []CellID{"A", "B"}}, 2 * 3 * 2},
		{"two for faithfulness", &Judge{Faithfulness: true, Cells: []CellID{"A"}}, 3 * 2},
		{"one where there is no context", &Judge{Faithfulness: true, ContextPrecision: true, ContextRecall: true, Cells: []CellID{"D/closed-book"}}, 3},
		{"one for each item of production", &Judge{ContextPrecision: true, Cells: []CellID{"A"}}, 5},
		{"one for each piece of gold, and for the others of a perturbation", &Judge{ContextPrecision: true, Cells: []CellID{"B", "D/drop-span"}}, 2 + 1 + 1},
		{"one for each seeded item beside the gold, too", &Judge{ContextPrecision: true, Cells: []CellID{"D/noise", "D/position:2"}}, 2 + 4 + 2 + 2},
		{"one for a context", &Judge{ContextRecall: true, Cells: []CellID{"A", "B"}}, 2},
		{"one for the questions", &Judge{AnswerRelevancy: &AnswerRelevancy{Questions: 3}, Cells: []CellID{"A"}}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := &Experiment{Pipeline: Pipeline{Search: Search{Mode: ModeKeyword, K: 5}}, Runs: Runs{Repeats: 3, Perturbations: Perturbations(), Noise: []int{4}, Positions: 3}, Judge: test.judge}
			p, err := Expand(e, c, false)
			if err != nil {
				t.Fatal(err)
			}
			if p.Judgements != test.want {
				t.Errorf("want %d judgements, got %d", test.want, p.Judgements)
			}
		})
	}
}

// TestJudgementsAreObserved: a judgement is part of what was seen, but for when and how fast, and its texts are known to who keeps them.
func TestJudgementsAreObserved(t *testing.T) {
	t.Parallel()
	j := Judgement{
		CallKey: "k", Kind: JudgeClaim, Prompt: []PromptMessage{{Role: "user", Text: NewText("asked")}}, Response: NewText("answered"), Quote: NewText("quoted"),
		Statements: []Text{NewText("one"), NewText("two")}, Questions: []Text{NewText("why")}, Status: StatusOK, RequestID: "r", At: "now", LatencyMS: 7, Attempts: 2,
	}
	digest := func(j Judgement) string {
		d, err := (&Observations{Judgements: []Judgement{j}}).Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	later := j
	later.RequestID, later.At, later.LatencyMS, later.Attempts = "other", "later", 70, 1
	if digest(j) != digest(later) {
		t.Error("the time of a judgement changes what was observed")
	}
	other := j
	other.Word = Entailed
	if digest(j) == digest(other) {
		t.Error("the word of a judgement does not change what was observed")
	}
	seen := map[string]bool{}
	o := Observations{Judgements: []Judgement{j}}
	if err := o.Texts(func(text *Text) error { seen[text.Value] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"asked", "answered", "quoted", "one", "two", "why"} {
		if !seen[want] {
			t.Errorf("the text %q is not visited", want)
		}
	}
}
