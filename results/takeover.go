package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// openWork locks the folder of a case and reads it. Without an error the lock is to be given back.
func openWork(out *os.Root, outName, folder string) (w *Work, lock *os.File, err error) {
	root, err := out.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if lock, err = root.Open("."); err != nil {
		return nil, nil, err
	}
	if err = lockFolder(lock); err == nil {
		w, err = readWork(root, filepath.Join(outName, folder))
	}
	if err != nil {
		return nil, nil, errors.Join(err, unlockFolder(lock))
	}
	return w, lock, nil
}

// tornFile holds the end of a pack that was cut off, where something of it may be read by hand.
const tornFile = "blobs.torn"

// takeOver goes on with what a killed process has left in the folder, or begins where it had not.
func (w *CaseWriter) takeOver(pinsDigest, inDoubt string) error {
	root, err := w.exec.root.OpenRoot(w.work())
	if err != nil {
		return err
	}
	w.disk = newDisk(root, w.exec.hook)
	left, err := readWork(root, w.exec.workDir(w.name))
	if err != nil {
		return err
	}
	if err := clean(root, len(left.journal.Records) == 0); err != nil {
		return err
	}
	if len(left.journal.Records) == 0 {
		return w.fill(pinsDigest)
	}
	switch {
	case left.Case != w.id || left.Execution != w.exec.id:
		return fmt.Errorf("it is of case %q of execution %q: %w", left.Case, left.Execution, ErrChanged)
	case left.CaseDigest != w.caseDigest:
		return fmt.Errorf("the case: %w", ErrChanged)
	case left.PinsDigest != pinsDigest:
		return fmt.Errorf("the pins of the experiment: %w", ErrChanged)
	}
	if err := w.writeLock(); err != nil {
		return err
	}
	if len(left.tail) > 0 {
		if err := w.disk.write(tornFile, left.tail); err != nil {
			return err
		}
	}
	if w.journal, err = reopenJournal(w.disk, left); err != nil {
		return err
	}
	if w.blobs, err = reopenPack(w.disk, left); err != nil {
		return err
	}
	w.journal.guard, w.blobs.guard = w.exec.guard, w.exec.guard
	w.past, w.durable, w.doubts = left.Calls, len(left.Calls) > 0, left.doubts
	for _, p := range w.past {
		p.mine = true
	}
	if left.Torn > 0 {
		says := fmt.Sprintf("%d bytes of a last record that was not finished were cut off", left.Torn)
		w.exec.say("case %q: %s", w.id, says)
		if err := w.record(Record{Type: RecordNote, At: w.stamp(), Text: says}, false); err != nil {
			return err
		}
	}
	for _, p := range left.InDoubt() {
		if inDoubt == "" {
			return fmt.Errorf("call %s: %w", p.Key, ErrInDoubt)
		}
		p.settle(inDoubt)
		if err := w.record(Record{Type: RecordInDoubt, At: w.stamp(), CallKey: p.Key, Attempt: p.Tries, Text: inDoubt}, true); err != nil {
			return err
		}
	}
	return nil
}

// clean removes files that were not finished; with all, everything.
func clean(root *os.Root, all bool) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); all || name == sealFile || strings.HasPrefix(name, tempPrefix) {
			err = errors.Join(err, root.RemoveAll(name))
		}
	}
	return err
}

// reopen opens a file to go on behind what is whole of it.
func (d *disk) reopen(name string, size int64) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.listed(name)
	return f, nil
}

func reopenJournal(d *disk, left *Work) (*journal, error) {
	f, err := d.reopen(journalFile, left.lengths[0])
	if err != nil {
		return nil, err
	}
	return &journal{file: f, disk: d, seq: len(left.journal.Records), head: left.journal.Head, size: left.lengths[0]}, nil
}

func reopenPack(d *disk, left *Work) (*pack, error) {
	f, err := d.reopen(packFile, left.lengths[1])
	if err != nil {
		return nil, err
	}
	return &pack{file: f, disk: d, blobs: left.blobs, size: left.lengths[1]}, nil
}

// whoHolds names who works in a locked folder.
func whoHolds(root *os.Root, folder string) error {
	data, err := readFile(root, path.Join(folder, lockFile), 1<<10)
	if err != nil || len(data) == 0 {
		return ErrLocked
	}
	return fmt.Errorf("%w (%s)", ErrLocked, strings.ReplaceAll(string(bytes.TrimSpace(data)), "\n", ", "))
}
