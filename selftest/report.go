package selftest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix/measure"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// ReportSchema is the schema of [Report].
const ReportSchema = "culprit.selftest/v1"

// Report says how often verdicts are right. Every figure is a [Rate], which bears its n; one of which nothing is known has n 0 and no value.
type Report struct {
	Schema  string `json:"schema"`
	Ruleset string `json:"ruleset"`
	Exit    int    `json:"exit"`
	Scope   Scope  `json:"scope"`

	Deterministic Accuracy     `json:"deterministic"`
	Noisy         Accuracy     `json:"noisy"`
	ByRate        []AtRate     `json:"noisy_by_pass_rate"`
	Compound      Compound     `json:"compound"`
	Healthy       Healthy      `json:"healthy"`
	AA            AA           `json:"same_system_twice"`
	Faults        []FaultCount `json:"faults"`
	Wrong         []Miss       `json:"wrong"` // deterministic and compound faults whose verdict is another
	// Unproduced are the labels that no fault brings about, with why; Untested those that are missing without a reason.
	Unproduced map[string]string `json:"unproduced"`
	Untested   []string          `json:"untested"`
	// PairsLeftOut are kinds of pairs of faults that are not tried, with why.
	PairsLeftOut []string    `json:"pairs_left_out"`
	Thresholds   []Threshold `json:"thresholds"`
	WallMS       int64       `json:"wall_ms"`
}

// Scope is what was run.
type Scope struct {
	Seeds     int       `json:"seeds"`
	PassRates []float64 `json:"pass_rates"`
	Noisy     int       `json:"noisy"`
	Healthy   int       `json:"healthy"`
	Pairs     int       `json:"pairs"`
	Repeats   string    `json:"repeats"` // of the cells of a stochastic generator
}

// Rate is k of n, with the Wilson 95 % interval. Value and interval are absent where n is 0.
type Rate struct {
	K        int      `json:"k"`
	N        int      `json:"n"`
	Value    *float64 `json:"rate"`
	Wilson95 []string `json:"wilson95,omitempty"`
}

func rate(k, n int) Rate {
	r := Rate{K: k, N: n}
	if n > 0 {
		v := float64(k) / float64(n)
		r.Value = &v
		if i, ok := measure.Wilson95(k, n); ok {
			r.Wilson95 = []string{i.Lo, i.Hi}
		}
	}
	return r
}

func (r Rate) String() string {
	if r.N == 0 {
		return "not measured (n = 0)"
	}
	return fmt.Sprintf("%.1f %% (%d of %d; %s)", 100**r.Value, r.K, r.N, r.interval())
}

func (r Rate) interval() string {
	if r.N == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f–%.1f %%", 100*number(r.Wilson95[0]), 100*number(r.Wilson95[1]))
}

func number(s string) (f float64) { _, _ = fmt.Sscan(s, &f); return f }

// Accuracy compares verdicts with what was injected. Stage and Label are over the verdicts that were given.
type Accuracy struct {
	Cases        int  `json:"cases"`    // whose answer the fault made wrong
	Harmless     int  `json:"harmless"` // cases beside them whose answer it left right, as the verdict says
	Inconclusive Rate `json:"inconclusive"`
	Stage        Rate `json:"stage"`
	Label        Rate `json:"label"`
	// The baselines answer with a stage for every case in which a stage is to blame.
	SpanScript Rate `json:"span_script_stage"`
	Constant   Rate `json:"always_retrieve_stage"`
	Product    Rate `json:"product_stage"` // on the same cases as the baselines, an inconclusive verdict counted as wrong

	Verified      Rate `json:"verified"`       // of the verdicts given
	VerifiedWrong Rate `json:"verified_wrong"` // of those, what is verified was not injected
	Generations   int  `json:"generations"`
	FixedN        int  `json:"generations_at_fixed_n"` // what 20 of each cell would have taken

	Stages []Confused `json:"confusion_stages"`
	Labels []Confused `json:"confusion_labels"`
}

// Confused is one field of a confusion matrix.
type Confused struct {
	True  string `json:"true"`
	Given string `json:"given"`
	N     int    `json:"n"`
}

// AtRate is the accuracy and the false blame at one pass rate of the generator.
type AtRate struct {
	PassRate     float64 `json:"pass_rate"`
	Stage        Rate    `json:"stage"`
	Label        Rate    `json:"label"`
	Inconclusive Rate    `json:"inconclusive"`
	FalseBlame   Rate    `json:"false_blame"`
	AA           AA      `json:"same_system_twice"`
}

// Compound counts cases with two faults at once.
type Compound struct {
	First  Rate `json:"first_stage"`  // the verdict's first defect is in the stage of the earlier fault
	Behind Rate `json:"second_named"` // the later fault is named beside it or behind it, before anything is mended
	Mended Rate `json:"second_appears"`

	VerifiedWrong Rate `json:"verified_wrong"` // of the verdicts with something verified, before and after the first is mended
}

