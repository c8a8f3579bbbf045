package measure

import (
	"math"
	"math/big"
)

// Agreement holds labels of a person against those of a judge, "pass" being positive, for a random sample of judged answers.
type Agreement struct {
	BothPass  int // a
	JudgePass int // b: only the judge passes it, the dangerous error
	HumanPass int // c: only the person does
	BothFail  int // d
}

// Reasons why a number about a judge has no value.
const (
	NoLabels  = "no labels"
	NoChance  = "all labels agree by chance" // kappa of labels that are all of one kind
	NoBetter  = "the judge is no better than chance"
	FewLabels = "an interval needs two labels"
)

func (g Agreement) n() int { return g.BothPass + g.JudgePass + g.HumanPass + g.BothFail }

func (g Agreement) usable() bool {
	return min(g.BothPass, g.JudgePass, g.HumanPass, g.BothFail) >= 0 && g.n() > 0
}

// Sensitivity counts, of the answers that a person passes, those that the judge passes: a of a+c.
func (g Agreement) Sensitivity() Count { return Count{g.BothPass, g.BothPass + g.HumanPass} }

// Specificity counts, of the answers that a person fails, those that the judge fails: d of b+d.
func (g Agreement) Specificity() Count { return Count{g.BothFail, g.JudgePass + g.BothFail} }

// Rate is k/n; it has no value without a trial and for counts that cannot be.
func (c Count) Rate() Value {
	if !c.possible() {
		return none(NoLabels)
	}
	return fraction(int64(c.K), int64(c.N))
}

// Kappa is Cohen's (po-pe)/(1-pe) with pe from the product of the margins, and its standard error by the delta method (Fleiss, Cohen and
// Everitt 1969). It has no value where pe is 1. It collapses where nearly all labels are of one kind: print [Agreement.AC1] beside it.
func (g Agreement) Kappa() (kappa, se Value) {
	if !g.usable() {
		return none(NoLabels), none(NoLabels)
	}
	n := float64(g.n())
	p := [2][2]float64{ // judge, person
		{float64(g.BothPass) / n, float64(g.JudgePass) / n},
		{float64(g.HumanPass) / n, float64(g.BothFail) / n},
	}
	judge := [2]float64{p[0][0] + p[0][1], p[1][0] + p[1][1]}
	person := [2]float64{p[0][0] + p[1][0], p[0][1] + p[1][1]}
	po := p[0][0] + p[1][1]
	pe := float64(judge[0]*person[0]) + float64(judge[1]*person[1])
	if g.BothPass == g.n() || g.BothFail == g.n() {
		return none(NoChance), none(NoChance)
	}
	k := (po - pe) / (1 - pe)
	sum := 0.0
	for i := range 2 {
		for j := range 2 {
			weight := float64((judge[j] + person[i]) * (1 - k))
			if i == j {
				weight = 1 - weight
			}
			sum += float64(p[i][j] * float64(weight*weight))
		}
	}
	rest := k - float64(pe*(1-k))
	return about(k, NoChance), about(math.Sqrt(max(0, sum-float64(rest*rest))/n)/(1-pe), NoChance)
}

// AC1 is Gwet's (po-pe)/(1-pe) with pe = 2q(1-q) and q the mean of both shares of passes, and its standard error by linearisation (Gwet
// 2008). It is 1 where all agree.
func (g Agreement) AC1() (ac1, se Value) {
	if !g.usable() {
		return none(NoLabels), none(NoLabels)
	}
	n := float64(g.n())
	po := float64(g.BothPass+g.BothFail) / n
	q := float64(2*g.BothPass+g.JudgePass+g.HumanPass) / float64(2*n)
	pe := float64(2 * float64(q*(1-q)))
	a := (po - pe) / (1 - pe)
	if g.n() < 2 {
		return about(a, NoLabels), none(FewLabels)
	}
	// The part of each label in the statistic: (agrees-pe)/(1-pe) - 2(1-a)(e-pe)/(1-pe), e being the share of chance that it makes.
	sum := 0.0
	for _, cell := range [4]struct {
		count  int
		agrees float64
		passes float64 // mean of both
	}{{g.BothPass, 1, 1}, {g.JudgePass, 0, 0.5}, {g.HumanPass, 0, 0.5}, {g.BothFail, 1, 0}} {
		e := float64(cell.passes*(1-q)) + float64((1-cell.passes)*q)
		part := (cell.agrees-pe)/(1-pe) - float64(2*float64((1-a)*(e-pe)))/(1-pe) - a
		sum += float64(float64(cell.count) * float64(part*part))
	}
	return about(a, NoLabels), about(math.Sqrt(sum/float64(n*(n-1))), NoLabels)
}

