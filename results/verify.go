package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
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
	stepEntries   = "entries"
	stepManifest  = "manifest"
	stepFiles     = "files"
	stepContents  = "contents"
	stepEvaluator = "evaluator"
)

const getAgain = "copy the bundle again from where it was sealed; bytes that changed cannot be mended"

// verifySteps are in their order. What another step checks goes into a step of its own.
func verifySteps() []step {
	return []step{
		{stepEntries, StateMalformed, getAgain, (*verifier).open},
		{stepManifest, StateMalformed, getAgain, (*verifier).readManifest},
		{stepFiles, StateBroken, getAgain, (*verifier).readFiles},
		{stepContents, StateMalformed, "use the version of culprit that sealed it, or a newer one", nil}, // found while the files are read
		{"journal", StateBroken, "do not rely on it: calls may be missing, added or changed", (*verifier).readJournal},
		{"digests", StateBroken, "do not rely on it: its parts are of different bundles, or were changed and sealed again", (*verifier).checkDigests},
		{"references", StateBroken, "do not rely on it: observations may be missing, added or changed", (*verifier).checkReferences},
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
			s.run(v)
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
	}
}

func (v *verifier) readManifest() {
	data, err := v.files.read(manifestFile, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("it is not there, so this is not a bundle")
	}
	if err == nil {
		v.Manifest = matrix.DigestBytes(data)
		v.manifest, err = decodeManifest(data)
	}
	if err != nil {
		v.report(manifestFile, 0, "%v", err)
		v.ended = true
		return
	}
	m := v.manifest
	v.Case, v.Execution, v.Status = m.CaseID, m.ExecID, m.Status
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

// readFiles reads each listed file once: what is no blob first, because it says which blobs are texts and are needed again.
func (v *verifier) readFiles() {
	there, err := v.files.names()
	if err != nil {
		v.report("", 0, "%v", err)
	}
	listed := map[string]bool{manifestFile: true, sumsFile: true}
	for _, f := range v.manifest.Files {
		listed[f.Path] = true
	}
	for _, name := range there {
		if !listed[name] {
			v.report(name, 0, "%s does not list it", manifestFile)
		}
	}
	v.data, v.has, v.withheld = map[string][]byte{}, map[string]bool{}, map[string]bool{}
	for _, f := range v.manifest.Files {
		if ref := blobRef(f.Path); ref == "" {
			if data, ok := v.readFile(f); ok {
				v.data[f.Path] = data
			}
		}
	}
	v.decode()
	texts := map[string]string{}
	err = v.bundle.Observations.Texts(func(t *matrix.Text) error {
		texts[t.Ref] = ""
		return nil
	})
	for _, f := range v.manifest.Files {
		ref := blobRef(f.Path)
		if ref == "" {
			continue
		}
		if !strings.HasSuffix(ref, "sha256:"+f.SHA256) {
			v.report(f.Path, 0, "it is listed with another sum than its name is")
			continue
		}
		if _, isText := texts[ref]; !isText {
			v.has[ref] = v.sumFile(f)
			continue
		}
		data, ok := v.readFile(f)
		if f.Restricted {
			data = data[min(saltSize, len(data)):]
		}
		v.has[ref], texts[ref] = ok, string(data)
	}
	err = errors.Join(err, v.bundle.Observations.Texts(func(t *matrix.Text) error {
		t.Value = texts[t.Ref]
		return nil
	}))
	if err != nil {
		v.report("", 0, "%v", err)
	}
}

// readFile returns a listed file that holds what is listed.
func (v *verifier) readFile(f File) ([]byte, bool) {
	data, err := v.files.read(f.Path, f.Size)
	if err != nil {
		return nil, v.seen(f, nil, 0, err)
	}
	sum := sha256.Sum256(data)
	return data, v.seen(f, sum[:], int64(len(data)), nil)
}

// sumFile is [verifier.readFile] of what is not needed again.
func (v *verifier) sumFile(f File) bool {
	h := sha256.New()
	size := int64(0)
	err := v.files.stream(f.Path, f.Size, func(chunk []byte) {
		h.Write(chunk)
		size += int64(len(chunk))
	})
	return v.seen(f, h.Sum(nil), size, err)
}

// seen reports whether a listed file holds what is listed.
func (v *verifier) seen(f File, sum []byte, size int64, err error) bool {
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Restricted:
		v.Withheld++
		v.withheld[blobRef(f.Path)] = true
	case errors.Is(err, fs.ErrNotExist):
		v.report(f.Path, 0, "it is missing")
	case err != nil:
		v.report(f.Path, 0, "%v", err)
	case f.told(size) != f.Size:
		v.report(f.Path, 0, "it has %d bytes, and %s lists %d", size, manifestFile, f.Size)
	case hex.EncodeToString(sum) != f.SHA256:
		v.report(f.Path, 0, "it was changed: its sum is not the one that %s lists", manifestFile)
	default:
		v.Files++
		v.Bytes += size
		return true
	}
	return false
}

