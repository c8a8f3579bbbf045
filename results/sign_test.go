package results

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

func newKeys(tb testing.TB, n int) (private []ed25519.PrivateKey, public []TrustedKey) {
	tb.Helper()
	for range n {
		pub, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			tb.Fatal(err)
		}
		private, public = append(private, key), append(public, TrustedKey{PublicKey: pub})
	}
	return private, public
}

// signers reads the signatures beside a bundle as verify does.
func signers(bundle string, trusted []TrustedKey) ([]Signer, error) {
	want, err := readStatement(bundle)
	if err != nil {
		return nil, err
	}
	return signersOf(bundle, want, trusted)
}

// signAs signs a bundle as it is.
func signAs(bundle string, key ed25519.PrivateKey) (string, error) {
	says, err := readStatement(bundle)
	if err != nil {
		return "", err
	}
	return Sign(bundle, "sha256:"+says.Subject[0].Digest["sha256"], key)
}

// rfcKey is the first key of RFC 8032, 7.1, which everybody has: fit for what is to be the same for ever, and for nothing else.
func rfcKey(tb testing.TB) (ed25519.PrivateKey, TrustedKey) {
	tb.Helper()
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		tb.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	return key, TrustedKey{Name: "RFC 8032", PublicKey: key.Public().(ed25519.PublicKey)}
}

// A bundle that an earlier version signed stays signed. -update makes the signature where it is missing, and never writes over it.
func TestGoldenSignature(t *testing.T) {
	t.Parallel()
	key, public := rfcKey(t)
	golden := goldens(t)["pass"]
	if _, err := os.Stat(SignatureFile(golden)); errors.Is(err, os.ErrNotExist) && *update {
		if _, err := signAs(golden, key); err != nil {
			t.Fatal(err)
		}
	}
	if by, err := signers(golden, []TrustedKey{public}); err != nil || len(by) != 1 || by[0].Name != public.Name {
		t.Errorf("signed by %v, %v", by, err)
	}
	if _, err := signAs(golden, key); !errors.Is(err, ErrSigned) {
		t.Errorf("what is signed is no longer the same: %v", err)
	}
}

// The envelope is that of github.com/secure-systems-lab/go-securesystemslib v0.11.1 (dsse.EnvelopeSigner) for the first key of RFC 8032, 7.1.
func TestEnvelopeIsThatOfAnotherImplementation(t *testing.T) {
	t.Parallel()
	const theirs = `{"payloadType":"application/vnd.in-toto+json","payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",` +
		`"signatures":[{"keyid":"","sig":"2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA=="}]}`
	key, public := rfcKey(t)
	for _, text := range []string{theirs, strings.NewReplacer("+AyteDGJ4/", "-AyteDGJ4_", "0w+0", "0w-0").Replace(theirs)} { // in both alphabets
		e, err := decodeEnvelope([]byte(text))
		if err != nil || len(e.signers([]TrustedKey{public})) != 1 {
			t.Fatalf("%v, or their signature is not one", err)
		}
		ours := envelope{Payload: e.Payload, PayloadType: e.PayloadType}
		if ours.sign(key); !bytes.Equal(ours.Signatures[0].Sig, e.Signatures[0].Sig) {
			t.Errorf("another signature: %x", ours.Signatures[0].Sig)
		}
	}
}

func TestEnvelopeIsThatOfOpenSSL(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not here; TestEnvelopeIsThatOfAnotherImplementation stands in for it")
	}
	private, public := newKeys(t, 1)
	bundle := sealed(t)
	file, err := signAs(bundle, private[0])
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEnvelope(readAll(t, file))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public[0].PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	write(t, dir, "signature", e.Signatures[0].Sig)
	for name, message := range map[string][]byte{"signed": e.signed(), "changed": append(e.signed(), ' ')} {
		write(t, dir, "message", message)
		cmd := exec.Command(openssl, "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key.pem", "-in", "message", "-sigfile", "signature")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); (err == nil) != (name == "signed") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	bundle := sealed(t)
	before := readAll(t, bundle)
	private, public := newKeys(t, 3)
	if _, err := signers(bundle, public); !errors.Is(err, ErrUntrusted) {
		t.Errorf("no signature: %v", err)
	}
	for i, key := range private[:2] {
		file, err := signAs(bundle, key)
		if err != nil || file != bundle+".dsse.json" {
			t.Fatalf("%q, %v", file, err)
		}
		got, err := signers(bundle, public)
		if err != nil || len(got) != i+1 || got[i].Key != Fingerprint(public[i].PublicKey) {
			t.Errorf("signed by %v, %v", got, err)
		}
	}
	if _, err := Sign(bundle, matrix.DigestBytes(nil), private[2]); err == nil || !strings.Contains(err.Error(), "was verified") {
		t.Errorf("another bundle was verified: %v", err)
	}
	if _, err := signAs(bundle, private[1]); !errors.Is(err, ErrSigned) {
		t.Errorf("signed again: %v", err)
	}
	if _, err := signers(bundle, public[2:]); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "no trusted key") {
		t.Errorf("keys of nobody: %v", err)
	}
	if !bytes.Equal(before, readAll(t, bundle)) {
		t.Error("signing changed the bundle")
	}
	// A folder that it was unpacked into has the same signatures, and a bundle is found as before with a signature beside it.
	folder := strings.TrimSuffix(bundle, ".zip")
	if err := os.CopyFS(folder, os.DirFS(unpack(t, bundle))); err != nil {
		t.Fatal(err)
	}
	if got, err := signers(folder, public); err != nil || len(got) != 2 {
		t.Errorf("unpacked: %v, %v", got, err)
	}
	id := ExecutionID(filepath.Base(filepath.Dir(bundle)))
	if found, err := Bundles(filepath.Dir(filepath.Dir(bundle)), id); err != nil || len(found) != 1 || found[0] != bundle {
		t.Errorf("bundles %q, %v", found, err)
	}
}

