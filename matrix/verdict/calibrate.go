package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// JudgedAnswer is a judge's word on a claim in an answer, with what a person needs to say the same. The claim is one that a judge may
// decide at all; Left reports whether the match left it to one.
type JudgedAnswer struct {
	Execution string // for the caller to fill in
	Case      string
	Tags      map[string]string
	Cell      matrix.CellID
	Rep       int
	Claim     string
	CallKey   string
	Question  string
	States    string // the claim
	Answer    string
	Passes    bool // the judge says that the answer states it
	Void      bool // no word could be read
	Left      bool
	Copied    bool   // an identical question was answered for it
	Asked     string // the same for identical questions
	At        string
	Judge     matrix.CalibratedJudge // Reported holds at most one name
}

// JudgedAnswers lists the words of a judge on claims that it may decide.
func JudgedAnswers(e *matrix.Experiment, c *matrix.Case, o *matrix.Observations, f *Features) ([]JudgedAnswer, error) {
	settings, err := e.JudgeSettings()
	if err != nil {
		return nil, fmt.Errorf("judge of case %q: %w", c.ID, err)
	}
	var out []JudgedAnswer
	for i := range o.Judgements {
		j := &o.Judgements[i]
		n := slices.IndexFunc(c.Claims, func(claim matrix.Claim) bool { return claim.ID == j.Claim })
		trial := slices.IndexFunc(o.Trials, func(t matrix.Trial) bool { return t.Cell == j.Cell && t.Rep == j.Rep })
		answered := j.Status == matrix.StatusOK || j.Status == matrix.StatusTruncated || j.Status == matrix.StatusFiltered
		if j.Kind != matrix.JudgeClaim || !answered || n < 0 || trial < 0 || trial >= len(f.Trials) || n >= len(f.Trials[trial].Claims) || !c.Claims[n].JudgeDecides() {
			continue
		}
		a := JudgedAnswer{
			Case: c.ID, Tags: c.Tags, Cell: j.Cell, Rep: j.Rep, Claim: j.Claim, CallKey: j.CallKey, Question: c.Question(),
			Answer: ReadAnswer(e.Pipeline.Answer, &o.Trials[trial]).Text, Passes: j.Word == matrix.Entailed, Void: !said(j),
			Left: LeftToJudge(&c.Claims[n], &f.Trials[trial].Claims[n]), Copied: j.SameAs != "", At: j.At,
			Judge: matrix.CalibratedJudge{Model: j.ModelRequested, Prompt: j.PromptDigest, Settings: settings},
		}
		a.States, _ = c.Claims[n].Statement()
		if j.ModelReported != "" {
			a.Judge.Reported = []string{j.ModelReported}
		}
		for _, m := range j.Prompt {
			a.Asked += m.Text.Ref
		}
		out = append(out, a)
	}
	return out, nil
}

// Label is what persons say of a judged answer: that it states the claim, or not.
type Label struct {
	Of     int // index of the judged answer
	Human  bool
	Second *bool // of another person
}

// Agreed is what labels show of a judge.
type Agreed struct {
	Calibration matrix.Calibration
	Void        int // labels of judgements from which no word could be read
	Aside       int // labels of claims that the match decides
	Again       int // labels of questions that another label is of: the same words from the same judge show it once
	// Judged counts the passes of the judge among the words that no label was given to, once for each answer. Rate is the share that
	// persons would pass of all, by prediction-powered inference; not ok without enough.
	Judged measure.Count
	Rate   measure.Prediction
	OK     bool
}

// ErrTwoJudges is returned for labels of judgements that were not made by one judge.
var ErrTwoJudges = errors.New("the labels are of more than one judge")

// Agree holds labels against the words of a judge, for the values of some tags of the cases apart. date is that of the labels. Labels
// of void judgements, of claims that the match decides, and of a question that is labelled already count for nothing.
func Agree(judged []JudgedAnswer, labels []Label, by []string, date string) (*Agreed, error) {
	out := &Agreed{Calibration: matrix.Calibration{Schema: matrix.CalibrationSchema, Date: date, By: by}}
	c := &out.Calibration
	var humans matrix.LabelCounts
	labelled, counted := map[string]bool{}, map[string]bool{} // identical questions are one
	type made struct {
		at            string
		passes, human bool
	}
	var recent []made
	for i, l := range labels {
		a := &judged[l.Of]
		if i == 0 {
			c.Judge = a.Judge
			c.Judge.Reported = nil
		}
		if a.Judge.Model != c.Judge.Model || a.Judge.Prompt != c.Judge.Prompt || a.Judge.Settings != c.Judge.Settings {
			return nil, fmt.Errorf("%w: %q and %q, or one that was asked in two ways", ErrTwoJudges, c.Judge.Model, a.Judge.Model)
		}
		if l.Second != nil {
			humans.Add(*l.Second, l.Human)
		}
		labelled[a.Asked] = true
		switch {
		case a.Void:
			out.Void++
			continue
		case !a.Left:
			out.Aside++
			continue
		}
		if len(counted) > 0 && !slices.Equal(a.Judge.Reported, c.Judge.Reported) {
			return nil, fmt.Errorf("%w: %q answered as %q and as %q", ErrTwoJudges, c.Judge.Model, c.Judge.Reported, a.Judge.Reported)
		}
		if c.Judge.Reported = a.Judge.Reported; counted[a.Asked] {
			out.Again++
			continue
		}
		counted[a.Asked] = true
		c.Labels.Add(a.Passes, l.Human)
		recent = append(recent, made{a.At, a.Passes, l.Human})
		for _, tag := range by {
			c.Slice(tag, a.Tags[tag]).Add(a.Passes, l.Human)
		}
	}
	if humans.N() > 0 {
		c.Humans = &humans
	}
	const rolling = 30
	slices.SortStableFunc(recent, func(a, b made) int { return cmp.Compare(a.at, b.at) })
	for _, m := range recent[max(0, len(recent)-rolling):] {
		c.Recent.Add(m.passes, m.human)
	}
	out.words(judged, labelled)
	return out, nil
}

