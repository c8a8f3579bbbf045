package measure

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// vector is one entry of testdata: computed by one implementation and recomputed by another, or published, as source says.
type vector struct {
	ID     string          `json:"id"`
	Fn     string          `json:"fn"`
	In     json.RawMessage `json:"in"`
	Out    json.RawMessage `json:"out"`
	Source string          `json:"source"`
	Tol    float64         `json:"tol"`
}

func vectors(t *testing.T, file string) []vector {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	decode(t, data, &all)
	return all
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func near(t *testing.T, what string, want, got, tolerance float64) {
	t.Helper()
	if !(math.Abs(want-got) <= tolerance) {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}

var intervalChecks = map[string]func(t *testing.T, v vector){
	"wilson": func(t *testing.T, v vector) { checkInterval(t, v, Wilson) },
	"clopper_pearson": func(t *testing.T, v vector) {
		checkInterval(t, v, func(k, n int, level float64) (lo, hi float64) {
			alpha := (1 - level) / 2
			return ClopperPearsonLower(k, n, alpha).Float(), ClopperPearsonUpper(k, n, alpha).Float()
		})
	},
	"jeffreys": func(t *testing.T, v vector) { checkInterval(t, v, Jeffreys) },
	"cp_lower_onesided": func(t *testing.T, v vector) {
		var in struct {
			K, N  int
			Alpha float64
		}
		decode(t, v.In, &in)
		checkValue(t, v.ID, v.Out, ClopperPearsonLower(in.K, in.N, in.Alpha), v.Tol)
	},
	"t_quantile": func(t *testing.T, v vector) {
		var in struct{ P, DF float64 }
		var want float64
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		near(t, v.ID, want, student(in.P, in.DF), v.Tol)
	},
}

func checkInterval(t *testing.T, v vector, interval func(k, n int, level float64) (lo, hi float64)) {
	t.Helper()
	var in struct {
		K, N  int
		Level float64
	}
	decode(t, v.In, &in)
	lo, hi := interval(in.K, in.N, in.Level)
	checkEnds(t, v, lo, hi)
}

func checkEnds(t *testing.T, v vector, lo, hi float64) {
	t.Helper()
	var want [2]float64
	decode(t, v.Out, &want)
	near(t, "lo", want[0], lo, v.Tol)
	near(t, "hi", want[1], hi, v.Tol)
}

// TestClopperPearsonIsExact: the bound is the last multiple of 2^-50 at which the tail is below alpha, wherever the search for it began.
func TestClopperPearsonIsExact(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 7, 20, 50, 300} {
		for k := 1; k <= n; k += max(1, n/9) {
			for _, alpha := range []float64{1e-9, 0.01, 0.025, 0.05, 0.5, 0.999} {
				lo := number().SetRat(ClopperPearsonLower(k, n, alpha).rat())
				level, step := number().SetFloat64(alpha), number().SetMantExp(number().SetInt64(1), -boundBits)
				if tail(k, n, lo).Cmp(level) >= 0 || tail(k, n, step.Add(lo, step)).Cmp(level) < 0 {
					t.Errorf("%d/%d at %v: %v", k, n, alpha, lo)
				}
			}
		}
	}
}

// TestClopperPearsonAgreesWithGonum: gonum's beta quantile is the reference, though its last bits depend on the processor.
func TestClopperPearsonAgreesWithGonum(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 7, 20, 50, 300} {
		for k := 1; k <= n; k += max(1, n/9) {
			want := distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(0.05)
			near(t, strconv.Itoa(k)+"/"+strconv.Itoa(n), want, ClopperPearsonLower(k, n, 0.05).Float(), 1e-9)
		}
	}
}

func TestWilsonDecimals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		k, n int
		want Interval
	}{
		{0, 0, Interval{"0.000000", "1.000000"}},
		{0, 5, Interval{"0.000000", "0.434482"}},
		{4, 5, Interval{"0.375535", "0.963776"}},
		{5, 5, Interval{"0.565518", "1.000000"}},
		{47, 50, Interval{"0.837829", "0.979385"}},
	} {
		if got, ok := Wilson95(tt.k, tt.n); !ok || got != tt.want {
			t.Errorf("%d/%d: want %v, got %v", tt.k, tt.n, tt.want, got)
		}
	}
	for _, bad := range [][2]int{{-1, 5}, {6, 5}, {0, -1}} {
		if i, ok := Wilson95(bad[0], bad[1]); ok {
			t.Errorf("%v: got %v", bad, i)
		}
		if v := ClopperPearsonLower(bad[0], bad[1], 0.05); v.OK() || v.Reason() == "" {
			t.Errorf("%v: got %v", bad, v)
		}
	}
}

type topic struct {
	ranking Ranking
	order   []string
}

