package results

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Brief is what a bundle says of itself and of its case, without what it rests on. It is not held to its seal.
type Brief struct {
	Manifest    Manifest // without its files
	ManifestSum string   // of manifest.json, "sha256:<hex>"
	Evaluation  verdict.Evaluation
}

// ReadBrief reads the manifest and the verdict of a bundle, and nothing else of it.
func ReadBrief(path string) (*Brief, error) {
	b, err := readBrief(path)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", path, err)
	}
	return b, nil
}

func readBrief(path string) (_ *Brief, err error) {
	f, err := openFiles(path, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	data, err := f.read(manifestFile, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	var m struct {
		Manifest
		Files json.RawMessage `json:"files"` // is not asked for, and is most of it
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if m.Schema != ManifestSchema {
		return nil, fmt.Errorf("%s: %w", manifestFile, otherSchema(m.Schema, ManifestSchema))
	}
	b := &Brief{Manifest: m.Manifest, ManifestSum: matrix.DigestBytes(data)}
	if data, err = f.read(evaluationFile, maxFile); err != nil {
		return nil, err
	}
	if matrix.DigestBytes(data) != m.Digests.Evaluation {
		return nil, fmt.Errorf("%q is not the file that %s lists: its sum differs", evaluationFile, manifestFile)
	}
	if err := decodeStrict(data, &b.Evaluation); err != nil {
		return nil, fmt.Errorf("%q: %w", evaluationFile, err)
	}
	return b, nil
}