// Healthy counts cases in which nothing was broken. Where the generator passes at 80 % or more, any defect is false blame; where it passes
// less often, it is not reliable itself, and any stage but the generator's.
type Healthy struct {
	FalseBlame   Rate       `json:"false_blame"`
	Inconclusive Rate       `json:"inconclusive"`
	Blamed       []Confused `json:"blamed"`
	Generations  int        `json:"generations"`
	FixedN       int        `json:"generations_at_fixed_n"`

	VerifiedWrong Rate `json:"verified_wrong"` // of the verdicts with something verified, where nothing is broken
}

// AA counts pairs of runs of one system. A flip is two different verdicts, both given: another outcome, or another stage first.
type AA struct {
	Flips Rate `json:"flips"`
	Open  Rate `json:"one_inconclusive"` // one of the two was inconclusive, which is no flip
}

// FaultCount is one row of the table of faults.
type FaultCount struct {
	Fault         string `json:"fault"`
	True          string `json:"true"`
	Deterministic Rate   `json:"deterministic_label"`
	Noisy         Rate   `json:"noisy_stage"`
}

// Miss is one wrong verdict, so that it can be made again.
type Miss struct {
	Fault string   `json:"fault"`
	Shape string   `json:"shape"`
	Seed  uint64   `json:"seed"`
	True  string   `json:"true"`
	Given []string `json:"given"`
}

// Threshold is one figure that must hold.
type Threshold struct {
	Name  string `json:"name"`
	Wants string `json:"wants"`
	Got   string `json:"got"`
	State State  `json:"state"`
}

// State says whether a threshold holds.
type State string

// The states of a threshold. One that was not measured is not met; it does not fail a run that leaves it out.
const (
	Met         State = "met"
	Missed      State = "missed"
	NotMeasured State = "not measured"
)

const inconclusive = string(verdict.Inconclusive)

// tally compares the runs of some jobs with what is true of them.
func tally(jobs []*job) Accuracy {
	var a Accuracy
	stages, labels := map[Confused]int{}, map[Confused]int{}
	var given, stage, label, open, verified, wrong, blamable, span, constant, product int
	for _, j := range jobs {
		for _, g := range j.got {
			a.Generations, a.FixedN = a.Generations+g.generations, a.FixedN+g.fixed
			if g.harmless() {
				a.Harmless++
				continue
			}
			a.Cases++
			rightStage, rightLabel := j.rightStage(&g), j.rightLabel(&g)
			stages[Confused{True: stageOf(j.want), Given: stageOf(g.given)}]++
			labels[Confused{True: j.want, Given: g.given}]++
			if slices.Contains(pipelineOrder, stageOf(j.want)) {
				blamable++
				span, constant, product = span+one(g.span == stageOf(j.want)), constant+one(stageOf(j.want) == "retrieve"), product+one(rightStage)
			}
			if g.given == inconclusive {
				open++
				continue
			}
			given, stage, label = given+1, stage+one(rightStage), label+one(rightLabel)
			verified, wrong = verified+one(len(g.verified) > 0), wrong+one(j.verifiedWrong(&g))
		}
	}
	a.Inconclusive, a.Stage, a.Label = rate(open, a.Cases), rate(stage, given), rate(label, given)
	a.SpanScript, a.Constant, a.Product = rate(span, blamable), rate(constant, blamable), rate(product, blamable)
	a.Verified, a.VerifiedWrong = rate(verified, given), rate(wrong, verified)
	a.Stages, a.Labels = confusion(stages), confusion(labels)
	return a
}

// harmless reports whether the fault did not bite: the answer is right, and the verdict says so.
func (s *seen) harmless() bool { return s.right && s.given == string(verdict.Pass) }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func confusion(counts map[Confused]int) []Confused {
	out := []Confused{}
	for c, n := range counts {
		c.N = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Confused) int {
		return cmp.Or(byStage(a.True, b.True), cmp.Compare(b.N, a.N), cmp.Compare(a.Given, b.Given))
	})
	return out
}

// byStage orders labels as verdicts do.
func byStage(a, b string) int {
	return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(a, b))
}

// position is where a label's stage comes in the order of verdicts.
func position(name string) int {
	if i := slices.Index(stageNames(), stageOf(name)); i >= 0 {
		return i
	}
	return len(stageNames())
}

