package verdict

import (
	"maps"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// Judged is what a model said of the answers, beside what was decided without it. Nothing in it changes an outcome, but for the claims
// that are Decided. Every count of judgements includes those that an identical question answered.
type Judged struct {
	Model         string       `json:"model"`                    // that was asked for
	ModelReported []string     `json:"model_reported,omitempty"` // every one that answered, sorted
	Version       string       `json:"prompt_version,omitempty"`
	PromptDigest  string       `json:"prompt_digest,omitempty"`
	Judgements    int          `json:"judgements"` // Void + Failed + NotRun, and those that say something
	Void          int          `json:"void"`       // answered, and the answer decides nothing
	Failed        int          `json:"failed"`     // errors
	NotRun        int          `json:"not_run"`
	Compared      int          `json:"compared"`          // words on claims that could be held against the deterministic result
	Agree         int          `json:"agree"`             // of those
	Decided       int          `json:"decided,omitempty"` // claims that the match leaves missing, and that its word met
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
	out := &Judged{Decided: x.heeded.claims}
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
	for n := range x.f.Trials { // as the match has them, whatever the judge has decided
		f := &x.f.Trials[n]
		if f.Cell != j.Cell || f.Rep != j.Rep {
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
