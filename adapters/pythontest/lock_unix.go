//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pythontest

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lock waits until no other process holds the file, and returns what gives it back.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}
