package results

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

const (
	restrictedFolder = "restricted/sha256"
	saltSize         = 32
	toldSize         = 256 // sizes of what is restricted are told in multiples of it
)

func roundedUp(n int64) int64 { return (n + toldSize - 1) / toldSize * toldSize }

// told returns the size of a file as the manifest tells it.
func (f *File) told(size int64) int64 {
	if f.Restricted {
		return roundedUp(size)
	}
	return size
}

// refPath returns where the blob that a reference names stands in a bundle; "" for something else than a reference.
func refPath(ref string) string {
	if sum, ok := strings.CutPrefix(ref, matrix.RestrictedRef+"sha256:"); ok && isHexSum(sum) {
		return restrictedFolder + "/" + sum
	}
	if isRef(ref) {
		return blobPath(ref)
	}
	return ""
}

// salted is a blob behind 32 random bytes, so that its name says nothing of it.
type salted struct {
	ref  string // "restricted:sha256:<hex>" of salt and blob
	data []byte
}

func newSalted(blob []byte) salted {
	data := make([]byte, saltSize, saltSize+len(blob))
	_, _ = rand.Read(data) // never fails
	data = append(data, blob...)
	sum := sha256.Sum256(data)
	return salted{matrix.RestrictedRef + "sha256:" + hex.EncodeToString(sum[:]), data}
}

// randomDigest stands for a digest that would tell of a restricted text.
func randomDigest() string {
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b) // never fails
	return "sha256:" + hex.EncodeToString(b)
}

// restrict gives what is restricted other names, in the observations and in the journal: a text that of its salted blob, the input of a call
// that was made of one a random digest, and the call the key that follows.
func (s *sealing) restrict(b *Bundle) error {
	o := b.Observations.Restrict()
	calls := map[string]bool{} // whose request and response are restricted
	for _, key := range o.RestrictedCalls() {
		calls[key] = true
	}
	renamed := maps.Clone(calls)
	texts := map[string]string{}
	if err := o.Texts(func(t *matrix.Text) error {
		if t.Restricted {
			texts[t.Ref] = t.Value
		}
		return nil
	}); err != nil {
		return err
	}
	if len(texts)+len(calls) == 0 {
		return nil
	}
	for i := range o.Retrievals {
		if r := &o.Retrievals[i]; r.Sensitivity() == matrix.Restricted {
			calls[r.CallKey] = true
		}
	}
	journal, err := s.w.journal.read()
	if err != nil {
		return err
	}
	decoded, err := decodeJournal(journal)
	if err != nil {
		return err
	}
	o = o.Clone()
	names, err := newNames(decoded.Records, o, calls, renamed)
	if err != nil {
		return err
	}
	for ref, text := range texts {
		if err := s.salt(names, ref, []byte(text)); err != nil {
			return err
		}
	}
	if err := s.saltBlobs(names, decoded.Records, calls, o); err != nil {
		return err
	}
	if err := o.Texts(func(t *matrix.Text) error {
		if name, ok := names[t.Ref]; ok {
			t.Ref = name
		}
		return nil
	}); err != nil {
		return err
	}
	o.ReplaceCalls(names)
	b.Observations, s.renamed = *o, names
	return nil
}

// newNames gives the calls that were made of restricted texts other inputs and keys, by the old ones. A call that the observations do not
// name is taken for one.
func newNames(records []Record, o *matrix.Observations, calls, renamed map[string]bool) (map[string]string, error) {
	observed := o.Calls()
	names := map[string]string{}
	for i := range records {
		r := &records[i]
		if r.Call == nil || r.Call.Input == "" {
			continue
		}
		if step := r.Call.Step; !observed[r.CallKey] && (step == "generate" || step == "judge") {
			calls[r.CallKey], renamed[r.CallKey] = true, true
		}
		if renamed[r.CallKey] && names[r.Call.Input] == "" {
			names[r.Call.Input] = randomDigest()
		}
	}
	for i := range records {
		r := &records[i]
		if r.Call == nil || names[r.Call.Input] == "" || names[r.CallKey] != "" {
			continue
		}
		call := *r.Call
		call.Input = names[call.Input]
		key, err := call.Key()
		if err != nil {
			return nil, err
		}
		names[r.CallKey] = key
	}
	for key := range renamed { // calls that were not made: their answer is that of another
		if names[key] == "" {
			names[key] = randomDigest()
		}
	}
	return names, nil
}

func (s *sealing) salt(names map[string]string, ref string, blob []byte) error {
	if int64(len(blob)) > maxFile-toldSize {
		return fmt.Errorf("text %q of %d bytes is over the limit of %d", ref, len(blob), maxFile-toldSize)
	}
	if err := s.w.exec.guard(blob); err != nil {
		return fmt.Errorf("text %q: %w", ref, err)
	}
	blobSalted := newSalted(blob)
	names[ref] = blobSalted.ref
	s.salted = append(s.salted, blobSalted)
	return nil
}

var quotedRef = regexp.MustCompile(`"sha256:[0-9a-f]{64}"`)

// saltBlobs salts what the journal names of the calls, but for texts that are not restricted.
func (s *sealing) saltBlobs(names map[string]string, records []Record, calls map[string]bool, o *matrix.Observations) error {
	texts := map[string]bool{}
	if err := o.Texts(func(t *matrix.Text) error { texts[t.Ref] = true; return nil }); err != nil {
		return err
	}
	for i := range records {
		if !calls[records[i].CallKey] {
			continue
		}
		raw, err := json.Marshal(&records[i])
		if err != nil {
			return err
		}
		for _, quoted := range quotedRef.FindAll(raw, -1) {
			ref := strings.Trim(string(quoted), `"`)
			if _, kept := s.w.blobs.blobs[ref]; !kept || names[ref] != "" || texts[ref] {
				continue
			}
			blob, err := s.w.blobs.read(ref, nil)
			if err != nil {
				return err
			}
			if err := s.salt(names, ref, blob); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewrite makes the journal anew with the names of the bundle, and rounds the sizes of restricted responses up.
func (s *sealing) rewrite(journal []byte) (_ []byte, head string, err error) {
	decoded, err := decodeJournal(journal)
	if err != nil {
		return nil, "", err
	}
	out, head := make([]byte, 0, len(journal)), noRecord
	for i := range decoded.Records {
		r := &decoded.Records[i]
		if s.renamed[r.Response] != "" {
			r.ResponseSize = roundedUp(r.ResponseSize)
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, "", err
		}
		raw = quotedRef.ReplaceAllFunc(raw, func(quoted []byte) []byte {
			if name, ok := s.renamed[strings.Trim(string(quoted), `"`)]; ok {
				return []byte(`"` + name + `"`)
			}
			return quoted
		})
		sum := recordSum(i+1, head, raw)
		out, head = journalLine(out, i+1, head, raw, sum), sum
	}
	return out, head, nil
}

// addSalted adds the restricted blobs.
func (s *sealing) addSalted() {
	for _, b := range s.salted {
		sum := strings.TrimPrefix(b.ref, matrix.RestrictedRef+"sha256:")
		f := File{Class: ClassObserved, MediaType: "application/octet-stream", Path: refPath(b.ref), Restricted: true, SHA256: sum}
		f.Size = f.told(int64(len(b.data)))
		s.files = append(s.files, sealedFile{File: f, data: b.data})
	}
}
