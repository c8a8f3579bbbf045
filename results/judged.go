package results

import (
	"fmt"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Judged lists the words of judges on claims in the bundles of an execution, or, for the id "", in those of all executions, the newest
// first.
func Judged(out string, id ExecutionID) ([]verdict.JudgedAnswer, error) {
	ids := []ExecutionID{id}
	if id == "" {
		var err error
		if ids, err = Executions(out); err != nil {
			return nil, err
		}
	}
	var all []verdict.JudgedAnswer
	for _, id := range ids {
		bundles, err := Bundles(out, id)
		if err != nil {
			return nil, err
		}
		for _, dir := range bundles {
			b, err := Open(dir)
			if err != nil {
				return nil, err
			}
			if err := checkPlace(dir, id, &b.Manifest); err != nil {
				return nil, err
			}
			judged, err := verdict.JudgedAnswers(&b.Experiment, &b.Case, &b.Observations, &b.Features)
			if err != nil {
				return nil, fmt.Errorf("bundle %q: %w", dir, err)
			}
			for i := range judged {
				judged[i].Execution = string(id)
			}
			all = append(all, judged...)
		}
	}
	return all, nil
}
