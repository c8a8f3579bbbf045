//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package results

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// isPrivate returns an error for what another user owns, or may write or read: a journal that somebody planted would have us believe
// its answers.
func isPrivate(name string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%q belongs to user %d: %w", name, s.Uid, ErrNotOurs)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%q has the mode %04o, which is not of its owner alone (chmod -R go= it, if you trust what is in it): %w", name, mode, ErrNotOurs)
	}
	return nil
}
