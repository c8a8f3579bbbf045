package results

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// checkDerived makes plan, features and evaluation again.
func (v *verifier) checkDerived() {
	if v.broken || v.observed == "" {
		return
	}
	b := &v.bundle
	again, err := derive(b, v.observed)
	if err == nil {
		if now := VerdictOf(&again.evaluation); now != v.Verdict {
			v.Remade = now
		}
	}
	if sealed := b.Evaluation.Ruleset; sealed != verdict.Ruleset() {
		v.reportAs(stepEvaluator, evaluationFile, 0, "it was decided by the rules %s, and this program has %s: what is derived was not compared", sealed, verdict.Ruleset())
		v.sayRemade(stepEvaluator)
		return
	}
	var files []derivedFile
	if err == nil {
		var plan *matrix.Plan
		if plan, err = derivePlan(b); err == nil {
			files = append(again.files(), derivedFile{planFile, plan})
		}
	}
	if err != nil {
		v.report(caseFile, 0, "nothing can be derived from it: %v", err)
		return
	}
	name, why := v.step, "and the same program sealed it"
	if tool := BuildTool(); !sameEvaluator(v.manifest) {
		name, why = stepEvaluator, fmt.Sprintf("by the same rules in another build: it was sealed by %s, and this is %s", v.manifest.Tool, tool)
		if tool == v.manifest.Tool {
			why = fmt.Sprintf("by the same rules, and builds that bear no commit of their own (%s) are told apart by nothing", tool)
		}
	}
	same := true
	if says := asked(b, &again.features); says != "" {
		v.reportAs(name, generationsFile, 0, "%s, %s", says, why)
		same = false
	}
	for _, f := range files {
		sealed := v.data[f.name]
		now, err := matrix.Differs(sealed, f.of)
		switch {
		case err != nil:
			v.report(caseFile, 0, "nothing can be derived from it: %v", err)
			same = false
		case now != nil:
			same = false
			v.reportAs(name, f.name, 0, "made again from what was observed it has other bytes, %s; %s", why, firstDifference(sealed, now))
		}
	}
	v.sayRemade(name)
	v.Derived, v.Trials, v.Again = same, len(b.Observations.Trials), again.again
}

// sayRemade tells both verdicts where they differ: whoever names another program as the evaluator chooses what is sealed.
func (v *verifier) sayRemade(step string) {
	if v.Remade != "" {
		v.reportAs(step, evaluationFile, 0, "the verdict that is shown, %q, is what was sealed; made again it is %q", v.Verdict, v.Remade)
	}
}

// firstDifference shows where two JSON texts part.
func firstDifference(sealed, now []byte) string {
	const before, behind = 30, 60
	n := 0
	for n < len(sealed) && n < len(now) && sealed[n] == now[n] {
		n++
	}
	around := func(b []byte) string { return string(b[max(0, n-before):min(len(b), n+behind)]) }
	return fmt.Sprintf("at byte %d sealed …%s… and now …%s…", n, around(sealed), around(now))
}

// String is as a person names it: "culprit 1.4.0 (3f2a…)".
func (t Tool) String() string {
	s := strings.TrimSpace(t.Name + " " + t.Version)
	if t.Commit != "" {
		s += " (" + t.Commit[:min(len(t.Commit), 12)] + ")"
	}
	if t.Dirty {
		s += " with changes"
	}
	return s
}
