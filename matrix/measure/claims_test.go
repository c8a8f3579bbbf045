package measure

import "testing"

type texts struct{ Retrieved, Reference []string }

func checkTexts(of func(retrieved, reference []string) Value) func(t *testing.T, v vector) {
	return func(t *testing.T, v vector) {
		var in texts
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, of(in.Retrieved, in.Reference), v.Tol)
	}
}

// bits reads "0110".
func bits(text string) []bool {
	out := make([]bool, len(text))
	for i := range text {
		out[i] = text[i] == '1'
	}
	return out
}

func table2(rows []string) (out [][]bool) {
	for _, row := range rows {
		out = append(out, bits(row))
	}
	return out
}

var claimChecks = map[string]func(t *testing.T, v vector){
	"ragas_context_precision": func(t *testing.T, v vector) {
		var in struct{ Verdicts []int }
		decode(t, v.In, &in)
		var useful []bool
		for _, verdict := range in.Verdicts {
			useful = append(useful, verdict == 1)
		}
		got := ContextPrecision(useful)
		if got.Reason() == NoneUseful { // Ragas gives 0; to us there is no value
			if string(v.Out) != "0.0" {
				t.Errorf("want %s, got %v", v.Out, got)
			}
			return
		}
		checkValue(t, v.ID, v.Out, got, v.Tol)
	},
	"levenshtein_similarity": func(t *testing.T, v vector) {
		var in struct{ A, B string }
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, Similarity(in.A, in.B), v.Tol)
		checkValue(t, v.ID+" turned round", v.Out, Similarity(in.B, in.A), v.Tol)
	},
	"ragas_nonllm_context_recall":    checkTexts(TextContextRecall),
	"ragas_nonllm_context_precision": checkTexts(TextContextPrecision),
	"ragas_id_precision":             checkTexts(IDContextPrecision),
	"ragas_id_recall":                checkTexts(IDContextRecall),
	"ragchecker": func(t *testing.T, v vector) {
		var in struct {
			A2R, R2A          string
			Ret2Ans, Ret2Resp []string
		}
		var want map[string]float64
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		c := Claims{
			Correct: bits(in.A2R), InResponse: bits(in.R2A), GoldIn: table2(in.Ret2Ans), ResponseIn: table2(in.Ret2Resp),
			Chunks: len(in.Ret2Ans[0]),
		}
		m := CheckClaims(c)
		got := map[string]Value{
			"precision": m.Precision, "recall": m.Recall, "f1": m.F1, "claim_recall": m.ClaimRecall, "context_precision": m.ContextPrecision,
			"context_utilization":             m.ContextUtilization, //nolint:misspell // RAGChecker's name
			"noise_sensitivity_in_relevant":   m.NoiseRelevant,
			"noise_sensitivity_in_irrelevant": m.NoiseIrrelevant, "hallucination": m.Hallucination,
			"self_knowledge": m.SelfKnowledge, "faithfulness": m.Faithfulness,
		}
		if len(got) != len(want) {
			t.Errorf("%d metrics, want %d", len(got), len(want))
		}
		for name, value := range got {
			near(t, name, want[name], value.Float(), v.Tol)
		}
		near(t, "supported or not", 1, m.Faithfulness.Float()+m.Hallucination.Float()+m.SelfKnowledge.Float(), 1e-12)
		near(t, "wrong", 1-m.Precision.Float(), m.NoiseRelevant.Float()+m.NoiseIrrelevant.Float()+m.Hallucination.Float(), 1e-12)
	},
}

func TestClaimsWithoutValue(t *testing.T) {
	t.Parallel()
	ragged := CheckClaims(Claims{Correct: []bool{true}, Chunks: 1})
	nothing := CheckClaims(Claims{})
	unsupported := CheckClaims(Claims{InResponse: []bool{true}, GoldIn: [][]bool{{false}}, Correct: []bool{true}, ResponseIn: [][]bool{{false}}, Chunks: 1})
	for _, tt := range []struct {
		name   string
		got    Value
		reason string
	}{
		{"a judgement is missing", ragged.Faithfulness, Ragged},
		{"no claims in the response", nothing.Precision, NoStatements},
		{"no claims in the gold answer", nothing.Recall, NoReference},
		{"neither", nothing.F1, NoStatements},
		{"no chunks", nothing.ContextPrecision, NoItems},
		{"nothing supported", unsupported.ContextUtilization, NoSupport},
		{"no reference texts", TextContextRecall([]string{"a"}, nil), NoReference},
		{"no retrieved texts", TextContextPrecision(nil, []string{"a"}), NoItems},
		{"no retrieved ids", IDContextPrecision(nil, []string{"a"}), NoItems},
		{"no reference ids", IDContextRecall([]string{"a"}, nil), NoReference},
	} {
		if tt.got.OK() || tt.got.Reason() != tt.reason {
			t.Errorf("%s: want %q, got %v", tt.name, tt.reason, tt.got)
		}
	}
	if f1 := CheckClaims(Claims{Correct: []bool{false}, ResponseIn: [][]bool{{}}, InResponse: []bool{false}, GoldIn: [][]bool{{}}}).F1; f1.Decimal() != "0.000000" {
		t.Errorf("F1 of nothing right is %v", f1)
	}
}

// TestHalfIsPreciseButNotRecalled: the two non-LLM metrics of Ragas compare differently.
func TestHalfIsPreciseButNotRecalled(t *testing.T) {
	t.Parallel()
	one, other := []string{"ab"}, []string{"ac"}
	if s := Similarity("ab", "ac"); s.Decimal() != "0.500000" {
		t.Fatalf("similarity %v", s)
	}
	if p, r := TextContextPrecision(one, other), TextContextRecall(one, other); p.Decimal() != "1.000000" || r.Decimal() != "0.000000" {
		t.Errorf("precision %v, recall %v", p, r)
	}
	if s := Similarity("über", "uber"); s.Decimal() != "0.750000" {
		t.Errorf("characters, not bytes: %v", s)
	}
}

func TestExponentialNDCG(t *testing.T) {
	t.Parallel()
	r := Judge([]string{"b", "a"}, map[string]int{"a": 3, "b": 1})
	// (1 + 7/log2(3)) / (7 + 1/log2(3))
	near(t, "exponential", 0.7098097, r.ExponentialNDCG(0).Float(), 1e-6)
	if linear := r.NDCG(0); linear.Decimal() == r.ExponentialNDCG(0).Decimal() {
		t.Errorf("both are %v", linear)
	}
	if one := Judge([]string{"x", "a"}, map[string]int{"a": 1}); one.NDCG(0).Decimal() != one.ExponentialNDCG(0).Decimal() {
		t.Errorf("%v and %v of a grade of 1", one.NDCG(0), one.ExponentialNDCG(0))
	}
	if huge := Judge([]string{"a"}, map[string]int{"a": 31}).ExponentialNDCG(0); huge.OK() || huge.Reason() == "" {
		t.Errorf("got %v", huge)
	}
}
