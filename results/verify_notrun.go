package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// checkReasons holds why something was not run to what was observed, as far as that decides it.
func (v *verifier) checkReasons() {
	o := &v.bundle.Observations
	skipped := map[string]bool{}
	for _, r := range v.journal.Records {
		if r.Type == RecordInDoubt && r.Text == InDoubtSkip {
			skipped[r.CallKey] = true
		}
	}
	check := func(file string, line int, status matrix.Status, key, reason string, holds func() (holds, known bool)) {
		if status != matrix.StatusNotRun {
			return
		}
		is, known := reason != "", true
		switch {
		case reason == "":
		case reason == NotMadeSkipped:
			is = skipped[key]
		case reason == NotMadeSealed:
			is = v.manifest.Status != StatusComplete
		case !elsewhere(reason):
			is, known = holds()
		}
		switch {
		case !known:
			v.reportAs(v.unlessOther(), file, line, "it is %q for a reason that this version does not know: %q", status, reason)
		case !is:
			v.report(file, line, "it is %q since %q, and by what was observed that is not so", status, reason)
		}
	}
	unwritten := func(reason string) bool {
		return strings.HasPrefix(reason, matrix.NotRunUnwritten) && o.Rewriting != nil && o.Rewriting.Status != matrix.StatusOK
	}
	if w := o.Rewriting; w != nil {
		check(rewritingFile, 1, w.Status, w.CallKey, w.Reason, func() (bool, bool) { return false, false })
	}
	for i := range o.Retrievals {
		r := &o.Retrievals[i]
		check(retrievalsFile, i+1, r.Status, r.CallKey, r.Reason, func() (bool, bool) {
			switch {
			case r.Reason == matrix.NotRunUntold+verdict.NoStore:
				return v.bundle.Experiment.Backends.Pipeline != nil && v.bundle.Experiment.Backends.Store == nil, true
			case strings.HasPrefix(r.Reason, matrix.NotRunUnwritten):
				return r.Cell == matrix.CellC && unwritten(r.Reason), true
			}
			return false, false
		})
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		key := t.CallKey
		if t.SameAs != "" {
			key = t.SameAs
		}
		check(generationsFile, i+1, t.Status, key, t.Reason, func() (bool, bool) {
			if strings.HasPrefix(t.Reason, matrix.NotRunUnwritten) {
				return unwritten(t.Reason), true
			}
			return v.reasonHolds(t)
		})
	}
	for i := range o.Judgements {
		j := &o.Judgements[i]
		key := j.CallKey
		if j.SameAs != "" {
			key = j.SameAs
		}
		check(judgementsFile, i+1, j.Status, key, j.Reason, func() (bool, bool) {
			return v.bundle.Experiment.Limits.Budget != matrix.Spending{}, strings.HasPrefix(j.Reason, "limits.budget.")
		})
	}
}

// elsewhere reports whether a reason is of the whole run: what shows it may stand in the bundle of another case.
func elsewhere(reason string) bool {
	return slices.ContainsFunc([]string{matrix.NotRunKeyRefused, matrix.NotRunNotThere, matrix.NotRunUnreached, matrix.NotRunUsedUp}, func(off string) bool {
		return strings.HasPrefix(reason, off+": ")
	})
}