// SelfAgreement is the mean, over outputs that a judge judged r times with k passes, of the probability that two of the judgements agree:
// [k(k-1)+(r-k)(r-k-1)]/(r(r-1)). Outputs judged once are left out; used is how many are not.
func SelfAgreement(judged []Count) (agreement Value, used int) {
	values := make([]Value, len(judged))
	for i, c := range judged {
		values[i] = PairsAgree([]int{c.K, c.N - c.K})
	}
	return Mean(values)
}

// MinimumLabels is the smallest number of labels of one class with which a one-sided [ClopperPearsonLower] bound at 1-alpha reaches the
// target, where the judge errs so often: 29 for none at 0.90 and 0.05. It is 0 where no number does.
func MinimumLabels(target float64, errors int, alpha float64) int {
	if !(target > 0 && target < 1 && alpha > 0 && alpha < 1) || errors < 0 {
		return 0
	}
	reaches := func(n int) bool { return atLeast(n-errors, n, target) <= alpha+slack }
	most := errors + 1
	for !reaches(most) {
		if most *= 2; most > 1<<30 {
			return 0
		}
	}
	least := most / 2
	for most-least > 1 {
		if mid := least + (most-least)/2; mid > errors && reaches(mid) {
			most = mid
		} else {
			least = mid
		}
	}
	return most
}

// Estimate is a rate with its interval; where there is none, all three say why.
type Estimate struct{ Point, Lo, Hi Value }

func noEstimate(reason string) Estimate {
	v := none(reason)
	return Estimate{v, v, v}
}

// RoganGladen corrects a judged rate for a judge whose errors were measured elsewhere and are taken to be the same here:
// (q+Sp-1)/(Se+Sp-1), within [0,1], with the two-sided interval of Lang and Reiczigel 2014 at 1-alpha. It has no value where Se+Sp ≤ 1.
// judged counts the passes that the judge gave.
func RoganGladen(judged, sensitivity, specificity Count, alpha float64) Estimate {
	if !judged.possible() || !sensitivity.possible() || !specificity.possible() || !(alpha > 0 && alpha < 1) {
		return noEstimate(NoLabels)
	}
	se, sp := sensitivity.rate(), specificity.rate()
	if !betterThanChance(sensitivity, specificity) {
		return noEstimate(NoBetter)
	}
	z := upper(alpha / 2)
	z2 := float64(z * z)
	n, n1, n0 := float64(judged.N)+z2, float64(sensitivity.N)+2, float64(specificity.N)+2
	q, se1, sp1 := (float64(judged.K)+z2/2)/n, float64(sensitivity.K+1)/n1, float64(specificity.K+1)/n0
	j := se1 + sp1 - 1
	if !(j > slack) {
		return noEstimate(NoBetter)
	}
	theta := (q + sp1 - 1) / j
	varSe, varSp := float64(se1*(1-se1))/n1, float64(sp1*(1-sp1))/n0
	shift := float64(2 * float64(z2*(float64(theta*varSe)-float64((1-theta)*varSp))))
	spread := math.Sqrt(float64(q*(1-q))/n+float64(float64(theta*theta)*varSe)+float64(float64((1-theta)*(1-theta))*varSp)) / j
	clamp := func(f float64) Value { return about(min(max(f, 0), 1), NoBetter) }
	return Estimate{clamp((judged.rate() + sp - 1) / (se + sp - 1)), clamp(theta + shift - float64(z*spread)), clamp(theta + shift + float64(z*spread))}
}

