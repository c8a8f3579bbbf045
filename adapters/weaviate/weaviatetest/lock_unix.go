//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package weaviatetest

import (
	"os"
	"syscall"
)

// tryLock takes the lock on the file, which ends when the file is closed or the process ends.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