func TestStatement(t *testing.T) {
	t.Parallel()
	digest := func(name string) string { return matrix.DigestBytes([]byte(name)) }
	m := Manifest{CaseID: "leave", ExecID: "20261129T200000Z-k3f9qa", Status: StatusComplete, Evaluator: Evaluator{Ruleset: digest("rules")}, Digests: Digests{Case: digest("case"), Pins: digest("pins"), Plan: digest("plan")}}
	cell := func(id matrix.CellID, decision string, held matrix.Answer, scored int) verdict.CellResult {
		return verdict.CellResult{Cell: id, Planned: 1, Scored: scored, NotRun: 1 - scored, Decision: decision, Held: held}
	}
	e := verdict.Evaluation{Outcome: verdict.Pass, Cells: []verdict.CellResult{
		cell("A", "passes", "", 1), cell("B", "fails", "", 1), cell("D/drop-span:c", "fails", matrix.Yes, 1), cell("D/superseded:c", "passes", matrix.No, 1),
		cell("D/irrelevant", "passes", matrix.Unknown, 1), cell("A/again", "undecided", "", 1), cell("D/closed-book", "", "", 0),
		{Cell: "D/gold-first", Planned: 1, Failed: 1},
	}}
	sum := func(name string) map[string]string {
		return map[string]string{"sha256": strings.TrimPrefix(digest(name), "sha256:")}
	}
	manifest, err := matrix.Canonical(&m)
	if err != nil {
		t.Fatal(err)
	}
	want := &statement{
		Type: "https://in-toto.io/Statement/v1", Subject: []resource{{Name: "leave", Digest: sum(string(manifest))}},
		PredicateType: "https://in-toto.io/attestation/test-result/v0.1",
		Predicate: testResult{
			Result:        "PASSED",
			Configuration: []resource{{"case/resolved.json", sum("case")}, {"pins.json", sum("pins")}, {"plan.json", sum("plan")}, {"ruleset", sum("rules")}},
			Passed:        []string{"A", "D/drop-span:c"}, Warned: []string{"D/irrelevant", "A/again", "D/gold-first"}, Failed: []string{"B", "D/superseded:c"},
		},
	}
	got, err := statementOf(&m, &e)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, tc := range []struct {
		outcome verdict.Outcome
		status  string
		want    string
	}{
		{verdict.Pass, StatusPartial, testWarned},
		{verdict.Fail, StatusComplete, testFailed},
		{verdict.Fail, StatusPartial, testFailed},
		{verdict.InvalidFixture, StatusComplete, testFailed},
		{verdict.Inconclusive, StatusComplete, testWarned},
		{verdict.Environment, StatusComplete, testWarned},
	} {
		m.Status, e.Outcome = tc.status, tc.outcome
		if got, err := statementOf(&m, &e); err != nil || got.Predicate.Result != tc.want {
			t.Errorf("%s, %s: %+v, %v", tc.outcome, tc.status, got, err)
		}
	}
}

