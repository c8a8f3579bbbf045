//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// lockShared keeps others from removing the file while it is open. SQLite takes no lock on a file that it opens as immutable,
// and where a file system has no locks, none is in the way of removeUnused either, which then leaves the file.
func lockShared(file *os.File) {
	for errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH), syscall.EINTR) {
	}
}

// removeUnused removes a file that nobody holds.
func removeUnused(path string) {
	file, err := openRegular(path)
	if err != nil {
		return
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isFile(file, path) {
		_ = os.Remove(path)
	}
}
