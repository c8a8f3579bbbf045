package measure

import (
	"encoding/json"
	"math"
	"testing"
)

func readAgreement(t *testing.T, v vector) Agreement {
	t.Helper()
	var in struct{ A, B, C, D int }
	decode(t, v.In, &in)
	return Agreement{in.A, in.B, in.C, in.D}
}

var agreementChecks = map[string]func(t *testing.T, v vector){
	"kappa": func(t *testing.T, v vector) {
		var want struct{ Kappa, SE json.RawMessage }
		decode(t, v.Out, &want)
		kappa, se := readAgreement(t, v).Kappa()
		checkValue(t, "kappa", want.Kappa, kappa, v.Tol)
		checkValue(t, "error", want.SE, se, v.Tol)
	},
	"ac1": func(t *testing.T, v vector) {
		var want struct{ AC1, SE json.RawMessage }
		decode(t, v.Out, &want)
		ac1, se := readAgreement(t, v).AC1()
		checkValue(t, "AC1", want.AC1, ac1, v.Tol)
		checkValue(t, "error", want.SE, se, v.Tol)
	},
	"rogan_gladen": func(t *testing.T, v vector) {
		var in struct {
			Q, SE, SP, Alpha float64
			N, NSE, NSP      int
		}
		var want struct {
			Point json.RawMessage
			CI    []float64
		}
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		count := func(rate float64, n int) Count { return Count{int(math.Round(rate * float64(n))), n} }
		got := RoganGladen(count(in.Q, in.N), count(in.SE, in.NSE), count(in.SP, in.NSP), in.Alpha)
		checkValue(t, "point", want.Point, got.Point, v.Tol)
		if len(want.CI) == 0 {
			if got.Lo.OK() || got.Hi.OK() || got.Lo.Reason() != NoBetter {
				t.Errorf("interval %v to %v", got.Lo, got.Hi)
			}
			return
		}
		near(t, "lo", want.CI[0], got.Lo.Float(), v.Tol)
		near(t, "hi", want.CI[1], got.Hi.Float(), v.Tol)
	},
	"ppi_mean": func(t *testing.T, v vector) {
		var in struct {
			Unlabelled string `json:"f_unl"`
			Y          []int
			F          []int           `json:"f_lab"`
			Lam        json.RawMessage `json:"lam"`
			Alpha      float64
		}
		var want struct{ Lam, Theta, SE, Lo, Hi float64 }
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		if in.Unlabelled != "70 ones, 30 zeros" {
			t.Fatalf("unlabelled: %s", in.Unlabelled)
		}
		var labels Agreement
		for i, y := range in.Y {
			*map[[2]int]*int{{1, 1}: &labels.BothPass, {0, 1}: &labels.JudgePass, {1, 0}: &labels.HumanPass, {0, 0}: &labels.BothFail}[[2]int{y, in.F[i]}]++
		}
		p, ok := Predict(Count{70, 100}, labels, string(in.Lam) == `"auto"`)
		if !ok {
			t.Fatal("nothing is predicted")
		}
		near(t, "weight", want.Lam, p.Weight, v.Tol)
		near(t, "rate", want.Theta, p.Rate, v.Tol)
		near(t, "error", want.SE, p.Error, v.Tol)
		near(t, "lo", want.Lo, p.Rate-p.half(in.Alpha), v.Tol)
		near(t, "hi", want.Hi, p.Rate+p.half(in.Alpha), v.Tol)
		lo, hi := p.Interval(in.Alpha) // the vectors have fewer labels than a normal interval needs
		wider := 1 - math.Pow(in.Alpha, 1./20)
		near(t, "wider lo", want.Lo-wider, lo, v.Tol)
		near(t, "wider hi", min(1, want.Hi+wider), hi, v.Tol)
	},
	"min_labels": func(t *testing.T, v vector) {
		var in struct {
			Target, Alpha float64
			Errors        []int
		}
		var want []int
		decode(t, v.In, &in)
		decode(t, v.Out, &want)
		for i, errors := range in.Errors {
			if got := MinimumLabels(in.Target, errors, in.Alpha); got != want[i] {
				t.Errorf("%d errors: want %d, got %d", errors, want[i], got)
			}
		}
	},
}