// words counts the judgements themselves: void ones, repeated ones, and those without a label.
func (a *Agreed) words(judged []JudgedAnswer, labelled map[string]bool) {
	c := &a.Calibration
	asked := map[string]measure.Count{} // of the identical questions, those that were asked for themselves
	for i := range judged {
		j := &judged[i]
		if j.Copied || j.Judge.Model != c.Judge.Model || j.Judge.Prompt != c.Judge.Prompt || j.Judge.Settings != c.Judge.Settings {
			continue
		}
		c.Judgements++
		if j.Void {
			c.Void++
			continue
		}
		n, again := asked[j.Asked]
		if j.Left && !again && !labelled[j.Asked] {
			a.Judged.N++
			if j.Passes {
				a.Judged.K++
			}
		}
		if n.N++; j.Passes {
			n.K++
		}
		asked[j.Asked] = n
	}
	repeated := map[measure.Count]int{}
	for _, n := range asked {
		if n.N > 1 {
			repeated[n]++
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(repeated), func(a, b measure.Count) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.K, b.K)) }) {
		c.Repeated = append(c.Repeated, matrix.RepeatedWord{Passes: n.K, Of: n.N, Questions: repeated[n]})
	}
	a.Rate, a.OK = measure.Predict(a.Judged, measure.NewAgreement(c.Labels), true)
}

// Show fills in what follows from the counts.
func (a *Agreed) Show() {
	c := &a.Calibration
	record := measure.NewJudgeRecord(c)
	s := &matrix.Shown{Lacks: append(record.Lacks(), record.Expired()...), Of: shownRates(record.Labels), Unlabelled: a.Judged.N, JudgedRate: rateOf(a.Judged)}
	self, n := measure.SelfAgreement(record.Repeated)
	s.SelfAgreement, s.Questions, s.HumanAC1, s.Gates = self.Decimal(), n, record.HumanAC1.Decimal(), len(s.Lacks) == 0
	for _, slice := range c.Slices {
		labels := measure.NewAgreement(slice.Labels)
		rates := shownRates(labels)
		s.Slices = append(s.Slices, matrix.ShownSlice{Tag: slice.Tag, Value: slice.Value, Holds: rates.MorePass == 0 && rates.MoreFail == 0, Of: rates})
	}
	if a.OK {
		lo, hi := a.Rate.Interval(0.05)
		s.Rate = []string{decimals(min(max(a.Rate.Rate, 0), 1)), decimals(lo), decimals(hi)}
	}
	c.Shown = s
}

func shownRates(g measure.Agreement) matrix.ShownRates {
	const least, alpha = 0.9, 0.05
	pass, fail := g.Sensitivity(), g.Specificity()
	se, sp := g.Bounds(alpha)
	r := matrix.ShownRates{
		Sensitivity: rateOf(pass), SensitivityAtLeast: se.Decimal(), Pass: pass.N,
		Specificity: rateOf(fail), SpecificityAtLeast: sp.Decimal(), Fail: fail.N,
		MorePass: max(0, measure.MinimumLabels(least, pass.N-pass.K, alpha)-pass.N),
		MoreFail: max(0, measure.MinimumLabels(least, fail.N-fail.K, alpha)-fail.N),
	}
	r.Kappa, r.AC1 = shownInterval(g.Kappa()), shownInterval(g.AC1())
	return r
}

func rateOf(c measure.Count) string {
	if c.N == 0 {
		return ""
	}
	return c.Rate().Decimal()
}

// shownInterval is a value with its interval at 95 %, within [-1,1].
func shownInterval(v, se measure.Value) []string {
	switch {
	case !v.OK():
		return nil
	case !se.OK():
		return []string{v.Decimal()}
	}
	half := float64(z95 * se.Float())
	return []string{v.Decimal(), decimals(max(-1, v.Float()-half)), decimals(min(1, v.Float()+half))}
}

// z95 is the standard normal quantile at 0.975.
const z95 = 1.959963984540054