func stageNames() []string {
	var out []string
	for _, r := range verdict.Rules() {
		if s := string(r.Stage); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

const reliable = 0.8 // the pass rate from which a generator counts as reliable

// blames reports whether a verdict about a healthy case names a defect that is not there.
func blames(j *job, g *seen) bool {
	stage := stageOf(g.given)
	return len(g.all) > 0 && (j.rate >= reliable || stage != string(verdict.StageGenerate) && stage != string(verdict.StageAbstain))
}

func healthy(jobs []*job) Healthy {
	var h Healthy
	var n, blamed, open int
	what := map[Confused]int{}
	for _, j := range jobs {
		for i := range j.got {
			g := &j.got[i]
			n, open = n+1, open+one(g.given == inconclusive)
			h.Generations, h.FixedN = h.Generations+g.generations, h.FixedN+g.fixed
			if blames(j, g) {
				blamed++
				what[Confused{True: "nothing", Given: g.given}]++
			}
		}
	}
	h.FalseBlame, h.Inconclusive, h.Blamed, h.VerifiedWrong = rate(blamed, n), rate(open, n), confusion(what), verified(jobs...)
	return h
}

func (j *job) rightLabel(g *seen) bool { return g.given == j.want || g.given == j.also }

// verifiedWrong reports whether anything that is verified was not injected.
func (j *job) verifiedWrong(g *seen) bool {
	return slices.ContainsFunc(g.verified, func(name string) bool { return !j.injected(name) })
}

// injected reports whether what a verdict blames is what is broken. A generator that passes less often than is reliable is broken, too.
func (j *job) injected(name string) bool {
	stage := stageOf(name)
	switch {
	case name == thePrompt:
		return stageOf(j.want) == stage || stageOf(j.later) == stage
	case j.rate > 0 && j.rate < reliable && (stage == string(verdict.StageGenerate) || stage == string(verdict.StageAbstain)):
		return true
	}
	return slices.Contains([]string{j.want, j.also, j.later}, name)
}

// verified counts the runs in which something is verified, and those in which that was not injected.
func verified(jobs ...*job) Rate {
	n, wrong := 0, 0
	for _, j := range jobs {
		for i := range j.got {
			n, wrong = n+one(len(j.got[i].verified) > 0), wrong+one(j.verifiedWrong(&j.got[i]))
		}
	}
	return rate(wrong, n)
}

func (j *job) rightStage(g *seen) bool {
	return stageOf(g.given) == stageOf(j.want) || j.also != "" && stageOf(g.given) == stageOf(j.also)
}

func sameSystemTwice(jobs []*job) AA {
	var n, flips, open int
	for _, j := range jobs {
		for i := 0; i+1 < len(j.got); i += 2 {
			a, b := stageOf(j.got[i].given), stageOf(j.got[i+1].given)
			n++
			switch {
			case a == b:
			case a == inconclusive || b == inconclusive:
				open++
			default:
				flips++
			}
		}
	}
	return AA{Flips: rate(flips, n), Open: rate(open, n)}
}

func (s *study) report(o Options) *Report {
	r := &Report{
		Schema: ReportSchema, Ruleset: verdict.Ruleset(),
		Scope:         Scope{Seeds: o.Seeds, PassRates: o.Rates, Noisy: o.Noisy, Healthy: o.Healthy, Pairs: len(s.pairs), Repeats: fmt.Sprint(noisyRepeats)},
		Deterministic: tally(s.deterministic), Noisy: tally(s.noisy), Healthy: healthy(s.healthy),
		AA: sameSystemTwice(slices.Concat(s.noisy, s.healthy)), Unproduced: unproduced(), Untested: untested(o), Wrong: []Miss{},
	}
	for _, p := range o.Rates {
		at := func(jobs []*job) []*job {
			return slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.rate != p })
		}
		noisy, well := tally(at(s.noisy)), healthy(at(s.healthy))
		r.ByRate = append(r.ByRate, AtRate{p, noisy.Stage, noisy.Label, noisy.Inconclusive, well.FalseBlame, sameSystemTwice(slices.Concat(at(s.noisy), at(s.healthy)))})
	}
	for _, l := range exempt() {
		r.PairsLeftOut = append(r.PairsLeftOut, l.why)
	}
	r.compound(s.pairs)
	r.faults(o, s)
	r.hold()
	return r
}

func (r *Report) miss(j *job, g *seen) {
	all := g.all
	if len(all) == 0 {
		all = []string{g.given}
	}
	r.Wrong = append(r.Wrong, Miss{j.fault, j.shape, j.seed, j.want, all})
}

func (r *Report) compound(pairs []*pair) {
	var first, behind, mended, n int
	var counted []*job
	for _, p := range pairs {
		both, alone := &p.both.got[0], &p.mended.got[0]
		if alone.harmless() || both.harmless() {
			continue
		}
		n++
		counted = append(counted, p.both, p.mended)
		ok, appears := p.both.rightStage(both), p.mended.rightStage(alone)
		first, mended, behind = first+one(ok), mended+one(appears), behind+one(slices.Contains(slices.Concat(both.all, both.behind), p.second.want))
		if !ok || p.both.verifiedWrong(both) {
			r.miss(p.both, both)
		}
		if !appears || p.mended.verifiedWrong(alone) {
			r.miss(p.mended, alone)
		}
	}
	r.Compound = Compound{First: rate(first, n), Behind: rate(behind, n), Mended: rate(mended, n), VerifiedWrong: verified(counted...)}
}

