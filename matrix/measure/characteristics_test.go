package measure

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// The tables here are exact: a recursion over the counts that can be reached, with the probability of each.

// readTable reads a section of the specification that is no list of vectors.
func readTable(t *testing.T, section string, into any) {
	t.Helper()
	data, ok := readSpecification(t).Vectors[section]
	if !ok {
		t.Fatalf("there is no section %s", section)
	}
	decode(t, data, into)
}

// walk is where a rule stops: the probability of each decision and of "between", and the expected trials and rate at the stop.
type walk struct {
	stop         [3]float64
	between      float64
	trials, seen float64
}

// rule says whether n trials with k passes show a rate above low, and one below high.
type rule func(n, k int) (above, below bool)

func byDecision(of func(n, k int) Decision) rule {
	return func(n, k int) (above, below bool) {
		d := of(n, k)
		return d == Passes, d == Fails
	}
}

func byInterval(interval func(n, k int) (lo, hi float64)) rule {
	return func(n, k int) (above, below bool) {
		lo, hi := interval(n, k)
		return lo > 0.5, hi < 0.8
	}
}

// only looks at a rule at some numbers of trials.
func (r rule) only(at ...int) rule {
	return func(n, k int) (above, below bool) {
		for _, look := range at {
			if n == look {
				return r(n, k)
			}
		}
		return false, false
	}
}

func (r rule) walk(p float64, most int) (w walk) {
	open := []float64{1}
	for n := 1; n <= most; n++ {
		next := make([]float64, n+1)
		for k, reached := range open {
			next[k] += reached * (1 - p)
			next[k+1] += reached * p
		}
		for k, reached := range next {
			above, below := r(n, k)
			switch {
			case above && below:
				w.between += reached
			case above:
				w.stop[Passes] += reached
			case below:
				w.stop[Fails] += reached
			case n < most:
				continue
			default:
				w.stop[Undecided] += reached
			}
			w.trials += reached * float64(n)
			w.seen += reached * float64(k) / float64(n)
			next[k] = 0
		}
		open = next
	}
	return w
}

// binomialTest is the exact one-sided test of both rates at alpha.
func binomialTest(alpha float64) rule {
	return func(n, k int) (above, below bool) {
		return atLeast(k, n, 0.5) <= alpha+slack, atLeast(n-k, n, 1-0.8) <= alpha+slack
	}
}

// betaSequence is the confidence sequence of a prior Beta(a,a).
func betaSequence(a, alpha float64) rule {
	return byInterval(func(n, k int) (lo, hi float64) {
		whole := mathext.Lbeta(float64(k)+a, float64(n-k)+a) - mathext.Lbeta(a, a)
		return sequence(n, k, func(p float64) bool { return mixture(whole, n, k, p) < -math.Log(alpha) })
	})
}

// oneSided mixes over the rates above 0.5, and over those below 0.8.
func oneSided(n, k int) (above, below bool) {
	a, b := float64(k)+1, float64(n-k)+1
	whole, bound := mathext.Lbeta(a, b), math.Log(20)
	return mixture(whole+math.Log(1-mathext.RegIncBeta(a, b, 0.5))-math.Log(0.5), n, k, 0.5) >= bound,
		mixture(whole+math.Log(mathext.RegIncBeta(a, b, 0.8))-math.Log(0.8), n, k, 0.8) >= bound
}

func naive(n, k int) (above, below bool) { return 5*k >= 4*n, 2*k <= n }

func standard(alpha float64) rule { return byDecision(Sequential{0.5, 0.8, alpha}.Of) }

