package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// Errors of reading what earlier work has left.
var (
	// ErrNotOurs means that another user owns unfinished work, or may have written to it. It is not used.
	ErrNotOurs = errors.New("it is not this user's alone")
	// ErrChanged means that unfinished work is of another case, or of other pins.
	ErrChanged = errors.New("it has changed since")
)

// Past is a durable call that earlier work on the same case has announced.
type Past struct {
	Key  string
	Call matrix.Call
	At   string      // of its last try
	From ExecutionID // that made it

	Tries  int // so far
	Untold int // of these, those that may have to be paid for, and whose answer is not kept
	Unpaid int // of these, those that nobody has to pay for
	Same   int // the earlier try that the next one may be the same request as, for a provider that can tell; 0: none

	Outcome  *Record // of the last try; nil: none
	Observed []byte  // what was made of the answer; nil: nothing is kept
	Doubt    bool    // the last try has no outcome: it is not known whether it was made
	Skipped  bool    // nor is it to be made

	attempt           int // that the provider was told with the last try
	intent            Record
	request, response []byte
	mine, reused      bool // it stands in the journal of this execution; it was counted
}

// Work is what an execution has left of a case that it did not finish.
type Work struct {
	Execution  ExecutionID
	Dir        string
	Case       string
	CaseDigest string
	PinsDigest string
	Calls      map[string]*Past // by call key
	Spent      Spent            // of limits.budget, by this execution
	Torn       int              // bytes of a last record and a last blob that a killed process did not finish

	doubts  doubts // that were settled
	tail    []byte // of the pack, where a record names what may be in it
	journal *Journal
	blobs   map[string]extent // that are to stand in the bundle
	lengths [2]int64          // of what is whole in the journal and the pack
}

// Doubts counts the calls in doubt, those among them of which it was already said what is done about them.
func (w *Work) Doubts() int { return w.doubts.count() + len(w.InDoubt()) }

// InDoubt lists the calls of which nobody knows whether they were made, in the order in which they were announced.
func (w *Work) InDoubt() []*Past {
	var out []*Past
	for _, p := range w.Calls {
		if p.Doubt {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Past) int { return strings.Compare(a.At+a.Key, b.At+b.Key) })
	return out
}

// readWork reads the folder of a case. One that a process was killed in before its first record has no case.
func readWork(root *os.Root, dir string) (*Work, error) {
	w := &Work{Dir: dir, Calls: map[string]*Past{}, blobs: map[string]extent{}}
	info, err := root.Stat(".")
	if err == nil {
		err = isPrivate(dir, info)
	}
	if err != nil {
		return nil, err
	}
	var data [2][]byte
	for i, name := range []string{journalFile, packFile} {
		info, err := root.Lstat(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = isPrivate(filepath.Join(dir, name), info)
		}
		if err == nil {
			data[i], err = readFile(root, name, maxTotal)
		}
		if err != nil {
			return nil, err
		}
	}
	if w.journal, err = decodeJournal(data[0]); err != nil {
		return nil, fmt.Errorf("%q: %w", journalFile, err)
	}
	if tail := data[0][len(data[0])-w.journal.Torn:]; len(tail) > 0 {
		// Of a record that was cut off nothing stands behind its closing brace. Where something does, its line end was changed.
		if _, err := decodeLink(tail[:len(tail)-1]); err == nil {
			return nil, fmt.Errorf("%q: the end of its last line was changed: %w", journalFile, ErrJournal)
		}
	}
	extents, torn, err := decodePack(data[1])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", packFile, err)
	}
	w.Torn = w.journal.Torn + torn
	w.lengths = [2]int64{int64(len(data[0]) - w.journal.Torn), int64(len(data[1]) - torn)}
	if n := len(w.journal.Records); n > 0 && w.journal.Records[n-1].Type == RecordClose {
		// It was killed before its bundle had its name: the work has not ended.
		start := bytes.LastIndexByte(data[0][:w.lengths[0]-1], '\n') + 1
		last, err := decodeLink(data[0][start : w.lengths[0]-1])
		if err != nil {
			return nil, err
		}
		w.journal.Records, w.journal.Head, w.lengths[0] = w.journal.Records[:n-1], last.Prev, int64(start)
	}
	blob := func(ref string) []byte {
		e, ok := extents[ref]
		if !ok {
			return nil
		}
		return data[1][e.at : e.at+e.size]
	}
	for i := range w.journal.Records {
		r := &w.journal.Records[i]
		for _, ref := range []string{r.Request, r.Response, r.Observed, r.Plan} {
			e, ok := extents[ref]
			switch {
			case ref == "":
			case !ok:
				w.tail = data[1][len(data[1])-torn:]
			case ref == r.Request || ref == r.Response:
				w.blobs[ref] = e
			}
		}
		w.take(r, blob)
	}
	return w, nil
}

// take reads one record.
func (w *Work) take(r *Record, blob func(string) []byte) {
	p := w.Calls[r.CallKey]
	w.doubts.take(r)
	switch {
	case r.Type == RecordOpen:
		w.Execution, w.Case, w.CaseDigest, w.PinsDigest = r.Execution, r.Case, r.CaseDigest, r.PinsDigest
	case r.Type == RecordIntent && r.Durable && r.Call != nil:
		if p == nil {
			p = &Past{Key: r.CallKey, From: w.Execution}
			w.Calls[r.CallKey] = p
		}
		if p.attempt = p.Same; p.attempt == 0 {
			p.attempt = r.Attempt
		}
		p.Same = 0
		p.Call, p.At, p.Tries, p.intent = *r.Call, r.At, max(p.Tries+1, r.Attempt), *r
		p.Outcome, p.Observed, p.Doubt, p.request = nil, nil, r.From == "", blob(r.Request)
		if r.From != "" {
			p.From = r.From
		}
		if p.Doubt {
			w.Spent.Add(r.Spent)
		}
	case p == nil:
	case r.Type == RecordResult || r.Type == RecordFailure:
		if r.From == "" {
			w.Spent.Add(Spent{-p.intent.Spent.Calls, -p.intent.Spent.Tokens, -p.intent.Spent.Micro})
			w.Spent.Add(r.Spent)
		}
		if p.Observed = blob(r.Observed); r.Observed != "" && p.Observed == nil {
			return // its answer is lost with the power, and may have to be paid for: it stays in doubt
		}
		p.Outcome, p.Doubt, p.response = r, false, blob(r.Response)
		switch {
		case p.Observed != nil && r.Type == RecordResult:
		case r.Spent.Calls > 0:
			p.Untold++
		default:
			p.Unpaid++
		}
	case r.Type == RecordInDoubt && r.From == "":
		p.settle(r.Text)
	}
}

// settle ends the doubt.
func (p *Past) settle(how string) {
	p.Doubt = false
	if how == InDoubtSkip {
		p.Skipped = true
		return
	}
	p.Untold++
	p.Same = p.attempt
}

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
				}
			}
		}
		if used {
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

// Past returns what is known of a call from earlier work, nil where nothing is.
func (w *CaseWriter) Past(key string) *Past {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.past[key]
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
