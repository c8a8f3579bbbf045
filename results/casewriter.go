package results

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// Intent announces a call.
type Intent struct {
	CallKey string
	Call    matrix.Call
	Role    string // of the backend that is asked
	Attempt int    // from 1
	Request []byte // exact request body; nil: none is kept
	Durable bool   // on disk before Intent returns: for a call that leaves the machine or costs money
	Spent   Spent  // of limits.budget, at the most
}

// Outcome is what came of a call.
type Outcome struct {
	CallKey      string
	Attempt      int
	Status       matrix.Status
	Error        *matrix.CallError
	Response     []byte // exact response body; nil: none is kept. Of one over MaxResponse the first KeptOfResponse bytes are kept
	FinishReason string
	LatencyMS    int64
	Durable      bool // on disk before Outcome returns
	Unmade       bool // the try was announced and given up before the backend was called
	Spent        Spent
	More         bool   // the call has a further step, of which Observed holds what it needs of this one
	Observed     []byte // what was made of the answer, for whoever goes on with the work; nil: nothing, and the call is made again
}

// CaseWriter is the work on one case. Its methods may be called by several goroutines; Seal and Abort end it.
type CaseWriter struct {
	exec       *Execution
	id, name   string
	caseDigest string
	lock       *os.File
	disk       *disk
	journal    *journal
	blobs      *pack

	mu      sync.Mutex
	durable bool             // some call cannot be repeated for nothing
	past    map[string]*Past // by call key: what earlier work has left
	doubts  doubts
	ended   bool
	sealed  bool

	taken []takenFolder // of other executions, whose calls may be used
}

const lockFile = "LOCK"

func (w *CaseWriter) work() string   { return path.Join(workFolder, string(w.exec.id), w.name) }
func (w *CaseWriter) bundle() string { return path.Join(string(w.exec.id), w.name+archiveSuffix) }

func (w *CaseWriter) stamp() string { return w.exec.now().UTC().Format(time.RFC3339) }

// begin fills the new work folder.
func (w *CaseWriter) begin(pinsDigest string) error {
	root, err := w.exec.root.OpenRoot(w.work())
	if err != nil {
		return err
	}
	w.disk = newDisk(root, w.exec.hook)
	return w.fill(pinsDigest)
}

// writeLock says who works in the folder.
func (w *CaseWriter) writeLock() error { return w.disk.write(lockFile, w.exec.owner()) }

func (e *Execution) owner() []byte {
	host, _ := os.Hostname() // for whoever finds the folder; not worth failing for
	return fmt.Appendf(nil, "pid %d\nhost %s\nstart %s\n", os.Getpid(), host, e.now().UTC().Format(time.RFC3339))
}

func (w *CaseWriter) fill(pinsDigest string) (err error) {
	if err := w.writeLock(); err != nil {
		return err
	}
	if w.journal, err = newJournal(w.disk); err != nil {
		return err
	}
	if w.blobs, err = newPack(w.disk); err != nil {
		return err
	}
	w.journal.guard, w.blobs.guard = w.exec.guard, w.exec.guard
	return w.journal.append(Record{
		Type: RecordOpen, At: w.stamp(), Schema: journalSchema, Execution: w.exec.id, Case: w.id, CaseDigest: w.caseDigest, PinsDigest: pinsDigest,
	})
}

// fail names the place; every error of a CaseWriter passes through it. The case is named by who writes it.
func (w *CaseWriter) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("work folder %q: %w", w.exec.workDir(w.name), err)
}

// Plan records what will be called, before the first Intent. It is called again where a generator broke its word and the plan
// was extended; the last one is that of the bundle.
func (w *CaseWriter) Plan(p *matrix.Plan) error {
	data, err := matrix.Canonical(p)
	digest := matrix.DigestBytes(data)
	if err == nil {
		err = w.blobs.keep(digest, data)
	}
	if err == nil {
		err = w.journal.append(Record{
			Type: RecordPlan, At: w.stamp(), Plan: digest,
			Generations: p.Generations(), Retrievals: len(p.Retrievals),
		})
	}
	return w.fail(err)
}

