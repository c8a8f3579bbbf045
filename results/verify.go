package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// State is what [Verify] says of a bundle.
type State string

// The states of a bundle, from the best to the worst.
const (
	StateIntact    State = "intact"
	StateEvaluator State = "other-evaluator" // intact; what is derived was made by another evaluator, and differs or was not compared
	StatePolicy    State = "policy"          // intact, and not what was asked for
	StateMalformed State = "malformed"       // cannot be read as a bundle
	StateBroken    State = "broken"          // something in it is not as it was sealed, or does not belong together
)

var states = []State{StateIntact, StateEvaluator, StatePolicy, StateMalformed, StateBroken}

// Worse returns the worse of two states.
func (s State) Worse(than State) State {
	if slices.Index(states, than) > slices.Index(states, s) {
		return than
	}
	return s
}

// Policy is what is asked of a bundle beside being intact.
type Policy struct {
	Partial bool // one that is partial or was aborted will do
	// Where Trust is not nil, Threshold of its keys must have signed the bundle, and at least one.
	Trust     []TrustedKey
	Threshold int
}

// Verification is what came of holding a bundle to its seal. Case, Execution and Status are as the manifest says, and empty where it
// cannot be read.
type Verification struct {
	Path      string      `json:"path"`
	State     State       `json:"state"`
	Case      string      `json:"case,omitempty"`
	Execution ExecutionID `json:"execution,omitempty"`
	Status    string      `json:"status,omitempty"`
	Manifest  string      `json:"manifest,omitempty"`     // digest of manifest.json, which a signature would be of
	Files     int         `json:"files"`                  // that were read and hold what is listed
	Bytes     int64       `json:"bytes"`                  // of them
	Withheld  int         `json:"withheld"`               // restricted files that were taken out
	Migrated  string      `json:"derived_from,omitempty"` // digest of the manifest of the bundle that it was migrated from
	Packed    bool        `json:"packed_again,omitempty"` // another program has compressed it: its file is not the one that was sealed
	Reenacted string      `json:"reenacted_of,omitempty"` // digest of the manifest of the bundle that answered every call
	InDoubt   int         `json:"in_doubt"`               // calls that were announced and of which nothing tells what came back
	Verdict   string      `json:"verdict,omitempty"`      // as it is sealed: the defects, or the outcome
	Remade    string      `json:"remade,omitempty"`       // the verdict as this program makes it again, where it is another
	SignedBy  []Signer    `json:"signed_by,omitempty"`    // by which of the keys of [Policy]
	Derived   bool        `json:"derived"`                // plan, features and evaluation were made again and are the same bytes
	Trials    int         `json:"trials,omitempty"`       // that were observed
	Again     int         `json:"again,omitempty"`        // of them, whose features were made again from texts that are here; the others are as sealed
	Problems  []Problem   `json:"problems"`
}

// Problem is one thing that is wrong with a bundle.
type Problem struct {
	Step    string `json:"step"`           // of [Verify] that found it
	File    string `json:"file,omitempty"` // in the bundle
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	Do      string `json:"do"` // what to do about it
}

// String is "file:line: message".
func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, p.Line)
	}
	if at == "" {
		return p.Message
	}
	return at + ": " + p.Message
}

// step is one part of [Verify]. It reports all that it finds; those behind it run all the same, on what can be read.
type step struct {
	name  string
	state State // of a bundle with a problem of this step
	do    string
	run   func(*verifier)
}

// The steps that are named elsewhere.
const (
	stepEntries    = "entries"
	stepManifest   = "manifest"
	stepFiles      = "files"
	stepContents   = "contents"
	stepJournal    = "journal"
	stepReferences = "references"
	stepInputs     = "inputs"
	stepEvaluator  = "evaluator"
)

const getAgain = "copy the bundle again from where it was sealed; bytes that changed cannot be mended"

// verifySteps are in their order. What another step checks goes into a step of its own.
func verifySteps() []step {
	return []step{
		{stepEntries, StateMalformed, getAgain, (*verifier).open},
		{stepManifest, StateMalformed, getAgain, (*verifier).readManifest},
		{stepFiles, StateBroken, getAgain, (*verifier).readFiles},
		{stepContents, StateMalformed, "use the version of culprit that sealed it, or a newer one", nil}, // found while the files are read
		{stepJournal, StateBroken, "do not rely on it: calls may be missing, added or changed", (*verifier).readJournal},
		{"digests", StateBroken, "do not rely on it: its parts are of different bundles, or were changed and sealed again", (*verifier).checkDigests},
		{stepReferences, StateBroken, "do not rely on it: observations may be missing, added or changed", (*verifier).checkReferences},
		{stepInputs, StateBroken, "do not rely on it: what was asked, or what was made of an answer, is not what follows from the rest", (*verifier).checkInputs},
		{"derived", StateBroken, "do not rely on its verdict: culprit replay shows what follows from what was observed", (*verifier).checkDerived},
		{stepEvaluator, StateEvaluator, "culprit replay shows which labels change; the version that sealed it can compare the bytes", nil}, // found by the one before
		{"signatures", StatePolicy, "ask for it, with its .dsse.json beside it, from those who were to sign it", (*verifier).checkSignatures},
		{"policy", StatePolicy, "run the case again to its end, or accept what is partial with --partial", (*verifier).checkPolicy},
	}
}

