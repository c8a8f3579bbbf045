package runner

import (
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// cellJudgements names the judgements of a case, cellQuestions the embedding of the questions among them.
const (
	cellJudgements = "judgements"
	cellQuestions  = "comparing questions"
)

// judgements adds what the judge is asked of a case: of each kind as many questions as there may be, each with all that it may hold.
func (r *reckoning) judgements(c *matrix.Case, plan *matrix.Plan) {
	longest := int64(r.e.Pipeline.Generate.MaxTokens)
	answer := &longest
	if longest == 0 {
		answer = nil // how long one may be is not known
	}
	expected := max(longest/expectedPart, 1)
	for i := range plan.Cells {
		cell := plan.Cells[i]
		items, most, mean := r.context(c, cell)
		usual := cell
		usual.Repeats = r.e.Runs.Usual(cell)
		likely := usual.Judgements(r.e, c)
		for kind, n := range cell.Judgements(r.e, c) {
			r.judgement(c, kind, n, likely[kind], items, judgeReads{answer, most}, judgeReads{&expected, mean})
			if kind == matrix.JudgeAnswerRelevancy {
				r.comparison(c, n, likely[kind])
			}
		}
	}
}

// judgeReads are the tokens of what is put to the judge and not written yet; nil is not known.
type judgeReads struct{ answer, context *int64 }

// judgement adds questions of a kind: n at the most, and so many as are likely.
func (r *reckoning) judgement(c *matrix.Case, kind matrix.JudgementKind, n, likely, items int, worst, expected judgeReads) {
	out := int64(r.e.Judge.MaxTokens)
	form := judgeForms[kind]
	written := []string{judgeSystem, form.Task, judgeEvasive, judgeBySchema, form.Schema, form.Schema, c.Question()} // the schema in the prompt, or as the form
	texts := len(written) + len(c.Claims)
	for i := range c.Claims {
		text, _ := c.Claims[i].Statement()
		written = append(written, text)
	}
	statements, usesContext := new(int64), true
	switch kind {
	case matrix.JudgeFaithfulness: // of the statements that the judge found, in its own words
		statements = &out
		texts += min(verdict.MaxStatements, r.e.Judge.MaxTokens)
	case matrix.JudgeContextPrecision, matrix.JudgeContextRecall:
	default:
		usesContext = false
	}
	if usesContext {
		texts += items
	}
	reads := func(reads judgeReads, texts int) *int64 {
		what := reads.answer
		if usesContext {
			what = bothOf(reads.context, statements)
		}
		return bothOf(bothOf(r.counted(written...), r.fences(texts)), what)
	}
	all := func(n int, each *int64, out int64) Need {
		if each != nil {
			sum := *each * int64(n)
			each = &sum
		}
		return r.need(matrix.RoleJudge, n, each, out*int64(n), 0)
	}
	r.add(c.ID, cellJudgements, all(n, margin(reads(worst, texts), texts), out), all(likely, reads(expected, 2+items), max(out/expectedPart, 1)))
}

// comparison adds the vectors by which n judgements at the most compare the judge's questions with the case's own.
func (r *reckoning) comparison(c *matrix.Case, n, likely int) {
	questions := int64(r.e.Judge.AnswerRelevancy.Questions)
	all := func(n int, one *int64, more int64) *int64 {
		if one == nil {
			return nil
		}
		sum := int64(n) * (*one + more)
		return &sum
	}
	own, found := r.counted(c.Question()), int64(r.e.Judge.MaxTokens)
	worst, expected := margin(all(n, own, found), n*int(1+questions)), all(likely, own, max(found/expectedPart, 1))
	r.add(c.ID, cellQuestions, r.need(matrix.RoleEmbedder, n, worst, 0, 0), r.need(matrix.RoleEmbedder, likely, expected, 0, 0))
}

// fences are the tokens of the lines between which so many texts stand.
func (r *reckoning) fences(texts int) *int64 {
	if r.count == nil {
		return nil
	}
	const code = "0123456789abcdef"
	n := int64(r.count("\nBEGIN STATEMENT 100 "+code+"\n\nEND STATEMENT 100 "+code+"\n")) * int64(texts)
	return &n
}
