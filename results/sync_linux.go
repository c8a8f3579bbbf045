package results

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncTree makes everything durable that was written on the file system of folder. One call for a whole bundle takes a
// tenth of the time of a sync for each of its files.
func syncTree(folder *os.File, d *disk) error {
	err := unix.Syncfs(int(folder.Fd()))
	if errors.Is(err, unix.ENOSYS) { // a kernel that imitates Linux
		return d.syncEach()
	}
	return err
}