func (r *Report) faults(o Options, s *study) {
	for _, f := range o.chosen() {
		of := func(jobs []*job) []*job {
			return slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.fault != f.name })
		}
		r.Faults = append(r.Faults, FaultCount{f.name, f.want, tally(of(s.deterministic)).Label, tally(of(s.noisy)).Stage})
	}
	for _, j := range s.deterministic {
		for i := range j.got {
			if g := &j.got[i]; !g.harmless() && (!j.rightLabel(g) || j.verifiedWrong(g)) {
				r.miss(j, g)
			}
		}
	}
}

// untested lists the labels of the rules that no fault brings about and for which no reason is given.
func untested(o Options) []string {
	out := []string{}
	if o.Only != nil {
		return out
	}
	all := faults()
	for _, rule := range verdict.Rules() {
		_, known := unproduced()[rule.ID()]
		if !known && !slices.ContainsFunc(all, func(f fault) bool { return f.want == rule.ID() }) && !slices.Contains(out, rule.ID()) {
			out = append(out, rule.ID())
		}
	}
	return out
}

// healthyCases is how many healthy cases the figure of false blame needs.
const healthyCases = 2000

// hold compares the figures with what is promised.
func (r *Report) hold() {
	least := func(name string, got Rate, percent float64) {
		r.threshold(name, fmt.Sprintf("≥ %g %%", percent), got, got.N > 0, func() bool { return 100*float64(got.K) >= percent*float64(got.N) })
	}
	most := func(name string, got Rate, percent float64) {
		r.threshold(name, fmt.Sprintf("≤ %g %%", percent), got, got.N > 0, func() bool { return 100*float64(got.K) <= percent*float64(got.N) })
	}
	least("deterministic faults: right stage", r.Deterministic.Stage, 100)
	least("deterministic faults: right label", r.Deterministic.Label, 98)
	most("deterministic faults: inconclusive", r.Deterministic.Inconclusive, 0)
	r.threshold("labels without a fault and without a reason", "none", noneOf(r.Untested), len(r.Faults) == len(faults()), func() bool { return len(r.Untested) == 0 })
	least("two faults: the earlier one first", r.Compound.First, 100)
	least("two faults: the later one appears when the first is mended", r.Compound.Mended, 100)
	least("noisy faults: right stage where a verdict is given", r.Noisy.Stage, 95)
	blame := r.Healthy.FalseBlame
	r.threshold("healthy noisy cases: false blame, with its interval", "< 5 %, n ≥ 2,000", blame, blame.N >= healthyCases, func() bool { return number(blame.Wilson95[1]) < 0.05 })
	most("same system twice: flips", r.AA.Flips, 5)
	most("deterministic cases: verified and not injected", plus(r.Deterministic.VerifiedWrong, r.Compound.VerifiedWrong), 1)
	most("noisy cases: verified and not injected", plus(r.Noisy.VerifiedWrong, r.Healthy.VerifiedWrong), 5)
	spent := rate(r.Noisy.Generations+r.Healthy.Generations, r.Noisy.FixedN+r.Healthy.FixedN)
	r.threshold("generations, of those at a fixed n", "≤ 50 %", spent, spent.N > 0 && fmt.Sprint(noisyRepeats) != fmt.Sprint(fixedRepeats), func() bool { return 2*spent.K <= spent.N })
	if slices.ContainsFunc(r.Thresholds, func(t Threshold) bool { return t.State == Missed }) {
		r.Exit = exitBlocked
	}
}

func plus(a, b Rate) Rate { return rate(a.K+b.K, a.N+b.N) }

const exitBlocked = 3 // as culprit run: finished, and something blocks

func noneOf(missing []string) textual {
	if len(missing) == 0 {
		return "none"
	}
	return textual(strings.Join(missing, ", "))
}

// textual is a figure that is no rate.
type textual string

func (t textual) String() string { return string(t) }

func (r *Report) threshold(name, wants string, got fmt.Stringer, measured bool, holds func() bool) {
	t := Threshold{Name: name, Wants: wants, Got: got.String(), State: NotMeasured}
	if measured {
		t.State = Missed
		if holds() {
			t.State = Met
		}
	}
	r.Thresholds = append(r.Thresholds, t)
}

// Missing names the thresholds that do not hold.
func (r *Report) Missing() []string {
	var out []string
	for _, t := range r.Thresholds {
		if t.State == Missed {
			out = append(out, fmt.Sprintf("%s: %s, wants %s", t.Name, t.Got, strings.TrimSpace(t.Wants)))
		}
	}
	return out
}
