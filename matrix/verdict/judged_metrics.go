package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

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