// TestOperatingCharacteristicsOfRules: P(pass), P(fail), P(undecided) and the expected trials of every rule that was compared.
func TestOperatingCharacteristicsOfRules(t *testing.T) {
	t.Parallel()
	rules := map[string]struct {
		rule
		most int
	}{
		"SPRT/Ville cap10":               {standard(0.05), 10},
		"SPRT/Ville cap20":               {standard(0.05), 20},
		"SPRT/Ville cap50":               {standard(0.05), 50},
		"SPRT/Ville cap200":              {standard(0.05), 200},
		"SPRT/Wald ln19 cap50":           {standard(1. / 19), 50},
		"BB-CS unif 95% cap50":           {byInterval(func(n, k int) (float64, float64) { return ConfidenceSequence(n, k, 0.05) }), 50},
		"BB-CS unif 90% cap50":           {byInterval(func(n, k int) (float64, float64) { return ConfidenceSequence(n, k, 0.1) }), 50},
		"KT-betting CS 95% cap50":        {betaSequence(0.5, 0.05), 50},
		"1-sided mixtures cap50":         {oneSided, 50},
		"Bonferroni CP looks 5,10,20,50": {binomialTest(0.05/4).only(5, 10, 20, 50), 50},
		"fixed n=10 CP":                  {binomialTest(0.05).only(10), 10},
		"fixed n=20 CP":                  {binomialTest(0.05).only(20), 20},
		"fixed n=50 CP":                  {binomialTest(0.05).only(50), 50},
		"naive cut k/n n=5":              {rule(naive).only(5), 5},
		"naive cut k/n n=10":             {rule(naive).only(10), 10},
		"naive cut k/n n=20":             {rule(naive).only(20), 20},
	}
	var table map[string]map[string]struct {
		Pass      float64 `json:"P_pass"`
		Fail      float64 `json:"P_fail"`
		Between   float64 `json:"P_between"`
		Undecided float64 `json:"P_inc"`
		Trials    float64 `json:"EN"`
	}
	readTable(t, "4_operating_characteristics", &table)
	for name, rates := range table {
		r, ok := rules[name]
		if !ok {
			t.Errorf("nothing checks %s", name)
			continue
		}
		for rate, want := range rates {
			w := r.walk(parse(t, rate), r.most)
			what := name + " at " + rate
			near(t, what+" passes", want.Pass, w.stop[Passes], 6e-7)
			near(t, what+" fails", want.Fail, w.stop[Fails], 6e-7)
			near(t, what+" is between", want.Between, w.between, 6e-7)
			near(t, what+" is undecided", want.Undecided, w.stop[Undecided], 6e-7)
			near(t, what+" trials", want.Trials, w.trials, 6e-5)
		}
	}
	if len(table) != len(rules) {
		t.Errorf("%d rules in the table, %d here", len(table), len(rules))
	}
}

