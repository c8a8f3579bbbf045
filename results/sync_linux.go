package results

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes everything durable that was written on the file system of folder. Its error is errors.ErrUnsupported where a kernel
// that imitates Linux has no such call.
func syncAll(folder *os.File) error { return unix.Syncfs(int(folder.Fd())) }