func TestAgreementWithoutValue(t *testing.T) {
	t.Parallel()
	value := func(v, _ Value) Value { return v }
	for name, v := range map[string]Value{
		"no labels, kappa":       value(Agreement{}.Kappa()),
		"no labels, AC1":         value(Agreement{}.AC1()),
		"impossible":             value(Agreement{5, -1, 0, 3}.Kappa()),
		"no failing label":       Agreement{5, 0, 1, 0}.Specificity().Rate(),
		"no judged output":       RoganGladen(Count{}, Count{9, 10}, Count{9, 10}, 0.05).Point,
		"smoothed to chance":     RoganGladen(Count{1, 2}, Count{1, 1}, Count{1, 3}, 0.05).Lo,
		"margin without a label": JudgedMargin(0.1, Agreement{}, 0.05),
		"margin of chance":       JudgedMargin(0.1, Agreement{5, 5, 5, 5}, 0.05),
		"judged once":            value(func() (Value, Value) { v, _ := SelfAgreement([]Count{{1, 1}}); return v, v }()),
	} {
		if v.OK() && name != "smoothed to chance" || !v.OK() && v.Reason() == "" {
			t.Errorf("%s: got %v", name, v)
		}
	}
	if _, ok := Predict(Count{0, 0}, Agreement{5, 5, 5, 5}, true); ok {
		t.Error("predicts from nothing")
	}
	if p, ok := Predict(Count{10, 10}, Agreement{5, 0, 0, 0}, true); !ok || p.Weight != 0 || p.Rate != 1 {
		t.Errorf("of a judge that never varies: %v, %v", p, ok)
	}
	if n := MinimumLabels(1, 0, 0.05); n != 0 {
		t.Errorf("%d labels show a rate of 1", n)
	}
}

func TestSelfAgreement(t *testing.T) {
	t.Parallel()
	got, used := SelfAgreement([]Count{{3, 3}, {0, 3}, {2, 3}, {1, 1}})
	if got.Decimal() != "0.777778" || used != 3 { // (1 + 1 + 1/3) / 3
		t.Errorf("%v of %d", got, used)
	}
}

func TestJudgedMargin(t *testing.T) {
	t.Parallel()
	// 0 errors of 29 show 0.9019 for each class.
	near(t, "margin", 0.1*(2*math.Pow(0.05, 1./29)-1), JudgedMargin(0.1, Agreement{29, 0, 0, 29}, 0.05).Float(), 1e-9)
}

func TestFisher(t *testing.T) {
	t.Parallel()
	near(t, "lady tasting tea", 0.4857142857, Fisher(Count{3, 4}, Count{1, 4}), 1e-9) // (16+1+16+1)/70
	near(t, "clear", 2./70, Fisher(Count{4, 4}, Count{0, 4}), 1e-12)
	near(t, "the same", 1, Fisher(Count{2, 4}, Count{2, 4}), 1e-12)
	near(t, "impossible", 1, Fisher(Count{5, 4}, Count{2, 4}), 0)
}

func TestPromotion(t *testing.T) {
	t.Parallel()
	steady := make([]Count, 50)
	for i := range steady {
		steady[i] = Count{3, 3}
	}
	good := JudgeRecord{Labels: Agreement{45, 1, 1, 45}, Repeated: steady, Unparsable: Count{1, 100}, Pinned: true}
	for _, tt := range []struct {
		name   string
		change func(*JudgeRecord)
		lacks  int
	}{
		{"46 labels per class with one error", func(*JudgeRecord) {}, 0},
		{"45 labels of one class", func(r *JudgeRecord) { r.Labels.BothFail = 44 }, 1},
		{"two errors", func(r *JudgeRecord) { r.Labels.JudgePass, r.Labels.BothFail = 2, 44 }, 1},
		{"no labels", func(r *JudgeRecord) { r.Labels = Agreement{} }, 2},
		{"49 outputs judged again", func(r *JudgeRecord) { r.Repeated = steady[1:] }, 1},
		{"it contradicts itself", func(r *JudgeRecord) {
			r.Repeated = append([]Count{{1, 3}, {2, 3}, {1, 3}, {2, 3}}, steady[4:]...)
		}, 1},
		{"unparsable replies", func(r *JudgeRecord) { r.Unparsable.K = 2 }, 1},
		{"none counted", func(r *JudgeRecord) { r.Unparsable = Count{} }, 1},
		{"not pinned", func(r *JudgeRecord) { r.Pinned = false }, 1},
		{"persons agree as much", func(r *JudgeRecord) { r.HumanAC1 = fraction(1, 1) }, 0},
		{"persons agree more", func(r *JudgeRecord) { r.HumanAC1, r.Labels = fraction(1, 1), Agreement{200, 8, 8, 200} }, 1},
	} {
		r := good
		tt.change(&r)
		if got := r.Lacks(); len(got) != tt.lacks {
			t.Errorf("%s: lacks %q", tt.name, got)
		}
	}
	for _, tt := range []struct {
		name   string
		record JudgeRecord
		want   int
	}{
		{"fresh", JudgeRecord{Days: 90}, 0},
		{"old", JudgeRecord{Days: 91}, 1},
		{"changed", JudgeRecord{Changed: true}, 1},
		{"a good month", JudgeRecord{Recent: Agreement{17, 3, 3, 17}}, 0},
		{"a bad month", JudgeRecord{Recent: Agreement{16, 1, 3, 20}}, 1},
		{"too few to say", JudgeRecord{Recent: Agreement{1, 5, 5, 1}}, 0},
	} {
		if got := tt.record.Expired(); len(got) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
