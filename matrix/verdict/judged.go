package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// Judged is what a model said of the answers, beside what was decided without it. Nothing in it changes an outcome. Every count
// of judgements includes those that an identical question answered.
type Judged struct {
	Model         string       `json:"model"`                    // that was asked for
	ModelReported []string     `json:"model_reported,omitempty"` // every one that answered, sorted
	Version       string       `json:"prompt_version,omitempty"`
	PromptDigest  string       `json:"prompt_digest,omitempty"`
	Judgements    int          `json:"judgements"` // Void + Failed + NotRun, and those that say something
	Void          int          `json:"void"`       // answered, and the answer decides nothing
	Failed        int          `json:"failed"`     // errors
	NotRun        int          `json:"not_run"`
	Compared      int          `json:"compared"` // words on claims that could be held against the deterministic result
	Agree         int          `json:"agree"`    // of those
	Cells         []JudgedCell `json:"cells,omitempty"`
}

// JudgedCell is what was said of the answers of one cell.
type JudgedCell struct {
	Cell    matrix.CellID  `json:"cell"`
	Claims  []JudgedClaim  `json:"claims,omitempty"`
	Metrics []JudgedMetric `json:"metrics,omitempty"`
}

// JudgedClaim counts the words on one claim. N = Entailed + Contradicted + Absent + Void + Failed.
type JudgedClaim struct {
	ID           string `json:"id"`
	Forbidden    bool   `json:"forbidden,omitempty"` // the judge was asked of what the answer must never say
	Entailed     int    `json:"entailed"`
	Contradicted int    `json:"contradicted"`
	Absent       int    `json:"absent"`
	Void         int    `json:"void"`
	Failed       int    `json:"failed"` // errors, and what was not run
	N            int    `json:"n"`
	Compared     int    `json:"compared"`
	Agree        int    `json:"agree"`
}

// JudgedMetric is the mean of a metric over the answers, or over the contexts, of a cell. Value is a decimal of six places, and
// empty where there is none; Reason then says why. The mean is over Used of Total, made of Parts statements, questions, items or
// claims.
type JudgedMetric struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Used   int    `json:"used"`
	Total  int    `json:"total"`
	Parts  int    `json:"parts"`
	Reason string `json:"reason,omitempty"`
}

// said reports whether a judgement says something. A word that there is not is none, whoever recorded it.
func said(j *matrix.Judgement) bool {
	switch {
	case j == nil || j.Status != matrix.StatusOK || j.Void != "":
		return false
	case j.Kind == matrix.JudgeClaim:
		return j.Word == matrix.Entailed || j.Word == matrix.Contradicted || j.Word == matrix.Absent
	}
	return true
}

// judged counts what the judge said; nil where none was asked.
func (x *facts) judged() *Judged {
	if x.e.Backends.Judge == nil || !x.e.Judge.Asks() {
		return nil
	}
	out := &Judged{}
	reported := map[string]bool{}
	for i := range x.o.Judgements {
		j := &x.o.Judgements[i]
		out.Model, out.Version, out.PromptDigest = j.ModelRequested, j.Version, j.PromptDigest
		if j.ModelReported != "" {
			reported[j.ModelReported] = true
		}
		out.Judgements++
		switch {
		case j.Status == matrix.StatusNotRun:
			out.NotRun++
		case j.Status == matrix.StatusError:
			out.Failed++
		case !said(j):
			out.Void++
		}
	}
	out.ModelReported = slices.Sorted(maps.Keys(reported))
	for _, planned := range x.p.Cells {
		if !x.e.Judge.Judges(planned.Cell) {
			continue
		}
		cell := JudgedCell{Cell: planned.Cell, Claims: x.judgedClaims(planned.Cell), Metrics: x.judgedMetrics(planned.Cell)}
		for _, c := range cell.Claims {
			out.Compared, out.Agree = out.Compared+c.Compared, out.Agree+c.Agree
		}
		if len(cell.Claims)+len(cell.Metrics) > 0 {
			out.Cells = append(out.Cells, cell)
		}
	}
	return out
}

// judgedClaims counts the words on each claim in the answers of a cell.
func (x *facts) judgedClaims(cell matrix.CellID) []JudgedClaim {
	var out []JudgedClaim
	for i := range x.c.Claims {
		claim := &x.c.Claims[i]
		text, forbidden := claim.Statement()
		if !x.e.Judge.Claims || text == "" {
			continue
		}
		count := JudgedClaim{ID: claim.ID, Forbidden: forbidden}
		for n := range x.o.Judgements {
			j := &x.o.Judgements[n]
			if j.Kind != matrix.JudgeClaim || j.Cell != cell || j.Claim != claim.ID {
				continue
			}
			count.add(j)
			if agrees, comparable := x.agrees(claim, j); comparable {
				count.Compared++
				if agrees {
					count.Agree++
				}
			}
		}
		if count.N > 0 {
			out = append(out, count)
		}
	}
	return out
}

func (c *JudgedClaim) add(j *matrix.Judgement) {
	c.N++
	switch {
	case j.Status == matrix.StatusError || j.Status == matrix.StatusNotRun:
		c.Failed++
	case !said(j):
		c.Void++
	case j.Word == matrix.Entailed:
		c.Entailed++
	case j.Word == matrix.Contradicted:
		c.Contradicted++
	default:
		c.Absent++
	}
}

