package results

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Open reads a bundle. It is strict: an unknown field of the manifest, a newer schema, a path that leaves the bundle, or
// a file that is not what the manifest lists is an error. It reads what the manifest lists and nothing else; the journal
// is left to [ReadJournal].
func Open(path string) (*Bundle, error) {
	b, err := openBundle(path)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", path, err)
	}
	return b, nil
}

func openBundle(path string) (_ *Bundle, err error) {
	r, err := openReader(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.done()) }()
	b := &Bundle{Path: path, Manifest: *r.manifest, Status: r.manifest.Status, Withheld: r.withheld()}
	return b, r.fill(b)
}

// ReadFile reads one file that the manifest of a bundle lists, by its path in the bundle, such as "evaluation.json".
func ReadFile(bundle, name string) (data []byte, err error) {
	r, err := openReader(bundle)
	if err == nil {
		data, err = r.read(name)
		data, err = bytes.Clone(data), errors.Join(err, r.close()) // of the bundle, nothing else is kept
	}
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", bundle, err)
	}
	return data, nil
}

// reader reads the files that a manifest lists.
type reader struct {
	files
	manifest *Manifest
	texts    map[string]string // by reference
}

// openReader opens a bundle and reads its manifest.
func openReader(path string) (*reader, error) {
	f, err := openFiles(path, true)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(f)
	if err == nil {
		err = f.holds(m)
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return &reader{files: f, manifest: m, texts: make(map[string]string, len(m.Files))}, nil
}

// listed finds a file in the manifest, nil where it lists none.
func (r *reader) listed(name string) *File {
	i, ok := slices.BinarySearchFunc(r.manifest.Files, name, func(f File, name string) int { return strings.Compare(f.Path, name) })
	if !ok {
		return nil
	}
	return &r.manifest.Files[i]
}

// done closes a bundle of which nothing that was read is in use any more.
func (r *reader) done() error {
	err := r.close()
	if a, ok := r.files.(*archive); ok {
		a.recycle()
	}
	return err
}

func readManifest(f files) (*Manifest, error) {
	data, err := f.read(manifestFile, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("it has no %s, so it is not a bundle: %w", manifestFile, os.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, nil
}

// read returns a listed file whose size and sum are as listed.
func (r *reader) read(name string) ([]byte, error) {
	f := r.listed(name)
	if f == nil {
		return nil, fmt.Errorf("%q is not listed in %s", name, manifestFile)
	}
	data, err := r.files.read(name, f.Size)
	if err != nil {
		return nil, err
	}
	if f.told(int64(len(data))) != f.Size || !isSum(data, f.SHA256) {
		return nil, fmt.Errorf("%q is not the file that %s lists: its sum differs", name, manifestFile)
	}
	return data, nil
}

// isSum reports whether data has a sum, in hexadecimal digits.
func isSum(data []byte, sum string) bool {
	var digits [2 * sha256.Size]byte
	own := sha256.Sum256(data)
	hex.Encode(digits[:], own[:])
	return string(digits[:]) == sum
}

func (r *reader) fill(b *Bundle) error {
	if err := cmp.Or(r.decode(experimentFile, &b.Experiment, false), r.fillObserved(b), r.fillInput(b)); err != nil {
		return err
	}
	// Derived files are read strictly: a field that this version does not know could change what they say.
	if err := cmp.Or(r.decode(featuresFile, &b.Features, true), r.decode(evaluationFile, &b.Evaluation, true)); err != nil {
		return err
	}
	if of := b.Evaluation.Case; of != "" && of != b.Case.ID {
		return fmt.Errorf("%s is of case %q, and %s of case %q", evaluationFile, of, caseFile, b.Case.ID)
	}
	return nil
}

// fillInput reads what nothing is derived from.
func (r *reader) fillInput(b *Bundle) error {
	source, err := r.read(caseSourceFile)
	if err != nil {
		return err
	}
	b.CaseSource = bytes.Clone(source)
	return cmp.Or(r.decode(pinsFile, &b.Pins, false), r.decode(environmentFile, &b.Environment, false))
}

// fillObserved reads what a verdict is derived from beside the experiment: the case, the plan that was carried out, and what was observed.
func (r *reader) fillObserved(b *Bundle) (err error) {
	for _, f := range []struct {
		name   string
		into   any
		strict bool
	}{
		{caseFile, &b.Case, true},
		{planFile, &b.Plan, true},
		{storeFile, &b.Observations.Store, false},
	} {
		if err := r.decode(f.name, f.into, f.strict); err != nil {
			return err
		}
	}
	if b.Case.ID != r.manifest.CaseID {
		return fmt.Errorf("%s is of case %q, and %s of case %q", manifestFile, r.manifest.CaseID, caseFile, b.Case.ID)
	}
	if r.listed(rewritingFile) != nil {
		b.Observations.Rewriting = &matrix.Rewriting{}
		if err := r.decode(rewritingFile, b.Observations.Rewriting, false); err != nil {
			return err
		}
	}
	if b.Observations.Retrievals, err = readLines[matrix.Retrieval](r, retrievalsFile); err != nil {
		return err
	}
	if b.Observations.Trials, err = readLines[matrix.Trial](r, generationsFile); err != nil {
		return err
	}
	if r.listed(judgementsFile) != nil {
		if b.Observations.Judgements, err = readLines[matrix.Judgement](r, judgementsFile); err != nil {
			return err
		}
	}
	return b.Observations.Texts(r.text)
}

func (r *reader) decode(name string, into any, strict bool) error {
	data, err := r.read(name)
	if err != nil {
		return err
	}
	if err := decodeJSON(data, into, strict); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// decodeJSON reads one value; strictly, an unknown field is an error. So is another schema than this version reads.
func decodeJSON(data []byte, into any, strict bool) (err error) {
	if strict {
		err = decodeStrict(data, into)
	} else {
		err = decode(data, into)
	}
	if got, want := schemaOf(into); want != "" && (err != nil || got != want) {
		err = cmp.Or(checkSchema(data, want), err) // a newer one may be no longer what is decoded into
	}
	return err
}

func decode(data []byte, into any) error {
	if decodePlain(data, into) {
		return nil
	}
	return json.Unmarshal(data, into)
}

// schemaOf returns the schema that a part of a bundle is of, and the one that this version reads, both "" where it has none.
func schemaOf(part any) (got, want string) {
	switch v := part.(type) {
	case *Pins:
		return v.Schema, PinsSchema
	case *matrix.Plan:
		return v.Schema, matrix.PlanSchema
	case *Environment:
		return v.Schema, EnvironmentSchema
	case *verdict.Features:
		return v.Schema, verdict.FeaturesSchema
	case *verdict.Evaluation:
		return v.Schema, verdict.EvaluationSchema
	}
	return "", ""
}

func readLines[T any](r *reader, name string) ([]T, error) {
	data, err := r.read(name)
	if err != nil {
		return nil, err
	}
	out, err := decodeLines[T](data)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return out, nil
}

// decodeLines reads one value a line.
func decodeLines[T any](data []byte) ([]T, error) {
	const many = 1 << 10
	text := string(data) // copied once for all lines
	out := slices.Grow([]T(nil), min(bytes.Count(data, []byte{'\n'}), many))
	lines := newLineDecoder(reflect.TypeFor[T]())
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole || len(line) > maxLine {
			return nil, fmt.Errorf("line %d is cut or too long", n)
		}
		says := text[len(text)-len(data):][:len(line)]
		out, data = append(out, *new(T)), rest
		if lines.decode(line, says, reflect.ValueOf(&out[n-1]).Elem()) {
			continue
		}
		if err := json.Unmarshal(line, &out[n-1]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return out, nil
}

// withheld counts the restricted files that are not there.
func (r *reader) withheld() (n int) {
	for i := range r.manifest.Files {
		if f := &r.manifest.Files[i]; f.Restricted && !r.has(f.Path) {
			n++
		}
	}
	return n
}

// text fills a text in; one that is withheld stays without a value. Each blob is read once, however many texts refer to it.
func (r *reader) text(t *matrix.Text) error {
	value, ok := r.texts[t.Ref]
	if !ok {
		name := refPath(t.Ref)
		if name == "" {
			return fmt.Errorf("%q is not a reference to a blob", t.Ref)
		}
		f := r.listed(name)
		if f != nil && f.Restricted && !r.has(name) {
			return nil // withheld
		}
		data, err := r.read(name)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(t.Ref, "sha256:"+f.SHA256) {
			return fmt.Errorf("blob %q holds something else", t.Ref)
		}
		if f.Restricted {
			if len(data) < saltSize {
				return fmt.Errorf("blob %q is shorter than its salt", t.Ref)
			}
			data = data[saltSize:]
		}
		value = string(data)
		r.texts[t.Ref] = value
	}
	t.Value = value
	return nil
}
