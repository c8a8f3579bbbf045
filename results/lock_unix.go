//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package results

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFolder takes the advisory lock of a folder. The lock belongs to the folder itself and not to a file in it, so that it
// stays valid while the folder is renamed to its final name, and nothing of it is left in the bundle.
func lockFolder(folder *os.File) error {
	err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("this file system has no locks (%w), without which two processes could buy the same calls: keep the results on a local disk (--results)", err)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// unlockFolder gives the lock back and closes the folder. To close alone is not enough: a process that is just being started holds
// what was open, and the lock with it, until it runs.
func unlockFolder(folder *os.File) error {
	err := syscall.Flock(int(folder.Fd()), syscall.LOCK_UN)
	return errors.Join(err, folder.Close())
}
