package results

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A signature is a DSSE envelope of one payload type and one algorithm, Ed25519. Only bytes whose signature was verified are ever
// decoded, and the id of a key, which nothing protects, decides nothing.

const dssePayloadType = "application/vnd.in-toto+json"

// envelope is a DSSE envelope: a payload with signatures, each of another key.
type envelope struct {
	Payload     base64Bytes         `json:"payload"`
	PayloadType string              `json:"payloadType"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	KeyID string      `json:"keyid,omitempty"`
	Sig   base64Bytes `json:"sig"`
}

// base64Bytes reads both alphabets of base64, as a verifier of DSSE must, and writes the standard one.
type base64Bytes []byte

func (b base64Bytes) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

func (b *base64Bytes) UnmarshalText(text []byte) (err error) {
	if *b, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
		*b, err = base64.URLEncoding.AppendDecode(nil, text)
	}
	return err
}

func decodeEnvelope(data []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil { // the form of an envelope is DSSE's, which leaves it open
		return nil, err
	}
	switch {
	case e.PayloadType != dssePayloadType:
		return nil, fmt.Errorf("its payload is of type %q and not %q", e.PayloadType, dssePayloadType)
	case len(e.Signatures) == 0:
		return nil, errors.New("it holds no signature")
	case len(e.Signatures) > maxSignatures:
		return nil, fmt.Errorf("it holds %d signatures; the limit is %d", len(e.Signatures), maxSignatures)
	}
	return &e, nil
}

// signed returns what a signature is made over, the pre-authentication encoding of DSSE.
func (e *envelope) signed() []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(e.PayloadType), e.PayloadType, len(e.Payload)), e.Payload...)
}

// sign adds the signature of a key, unless it is there.
func (e *envelope) sign(key ed25519.PrivateKey) (added bool) {
	public := key.Public().(ed25519.PublicKey)
	if len(e.signers([]TrustedKey{{PublicKey: public}})) > 0 {
		return false
	}
	e.Signatures = append(e.Signatures, envelopeSignature{KeyID: Fingerprint(public), Sig: ed25519.Sign(key, e.signed())})
	return true
}

// signers returns those of the trusted keys that signed, each once however often it did or is listed.
func (e *envelope) signers(trusted []TrustedKey) (signers []TrustedKey) {
	message := e.signed()
	for _, key := range trusted {
		signed := func(s envelopeSignature) bool { return ed25519.Verify(key.PublicKey, message, s.Sig) }
		known := func(k TrustedKey) bool { return k.Equal(key.PublicKey) }
		if !slices.ContainsFunc(signers, known) && slices.ContainsFunc(e.Signatures, signed) {
			signers = append(signers, key)
		}
	}
	return signers
}

// Fingerprint names a key as ssh-keygen -l does: "SHA256:" and the digest of its OpenSSH form in base64.
func Fingerprint(key ed25519.PublicKey) string {
	const kind = "ssh-ed25519"
	wire := append([]byte{0, 0, 0, byte(len(kind))}, kind...)
	wire = append(append(wire, 0, 0, 0, byte(len(key))), key...)
	sum := sha256.Sum256(wire)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}