// Attack 11: a signature is taken for one that it is not.
func TestAttackSignatureConfusion(t *testing.T) {
	t.Parallel()
	private, public := newKeys(t, 2)
	bundle := sealed(t)
	resign := func(e *envelope, keys ...ed25519.PrivateKey) {
		e.Signatures = nil
		for _, key := range keys {
			e.sign(key)
		}
	}
	edit := func(e *envelope, old, new string) {
		e.Payload = bytes.Replace(e.Payload, []byte(old), []byte(new), 1)
	}
	for name, tc := range map[string]struct {
		attack func(t *testing.T, e *envelope) // on what the first key signed
		raw    func(data []byte) []byte
		want   string // in the error; "": it is taken for signed by the first key alone
	}{
		"as it was": {},
		"signed as another type, and called a statement": {attack: func(_ *testing.T, e *envelope) {
			e.PayloadType = "application/json"
			resign(e, private[0])
			e.PayloadType = dssePayloadType
		}, want: "no trusted key"},
		"another type": {attack: func(_ *testing.T, e *envelope) {
			e.PayloadType = "application/vnd.in-toto+json; charset=utf-8"
			resign(e, private[0])
		}, want: "is of type"},
		"the length of the type moved into the payload": {attack: func(_ *testing.T, e *envelope) {
			e.Payload = append([]byte("x"), e.Payload...)
		}, want: "no trusted key"},
		"a statement that was edited": {attack: func(_ *testing.T, e *envelope) { edit(e, testFailed, testPassed) }, want: "no trusted key"},
		"a second payload behind the first": {raw: func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"payloadType"`), []byte(`"payload":"e30=","payloadType"`), 1)
		}, want: "no trusted key"},
		"the id of a trusted key on the signature of another": {attack: func(_ *testing.T, e *envelope) {
			resign(e, private[1])
			e.Signatures[0].KeyID = Fingerprint(public[0].PublicKey)
		}, want: "no trusted key"},
		"the id of another key on a good signature": {attack: func(_ *testing.T, e *envelope) { e.Signatures[0].KeyID = Fingerprint(public[1].PublicKey) }},
		"one key twice": {attack: func(_ *testing.T, e *envelope) {
			e.Signatures = append(e.Signatures, e.Signatures[0], envelopeSignature{KeyID: "another", Sig: e.Signatures[0].Sig})
		}},
		"one signature in another form": {attack: func(t *testing.T, e *envelope) {
			e.Signatures = append(e.Signatures, envelopeSignature{Sig: malleated(t, e.Signatures[0].Sig)})
			e.Signatures = e.Signatures[1:]
		}, want: "no trusted key"},
		"a signature that is cut": {attack: func(_ *testing.T, e *envelope) { e.Signatures[0].Sig = e.Signatures[0].Sig[:63] }, want: "no trusted key"},
		"no signature":            {attack: func(_ *testing.T, e *envelope) { e.Signatures = nil }, want: "no signature"},
		"thousands of signatures": {attack: func(_ *testing.T, e *envelope) { e.Signatures = make([]envelopeSignature, maxSignatures+1) }, want: "the limit is"},
		"another predicate": {attack: func(_ *testing.T, e *envelope) {
			edit(e, predicateType, "https://in-toto.io/attestation/svr/v0.2")
			resign(e, private[0])
		}, want: "svr/v0.2"},
		"another kind of statement": {attack: func(_ *testing.T, e *envelope) {
			edit(e, statementType, "https://in-toto.io/Statement/v0.1")
			resign(e, private[0])
		}, want: "Statement/v0.1"},
		"a trusted key that says what the bundle does not": {attack: func(_ *testing.T, e *envelope) {
			edit(e, testFailed, testPassed)
			resign(e, private[0])
		}, want: "something else of the case"},
		"a statement about two bundles": {attack: func(t *testing.T, e *envelope) {
			var s statement
			if err := json.Unmarshal(e.Payload, &s); err != nil {
				t.Fatal(err)
			}
			s.Subject = append(s.Subject, s.Subject[0])
			var err error
			if e.Payload, err = matrix.Canonical(&s); err != nil {
				t.Fatal(err)
			}
			resign(e, private[0])
		}, want: "another bundle"},
		"what is no statement": {attack: func(_ *testing.T, e *envelope) {
			e.Payload = []byte("not JSON")
			resign(e, private[0])
		}, want: "is no statement"},
		"what is no envelope": {raw: func([]byte) []byte { return []byte("[]") }, want: "dsse.json"},
		"a file without end":  {raw: func([]byte) []byte { return make([]byte, maxEnvelope+1) }, want: "the limit is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := filepath.Join(t.TempDir(), filepath.Base(bundle))
			if err := os.WriteFile(own, readAll(t, bundle), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := signAs(own, private[0])
			if err != nil {
				t.Fatal(err)
			}
			data := readAll(t, file)
			if tc.attack != nil {
				e, err := decodeEnvelope(data)
				if err != nil {
					t.Fatal(err)
				}
				tc.attack(t, e)
				if data, err = json.Marshal(e); err != nil {
					t.Fatal(err)
				}
			}
			if tc.raw != nil {
				data = tc.raw(data)
			}
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := signers(own, []TrustedKey{public[0], {Name: "again", PublicKey: public[0].PublicKey}}) // also a key that is listed twice counts once
			switch {
			case tc.want == "" && (err != nil || len(got) != 1):
				t.Errorf("signed by %d keys, %v", len(got), err)
			case tc.want != "" && (!errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("want an error with %q, got %d signers and %v", tc.want, len(got), err)
			}
			// Nothing of what was planted is put under another name.
			if _, err := signAs(own, private[1]); tc.want != "" && err == nil && tc.want != "no trusted key" {
				t.Error("it is signed all the same")
			}
		})
	}
}

// malleated adds the order of the group to the scalar of a signature, which a careless verifier takes for another good one.
func malleated(t *testing.T, sig []byte) []byte {
	t.Helper()
	order, err := hex.DecodeString("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(sig)
	carry := 0
	for i, b := range order {
		sum := int(out[32+i]) + int(b) + carry
		out[32+i], carry = byte(sum), sum>>8
	}
	return out
}

// Attack 10, where a bundle is signed: whatever is changed in it with its sums made anew, the signature is of something else.
func TestAttackReplacedManifest(t *testing.T) {
	t.Parallel()
	private, public := newKeys(t, 1)
	bundle := sealed(t)
	if _, err := signAs(bundle, private[0]); err != nil {
		t.Fatal(err)
	}
	signature := readAll(t, SignatureFile(bundle))
	other, err := writeCase(newTestExecution(t, t.TempDir()), testBundle(t, "attacked", 3), false) // the same case, run again
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		attack func(t *testing.T, dir string)
		want   string
	}{
		"as it was": {attack: func(*testing.T, string) {}},
		"an older schema": {attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["schema"] = "culprit.bundle/v0" })
		}, want: `schema is "culprit.bundle/v0"`},
		"no schema": {attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { delete(m, "schema") })
		}, want: `schema is ""`},
		"an evaluation of an older schema": {attack: func(t *testing.T, dir string) {
			edited(t, dir, evaluationFile, verdict.EvaluationSchema, "culprit.evaluation/v0")
			reseal(t, dir, nil)
		}, want: "culprit.evaluation/v0"},
		"an evaluation of a newer schema": {attack: func(t *testing.T, dir string) {
			edited(t, dir, evaluationFile, verdict.EvaluationSchema, "culprit.evaluation/v2")
			reseal(t, dir, nil)
		}, want: "use a newer culprit"},
		"a verdict, sealed anew": {attack: func(t *testing.T, dir string) {
			edited(t, dir, evaluationFile, `"outcome":"fail"`, `"outcome":"pass"`)
			reseal(t, dir, nil)
		}, want: "another bundle"},
		"an answer, sealed anew": {attack: func(t *testing.T, dir string) {
			edited(t, dir, firstBlob(t, dir), "answer", "Answer")
			reseal(t, dir, nil)
		}, want: "another bundle"},
		"another status": {attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["status"] = StatusPartial })
		}, want: "another bundle"},
		"another execution": {attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["exec_id"] = "20261129T200000Z-k3f9qa" })
		}, want: "another bundle"},
		"a better run of the case": {attack: func(t *testing.T, dir string) {
			if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(unpack(t, other)))); err != nil {
				t.Fatal(err)
			}
		}, want: "another bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, bundle)
			tc.attack(t, dir)
			path := packFolder(t, dir)
			if err := os.WriteFile(SignatureFile(path), signature, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{path, dir} {
				got, err := signers(path, public)
				switch {
				case tc.want == "" && (err != nil || len(got) != 1):
					t.Errorf("%s: signed by %d keys, %v", path, len(got), err)
				case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("%s: want an error with %q, got %v", path, tc.want, err)
				}
			}
			// Nobody is made to sign it beside the old signature.
			if tc.want != "" {
				if _, err := signAs(path, private[0]); err == nil || errors.Is(err, ErrSigned) {
					t.Errorf("signed: %v", err)
				}
			}
		})
	}
}

// It is what ssh-keygen -l prints for the key of 32 zeros.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	if got := Fingerprint(make(ed25519.PublicKey, ed25519.PublicKeySize)); got != "SHA256:kmYcvdi2GkPeWxB6XLjrZB8JHsy2Hm8luHMFp9GMvqk" {
		t.Errorf("got %s", got)
	}
}

// Of signatures that are made at the same time, none is lost.
func TestSignAtOnce(t *testing.T) {
	t.Parallel()
	bundle := goldens(t)["pass"]
	to := filepath.Join(t.TempDir(), filepath.Base(bundle))
	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	private, public := newKeys(t, 8)
	var wg sync.WaitGroup
	for _, key := range private {
		wg.Go(func() {
			for {
				_, err := signAs(to, key)
				if errors.Is(err, ErrLocked) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	if got, err := signers(to, public); err != nil || len(got) != len(private) {
		t.Errorf("%d of %d signatures are there: %v", len(got), len(private), err)
	}
}