// agrees holds the judge's word against the deterministic result. A claim that must be cited, and one that states both what must
// be said and what was forbidden, is not decided by the statement alone.
func (x *facts) agrees(claim *matrix.Claim, j *matrix.Judgement) (agrees, comparable bool) {
	if !said(j) || len(claim.Cites) > 0 {
		return false, false
	}
	cell := x.cells[j.Cell]
	if cell == nil {
		return false, false
	}
	for _, f := range cell.features {
		if f.Rep != j.Rep {
			continue
		}
		i := slices.IndexFunc(f.Claims, func(r ClaimResult) bool { return r.ID == claim.ID })
		if i < 0 {
			return false, false
		}
		state, entailed := f.Claims[i].State, j.Word == matrix.Entailed
		if len(claim.Any) == 0 {
			return (state == ClaimViolated) == entailed, true
		}
		return (state == ClaimMet) == entailed, state != ClaimViolated
	}
	return false, false
}

// judgedMetrics works out what was asked for of a cell whose trials were run.
func (x *facts) judgedMetrics(cell matrix.CellID) []JudgedMetric {
	asked := x.e.Judge
	var first *matrix.Trial // whose context the others share
	if c := x.cells[cell]; c != nil {
		if i := slices.IndexFunc(c.all, func(t *matrix.Trial) bool { return t.Status != matrix.StatusNotRun }); i >= 0 {
			first = c.all[i]
		}
	}
	if first == nil {
		return nil
	}
	var out []JudgedMetric
	add := func(kind matrix.JudgementKind, values []measure.Value, parts []int) {
		m := JudgedMetric{Name: string(kind), Total: len(values)}
		var mean measure.Value
		mean, m.Used = measure.Mean(values)
		m.Value = mean.Decimal()
		for i, v := range values {
			if v.OK() {
				m.Parts += parts[i]
			} else if m.Used == 0 {
				m.Reason = v.Reason()
			}
		}
		if len(values) == 0 {
			m.Reason = mean.Reason()
		}
		out = append(out, m)
	}
	if asked.Faithfulness {
		values, parts := x.faithfulness(cell, len(first.Packed) == 0)
		add(matrix.JudgeFaithfulness, values, parts)
	}
	if asked.AnswerRelevancy != nil {
		values, parts := x.relevancy(cell)
		add(matrix.JudgeAnswerRelevancy, values, parts)
	}
	if asked.ContextPrecision {
		v := x.contextPrecision(cell, len(first.Packed))
		add(matrix.JudgeContextPrecision, []measure.Value{v}, []int{len(first.Packed)})
	}
	if asked.ContextRecall {
		v := x.contextRecall(cell, len(first.Packed) == 0)
		add(matrix.JudgeContextRecall, []measure.Value{v}, []int{len(x.c.Reference())})
	}
	return out
}

// judgementsOf returns the judgements of a kind on a cell.
func (x *facts) judgementsOf(cell matrix.CellID, kind matrix.JudgementKind) []*matrix.Judgement {
	var out []*matrix.Judgement
	for i := range x.o.Judgements {
		if j := &x.o.Judgements[i]; j.Cell == cell && j.Kind == kind {
			out = append(out, j)
		}
	}
	return out
}

// faithfulness gives each answer's own. Without a context nothing is supported, and nobody needs to be asked.
func (x *facts) faithfulness(cell matrix.CellID, empty bool) (values []measure.Value, parts []int) {
	supports := map[int]*matrix.Judgement{} // by repetition
	for _, j := range x.judgementsOf(cell, matrix.JudgeFaithfulness) {
		supports[j.Rep] = j
	}
	for _, j := range x.judgementsOf(cell, matrix.JudgeStatements) {
		value, n := measure.Lacking(measure.Incomplete), len(j.Statements)
		switch support := supports[j.Rep]; {
		case !said(j):
		case n == 0 || empty:
			value = measure.Faithfulness(make([]bool, n))
		case said(support) && len(support.Supported) == n:
			value = measure.Faithfulness(support.Supported)
		}
		values, parts = append(values, value), append(parts, n)
	}
	return values, parts
}

func (x *facts) relevancy(cell matrix.CellID) (values []measure.Value, parts []int) {
	for _, j := range x.judgementsOf(cell, matrix.JudgeAnswerRelevancy) {
		value := measure.Lacking(measure.Incomplete)
		if said(j) {
			cosines := make([]string, len(j.Cosines))
			for i, c := range j.Cosines {
				cosines[i] = string(c)
			}
			value = measure.AnswerRelevancy(cosines, j.Noncommittal)
		}
		values, parts = append(values, value), append(parts, len(j.Questions))
	}
	return values, parts
}

func (x *facts) contextPrecision(cell matrix.CellID, items int) measure.Value {
	if len(x.c.Reference()) == 0 {
		return measure.Lacking(measure.NoReference)
	}
	useful, known := make([]bool, items), 0
	for _, j := range x.judgementsOf(cell, matrix.JudgeContextPrecision) {
		if said(j) && j.Useful != nil && j.Position >= 1 && j.Position <= items {
			useful[j.Position-1] = *j.Useful
			known++
		}
	}
	if known != items {
		return measure.Lacking(measure.Incomplete)
	}
	return measure.ContextPrecision(useful)
}

func (x *facts) contextRecall(cell matrix.CellID, empty bool) measure.Value {
	reference := len(x.c.Reference())
	if reference == 0 || empty { // an empty context supports nothing, and nobody needs to be asked
		return measure.ContextRecall(make([]bool, reference))
	}
	for _, j := range x.judgementsOf(cell, matrix.JudgeContextRecall) {
		if said(j) && len(j.Supported) == reference {
			return measure.ContextRecall(j.Supported)
		}
	}
	return measure.Lacking(measure.Incomplete)
}

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
			return j.Error.Kind + ": " + j.Error.Message
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
	return append(out, x.judgeIdentity(d)...)
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
