package results

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/culprit-rag/culprit/matrix"
)

// continuedFile says that another execution has finished the case with what this work holds, and where.
const continuedFile = "CONTINUED"

// others are the folders that other executions have left under the name of a case, the oldest first.
func (e *Execution) others(name string) ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == nil {
		e.left = map[string][]string{}
		root, err := e.root.OpenRoot(workFolder)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }() // it was only read
		ids, err := readFolder(root, ".")
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			names, err := readFolder(root, id)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				if id != string(e.id) && !isContinued(root, path.Join(id, name)) && !isSealed(e.out, id, name) {
					e.left[name] = append(e.left[name], path.Join(workFolder, id, name))
				}
			}
		}
	}
	return e.left[name], nil
}

func isContinued(root *os.Root, folder string) bool {
	_, err := root.Lstat(path.Join(folder, continuedFile))
	return err == nil
}

// takeOthers makes the finished calls of other executions known, where they are of the same case and the same declared pins. Their
// folders stay locked until the case has ended. What cannot be used is left alone, and said.
func (w *CaseWriter) takeOthers(pinsDigest string) error {
	folders, err := w.exec.others(w.name)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		left, lock, err := openWork(w.exec.root, w.exec.out, folder)
		switch {
		case errors.Is(err, ErrLocked), errors.Is(err, os.ErrNotExist):
			continue // a run of its own
		case err != nil:
			w.exec.say("what %q holds is not used: %v", filepath.Join(w.exec.out, folder), err)
			continue
		}
		used := false
		var lost []matrix.Asked
		if left.CaseDigest == w.caseDigest && left.PinsDigest == pinsDigest && left.Case == w.id {
			for key, p := range left.Calls {
				mine := w.past[key]
				switch {
				case p.Doubt && (mine == nil || mine.Observed == nil):
					w.exec.took(left.Execution, 0, 1)
					if err := w.doubtOf(left.Execution, p); err != nil {
						return errors.Join(err, unlockFolder(lock))
					}
					used = true // so that no further execution counts it
				case p.Observed != nil && !p.Skipped && (mine == nil || mine.Observed == nil && !mine.Skipped && mine.Tries == 0):
					w.past[key], used = p, true
				case p.From == left.Execution && (mine == nil || mine.From != left.Execution):
					lost = matrix.AddAsked(lost, p.Asked...)
				case mine != nil && mine.From == left.Execution:
					used = true // by an earlier process
				}
			}
		}
		if used {
			w.exec.lose(lost)
			w.taken = append(w.taken, takenFolder{folder, lock})
		} else if err := unlockFolder(lock); err != nil {
			return err
		}
	}
	return nil
}

// doubtOf records once that a call of another execution is in doubt, and is made again here.
func (w *CaseWriter) doubtOf(from ExecutionID, p *Past) error {
	w.mu.Lock()
	known := w.doubts.others[doubted{from, p.Key}]
	w.mu.Unlock()
	if known {
		return nil
	}
	return w.record(Record{Type: RecordInDoubt, At: w.stamp(), CallKey: p.Key, Attempt: p.Tries, From: from, Text: InDoubtRetry}, false)
}

type takenFolder struct {
	folder string
	lock   *os.File
}

// release gives the folders of other executions back. Where the case has its bundle, they say so, and are done with.
func (w *CaseWriter) release(sealed bool) error {
	var errs []error
	for _, t := range w.taken {
		if sealed {
			f, err := w.exec.root.OpenFile(path.Join(t.folder, continuedFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err == nil {
				_, err = fmt.Fprintln(f, w.bundle())
				err = errors.Join(err, f.Close())
			}
			errs = append(errs, err)
		}
		errs = append(errs, unlockFolder(t.lock))
	}
	w.taken = nil
	return errors.Join(errs...)
}

// Reuse records that an answer was taken from earlier work. One of another execution is copied, so that this journal holds all that its
// bundle rests on.
func (w *CaseWriter) Reuse(p *Past) error {
	w.mu.Lock()
	again := p.reused
	p.reused = true
	w.mu.Unlock()
	if again {
		return nil
	}
	w.exec.took(p.From, 1, 0)
	if p.From == w.exec.id || p.mine {
		return nil
	}
	intent, outcome := p.intent, *p.Outcome
	intent.From, outcome.From = p.From, p.From
	for _, blob := range [][]byte{p.request, p.response} {
		if _, err := w.blobs.add(blob); err != nil {
			return w.fail(err)
		}
	}
	if p.Observed != nil {
		if err := w.blobs.keep(outcome.Observed, p.Observed); err != nil {
			return w.fail(err)
		}
	}
	return w.fail(errors.Join(w.record(intent, false), w.record(outcome, false)))
}
