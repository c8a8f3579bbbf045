package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// derived is what follows from the input and the observations of a bundle, with the bytes that it is sealed as.
type derived struct {
	plan       *matrix.Plan
	features   verdict.Features
	evaluation verdict.Evaluation

	planData, featuresData, evaluationData []byte
}

type derivedFile struct {
	name string
	data []byte
}

func (d *derived) files() []derivedFile {
	return []derivedFile{{planFile, d.planData}, {featuresFile, d.featuresData}, {evaluationFile, d.evaluationData}}
}

// derive makes plan, features and evaluation again. Of the sealed plan it takes only whether the generator was held to be deterministic,
// and whether it was held to that. The texts are at hand; digest is that of the observations.
func derive(b *Bundle, digest string) (_ *derived, err error) {
	d := &derived{}
	if d.plan, err = matrix.Expand(&b.Experiment, &b.Case, b.Plan.Deterministic); err != nil {
		return nil, err
	}
	if _, held := b.Plan.Cell(matrix.CellAgain); held {
		d.plan.HoldToWord()
	}
	if d.features, err = verdict.Extract(&b.Experiment, &b.Case, &b.Observations); err != nil {
		return nil, err
	}
	// The plan that was carried out decides which cells there are, also where a later version would plan others.
	d.evaluation = verdict.EvaluateDigested(digest, &b.Experiment, &b.Case, &b.Plan, &b.Observations, &d.features)
	for _, f := range []struct {
		of   any
		into *[]byte
	}{{d.plan, &d.planData}, {&d.features, &d.featuresData}, {&d.evaluation, &d.evaluationData}} {
		if *f.into, err = matrix.Canonical(f.of); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// VerdictOf names a verdict in one line: its defects, or else its outcome with the qualifier.
func VerdictOf(e *verdict.Evaluation) string {
	var names []string
	for _, d := range e.Defects {
		names = append(names, d.Name())
	}
	switch {
	case len(names) > 0:
		return strings.Join(slices.Compact(names), ", ")
	case e.Qualifier != "":
		return fmt.Sprintf("%s/%s", e.Outcome, e.Qualifier)
	}
	return string(e.Outcome)
}
