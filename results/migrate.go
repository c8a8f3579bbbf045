package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// ErrNotMigrated means that no bundle could be made of another one by the rules of this program.
var ErrNotMigrated = errors.New("it was not migrated")

// Migrated is what became of a bundle.
type Migrated struct {
	Bundle      string      `json:"bundle"`
	Case        string      `json:"case"`
	Execution   ExecutionID `json:"execution"`
	DerivedFrom string      `json:"derived_from"`       // digest of the manifest of the bundle
	New         string      `json:"migrated,omitempty"` // path; "": nothing would change, and nothing was written
	Manifest    string      `json:"manifest,omitempty"` // digest of the new one
	Withheld    int         `json:"withheld"`           // files that both lack
	Sealed      Decided     `json:"sealed"`
	Now         Decided     `json:"now"`
}

// Migrate makes a new bundle of one that is intact, in <out>/<execution>/<case>.bundle.zip: what was given and observed, and the plan that
// was carried out, are the same bytes; features and evaluation are made anew by this program. Its manifest names the one that it was derived
// from, and its execution stays the one that observed. Signatures are of the other manifest and stay behind. Where the same bytes follow,
// nothing is written. A folder that has a ledger is refused: what stands there was run. So is what [Verify] would not find intact: the error
// wraps ErrNotMigrated and says why. Nothing is written over.
func Migrate(bundle, out string, now time.Time) (_ *Migrated, err error) {
	done, err := migrate(bundle, out, now)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", bundle, err)
	}
	return done, nil
}

func migrate(bundle, out string, now time.Time) (_ *Migrated, err error) {
	if _, err := os.Lstat(filepath.Join(out, ledgerFile)); err == nil {
		return nil, fmt.Errorf("%q has a ledger, of what was run: migrate into a folder of its own: %w", out, ErrNotMigrated)
	}
	v := Verify(bundle, Policy{Partial: true})
	if v.State == StateBroken || v.State == StateMalformed {
		return nil, fmt.Errorf("%w: %s", ErrNotMigrated, v.Problems[0])
	}
	again, err := replay(bundle, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMigrated, err)
	}
	done := &Migrated{Bundle: bundle, Case: v.Case, Execution: v.Execution, DerivedFrom: v.Manifest, Withheld: v.Withheld, Sealed: again.Sealed, Now: again.Now}
	if again.Same {
		return done, nil
	}
	r, err := openReader(bundle)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	c := copying{manifest: r.manifest, bundle: bundle, from: func(f *File) *reader {
		if f == nil || !f.Restricted || r.has(f.Path) {
			return r
		}
		return nil
	}}
	if c.made, err = r.remade(again, v.Manifest, now); err != nil {
		return nil, err
	}
	done.Manifest = matrix.DigestBytes(c.made[manifestFile])
	done.New, err = c.proved(out)
	return done, err
}

// remade returns the files of a bundle that are other bytes after a migration.
func (r *reader) remade(again *Replay, derivedFrom string, now time.Time) (map[string][]byte, error) {
	features, evaluation, err := again.Derived()
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{featuresFile: features, evaluationFile: evaluation}
	m, tool := *r.manifest, BuildTool()
	m.DerivedFrom, m.Created, m.Tool = derivedFrom, now.UTC().Format(time.RFC3339), tool
	m.Evaluator = Evaluator{Name: evaluatorName, Version: tool.Version, Ruleset: again.Now.Ruleset}
	m.Digests.Evaluation = matrix.DigestBytes(evaluation)
	m.Files = slices.Clone(m.Files)
	for i := range m.Files {
		if data, is := made[m.Files[i].Path]; is {
			sum := sha256.Sum256(data)
			m.Files[i].SHA256, m.Files[i].Size = hex.EncodeToString(sum[:]), int64(len(data))
		}
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("its new manifest: %w", err)
	}
	manifest, err := matrix.Canonical(m)
	made[manifestFile], made[sumsFile] = manifest, sums(m.Files, manifest)
	return made, err
}

// proved writes the copy aside, verifies it there, and only then gives it its place.
func (c *copying) proved(out string) (path string, err error) {
	if err := OutsideBundles(out); err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o700); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(out, ".migrating-*") // of mode 0700
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	made, err := c.to(aside)
	if err != nil {
		return "", err
	}
	if v := Verify(made.Copy, Policy{Partial: true}); v.State != StateIntact || !v.Derived {
		why := "what is derived was not made again"
		if len(v.Problems) > 0 {
			why = v.Problems[0].String()
		}
		return "", fmt.Errorf("%w: by the rules of this program it would not be intact: %s", ErrNotMigrated, why)
	}
	place, err := filepath.Rel(aside, made.Copy)
	if err != nil {
		return "", err
	}
	path = filepath.Join(out, place)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil { // a rename would replace it without a word
		return "", fmt.Errorf("%q: %w", path, os.ErrExist)
	}
	return path, os.Rename(made.Copy, path)
}
