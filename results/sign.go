package results

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// TrustedKey is a public key with the name that it is known by, which may be empty.
type TrustedKey struct {
	Name string
	ed25519.PublicKey
}

// Signer is a trusted key that signed.
type Signer struct {
	Name string `json:"name,omitempty"`
	Key  string `json:"key"` // its [Fingerprint]
}

// String is the name, where there is one, and the fingerprint.
func (s Signer) String() string { return strings.TrimSpace(s.Name + " " + s.Key) }

// ErrUntrusted means that a bundle lacks the signatures that were asked for. It may be intact all the same.
var ErrUntrusted = errors.New("not signed as asked for")

// ErrSigned means that the key signed the bundle before.
var ErrSigned = errors.New("already signed with this key")

// The types of what is signed.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://in-toto.io/attestation/test-result/v0.1"
)

// The results of a test as the predicate has them. What is neither shown to pass nor to fail is warned of.
const (
	testPassed = "PASSED"
	testWarned = "WARNED"
	testFailed = "FAILED"
)

// statement is what a signature says: an in-toto Statement about the manifest, which the whole bundle hangs on.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     testResult `json:"predicate"`
}

// resource is a ResourceDescriptor of in-toto.
type resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// testResult holds the outcome of the case, and the names of its cells by theirs. Cells that were not run are in none of the lists.
type testResult struct {
	Result        string     `json:"result"`
	Configuration []resource `json:"configuration"`
	Passed        []string   `json:"passedTests"`
	Warned        []string   `json:"warnedTests"`
	Failed        []string   `json:"failedTests"`
}

// statementOf makes the statement of a bundle. It is the same for the same bundle, whoever signs it and when.
func statementOf(m *Manifest, e *verdict.Evaluation) (*statement, error) {
	manifest, err := matrix.Digest(m) // its file is canonical, or it would not have been read
	if err != nil {
		return nil, err
	}
	named := func(name, digest string) resource {
		_, sum, _ := strings.Cut(digest, ":")
		return resource{Name: name, Digest: map[string]string{"sha256": sum}}
	}
	p := testResult{
		Result: testWarned, Passed: []string{}, Warned: []string{}, Failed: []string{},
		Configuration: []resource{named(caseFile, m.Digests.Case), named(pinsFile, m.Digests.Pins), named(planFile, m.Digests.Plan), named("ruleset", m.Evaluator.Ruleset)},
	}
	switch {
	case e.Outcome == verdict.Fail, e.Outcome == verdict.InvalidFixture:
		p.Result = testFailed
	case e.Outcome == verdict.Pass && m.Status == StatusComplete:
		p.Result = testPassed
	}
	for i := range e.Cells {
		c := &e.Cells[i]
		list := &p.Warned
		switch held, decision := c.Held, c.Decision; {
		case c.Scored+c.Unscored+c.Failed == 0:
			continue
		case held == matrix.Yes, held == "" && decision == "passes":
			list = &p.Passed
		case held == matrix.No, held == "" && decision == "fails":
			list = &p.Failed
		}
		*list = append(*list, string(c.Cell))
	}
	return &statement{Type: statementType, Subject: []resource{named(m.CaseID, manifest)}, PredicateType: predicateType, Predicate: p}, nil
}

// SignatureFile returns where the signatures of a bundle stand: beside it, so that signing never changes a bundle. A folder that a
// bundle was unpacked into has the signatures of its file.
func SignatureFile(bundle string) string {
	return strings.TrimSuffix(filepath.Clean(bundle), ".zip") + ".zip.dsse.json"
}

// Sign adds a signature to those beside a bundle and returns their file. The bundle is not changed. Manifest is the digest of its
// manifest.json as it was verified, which is not done here. The error wraps ErrSigned where the key signed it before, and ErrLocked where
// another process is signing it.
func Sign(bundle, manifest string, key ed25519.PrivateKey) (file string, err error) {
	file = SignatureFile(bundle)
	if err := sign(bundle, manifest, file, key); err != nil {
		return file, fmt.Errorf("signing %q: %w", bundle, err)
	}
	return file, nil
}

