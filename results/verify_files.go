package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

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
		says, named := strings.CutPrefix(err.Error(), strconv.Quote(f.Path)) // the report names the file
		if named {
			says = "it" + strings.Replace(says, ": ", " cannot be read: ", 1)
		}
		v.report(f.Path, 0, "%s", says)
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