func readTopic(t *testing.T, v vector) topic {
	t.Helper()
	var in struct {
		Qrels   map[string]int
		Run     map[string]float64
		Float32 bool
	}
	decode(t, v.In, &in)
	if in.Float32 { // as trec_eval before 9.0.8 kept them
		for id, score := range in.Run {
			in.Run[id] = float64(float32(score))
		}
	}
	order := TrecOrder(in.Run)
	return topic{Judge(order, in.Qrels), order}
}

// metric reads trec_eval's names.
func metric(t *testing.T, r Ranking, name string) Value {
	t.Helper()
	k := 0
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil {
			name, k = name[:i], n
		}
	}
	switch name {
	case "num_rel":
		return fraction(int64(r.gold), 1)
	case "map", "map_cut":
		return r.AveragePrecision(k)
	case "recip_rank":
		return r.ReciprocalRank()
	case "P":
		return r.Precision(k)
	case "recall":
		return r.Recall(k)
	case "success":
		return r.Hit(k)
	case "ndcg", "ndcg_cut":
		return r.NDCG(k)
	}
	t.Fatalf("no metric %q", name)
	return Value{}
}

// topics are those of the seven that trec_eval averaged.
func topics(t *testing.T) (all []topic) {
	t.Helper()
	var vs []vector
	readTable(t, "6_retrieval", &vs)
	for _, v := range vs {
		if v.Fn == "trec_eval_per_topic" && strings.HasPrefix(v.ID, "trec_t") {
			all = append(all, readTopic(t, v))
		}
	}
	return all
}

var retrievalChecks = map[string]func(t *testing.T, v vector){
	"trec_eval_per_topic": func(t *testing.T, v vector) {
		top := readTopic(t, v)
		var out struct {
			Order    []string
			Measures map[string]float64
		}
		decode(t, v.Out, &out)
		if out.Order != nil && !slices.Equal(out.Order, top.order) {
			t.Errorf("want order %v, got %v", out.Order, top.order)
		}
		for name, want := range out.Measures {
			got := metric(t, top.ranking, name)
			if got.Reason() == NoGold && name != "num_rel" { // trec_eval counts such a topic as 0; to us it has no value
				near(t, name+" without gold", want, 0, 0)
				continue
			}
			near(t, name, want, got.Float(), v.Tol)
		}
	},
	"trec_order": func(t *testing.T, v vector) {
		var out struct {
			Order []string
			RR    float64 `json:"recip_rank"`
		}
		decode(t, v.Out, &out)
		order := readTopic(t, v).order
		if !slices.Equal(order, out.Order) {
			t.Errorf("want %v, got %v", out.Order, order)
		}
		near(t, "RR of the higher score", out.RR, Judge(order, map[string]int{"hi": 1}).ReciprocalRank().Float(), v.Tol)
	},
	"trec_eval_all": func(t *testing.T, v vector) { // a topic without gold counts as 0
		checkMeans(t, v, func(mean Value, used, all int) float64 { return mean.Float() * float64(used) / float64(all) })
	},
	"ours_mean_excluding_no_gold": func(t *testing.T, v vector) {
		checkMeans(t, v, func(mean Value, used, all int) float64 {
			if used != all-1 {
				t.Errorf("%d of %d topics used", used, all)
			}
			return mean.Float()
		})
	},
}