// Verify holds a bundle to its seal and to itself. It reads the bundle where it stands and writes nothing. Whatever is wrong with it,
// also where it cannot be read at all, is a problem of the verification.
func Verify(path string, policy Policy) *Verification {
	v := &verifier{Verification: &Verification{Path: path, State: StateIntact, Problems: []Problem{}}, policy: policy}
	for _, s := range verifySteps() {
		if v.step = s.name; s.run != nil {
			v.do(s)
		}
		if v.ended {
			break
		}
	}
	if v.files != nil {
		if err := v.files.close(); err != nil {
			v.reportAs(stepEntries, "", 0, "%v", err)
		}
	}
	slices.SortStableFunc(v.Problems, func(a, b Problem) int { return stepIndex(a.Step) - stepIndex(b.Step) })
	return v.Verification
}

// do runs a step. Ranks and counts that nobody could have observed, in a bundle that was made up, end the step and not the program.
func (v *verifier) do(s step) {
	defer func() {
		if r := recover(); r != nil {
			v.report("", 0, "its contents cannot be: %v", r)
		}
	}()
	s.run(v)
}

func stepIndex(name string) int {
	return slices.IndexFunc(verifySteps(), func(s step) bool { return s.name == name })
}

// verifier is a bundle that is being verified.
type verifier struct {
	*Verification
	policy Policy
	step   string
	ended  bool // the steps that follow have nothing to stand on

	files    files
	manifest *Manifest
	data     map[string][]byte // the files of the manifest that are no blobs and are as listed
	has      map[string]bool   // the blobs that are as listed, by reference
	withheld map[string]bool   // the blobs that were taken out, by reference
	bundle   Bundle
	broken   bool // some part of bundle could not be read
	journal  *Journal
	observed string // digest of the observations

	calls      map[string]matrix.Call // as they were announced last, by key
	restricted map[string]bool        // keys of calls that were made of restricted texts
}

func (v *verifier) report(file string, line int, format string, args ...any) {
	v.reportAs(v.step, file, line, format, args...)
}

func (v *verifier) reportAs(name, file string, line int, format string, args ...any) {
	s := verifySteps()[stepIndex(name)]
	v.State = v.State.Worse(s.state)
	v.Problems = append(v.Problems, Problem{Step: name, File: file, Line: line, Message: fmt.Sprintf(format, args...), Do: s.do})
}

// open finds out that nothing in the container is out of place, without reading what its files hold.
func (v *verifier) open() {
	var err error
	if v.files, err = openFiles(v.Path, true); err != nil {
		v.report("", 0, "%v", err)
		v.ended = true
		return
	}
	if a, is := v.files.(*archive); is {
		v.Packed = a.packed
	}
}

func (v *verifier) readManifest() {
	data, err := v.files.read(manifestFile, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("it is not there, so this is not a bundle")
		if names, _ := v.files.names(); slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".bundle/"+manifestFile) }) {
			err = errors.New("it stands in a folder, since the folder was packed and not what is in it: unpack it, and name the folder that holds " + manifestFile)
		}
	}
	if err == nil {
		v.Manifest = matrix.DigestBytes(data)
		v.manifest, err = decodeManifest(data)
	}
	if err != nil {
		if errors.Is(err, errNewer) {
			v.step = stepContents
		}
		v.report(manifestFile, 0, "%v", err)
		v.ended = true
		return
	}
	m := v.manifest
	v.Case, v.Execution, v.Status, v.Migrated = m.CaseID, m.ExecID, m.Status, m.DerivedFrom
	sums := sums(m.Files, data)
	switch listed, err := v.files.read(sumsFile, int64(len(sums))); {
	case errors.Is(err, os.ErrNotExist):
		v.reportAs(stepFiles, sumsFile, 0, "it is missing")
	case err != nil:
		v.reportAs(stepFiles, sumsFile, 0, "%v", err)
	case !bytes.Equal(listed, sums):
		v.reportAs(stepFiles, sumsFile, 0, "it lists other files or sums than %s", manifestFile)
	}
	if id, err := ParseExecutionID(filepath.Base(filepath.Dir(v.Path))); err == nil {
		if err := checkPlace(v.Path, id, m); err != nil {
			v.reportAs(stepFiles, manifestFile, 0, "%v", err)
		}
	}
}

func (v *verifier) checkSignatures() {
	if v.policy.Trust == nil || v.broken { // which was reported
		return
	}
	want, err := statementOf(v.manifest, &v.bundle.Evaluation)
	if err == nil {
		v.SignedBy, err = signersOf(v.Path, want, v.policy.Trust)
	}
	switch n := max(1, v.policy.Threshold); {
	case err != nil:
		v.report("", 0, "%v", err)
	case len(v.SignedBy) < n:
		v.report("", 0, "%d of the %d trusted keys signed it, and %d are asked for", len(v.SignedBy), len(v.policy.Trust), n)
	}
}

func (v *verifier) checkPolicy() {
	if m := v.manifest; m.Status != StatusComplete && !v.policy.Partial {
		v.report("", 0, "its status is %q: some of the case was not run", m.Status)
	}
}
