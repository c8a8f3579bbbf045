package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// judgeFindings are what is worth knowing of the judge and of what it says.
func (x *facts) judgeFindings(d *Judged) []string {
	if d == nil {
		return nil
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, "judge: "+fmt.Sprintf(format, args...)) }
	if d.Void > 0 {
		say("%d of %s void: %s", d.Void, counted(d.Judgements, "judgement", "judgements"), x.reasons(func(j *matrix.Judgement) string { return j.Void }))
	}
	if d.Failed > 0 {
		say("%d of %s failed: %s", d.Failed, counted(d.Judgements, "judgement", "judgements"), x.reasons(func(j *matrix.Judgement) string {
			if j.Status != matrix.StatusError || j.Error == nil {
				return ""
			}
			return j.Error.String()
		}))
	}
	if d.NotRun > 0 {
		say("%d of %s not made: %s", d.NotRun, counted(d.Judgements, "judgement", "judgements"), x.reasons(func(j *matrix.Judgement) string {
			if j.Status != matrix.StatusNotRun {
				return ""
			}
			return j.Reason
		}))
	}
	if d.Agree < d.Compared {
		say("%d of %s on claims not as the deterministic check has it: %s", d.Compared-d.Agree, counted(d.Compared, "word", "words"), disagreements(d))
	}
	return slices.Concat(out, x.heededFindings(), x.judgeIdentity(d))
}

// judgeIdentity holds who judged against who was to judge, and against who was judged.
func (x *facts) judgeIdentity(d *Judged) []string {
	var out []string
	if want := x.e.Pins.Judge.ModelReported; want != "" {
		for _, got := range d.ModelReported {
			if got != want {
				out = append(out, fmt.Sprintf("pin: judge.model_reported is %q, the judge reports %q", want, got))
			}
		}
		if len(d.ModelReported) == 0 && d.Judgements > d.Failed+d.NotRun {
			out = append(out, fmt.Sprintf("pin: judge.model_reported is %q, the judge reports none", want))
		}
	}
	if len(d.ModelReported) > 1 {
		out = append(out, fmt.Sprintf("judge: answered as %s: counts of one model are not those of another", quoted(d.ModelReported)))
	} else if len(d.ModelReported) == 1 && d.Model != "" && d.ModelReported[0] != d.Model {
		out = append(out, fmt.Sprintf("judge: %q was asked, %q answered", d.Model, d.ModelReported[0]))
	}
	answered := map[string]bool{}
	for i := range x.o.Trials {
		if t := &x.o.Trials[i]; t.Status == matrix.StatusOK && !t.Cached {
			answered[orElse(t.ModelReported, t.ModelRequested)] = true
		}
	}
	judges := d.ModelReported
	if len(judges) == 0 && d.Model != "" {
		judges = []string{d.Model}
	}
	for _, name := range judges {
		if answered[name] && name != "" {
			out = append(out, fmt.Sprintf("judge: %q judges its own answers", name))
		}
	}
	return out
}

// disagreements names the claims of which the judge says something else.
func disagreements(d *Judged) string {
	var out []string
	for _, cell := range d.Cells {
		for _, c := range cell.Claims {
			if differ := c.Compared - c.Agree; differ > 0 {
				out = append(out, fmt.Sprintf("%s in %s %d of %d", c.ID, cell.Cell, differ, c.Compared))
			}
		}
	}
	return strings.Join(out, ", ")
}

// reasons counts what judgements give as a reason, the most frequent first.
func (x *facts) reasons(of func(*matrix.Judgement) string) string {
	const most = 3
	times := map[string]int{}
	for i := range x.o.Judgements {
		if reason := of(&x.o.Judgements[i]); reason != "" {
			times[reason]++
		}
	}
	names := slices.Sorted(maps.Keys(times))
	slices.SortStableFunc(names, func(a, b string) int { return times[b] - times[a] })
	var out []string
	for _, name := range names[:min(most, len(names))] {
		out = append(out, fmt.Sprintf("%s (%d)", name, times[name]))
	}
	if more := len(names) - most; more > 0 {
		out = append(out, fmt.Sprintf("and %s", counted(more, "other reason", "other reasons")))
	}
	return strings.Join(out, ", ")
}
