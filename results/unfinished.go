package results

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Unfinished lists the work folders in a results folder that no live process holds: what killed runs left. A folder that
// does not exist holds none.
func Unfinished(out string) ([]string, error) {
	folders, err := unfinished(out)
	if err != nil {
		return nil, fmt.Errorf("unfinished work in results folder %q: %w", out, err)
	}
	return folders, nil
}

func unfinished(out string) (left []string, err error) {
	root, err := os.OpenRoot(filepath.Join(out, workFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	executions, err := readFolder(root, ".")
	if err != nil {
		return nil, err
	}
	for _, id := range executions {
		cases, err := readFolder(root, id)
		if err != nil {
			return nil, err
		}
		for _, name := range cases {
			if free, err := unlocked(root, path.Join(id, name)); err != nil {
				return nil, err
			} else if free && !isSealed(out, id, name) && !isContinued(root, path.Join(id, name)) {
				left = append(left, filepath.Join(out, workFolder, id, name))
			}
		}
	}
	return left, nil
}

// isSealed reports whether a case has its bundle: its process was killed before it had cleared up.
func isSealed(out, id, name string) bool {
	_, err := os.Lstat(filepath.Join(out, id, name+archiveSuffix))
	return err == nil
}

// readFolder lists the folders in a folder, sorted. One that a live run has just removed holds none.
func readFolder(root *os.Root, name string) ([]string, error) {
	f, err := root.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if err := errors.Join(ignoreMissing(err), f.Close()); err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// unlocked reports whether nobody works in a folder. The lock is taken to ask, and given back at once. A writer takes the
// lock before it writes the file LOCK: where that is missing the writer may just be about to, and must not be disturbed.
func unlocked(root *os.Root, name string) (bool, error) {
	if _, err := root.Lstat(path.Join(name, lockFile)); err != nil {
		return false, ignoreMissing(err)
	}
	f, err := root.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = lockFolder(f)
	if closeErr := unlockFolder(f); err == nil {
		err = closeErr
	}
	if errors.Is(err, ErrLocked) {
		return false, nil
	}
	return err == nil, err
}