func parse(t *testing.T, number string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPeekingErrs: ordinary bounds that are looked at after every trial up to 50, until one decides, do not hold their 5 %.
func TestPeekingErrs(t *testing.T) {
	t.Parallel()
	z := mathext.NormalQuantile(0.95)
	peeking := byInterval(func(n, k int) (lo, hi float64) { return wilson(k, n, z) })
	near(t, "exact, false pass", 0.100, binomialTest(0.05).walk(0.5, 50).stop[Passes], 5e-4)
	near(t, "exact, false fail", 0.111, binomialTest(0.05).walk(0.8, 50).stop[Fails], 5e-4)
	near(t, "Wilson, false pass", 0.165, peeking.walk(0.5, 50).stop[Passes], 5e-4)
	near(t, "Wilson, false fail", 0.280, peeking.walk(0.8, 50).stop[Fails], 5e-4)
}

// TestSequentialHoldsItsError at the two rates, and at all rates beyond, for a cap that is hardly ever reached.
func TestSequentialHoldsItsError(t *testing.T) {
	t.Parallel()
	for _, s := range []Sequential{{0.5, 0.8, 0.05}, {0.5, 0.8, 0.01}, {0.6, 0.9, 0.05}, {0.8, 0.95, 0.05}} {
		for p := 0.02; p < 1; p += 0.02 {
			w := byDecision(s.Of).walk(p, 200)
			if p <= s.Low && w.stop[Passes] > s.Alpha || p >= s.High && w.stop[Fails] > s.Alpha {
				t.Errorf("%v at %v: %v", s, p, w.stop)
			}
		}
	}
}

// paths are the outcomes of a procedure of two arms, by label, and the expected trials.
type paths struct {
	label  map[string]float64
	nA, nB float64
}

// auto works the sequential procedure out: pairs until something is attributed or the cap, then, for a context, B alone until its verdict
// or the cap.
func auto(s Sequential, pA, pB float64, most int) paths {
	out := paths{label: map[string]float64{}}
	levels := map[Decision]string{Passes: "context/full", Fails: "context/partial", Undecided: "context/provisional"}
	alone := make([][]float64, most+1) // contexts whose B goes on, by its trials and passes
	for n := range alone {
		alone[n] = make([]float64, n+1)
	}
	side := most + 2
	open := make([]float64, side*side) // by passes of A and of B
	open[0] = 1
	for n := 1; n <= most; n++ {
		next := make([]float64, side*side)
		for a := range n {
			for b := range n {
				reached := open[a*side+b]
				next[a*side+b] += reached * (1 - pA) * (1 - pB)
				next[(a+1)*side+b] += reached * pA * (1 - pB)
				next[a*side+b+1] += reached * (1 - pA) * pB
				next[(a+1)*side+b+1] += reached * pA * pB
			}
		}
		for at, reached := range next {
			if reached == 0 {
				continue
			}
			a := autoAttribution(s, at/side, at%side, n)
			if a == Unattributed && n < most {
				continue
			}
			next[at] = 0
			out.nA += reached * float64(n)
			if a == Context {
				alone[n][at%side] += reached
				continue
			}
			out.nB += reached * float64(n)
			out.label[a.String()] += reached
		}
		open = next
	}
	for n := 1; n <= most; n++ {
		for k, reached := range alone[n] {
			d := s.Of(n, k)
			if d == Undecided && n < most {
				alone[n+1][k] += reached * (1 - pB)
				alone[n+1][k+1] += reached * pB
				continue
			}
			out.nB += reached * float64(n)
			out.label[levels[d]] += reached
		}
	}
	return out
}

// fixed works out what n trials of each arm, fixed beforehand, give.
func fixed(pA, pB float64, n int) map[string]float64 {
	levels := map[Decision]string{Passes: "context/full", Fails: "context/partial", Undecided: "context/provisional"}
	f, label := newFisher(n, n), map[string]float64{}
	for kA := range n + 1 {
		for kB := range n + 1 {
			name := fixedAttribution(kA, kB, n).String()
			if name == "context" {
				name = levels[FixedVerdict(n, kB, 0.5, 0.8, 0.05, false)]
			}
			label[name] += f.binomial(kA, n, math.Log(pA), math.Log1p(-pA)) * f.binomial(kB, n, math.Log(pB), math.Log1p(-pB))
		}
	}
	return label
}

// TestOperatingCharacteristicsOfAttribution: the probability of every attribution, and the expected trials.
func TestOperatingCharacteristicsOfAttribution(t *testing.T) {
	t.Parallel()
	var table map[string]map[string]json.Number
	readTable(t, "5_operating_characteristics", &table)
	for name, outcomes := range table {
		part := strings.Split(name, "|")
		n, pA, pB := int(parse(t, part[1])), parse(t, part[2]), parse(t, part[3])
		got := paths{}
		switch part[0] {
		case "auto":
			got = auto(Sequential{0.5, 0.8, 0.05}, pA, pB, n)
		case "fixed":
			got.label = fixed(pA, pB, n)
		default:
			t.Errorf("nothing checks %s", name)
		}
		total := 0.0
		for label, want := range outcomes {
			switch label {
			case "E_nA":
				near(t, name+" trials of A", parse(t, want.String()), got.nA, 6e-4)
			case "E_nB":
				near(t, name+" trials of B", parse(t, want.String()), got.nB, 6e-4)
			default:
				near(t, name+" "+label, parse(t, want.String()), got.label[label], 6e-6)
				total += got.label[label]
			}
		}
		near(t, name+" in all", 1, total, 1e-9)
	}
}

// TestFalseContext: where production and gold context pass equally often, "context" is as rare as the specification prints.
func TestFalseContext(t *testing.T) {
	t.Parallel()
	context := func(label map[string]float64) float64 {
		return label["context/full"] + label["context/partial"] + label["context/provisional"]
	}
	for _, tt := range []struct {
		name string
		at   func(p float64) map[string]float64
		want float64
	}{
		{"auto, 40", func(p float64) map[string]float64 { return auto(Sequential{0.5, 0.8, 0.05}, p, p, 40).label }, 0.033},
		{"fixed, 5", func(p float64) map[string]float64 { return fixed(p, p, 5) }, 0.031},
		{"fixed, 8", func(p float64) map[string]float64 { return fixed(p, p, 8) }, 0.041},
		{"fixed, 10", func(p float64) map[string]float64 { return fixed(p, p, 10) }, 0.045},
	} {
		worst := 0.0
		for p := 0.02; p < 0.99; p += 0.02 {
			worst = max(worst, context(tt.at(p)))
		}
		near(t, tt.name, tt.want, worst, 1e-3)
	}
}

// TestBoschlooIsStrongerThanFisher at five trials, by the powers that the specification prints.
func TestBoschlooIsStrongerThanFisher(t *testing.T) {
	t.Parallel()
	const n = 5
	f := newFisher(n, n)
	power := func(pA, pB float64, p func(kA, kB int) float64) (power float64) {
		for kA := range n + 1 {
			for kB := range n + 1 {
				if p(kA, kB) <= 0.05+slack {
					power += f.binomial(kA, n, math.Log(pA), math.Log1p(-pA)) * f.binomial(kB, n, math.Log(pB), math.Log1p(-pB))
				}
			}
		}
		return power
	}
	unconditional := func(kA, kB int) float64 { return Boschloo(kA, n, kB, n) }
	near(t, "Boschloo, .2 and .8", 0.51, power(0.2, 0.8, unconditional), 6e-3)
	near(t, "Fisher, .2 and .8", 0.38, power(0.2, 0.8, f.p), 6e-3)
	near(t, "Boschloo, .5 and .9", 0.31, power(0.5, 0.9, unconditional), 6e-3)
	near(t, "Fisher, .5 and .9", 0.12, power(0.5, 0.9, f.p), 6e-3)
}

// coverage is that of a two-sided interval over the rates .001 to .999.
type coverage struct {
	Mean, Min, ArgMin float64
	MeanTop           float64 `json:"mean_p90"`
	MinTop            float64 `json:"min_p90"`
	Length            float64 `json:"mean_len"`
}

type interval func(k, n int, level float64) (lo, hi float64)

var intervals = map[string]interval{
	"wilson":   Wilson,
	"jeffreys": Jeffreys,
	"cp": func(k, n int, level float64) (lo, hi float64) {
		alpha := (1 - level) / 2
		return ClopperPearsonLower(k, n, alpha).Float(), ClopperPearsonUpper(k, n, alpha).Float()
	},
}

// ends are the intervals of 0 to n passes of n.
func (of interval) ends(n int, level float64) (lo, hi []float64) {
	for k := range n + 1 {
		l, h := of(k, n, level)
		lo, hi = append(lo, l), append(hi, h)
	}
	return lo, hi
}

func (of interval) covers(n int) (c coverage) {
	lo, hi := of.ends(n, 0.95)
	f, top := newFisher(n, 0), 0.0
	c.Min, c.MinTop = 1, 1
	for i := 1; i < 1000; i++ {
		p := float64(i) / 1000
		covered := 0.0
		for k := range n + 1 {
			probability := f.binomial(k, n, math.Log(p), math.Log1p(-p))
			c.Length += probability * (hi[k] - lo[k]) / 999
			if lo[k] <= p && p <= hi[k] {
				covered += probability
			}
		}
		c.Mean += covered / 999
		if covered < c.Min {
			c.Min, c.ArgMin = covered, p
		}
		if i >= 900 {
			top++
			c.MeanTop += covered
			c.MinTop = min(c.MinTop, covered)
		}
	}
	c.MeanTop /= top
	return c
}

// TestCoverage recomputes how often each interval holds the rate, how often its lower end alone is wrong, and how far adaptive stopping
// biases rates.
func TestCoverage(t *testing.T) {
	t.Parallel()
	var table map[string]json.RawMessage
	readTable(t, "1_coverage", &table)
	for name, data := range table {
		kind, number, _ := strings.Cut(name, "|")
		switch kind {
		case "stop_bias":
			var want map[string]float64
			decode(t, data, &want)
			for rate, want := range want {
				near(t, name+" at "+rate, want, standard(0.05).walk(parse(t, rate), 50).seen, 6e-5)
			}
		case "onesided":
			var want [][3]any
			decode(t, data, &want)
			n := int(parse(t, number))
			for _, row := range want {
				lo, _ := intervals[row[0].(string)].ends(n, 0.9)
				f, worst := newFisher(n, 0), 0.0
				for i := 1; i < 1000; i++ {
					p, wrong := float64(i)/1000, 0.0
					for k := range n + 1 {
						if lo[k] > p {
							wrong += f.binomial(k, n, math.Log(p), math.Log1p(-p))
						}
					}
					worst = max(worst, wrong)
				}
				near(t, name+" "+row[0].(string), row[1].(float64), worst, 6e-5)
			}
		default:
			var want coverage
			decode(t, data, &want)
			got := intervals[kind].covers(int(parse(t, number)))
			near(t, name+" mean", want.Mean, got.Mean, 6e-5)
			near(t, name+" least", want.Min, got.Min, 6e-5)
			near(t, name+" at", min(want.ArgMin, 1-want.ArgMin), min(got.ArgMin, 1-got.ArgMin), 1e-9) // intervals are symmetric
			near(t, name+" mean from .9 on", want.MeanTop, got.MeanTop, 6e-5)
			near(t, name+" least from .9 on", want.MinTop, got.MinTop, 6e-5)
			near(t, name+" length", want.Length, got.Length, 6e-5)
		}
	}
}