// betterThanChance reports whether Se + Sp > 1, in whole numbers.
func betterThanChance(se, sp Count) bool {
	sum := new(big.Rat).Add(big.NewRat(int64(se.K), int64(se.N)), big.NewRat(int64(sp.K), int64(sp.N)))
	return sum.Cmp(big.NewRat(1, 1)) > 0
}

// Prediction is a rate estimated from labels of a random part of what was judged, and the judge's verdicts on the rest.
type Prediction struct {
	Rate, Error float64 // with its standard error
	Weight      float64 // of the judge, 0 to 1
	labels      int
	agree       bool // the judge made no error on the labels
}

// Predict corrects a judged rate by labels of a random part of the same outputs, without any assumption about the judge (prediction-powered
// inference, PPI++, Angelopoulos, Duchi and Zrnic 2023): l·mean(f) over the unlabelled + mean(y - l·f) over the labelled. The weight l is
// 1, or tuned: Cov(y,f)/((1+n/N)·Var(f)) within [0,1], Var(f) over labelled and unlabelled. It is not ok without two labels and without an
// unlabelled output.
func Predict(unlabelled Count, labels Agreement, tuned bool) (p Prediction, ok bool) {
	n := float64(labels.n())
	if !unlabelled.possible() || !labels.usable() || labels.n() < 2 {
		return Prediction{}, false
	}
	a, b, c := float64(labels.BothPass), float64(labels.JudgePass), float64(labels.HumanPass)
	meanY, meanF, rest := (a+c)/n, (a+b)/n, float64(unlabelled.N)
	variance := func(p, n float64) float64 { return float64(float64(p*(1-p))*n) / max(n-1, 1) }
	p = Prediction{Weight: 1, labels: labels.n(), agree: labels.JudgePass == 0 && labels.HumanPass == 0}
	varF := variance(unlabelled.rate(), rest)
	if tuned {
		p.Weight = 0
		both := n + rest
		if pooled := variance((a+b+float64(unlabelled.K))/both, both); pooled > 0 {
			cov := (a - float64(n*float64(meanY*meanF))) / (n - 1)
			p.Weight = min(max(cov/float64((1+n/rest)*pooled), 0), 1)
		}
	}
	l := p.Weight
	gap := meanY - float64(l*meanF)
	p.Rate = float64(l*unlabelled.rate()) + gap
	squares := 0.0 // of y - l·f, by cell of the labels
	for _, cell := range [4]struct{ count, value float64 }{{a, 1 - l}, {b, -l}, {c, 1}, {float64(labels.BothFail), 0}} {
		squares += float64(cell.count * float64((cell.value-gap)*(cell.value-gap)))
	}
	p.Error = math.Sqrt(float64(float64(l*l)*varF)/rest + squares/float64(n*(n-1)))
	return p, true
}

// fewLabels is below what a normal interval of labels needs.
const fewLabels = 50

// Interval is Rate ± z·Error at a two-sided level of 1-alpha, within [0,1]. With fewer than 50 labels, and where the judge made no error on
// them, both sides are wider by 1-alpha^(1/n): what n labels without an error leave open. It is [0,1] for an alpha outside (0,1).
func (p Prediction) Interval(alpha float64) (lo, hi float64) {
	if !(alpha > 0 && alpha < 1) || p.labels == 0 {
		return 0, 1
	}
	half := p.half(alpha)
	if p.labels < fewLabels || p.agree {
		half += 1 - math.Pow(alpha, 1/float64(p.labels))
	}
	return max(0, p.Rate-half), min(1, p.Rate+half)
}

func (p Prediction) half(alpha float64) float64 {
	return float64(upper(alpha/2) * p.Error)
}

// JudgedMargin is the margin on judged rates that stands for a margin on true ones where one judge judges both arms: margin·(Se+Sp-1) with
// the one-sided lower bounds of both at 1-alpha. It has no value where they show no judge that is better than chance.
func JudgedMargin(margin float64, labels Agreement, alpha float64) Value {
	se, sp := labels.lower(alpha)
	if !se.OK() || !sp.OK() {
		return none(NoLabels)
	}
	if j := se.Float() + sp.Float() - 1; j > slack {
		return about(float64(margin*j), NoLabels)
	}
	return none(NoBetter)
}

