package results

import (
	"errors"
	"fmt"
)

// Reveal copies a redacted bundle as [Redact] does, with the files that it lacks out of a full one. Both are under one seal, byte for byte,
// and each file is held to its sum there; what neither has is an error.
func Reveal(bundle, full, out string) (_ Redacted, err error) {
	r, err := openReader(bundle)
	if err != nil {
		return Redacted{}, fmt.Errorf("bundle %q: %w", bundle, err)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	other, err := openReader(full)
	if err != nil {
		return Redacted{}, fmt.Errorf("bundle %q: %w", full, err)
	}
	defer func() { err = errors.Join(err, other.close()) }()
	same, err := r.sameSeal(other)
	revealed, lacks := r.withheld(), other.withheld()
	switch {
	case err != nil:
		return Redacted{}, err
	case !same:
		return Redacted{}, fmt.Errorf("bundles %q and %q are under two seals: of execution %s, case %q, and of %s, case %q: %w", bundle, full, r.manifest.ExecID, r.manifest.CaseID, other.manifest.ExecID, other.manifest.CaseID, ErrNotRevealed)
	case revealed == 0:
		return Redacted{}, fmt.Errorf("bundle %q lacks no file: %w", bundle, ErrNotRevealed)
	case lacks > 0:
		return Redacted{}, fmt.Errorf("bundle %q is not full: %d of its files are withheld: %w", full, lacks, ErrNotRevealed)
	}
	c := copying{manifest: r.manifest, bundle: bundle, signed: []string{bundle, full}, from: func(f *File) *reader {
		if f == nil || r.has(f.Path) {
			return r
		}
		return other
	}}
	done, err := c.to(out)
	done.Revealed = revealed
	return done, err
}

// ErrNotRevealed means that two bundles are not a redacted copy and the full bundle that it was made of.
var ErrNotRevealed = errors.New("nothing was revealed")
