package verdict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// heeded is what a calibrated judge decides in a case.
type heeded struct {
	why    []string              // it decides nothing; empty where there is no calibration
	claims int                   // that its word met
	trials map[matrix.CellID]int // that pass by its word
}

// heed returns the features of the trials, in which a judge whose calibration holds has met the claims that the match leaves missing
// and that it finds entailed. Without one they are what was extracted.
func (x *facts) heed() []TrialFeatures {
	judge := x.e.Judge
	if judge == nil || judge.Calibration == nil || x.c.Expect != matrix.ExpectAnswer {
		return x.f.Trials
	}
	words := map[wordOn]*matrix.Judgement{}
	for i := range x.o.Judgements {
		if j := &x.o.Judgements[i]; j.Kind == matrix.JudgeClaim && said(j) {
			words[wordOn{j.Cell, j.Rep, j.Claim}] = j
		}
	}
	if len(words) == 0 {
		return x.f.Trials
	}
	if x.heeded.why = x.unheeded(slices.Collect(maps.Values(words))); len(x.heeded.why) > 0 {
		return x.f.Trials
	}
	x.heeded.trials = map[matrix.CellID]int{}
	out := slices.Clone(x.f.Trials)
	for i := range out {
		f := &out[i]
		if !judge.Judges(f.Cell) || !x.undetermined(f) {
			continue
		}
		claims, met := slices.Clone(f.Claims), true
		for n := range claims {
			c := &claims[n]
			if word := words[wordOn{f.Cell, f.Rep, c.ID}]; x.leftMissing(n, c) && word != nil && word.Word == matrix.Entailed {
				c.State = ClaimMet
				x.heeded.claims++
			}
			met = met && c.State == ClaimMet
		}
		f.Claims = claims
		if met {
			f.Meets = true
			x.heeded.trials[f.Cell]++
		}
	}
	if len(x.heeded.trials) > 0 {
		for _, labels := range x.judgeLabels() {
			se, sp := labels.Bounds(0.05)
			x.by.falsePass, x.by.falseFail = max(x.by.falsePass, 1-sp.Float()), max(x.by.falseFail, 1-se.Float())
		}
	}
	return out
}

// judgeLabels are the labels that bound the judge's error in this case: all of them, and those of each of its slices, where it may err more.
func (x *facts) judgeLabels() []measure.Agreement {
	c := x.e.Judge.Calibration
	out := []measure.Agreement{measure.NewAgreement(c.Labels)}
	for _, s := range c.Slices {
		if slices.Contains(c.By, s.Tag) && s.Value == x.c.Tags[s.Tag] {
			out = append(out, measure.NewAgreement(s.Labels))
		}
	}
	return out
}

// wordOn names a claim in an answer.
type wordOn struct {
	cell  matrix.CellID
	rep   int
	claim string
}

// leftMissing reports whether the match leaves a claim to a judge: nothing in the answer states it, and nothing comes near and is
// something else.
func (x *facts) leftMissing(n int, r *ClaimResult) bool {
	return LeftToJudge(&x.c.Claims[n], r)
}

// LeftToJudge reports whether the match leaves a claim to a judge. A near miss, such as another number, is no absence: it stays a
// miss, whatever the judge says.
func LeftToJudge(c *matrix.Claim, r *ClaimResult) bool {
	return r.State == ClaimMissing && r.Near == "" && c.JudgeDecides()
}

// undetermined reports whether an answer would meet the case if the judge found what the match leaves missing.
func (x *facts) undetermined(f *TrialFeatures) bool {
	if f.Meets || f.Empty || f.Refused || f.Malformed || len(f.Claims) != len(x.c.Claims) {
		return false
	}
	for n := range f.Claims {
		if f.Claims[n].State != ClaimMet && !x.leftMissing(n, &f.Claims[n]) {
			return false
		}
	}
	return true
}

