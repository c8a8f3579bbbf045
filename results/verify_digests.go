package results

import (
	"bytes"
	"encoding/json"

	"github.com/culprit-rag/culprit/matrix"
)

// checkDigests makes the digests again, and holds the parts of the bundle to each other.
func (v *verifier) checkDigests() {
	m, b := v.manifest, &v.bundle
	for _, d := range []struct{ name, want string }{
		{caseFile, m.Digests.Case}, {pinsFile, m.Digests.Pins}, {planFile, m.Digests.Plan}, {evaluationFile, m.Digests.Evaluation},
	} {
		if data, ok := v.data[d.name]; ok && matrix.DigestBytes(data) != d.want {
			v.report(d.name, 0, "its digest is not the one in %s", manifestFile)
		}
	}
	for _, name := range []string{caseFile, experimentFile, pinsFile, planFile, featuresFile, evaluationFile} {
		if data, ok := v.data[name]; ok {
			if again, err := matrix.Canonical(json.RawMessage(data)); err != nil || !bytes.Equal(again, data) {
				v.report(name, 0, "its bytes are not the canonical form (RFC 8785) of its content")
			}
		}
	}
	if v.broken {
		return
	}
	observed, err := b.Observations.Digest()
	if err != nil {
		v.report("", 0, "the observations have no digest: %v", err)
	}
	v.observed = observed
	if observed != m.Digests.Observation {
		v.report("", 0, "the digest of the observations is not the one in %s", manifestFile)
	}
	experiment, err := experimentDigest(&b.Experiment)
	if err != nil {
		v.report(experimentFile, 0, "%v", err)
	}
	for _, same := range []struct{ file, what, is, want, of string }{
		{manifestFile, "case_digest", m.CaseDigest, m.Digests.Case, manifestFile},
		{caseFile, "id", b.Case.ID, m.CaseID, manifestFile},
		{planFile, "case", b.Plan.Case, m.CaseID, manifestFile},
		{planFile, "case_digest", b.Plan.CaseDigest, m.Digests.Case, manifestFile},
		{pinsFile, "experiment", b.Pins.Experiment, experiment, experimentFile},
		{evaluationFile, "case", b.Evaluation.Case, m.CaseID, manifestFile},
		{evaluationFile, "observation_digest", b.Evaluation.ObservationDigest, m.Digests.Observation, manifestFile},
		{evaluationFile, "ruleset", b.Evaluation.Ruleset, m.Evaluator.Ruleset, manifestFile},
	} {
		if same.is != same.want {
			v.report(same.file, 0, "%s is %q, and %s says %q", same.what, same.is, same.of, same.want)
		}
	}
	v.checkPins()
}