func checkMeans(t *testing.T, v vector, of func(mean Value, used, all int) float64) {
	t.Helper()
	var want map[string]float64
	decode(t, v.Out, &want)
	for name, want := range want {
		var values []Value
		for _, top := range topics(t) {
			values = append(values, metric(t, top.ranking, name))
		}
		mean, used := Mean(values)
		near(t, name, want, of(mean, used, len(values)), v.Tol)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	r := JudgeGroups([]int{2, 0, 2, 5}, 6) // four requirements: two in one item, one missing
	for _, tt := range []struct {
		name string
		got  Value
		want string
	}{
		{"hit@1", r.Hit(1), "0.000000"},
		{"hit@2", r.Hit(2), "1.000000"},
		{"recall@2", r.Recall(2), "0.500000"},
		{"recall@5", r.Recall(5), "0.750000"},
		{"recall far behind the list", r.Recall(1000), "0.750000"},
		{"complete@6", r.Complete(6), "0.000000"},
		{"complete", JudgeGroups([]int{1, 3}, 3).Complete(3), "1.000000"},
		{"precision@2", r.Precision(2), "0.500000"},
		{"precision@10 is padded", r.Precision(10), "0.200000"},
		{"precision@ret", r.PrecisionReturned(10), "0.333333"},
		{"RR", r.ReciprocalRank(), "0.500000"},
		{"AP", r.AveragePrecision(0), "0.350000"}, // (1/2 + 1/2 + 2/5) / 4
		{"AP@2", r.AveragePrecision(2), "0.250000"},
		{"nDCG of the best order", JudgeGroups([]int{1, 1, 2}, 2).NDCG(2), "1.000000"},
		{"nDCG at rank 3", JudgeGroups([]int{3}, 5).NDCG(5), "0.500000"}, // 1/log2(4)
		{"nDCG beyond", JudgeGroups([]int{3}, 5).NDCG(2), "0.000000"},
		{"nothing returned", JudgeGroups([]int{0}, 0).NDCG(5), "0.000000"},
		{"nothing returned, precision", JudgeGroups([]int{0}, 0).PrecisionReturned(5), "0.000000"},
	} {
		if got := tt.got.Decimal(); got != tt.want {
			t.Errorf("%s: want %s, got %s (%s)", tt.name, tt.want, got, tt.got.Reason())
		}
	}
	if num, den, ok := r.Recall(5).Fraction(); !ok || num.Int64() != 3 || den.Int64() != 4 {
		t.Errorf("recall@5 is %v/%v", num, den)
	}
	if _, _, ok := r.NDCG(5).Fraction(); ok {
		t.Error("nDCG is shown as a fraction of integers")
	}
}

func TestNoValue(t *testing.T) {
	t.Parallel()
	empty := Judge([]string{"a"}, map[string]int{"a": 0, "b": -1})
	for name, v := range map[string]Value{
		"hit": empty.Hit(1), "recall": empty.Recall(1), "complete": empty.Complete(1), "precision": empty.Precision(1),
		"RR": empty.ReciprocalRank(), "AP": empty.AveragePrecision(0), "nDCG": empty.NDCG(1), "groups": JudgeGroups(nil, 3).Recall(1),
	} {
		if v.OK() || v.Reason() != NoGold || v.Decimal() != "" {
			t.Errorf("%s without gold: %v", name, v)
		}
	}
	if v := JudgeGroups([]int{1}, 1).Recall(0); v.OK() || v.Reason() == "" {
		t.Errorf("recall@0: %v", v)
	}
	if v, used := Mean([]Value{empty.Hit(1)}); v.OK() || used != 0 || v.Reason() != NoValues {
		t.Errorf("mean of nothing: %v, %d", v, used)
	}
}

func TestDuplicatesKeepTheirFirstPlace(t *testing.T) {
	t.Parallel()
	r := Judge([]string{"x", "x", "a", "a"}, map[string]int{"a": 1})
	if got := r.ReciprocalRank().Decimal(); got != "0.500000" {
		t.Errorf("RR is %s", got)
	}
	if got := r.Precision(2).Decimal(); got != "0.500000" {
		t.Errorf("precision@2 is %s", got)
	}
}

// TestLog2 holds the fixed-point logarithm against the float one, and its powers of two to being exact.
func TestLog2(t *testing.T) {
	t.Parallel()
	for n := int64(2); n < 3000; n++ {
		got := ratio(log2(n), log2(2)).Float()
		near(t, strconv.FormatInt(n, 10), math.Log2(float64(n)), got, 1e-14)
	}
	for p := int64(1); p < 40; p++ {
		if got := ratio(log2(1<<p), log2(2)); got.Decimal() != strconv.FormatInt(p, 10)+".000000" || got.rat().Denom().Int64() != 1 {
			t.Errorf("log2(2^%d) is %s", p, got.rat())
		}
	}
}

func BenchmarkNDCG(b *testing.B) {
	r := JudgeGroups([]int{3, 17, 150}, 200)
	for b.Loop() {
		r.NDCG(0)
	}
}

func BenchmarkClopperPearsonLowerFirstUse(b *testing.B) {
	for b.Loop() {
		bound{17, 50, 0.05}.lower()
	}
}

// BenchmarkCase is the arithmetic of one verdict of 50 trials of each arm, results kept from other cases.
func BenchmarkCase(b *testing.B) {
	production, gold := make([]bool, 50), make([]bool, 50)
	kA, kB := 0, 0
	for i := range production {
		production[i], gold[i] = i%3 != 0, i%4 != 0
		if production[i] {
			kA++
		}
		if gold[i] {
			kB++
		}
	}
	s := Sequential{0.5, 0.8, 1e-6} // is not decided before the last trial
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(production)
		s.Decide(gold)
		for n := range production {
			LogEvidence(kA*n/50, kB*n/50, n)
			LogEvidence(kB*n/50, kA*n/50, n)
		}
		ConfidenceSequence(50, kA, 0.05)
		ConfidenceSequence(50, kB, 0.05)
		ClopperPearsonLower(kB, 50, 0.05)
		FixedVerdict(50, kA, 0.5, 0.8, 0.05, true)
		Boschloo(kA, 50, kB, 50)
		Newcombe(kA, 50, kB, 50, 0.9)
		MorePairs(kA, kB, 50, 50, 0.05)
	}
}