// reasonHolds reports whether the reason of a trial follows from what was observed; known is false for one that this version has not.
func (v *verifier) reasonHolds(t *matrix.Trial) (holds, known bool) {
	b := &v.bundle
	o, e, c := &b.Observations, &b.Experiment, &b.Case
	cell, _ := b.Plan.Cell(t.Cell)
	search := slices.IndexFunc(o.Retrievals, func(r matrix.Retrieval) bool { return r.Cell == t.Cell.Search() })
	own := slices.IndexFunc(o.Retrievals, func(r matrix.Retrieval) bool { return r.Cell == t.Cell })
	repairs := cell.Condition == matrix.IfDecides
	switch t.Reason { // what holds for every cell
	case matrix.NotRunNoSearch:
		return len(o.Retrievals) > 0 && o.Retrievals[0].Status != matrix.StatusOK, true
	case matrix.NotRunSparing:
		return repairs && e.Limits.Budget != matrix.Spending{}, true
	case fmt.Sprintf(matrix.NotRunSearch, t.Cell.Search()):
		return repairs && (search < 0 || o.Retrievals[search].Status != matrix.StatusOK) || len(o.Retrievals) > 0 && o.Retrievals[0].Status == matrix.StatusNotRun, true
	case matrix.NotRunTooDeep:
		return t.Cell == matrix.RepairMoreK && search >= 0 && !v.ranked(&o.Retrievals[search]), true
	case matrix.NotRunNotRanked:
		return repairs && own >= 0 && o.Retrievals[own].Status != matrix.StatusOK, true
	case matrix.NotRunUntoldItems:
		return t.Cell.Run() == matrix.Perturbation && e.Backends.Pipeline != nil, true
	case matrix.NotRunNoDistractor:
		return slices.ContainsFunc(c.Evidence.Distractors, func(d matrix.Distractor) bool { return d.Source == t.Cell.Subject() && d.Text == "" }), true
	case matrix.NotRunNoUnrelated:
		return t.Cell.Variant() == matrix.WithIrrelevant, true
	case verdict.NoStore + matrix.NotRunNoItem:
		return t.Cell.Variant() == matrix.WithIrrelevant && e.Backends.Store == nil, true
	case matrix.NotRunNoGoldText:
		return t.Cell.Run() != matrix.Production && (len(c.Evidence.Required) == 0 || slices.ContainsFunc(v.goldTexts(), func(g *matrix.GoldFacts) bool { return g == nil })), true
	case verdict.NoSwap:
		return t.Cell.Variant() == matrix.SwapSpan && v.swapsNothing(cell.Item-1), true
	case matrix.NotRunNoGold, matrix.NotRunFewItems, matrix.NotRunNoMiddle:
		return t.Cell.Run() == matrix.Perturbation && v.holdsTooLittle(t.Reason), true
	}
	if strings.HasPrefix(t.Reason, matrix.NotRunNoTexts) {
		return repairs && e.Backends.Store != nil, true
	}
	var needed, drawn int
	if n, err := fmt.Sscanf(t.Reason, matrix.NotRunFewSeeded, &needed, &drawn); err == nil && n == 2 {
		return needed == cell.Seeded && drawn < needed, true
	}
	return false, false
}

// goldTexts are the texts that stand for each requirement, nil for one that has none.
func (v *verifier) goldTexts() []*matrix.GoldFacts {
	out := make([]*matrix.GoldFacts, len(v.bundle.Case.Evidence.Required))
	for i := range out {
		out[i] = verdict.GoldText(&v.bundle.Observations.Store, i)
	}
	return out
}

// ranked reports whether every required item is in a ranking.
func (v *verifier) ranked(r *matrix.Retrieval) bool {
	for i := range v.bundle.Case.Evidence.Required {
		if !slices.ContainsFunc(r.Candidates, func(h matrix.Hit) bool {
			return h.Text.Withheld() || verdict.Serves(&v.bundle.Case, &v.bundle.Observations.Store, i, h.ID, h.Source, h.Revision, h.Text)
		}) {
			return false
		}
	}
	return true
}

// swapsNothing reports whether the evidence of a requirement has no fact that can be changed; also where its texts are withheld.
func (v *verifier) swapsNothing(item int) bool {
	gold := v.goldTexts()
	texts := make([]string, len(gold))
	for i, g := range gold {
		if g == nil {
			return false // for which there is another reason
		}
		if g.Text.Withheld() {
			return true
		}
		texts[i] = g.Text.Value
	}
	if item < 0 || item >= len(gold) {
		return false
	}
	anyOf := v.bundle.Case.Evidence.Required[item].AnyOf
	if at := gold[item].Alternative; at < 0 || at >= len(anyOf) {
		return false
	}
	_, _, ok := verdict.SwapFact(&v.bundle.Case, texts, item, anyOf[gold[item].Alternative].Span)
	return !ok
}

// holdsTooLittle reports whether A's context lacks what a reason says; also where it is not known.
func (v *verifier) holdsTooLittle(reason string) bool {
	o := &v.bundle.Observations
	at := slices.IndexFunc(o.Trials, func(t matrix.Trial) bool {
		return t.Cell == matrix.CellA && (t.Status != matrix.StatusNotRun || len(t.Packed) > 0)
	})
	if at < 0 || o.Trials[at].Unseen(matrix.PackedUnobserved) {
		return true
	}
	packed, gold := o.Trials[at].Packed, 0
	for _, p := range packed {
		if p.Text.Withheld() {
			return true
		}
		for i := range v.bundle.Case.Evidence.Required {
			if verdict.Serves(&v.bundle.Case, &o.Store, i, p.ID, p.Source, p.Revision, p.Text) {
				gold++
				break
			}
		}
	}
	switch reason {
	case matrix.NotRunNoGold:
		return gold == 0
	case matrix.NotRunNoMiddle:
		return len(packed)-gold < 2
	}
	return len(packed) < 2
}
