package results

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Exit codes of a finished execution.
const (
	exitPassed      = 0
	exitBlocked     = 3
	exitHeld        = 4
	exitEnvironment = 5
)

// Total makes every total of the cases. It may be called again after more cases were added.
func (s *Summary) Total() {
	s.Counts, s.Answers, s.Totals = Counts{Cases: len(s.Cases)}, AnswerTotals{}, Totals{}
	for i := range s.Cases {
		c := &s.Cases[i]
		s.count(c)
		s.Answers.add(c.Answer)
		s.Totals.add(c.Totals)
	}
	for _, part := range []*Totals{s.Shared, s.Unfinished} {
		if part != nil {
			s.Totals.add(*part)
		}
	}
	s.Totals.settle()
	s.ByStage = s.byStage()
	s.Recall, s.RecallCases = s.meanRecall()
	s.Metrics = s.meanMetrics()
	s.Setup.Runs, s.Setup.Generation = s.runs(), s.generation()
	s.Exit = s.ExitCode()
}

func (s *Summary) count(c *CaseSummary) {
	switch c.Outcome {
	case verdict.Pass:
		s.Counts.Passing++
	case verdict.Fail:
		s.Counts.Failing++
	case verdict.InvalidFixture:
		s.Counts.Invalid++
	case verdict.Environment:
		s.Counts.Environment++
	default:
		// An outcome that is not known decides nothing, and is never a success.
		s.Counts.Inconclusive++
	}
	if c.Blocks() {
		s.Counts.Blocking++
	}
}

// Blocks reports whether the case keeps what it is run for from going on: it fails or cannot judge, and its risk is blocking.
func (c *CaseSummary) Blocks() bool {
	return c.Risk == matrix.RiskBlocking && (c.Outcome == verdict.Fail || c.Outcome == verdict.InvalidFixture)
}

// Holds reports whether the case makes what it is run for wait: it is undecided, and its risk is blocking.
func (c *CaseSummary) Holds() bool {
	switch c.Outcome {
	case verdict.Pass, verdict.Fail, verdict.InvalidFixture, verdict.Environment:
		return false
	default:
		return c.Risk == matrix.RiskBlocking
	}
}

func (a *AnswerTotals) add(b AnswerTotals) {
	a.Scored += b.Scored
	a.Answered += b.Answered
	a.Copied += b.Copied
	a.Correct += b.Correct
	a.CopiedCorrect += b.CopiedCorrect
}

func (s *Summary) byStage() []StageCount {
	first := map[verdict.Stage]int{}
	for i := range s.Cases {
		if c := &s.Cases[i]; len(c.Defects) > 0 && c.Outcome == verdict.Fail {
			first[c.Defects[0].Stage]++
		}
	}
	counts := []StageCount{}
	for _, stage := range verdict.Stages() {
		if n := first[stage]; n > 0 {
			counts = append(counts, StageCount{Stage: stage, Cases: n})
		}
	}
	return counts
}

// runs lists the letters of the runs that some case made.
func (s *Summary) runs() []string {
	seen := map[string]bool{}
	for i := range s.Cases {
		for cell, counts := range s.Cases[i].Cells {
			if counts.Trials > 0 && cell != "" {
				seen[string(cell[0])] = true
			}
		}
		if len(s.Cases[i].Retrieval.Ranks) > 0 {
			seen["C"] = true
		}
	}
	runs := []string{}
	for _, letter := range []string{"A", "B", "C", "D"} {
		if seen[letter] {
			runs = append(runs, letter)
		}
	}
	return runs
}

// generation says whether the recorded trials were deterministic.
func (s *Summary) generation() string {
	var kinds []string
	for i := range s.Cases {
		for _, c := range s.Cases[i].Cells {
			if c.Scored > 0 {
				kind := "stochastic"
				if c.Exact {
					kind = "deterministic"
				}
				if !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			}
		}
	}
	switch len(kinds) {
	case 0:
		return ""
	case 1:
		return kinds[0]
	default:
		return "mixed"
	}
}

// ExitCode is 3 when a case blocks, else 5 when one met errors of its environment, whatever its risk, else 4 when one holds,
// else 0. Apart from those errors, a case to investigate changes nothing.
func (s *Summary) ExitCode() int {
	var blocks, environment, holds bool
	for i := range s.Cases {
		c := &s.Cases[i]
		blocks = blocks || c.Blocks()
		environment = environment || c.Outcome == verdict.Environment
		holds = holds || c.Holds()
	}
	switch {
	case blocks:
		return exitBlocked
	case environment:
		return exitEnvironment
	case holds:
		return exitHeld
	default:
		return exitPassed
	}
}