func sign(bundle, manifest, file string, key ed25519.PrivateKey) (err error) {
	says, err := readStatement(bundle)
	if err != nil {
		return err
	}
	if verified := "sha256:" + says.Subject[0].Digest["sha256"]; verified != manifest {
		return fmt.Errorf("its manifest has the digest %s, and %s was verified", verified, manifest)
	}
	payload, err := matrix.Canonical(says)
	if err != nil {
		return err
	}
	lock, err := os.Open(bundle)
	if err != nil {
		return err
	}
	// Two that read the signatures, and each add theirs, would leave one. Where the file system has no locks, nobody can be kept out.
	if err := lockFolder(lock); errors.Is(err, ErrLocked) {
		return errors.Join(err, lock.Close())
	} else if err != nil {
		defer lock.Close()
	} else {
		defer func() { err = errors.Join(err, unlockFolder(lock)) }()
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	d, name := newDisk(root, nil), filepath.Base(file)
	defer func() { err = errors.Join(err, d.close()) }()
	e, err := readEnvelope(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e = &envelope{PayloadType: dssePayloadType, Payload: payload}
	case err != nil:
		return err
	case !bytes.Equal(e.Payload, payload):
		return fmt.Errorf("the signatures %q say something else than this bundle: remove them to begin anew", name)
	}
	if !e.sign(key) {
		return ErrSigned
	}
	data, err := plainJSON(e)
	if err != nil {
		return err
	}
	if err := d.write(name, data); err != nil {
		return err
	}
	return d.syncEach()
}

// signersOf returns which of the keys signed a bundle, given what a signature of it has to say. The error wraps ErrUntrusted where
// none did, and where those who did signed something else.
func signersOf(bundle string, want *statement, trusted []TrustedKey) (signers []Signer, err error) {
	file := SignatureFile(bundle)
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	e, err := readEnvelope(root, filepath.Base(file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("it has no signature: %w", ErrUntrusted)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", err, ErrUntrusted)
	}
	for _, key := range e.signers(trusted) {
		signers = append(signers, Signer{key.Name, Fingerprint(key.PublicKey)})
	}
	if len(signers) == 0 {
		return nil, fmt.Errorf("no trusted key signed it: %w", ErrUntrusted)
	}
	if err := want.is(e.Payload); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUntrusted)
	}
	return signers, nil
}

// readStatement reads what the signatures of a bundle have to say.
func readStatement(bundle string) (_ *statement, err error) {
	r, err := openReader(bundle)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var e verdict.Evaluation
	if err := r.decode(evaluationFile, &e, true); err != nil {
		return nil, err
	}
	return statementOf(r.manifest, &e)
}

// readEnvelope reads the signatures of a bundle. Nothing in them is verified yet.
func readEnvelope(root *os.Root, name string) (*envelope, error) {
	data, err := readFile(root, name, maxEnvelope)
	if err != nil {
		return nil, err
	}
	e, err := decodeEnvelope(data)
	if err != nil {
		return nil, fmt.Errorf("signatures %q: %w", name, err)
	}
	return e, nil
}

// is reports how what was signed differs from what is to be. Fields that in-toto may add are left alone, as it asks for.
func (s *statement) is(payload []byte) error {
	var got statement
	if err := json.Unmarshal(payload, &got); err != nil {
		return fmt.Errorf("what is signed is no statement: %w", err)
	}
	switch {
	case got.Type != s.Type || got.PredicateType != s.PredicateType:
		return fmt.Errorf("what is signed is of type %q with %q, and not %q with %q", got.Type, got.PredicateType, s.Type, s.PredicateType)
	case !reflect.DeepEqual(got.Subject, s.Subject):
		return errors.New("what is signed is another bundle")
	case !reflect.DeepEqual(got.Predicate, s.Predicate):
		return errors.New("what is signed says something else of the case than the bundle")
	}
	return nil
}
