package runner

import "github.com/culprit-rag/culprit/results"

func (s *session) newSummary(id results.ExecutionID) *results.Summary {
	summary := results.NewSummary(id, s.experiment)
	return &summary
}