// decode reads the parts of the bundle. A file that was reported already is not read.
func (v *verifier) decode() {
	b := &v.bundle
	b.Path, b.Manifest, b.Status, b.CaseSource = v.Path, *v.manifest, v.manifest.Status, v.data[caseSourceFile]
	optional := func(name string) bool {
		return slices.ContainsFunc(v.manifest.Files, func(f File) bool { return f.Path == name })
	}
	if optional(rewritingFile) {
		b.Observations.Rewriting = &matrix.Rewriting{}
		v.part(rewritingFile, decodeInto(b.Observations.Rewriting, false))
	}
	if optional(judgementsFile) {
		v.part(judgementsFile, decodeLinesInto(&b.Observations.Judgements))
	}
	v.part(caseSourceFile, func([]byte) error { return nil })
	v.part(caseFile, decodeInto(&b.Case, true))
	v.part(experimentFile, decodeInto(&b.Experiment, false))
	v.part(pinsFile, decodeInto(&b.Pins, false))
	v.part(planFile, decodeInto(&b.Plan, true))
	v.part(retrievalsFile, decodeLinesInto(&b.Observations.Retrievals))
	v.part(generationsFile, decodeLinesInto(&b.Observations.Trials))
	v.part(storeFile, decodeInto(&b.Observations.Store, false))
	v.part(environmentFile, decodeInto(&b.Environment, false))
	v.Reenacted = b.Environment.ReenactedOf
	v.part(featuresFile, decodeInto(&b.Features, true))
	v.part(evaluationFile, decodeInto(&b.Evaluation, true))
	v.part(journalFile, func([]byte) error { return nil })
	if v.data[evaluationFile] != nil {
		v.Verdict = VerdictOf(&b.Evaluation)
	}
}

// part decodes one file that every bundle has.
func (v *verifier) part(name string, decode func([]byte) error) {
	data, ok := v.data[name]
	if !ok {
		v.broken = true
		if !slices.ContainsFunc(v.manifest.Files, func(f File) bool { return f.Path == name }) {
			v.report(name, 0, "%s does not list it, and every bundle has it", manifestFile)
		}
		return
	}
	if err := decode(data); err != nil {
		v.broken = true
		v.reportAs(stepContents, name, 0, "%v", err)
	}
}

func decodeInto(into any, strict bool) func([]byte) error {
	return func(data []byte) error { return decodeJSON(data, into, strict) }
}

