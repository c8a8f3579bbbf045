package results

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncTree makes everything durable that was written on the file system of folder. One call for a whole bundle takes a
// tenth of the time of a sync for each of its files.
func syncTree(folder *os.File, _ *disk) error { return unix.Syncfs(int(folder.Fd())) }
