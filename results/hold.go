package results

import "os"

// Hold locks a file for this process, until [Release]. The error is [ErrNotOurs] where it is not of this user alone, and [ErrLocked] where
// another process holds it.
func Hold(f *os.File) error {
	info, err := f.Stat()
	if err == nil {
		err = isPrivate(f.Name(), info)
	}
	if err == nil {
		err = lockFolder(f)
	}
	return err
}

// Release gives a file back and closes it.
func Release(f *os.File) error { return unlockFolder(f) }