func decodeLinesInto[T any](into *[]T) func([]byte) error {
	return func(data []byte) (err error) {
		*into, err = decodeLines[T](data)
		return err
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

// readJournal holds the journal to its chain and its end.
func (v *verifier) readJournal() {
	data, ok := v.data[journalFile]
	if !ok {
		return
	}
	j, err := decodeJournal(data)
	switch {
	case errors.Is(err, ErrJournal):
		v.report(journalFile, 0, "%v", err)
		return
	case err != nil: // of another version
		v.reportAs(stepContents, journalFile, 0, "%v", err)
		return
	}
	m := v.manifest
	if j.Torn > 0 || j.Head != m.Journal.Head || len(j.Records) != m.Journal.Records {
		v.report(journalFile, 0, "it has %d records with the head %s, and %s lists %d with %s", len(j.Records), j.Head, manifestFile, m.Journal.Records, m.Journal.Head)
		return
	}
	v.journal = j
	type call struct {
		key     string
		attempt int
	}
	open := map[call]int{} // announced, and nothing tells what came of it
	durable := map[call]bool{}
	var plan Record
	for i, r := range j.Records {
		line := i + 1
		if (r.Type == RecordOpen) != (i == 0) || (r.Type == RecordClose) != (line == len(j.Records)) {
			v.report(journalFile, line, "a record %q stands here: it begins with %q and ends with %q, and holds each once", r.Type, RecordOpen, RecordClose)
		}
		switch r.Type {
		case RecordOpen:
			if r.Execution != m.ExecID || r.Case != m.CaseID || r.CaseDigest != "" && r.CaseDigest != m.Digests.Case {
				v.report(journalFile, line, "it is of case %q in execution %q, and %s of %q in %q", r.Case, r.Execution, manifestFile, m.CaseID, m.ExecID)
			}
		case RecordPlan:
			plan = r
		case RecordIntent:
			c := call{r.CallKey, r.Attempt}
			if open[c]++; durable[c] { // another is made again by whoever goes on
				v.report(journalFile, line, "try %d of call %s is announced twice", r.Attempt, r.CallKey)
			}
			durable[c] = r.Durable
		case RecordResult, RecordFailure:
			c := call{r.CallKey, r.Attempt}
			if open[c] == 0 {
				v.report(journalFile, line, "an outcome of try %d of call %s that no record announces", r.Attempt, r.CallKey)
			}
			delete(open, c)
		case RecordClose:
			if r.Text != m.Status {
				v.report(journalFile, line, "it was closed as %q, and %s says %q", r.Text, manifestFile, m.Status)
			}
		}
	}
	if plan.Plan != m.Digests.Plan {
		v.report(journalFile, 0, "its last plan is %q, and %s lists %s", plan.Plan, manifestFile, m.Digests.Plan)
	}
	if p := &v.bundle.Plan; !v.broken && (plan.Generations != p.Generations() || plan.Retrievals != len(p.Retrievals)) {
		v.report(journalFile, 0, "its last plan has %d generations and %d retrievals, and %s %d and %d", plan.Generations, plan.Retrievals, planFile, p.Generations(), len(p.Retrievals))
	}
	v.checkBegun()
	v.InDoubt = len(open)
}

// checkBegun holds the journal to the pins that it was begun with, and what it took from another execution to the observations that say so.
func (v *verifier) checkBegun() {
	if v.broken {
		return
	}
	pins, err := begunPins(&v.bundle)
	if len(v.journal.Records) == 0 {
		return // which was reported
	}
	if begun := v.journal.Records[0].PinsDigest; err != nil || begun != "" && begun != pins {
		v.report(journalFile, 1, "it was begun with the pins %s, and what %s says was declared is %s", begun, pinsFile, pins)
	}
	o := &v.bundle.Observations
	here := map[string]bool{} // calls that were made in this execution
	for i := range o.Trials {
		here[o.Trials[i].CallKey] = !o.Trials[i].FromJournal
	}
	for i := range o.Judgements {
		here[o.Judgements[i].CallKey] = !o.Judgements[i].FromJournal
	}
	for i, r := range v.journal.Records {
		if r.From != "" && (here[r.CallKey] || r.From == v.manifest.ExecID) {
			v.report(journalFile, i+1, "call %s is said to be of execution %q, and was made in this one", r.CallKey, r.From)
		}
	}
}

// checkDerived makes plan, features and evaluation again.
func (v *verifier) checkDerived() {
	if v.broken || v.observed == "" {
		return
	}
	b := &v.bundle
	again, err := derive(b, v.observed)
	if err == nil {
		if now := VerdictOf(&again.evaluation); now != v.Verdict {
			v.Remade = now
		}
	}
	if sealed := b.Evaluation.Ruleset; sealed != verdict.Ruleset() {
		v.reportAs(stepEvaluator, evaluationFile, 0, "it was decided by the rules %s, and this program has %s: what is derived was not compared", sealed, verdict.Ruleset())
		v.sayRemade(stepEvaluator)
		return
	}
	if err == nil {
		var plan *matrix.Plan
		if plan, err = derivePlan(b); err == nil {
			err = again.add(planFile, plan)
		}
	}
	if err != nil {
		v.report(caseFile, 0, "nothing can be derived from it: %v", err)
		return
	}
	name, why := v.step, "and the same program sealed it"
	if !sameEvaluator(v.manifest) {
		name, why = stepEvaluator, fmt.Sprintf("by the same rules in another build: it was sealed by %s, and this is %s", v.manifest.Tool, BuildTool())
	}
	same := true
	if says := asked(b, &again.features); says != "" {
		v.reportAs(name, generationsFile, 0, "%s, %s", says, why)
		same = false
	}
	for _, f := range again.files {
		if sealed := v.data[f.name]; !bytes.Equal(sealed, f.data) {
			same = false
			v.reportAs(name, f.name, 0, "made again from what was observed it has other bytes, %s; %s", why, firstDifference(sealed, f.data))
		}
	}
	v.sayRemade(name)
	v.Derived, v.Trials, v.Again = same, len(b.Observations.Trials), again.again
}

// sayRemade tells both verdicts where they differ: whoever names another program as the evaluator chooses what is sealed.
func (v *verifier) sayRemade(step string) {
	if v.Remade != "" {
		v.reportAs(step, evaluationFile, 0, "the verdict that is shown, %q, is what was sealed; made again it is %q", v.Verdict, v.Remade)
	}
}

// firstDifference shows where two JSON texts part.
func firstDifference(sealed, now []byte) string {
	const before, behind = 30, 60
	n := 0
	for n < len(sealed) && n < len(now) && sealed[n] == now[n] {
		n++
	}
	around := func(b []byte) string { return string(b[max(0, n-before):min(len(b), n+behind)]) }
	return fmt.Sprintf("at byte %d sealed …%s… and now …%s…", n, around(sealed), around(now))
}

// String is as a person names it: "culprit 1.4.0 (3f2a…)".
func (t Tool) String() string {
	s := strings.TrimSpace(t.Name + " " + t.Version)
	if t.Commit != "" {
		s += " (" + t.Commit[:min(len(t.Commit), 12)] + ")"
	}
	if t.Dirty {
		s += " with changes"
	}
	return s
}