// Intent records that a call is about to be made. No call may be made before Intent has returned nil.
func (w *CaseWriter) Intent(i Intent) error {
	request, err := w.blobs.add(i.Request)
	if err != nil {
		return w.fail(err)
	}
	return w.fail(w.record(Record{
		Type: RecordIntent, At: w.stamp(), CallKey: i.CallKey, Call: &i.Call, Role: i.Role,
		Attempt: i.Attempt, Request: request, Durable: i.Durable, Spent: i.Spent,
	}, i.Durable))
}

// record appends to the journal. A durable record is saved before it returns, with the blobs that it names.
func (w *CaseWriter) record(r Record, durable bool) error {
	if err := w.journal.append(r); err != nil {
		return err
	}
	w.mu.Lock()
	w.doubts.take(&r)
	w.durable = w.durable || durable
	w.mu.Unlock()
	if !durable {
		return nil
	}
	return w.exec.save(w.disk, journalFile, path.Join(workFolder, string(w.exec.id)), workFolder, ".")
}

// Outcome records what came of a call.
func (w *CaseWriter) Outcome(o Outcome) error {
	r := Record{
		Type: RecordResult, At: w.stamp(), CallKey: o.CallKey, Attempt: o.Attempt, Status: o.Status, Error: o.Error,
		FinishReason: o.FinishReason, LatencyMS: o.LatencyMS, ResponseSize: int64(len(o.Response)), Spent: o.Spent, Unmade: o.Unmade, More: o.More,
	}
	if w.exec.guard(o.Response) != nil {
		o.Response, r.ResponseSize, r.Status = nil, 0, matrix.StatusError
		r.Error = &matrix.CallError{Kind: matrix.KindSecret, Message: ErrSecret.Error()}
	}
	if r.Status != matrix.StatusOK {
		r.Type = RecordFailure
	}
	if len(o.Response) > MaxResponse {
		o.Response, r.ResponseCut = o.Response[:KeptOfResponse], true
	}
	var err error
	if r.Response, err = w.blobs.add(o.Response); err != nil {
		return w.fail(err)
	}
	if o.Observed != nil {
		r.Observed = matrix.DigestBytes(o.Observed)
		if err := w.blobs.keep(r.Observed, o.Observed); err != nil {
			return w.fail(err)
		}
	}
	return w.fail(w.record(r, o.Durable))
}

// Note records a remark.
func (w *CaseWriter) Note(text string) error {
	return w.fail(w.record(Record{Type: RecordNote, At: w.stamp(), Text: text}, false))
}

// Abort ends the work without a bundle. Work that holds a call that cannot be repeated for nothing is kept; other work is
// removed.
func (w *CaseWriter) Abort() error {
	if !w.end() {
		return nil
	}
	keep := w.isDurable()
	var err error
	if keep {
		err = w.record(Record{Type: RecordNote, At: w.stamp(), Text: "the work was given up"}, true)
	}
	w.exec.doubt(w.name, w.Bill())
	return w.fail(errors.Join(err, w.clear(keep)))
}

// leave gives the folder back as it is.
func (w *CaseWriter) leave() error {
	w.end()
	return w.clear(true)
}

func (w *CaseWriter) isDurable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.durable
}

// clear gives the work folder back, and removes it unless it is to be kept.
func (w *CaseWriter) clear(keep bool) error {
	err := errors.Join(w.journal.close(), w.blobs.close(), w.release(!keep && w.sealed))
	if !keep {
		if w.disk != nil {
			err = errors.Join(err, w.disk.at(stepRemove, w.work()))
		}
		err = errors.Join(err, w.exec.root.RemoveAll(w.work()))
	}
	if w.disk != nil {
		err = errors.Join(err, w.disk.close())
	}
	return errors.Join(err, unlockFolder(w.lock))
}

// end reports whether the work was still open, and ends it.
func (w *CaseWriter) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.ended = true
	return true
}

// bundlePath returns the path of the sealed bundle.
func (w *CaseWriter) bundlePath() string {
	return filepath.Join(w.exec.out, filepath.FromSlash(w.bundle()))
}