// lower are the one-sided lower bounds of sensitivity and specificity.
func (g Agreement) lower(alpha float64) (se, sp Value) {
	if !g.usable() {
		return none(NoLabels), none(NoLabels)
	}
	bound := func(c Count) Value { return ClopperPearsonLower(c.K, c.N, alpha) }
	return bound(g.Sensitivity()), bound(g.Specificity())
}

// Fisher is the two-sided p of Fisher's exact test that two shares are one: the probability of the tables that are no more probable than
// the one seen. Give it the specificities of a judge on two arms: one that errs differently on them biases their difference. It is 1 for
// counts that cannot be.
func Fisher(a, b Count) float64 {
	if !a.possible() || !b.possible() {
		return 1
	}
	f, passes := newFisher(a.N, b.N), a.K+b.K
	all := f.choose(f.nA+f.nB, passes)
	at := func(x int) float64 { return math.Exp(f.choose(a.N, x) + f.choose(b.N, passes-x) - all) }
	sum, seen := 0.0, at(a.K)
	for x := max(0, passes-b.N); x <= min(a.N, passes); x++ {
		if p := at(x); p <= float64(seen*(1+1e-7)) {
			sum += p
		}
	}
	return min(sum, 1)
}

// JudgeRecord is what is known of a judge that is to decide a gate.
type JudgeRecord struct {
	Labels     Agreement
	Repeated   []Count   // passes of judgements of the same output, 50 outputs or more
	Unparsable Count     // replies that no judgement could be read from
	Pinned     bool      // the hashes of its model, prompt and rubric are
	HumanAC1   Value     // of persons with each other, where labels were given twice; none where not
	Days       int       // since it was promoted
	Changed    bool      // a hash differs from when it was
	Recent     Agreement // the last 30 labels or more
}

// Lacks says why a judge may not decide a gate yet, in a fixed order; nothing where it may. It needs one-sided 95 % lower bounds of 0.90 on
// sensitivity and specificity, agreement with itself of 0.95 on 50 outputs, at most 1 % unparsable replies, pinned hashes, and, where
// persons labelled twice, an AC1 within 0.05 of theirs.
func (r JudgeRecord) Lacks() (reasons []string) {
	lack := func(there bool, reason string) {
		if !there {
			reasons = append(reasons, reason)
		}
	}
	reaches := func(v Value, least *big.Rat) bool { return v.OK() && v.rat().Cmp(least) >= 0 }
	se, sp := r.Labels.lower(0.05)
	lack(reaches(sp, big.NewRat(9, 10)), "specificity is not shown to be 0.90")
	lack(reaches(se, big.NewRat(9, 10)), "sensitivity is not shown to be 0.90")
	self, used := SelfAgreement(r.Repeated)
	lack(used >= 50 && reaches(self, big.NewRat(95, 100)), "it is not shown to agree with itself on 95 % of 50 outputs")
	lack(r.Unparsable.possible() && 100*r.Unparsable.K <= r.Unparsable.N, "more than 1 % of its replies are unparsable, or none were counted")
	lack(r.Pinned, "model, prompt and rubric are not pinned")
	if r.HumanAC1.OK() {
		ac1, _ := r.Labels.AC1()
		lack(ac1.OK() && ac1.Float() >= r.HumanAC1.Float()-0.05-slack, "it agrees with persons by more than 0.05 less than they do with each other")
	}
	return reasons
}

// Expired says why a judge that decides a gate may no longer: a hash changed, 90 days went by, or a rolling check of 30 labels puts
// sensitivity or specificity below 0.85; nothing where it may.
func (r JudgeRecord) Expired() (reasons []string) {
	if r.Changed {
		reasons = append(reasons, "model, prompt or rubric changed")
	}
	if r.Days > 90 {
		reasons = append(reasons, "its labels are older than 90 days")
	}
	for _, share := range []struct {
		name string
		Count
	}{{"specificity", r.Recent.Specificity()}, {"sensitivity", r.Recent.Sensitivity()}} {
		if r.Recent.n() >= 30 && share.possible() && 100*share.K < 85*share.N {
			reasons = append(reasons, share.name+" is below 0.85 on recent labels")
		}
	}
	return reasons
}
