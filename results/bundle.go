package results

import (
	"path"
	"runtime"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// The files of a bundle, apart from its blobs.
const (
	manifestFile    = "manifest.json"
	sumsFile        = "SHA256SUMS"
	caseSourceFile  = "case/case.yaml"
	caseFile        = "case/resolved.json"
	experimentFile  = "experiment.json"
	pinsFile        = "pins.json"
	planFile        = "plan.json"
	retrievalsFile  = "observations/retrievals.jsonl"
	generationsFile = "observations/generations.jsonl"
	rewritingFile   = "observations/rewriting.json"   // only where the query was rewritten
	judgementsFile  = "observations/judgements.jsonl" // only where something was judged
	storeFile       = "observations/store.json"
	environmentFile = "observations/environment.json"
	featuresFile    = "features.json"
	evaluationFile  = "evaluation.json"
)

// Bundle is the result of one case: what was asked, what was seen, and what was made of it.
type Bundle struct {
	Path         string   // where it stands; set by Open
	Manifest     Manifest // filled by Open; Seal reads Tool alone, and fills that from the build where it is zero
	Case         matrix.Case
	CaseSource   []byte // exact input bytes
	Experiment   matrix.Experiment
	Pins         Pins
	Plan         matrix.Plan
	Observations matrix.Observations
	Environment  Environment // filled by Seal where it is zero
	Features     verdict.Features
	Evaluation   verdict.Evaluation // Seal fills in the digest of the observations where it names none
	Status       string             // StatusComplete where it is empty
	Withheld     int                // restricted files that are not there; set by Open
}

// EnvironmentSchema is the schema of [Environment].
const EnvironmentSchema = "culprit.environment/v1"

// Environment is where the observations were made. It is not part of the observation digest.
type Environment struct {
	Schema  string `json:"schema"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
	Started string `json:"started,omitempty"`
	Ended   string `json:"ended,omitempty"`
	// ReenactedOf is the digest of the manifest of the bundle that answered every call; "": they were made. Filled by Seal.
	ReenactedOf string `json:"reenacted_of,omitempty"`
}

func thisEnvironment() Environment {
	return Environment{Schema: EnvironmentSchema, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
}

const blobFolder = "blobs/sha256"

// blobPath returns where a blob stands in a bundle.
func blobPath(ref string) string {
	hexSum := strings.TrimPrefix(ref, "sha256:")
	return blobFolder + "/" + hexSum[:2] + "/" + hexSum
}

// blobRef is the reference of what stands at a path of a bundle, "" where that is no place of a blob.
func blobRef(name string) string {
	sum := "sha256:" + path.Base(name)
	for _, ref := range []string{sum, matrix.RestrictedRef + sum} {
		if refPath(ref) == name {
			return ref
		}
	}
	return ""
}

// isRef reports whether s names a blob.
func isRef(s string) bool {
	hexSum, ok := strings.CutPrefix(s, "sha256:")
	return ok && isHexSum(hexSum)
}
