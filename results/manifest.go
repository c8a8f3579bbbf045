package results

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// ManifestSchema is the schema of [Manifest].
const ManifestSchema = "culprit.bundle/v1"

// The statuses of a bundle. A partial bundle is sealed too: what it lacks is recorded as not run.
const (
	StatusComplete = "complete"
	StatusPartial  = "partial"
	StatusAborted  = "aborted"
)

// The classes of a file in a bundle.
const (
	ClassInput    = "input"    // bytes that were given
	ClassObserved = "observed" // recorded from outside, never recomputed
	ClassDerived  = "derived"  // the same bytes when recomputed from input and observed files
)

// Manifest is the seal of a bundle. It is written last, and lists every other file except SHA256SUMS.
type Manifest struct {
	Schema     string `json:"schema"`
	CaseID     string `json:"case_id"`
	CaseDigest string `json:"case_digest"`
	// DerivedFrom is the digest of the manifest of the bundle that this one was migrated from: what was observed is the same, and what
	// follows was made anew by Tool. "" in a bundle that was sealed by the execution that observed.
	DerivedFrom string      `json:"derived_from,omitempty"`
	ExecID      ExecutionID `json:"exec_id"`
	Created     string      `json:"created"`
	Status      string      `json:"status"`
	Digests     Digests     `json:"digests"`
	Evaluator   Evaluator   `json:"evaluator"`
	Files       []File      `json:"files"` // sorted by path
	Journal     JournalHead `json:"journal"`
	Tool        Tool        `json:"tool"`
}

// Digests identify the parts of a bundle, each as "sha256:<hex>". Observation leaves out what is volatile: times,
// latencies, request ids and attempt counts.
type Digests struct {
	Case        string `json:"case"`
	Pins        string `json:"pins"`
	Plan        string `json:"plan"`
	Observation string `json:"observation"`
	Evaluation  string `json:"evaluation"`
}

const evaluatorName = "culprit-eval"

// Evaluator is what judged the case.
type Evaluator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Ruleset string `json:"ruleset"`
}

// File is one file of a bundle.
type File struct {
	Class     string `json:"class"`
	MediaType string `json:"media_type"`
	Path      string `json:"path"`
	// Restricted: the file may be absent. It is 32 random bytes and then what it holds, and Size is rounded up to a multiple of 256.
	Restricted bool   `json:"restricted,omitempty"`
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
}

// JournalHead is the last sum and the number of records of the journal: a chain alone does not show that its end was cut.
type JournalHead struct {
	Head    string `json:"head"`
	Records int    `json:"records"`
}

// Tool is what wrote the bundle.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Dirty   bool   `json:"dirty"`
}

// BuildTool describes the running program from its build information.
func BuildTool() Tool { return buildTool() }

var buildTool = sync.OnceValue(func() Tool {
	t := Tool{Name: "culprit", Version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		t.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Commit = s.Value
		case "vcs.modified":
			t.Dirty = s.Value == "true"
		}
	}
	return t
})

// decodeManifest reads a manifest strictly: canonical bytes, no unknown field, sane paths and sizes.
func decodeManifest(data []byte) (*Manifest, error) {
	var m Manifest
	if err := decodeStrict(data, &m); err != nil || m.Schema != ManifestSchema {
		return nil, cmp.Or(checkSchema(data, ManifestSchema), err) // of a newer one nothing else is to be said
	}
	if own, err := matrix.Differs(data, &m); err != nil {
		return nil, err
	} else if own != nil {
		return nil, errors.New("its bytes are not the canonical form of its content")
	}
	return &m, m.check()
}

// checkSchema tells a newer major version apart from something else.
func checkSchema(data []byte, want string) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if head.Schema == want {
		return nil
	}
	return otherSchema(head.Schema, want)
}

// errNewer means that a file is of a major version that this program does not know.
var errNewer = errors.New("newer than this version")

func otherSchema(got, want string) error {
	kind, version, _ := strings.Cut(want, "/v")
	major, isVersion := strings.CutPrefix(got, kind+"/v")
	if n, err := strconv.Atoi(major); isVersion && err == nil {
		if ours, _ := strconv.Atoi(version); n > ours {
			return fmt.Errorf("schema %q is %w of culprit, which reads up to %q: use a newer culprit", got, errNewer, want)
		}
	}
	return fmt.Errorf("schema is %q and not %q", got, want)
}

func decodeStrict(data []byte, into any) error {
	if decodePlain(data, into) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func (m *Manifest) check() error {
	switch {
	case m.CaseID == "":
		return errors.New("it names no case")
	case m.Status != StatusComplete && m.Status != StatusPartial && m.Status != StatusAborted:
		return fmt.Errorf("status %q is unknown", m.Status)
	case len(m.Files) > maxFiles:
		return fmt.Errorf("it lists %d files, more than %d", len(m.Files), maxFiles)
	case m.Journal.Records < 0 || !isHexSum(m.Journal.Head):
		return errors.New("its journal head is not a sum")
	}
	if _, err := time.Parse(time.RFC3339, m.Created); err != nil {
		return fmt.Errorf("created: %w", err)
	}
	for _, digest := range []string{cmp.Or(m.DerivedFrom, m.CaseDigest), m.CaseDigest, m.Digests.Case, m.Digests.Pins, m.Digests.Plan, m.Digests.Observation, m.Digests.Evaluation} {
		if hexSum, ok := strings.CutPrefix(digest, "sha256:"); !ok || !isHexSum(hexSum) {
			return fmt.Errorf("%q is not a digest", digest)
		}
	}
	return checkFiles(m.Files)
}

func checkFiles(files []File) error {
	var total int64
	capitals := false
	for i := range files {
		f := &files[i]
		switch {
		case !staysInside(f.Path):
			return fmt.Errorf("path %q leaves the bundle", f.Path)
		case f.Path == manifestFile || f.Path == sumsFile:
			return fmt.Errorf("it lists %q", f.Path)
		case i > 0 && f.Path <= files[i-1].Path:
			return fmt.Errorf("path %q is out of order or listed twice", f.Path)
		case f.Class != ClassInput && f.Class != ClassObserved && f.Class != ClassDerived:
			return fmt.Errorf("file %q is of the unknown class %q", f.Path, f.Class)
		case f.Restricted != strings.HasPrefix(f.Path, restrictedFolder+"/"),
			f.Restricted && (f.Path != restrictedFolder+"/"+f.SHA256 || f.Class != ClassObserved || f.Size != roundedUp(f.Size)):
			return fmt.Errorf("file %q is restricted in another way than restricted files are", f.Path)
		case !isHexSum(f.SHA256):
			return fmt.Errorf("file %q has no sum", f.Path)
		case f.Size < 0 || f.Size > maxFile:
			return fmt.Errorf("file %q is said to have %d bytes; the limit is %d", f.Path, f.Size, maxFile)
		}
		total += f.Size
		capitals = capitals || strings.ToLower(f.Path) != f.Path
	}
	if capitals { // else those that differ by case alone are the same, which their order shows
		folded := make(map[string]bool, len(files))
		for i := range files {
			lower := strings.ToLower(files[i].Path)
			if folded[lower] {
				return fmt.Errorf("path %q differs from another by case only", files[i].Path)
			}
			folded[lower] = true
		}
	}
	if total > maxTotal {
		return fmt.Errorf("its files have %d bytes together; the limit is %d", total, int64(maxTotal))
	}
	return nil
}

func isHexSum(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for i := range len(s) {
		if !hexDigits[s[i]] {
			return false
		}
	}
	return true
}

var hexDigits = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		is[c] = true
	}
	return is
}()