// unheeded says why the calibration lets the judge decide nothing here; nothing where it does.
func (x *facts) unheeded(words []*matrix.Judgement) []string {
	c := x.e.Judge.Calibration
	if !x.e.Judge.Judges(matrix.CellA) {
		return []string{"A's answers are not judged (judge.cells)"}
	}
	record := measure.NewJudgeRecord(c)
	settings, err := x.e.JudgeSettings()
	record.Changed = record.Changed || err != nil || settings != c.Judge.Settings
	latest := ""
	for _, j := range words {
		record.Changed = record.Changed || j.ModelRequested != c.Judge.Model || j.PromptDigest != c.Judge.Prompt ||
			(j.ModelReported != "" || len(c.Judge.Reported) > 0) && !slices.Contains(c.Judge.Reported, j.ModelReported)
		latest = max(latest, j.At)
	}
	why := record.Lacks()
	at, err := time.Parse(time.RFC3339Nano, latest)
	from, wrong := time.Parse(time.DateOnly, c.Date)
	switch {
	case err != nil || wrong != nil:
		why = append(why, "it is not known how old its labels were when it judged")
	case at.Before(from):
		why = append(why, "its labels are dated after it judged")
	default:
		record.Days = int(at.Sub(from) / (24 * time.Hour))
	}
	why = append(why, record.Expired()...)
	for _, tag := range c.By {
		at := slices.IndexFunc(c.Slices, func(s matrix.LabelledSlice) bool { return s.Tag == tag && s.Value == x.c.Tags[tag] })
		slice := record
		if at >= 0 {
			slice.Labels = measure.NewAgreement(c.Slices[at].Labels)
		} else {
			slice.Labels = measure.Agreement{}
		}
		if !slices.Equal(slice.Lacks(), record.Lacks()) || at < 0 {
			why = append(why, fmt.Sprintf("its labels do not show it for cases of %s %q", tag, x.c.Tags[tag]))
		}
	}
	return why
}

// compareJudged takes cells out of comparison whose answers may be right and were not judged, where the judge decided others.
func (x *facts) compareJudged() {
	if len(x.heeded.trials) == 0 {
		return
	}
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		plain := planned.Cell == matrix.CellB || planned.Cell.Run() == matrix.Perturbation
		if plain && c.other == "" && !x.e.Judge.Judges(planned.Cell) && c.some(x.undetermined) {
			c.other = "its answers were not judged, and A's were (judge.cells)"
		}
	}
}

// widen gives a cell in which the judge decided trials the interval that its error leaves: that of Rogan and Gladen, and at least the
// one that there is.
func (x *facts) widen(c *cellFacts) {
	if x.heeded.trials[c.result.Cell] == 0 {
		return
	}
	c.result.ByJudge = x.heeded.trials[c.result.Cell]
	widest := c.result.Interval()
	corrected := false
	for _, labels := range x.judgeLabels() {
		e := measure.RoganGladen(measure.Count{K: c.result.Pass, N: c.result.Scored}, labels.Sensitivity(), labels.Specificity(), 0.05)
		if !e.Lo.OK() || !e.Hi.OK() {
			continue
		}
		corrected = true
		if lo, hi := decimals(e.Lo.Float()), decimals(e.Hi.Float()); widest == nil {
			widest = []string{lo, hi}
		} else { // both are of three places, and compare as texts
			widest = []string{min(widest[0], lo), max(widest[1], hi)}
		}
	}
	if corrected {
		c.result.Judged95 = widest
	}
}

// heededFindings say what a calibrated judge decides, or why nothing.
func (x *facts) heededFindings() []string {
	if x.e.Judge == nil || x.e.Judge.Calibration == nil {
		return nil
	}
	var out []string
	for _, why := range x.heeded.why {
		out = append(out, "judge: decides nothing: "+why)
	}
	if x.heeded.claims > 0 {
		most := measure.Value{}
		for _, labels := range x.judgeLabels() {
			if upper := measure.ClopperPearsonUpper(labels.JudgePass, labels.Specificity().N, 0.05); !most.OK() || upper.Float() > most.Float() {
				most = upper
			}
		}
		out = append(out, fmt.Sprintf("judge: its word met %s that the match leaves missing, and %s by it; of what should fail it passes at most %s (labels of %s)",
			counted(x.heeded.claims, "claim", "claims"), passBy(x.heeded.trials), percent(most), x.e.Judge.Calibration.Date))
	}
	return out
}

// passBy counts the answers that pass.
func passBy(trials map[matrix.CellID]int) string {
	n := 0
	for _, k := range trials {
		n += k
	}
	if n == 1 {
		return "1 answer passes"
	}
	return fmt.Sprintf("%d answers pass", n)
}
