package results

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/matrix"
)

// Errors of opening the work on a case.
var (
	// ErrLocked means that another live process works on the same case of the same execution.
	ErrLocked = errors.New("another process works on it")
	// ErrUnfinished means that an earlier process left work on the same case of the same execution.
	ErrUnfinished = errors.New("an earlier process left it unfinished")
	// ErrInDoubt means that nobody knows of some call whether it was made, and nobody has said what is to be done about it.
	ErrInDoubt = errors.New("it is not known whether it was made")
)

const (
	workFolder    = ".work"
	summaryFile   = "execution.json"
	nonceAttempts = 4096
	claims        = 64
)

// Execution is one invocation over an experiment, as it is written: its bundles stand in <out>/<id>/, unfinished work in
// <out>/.work/<id>/. Its methods may be called by several goroutines.
type Execution struct {
	id     ExecutionID
	out    string
	root   *os.Root // of out
	folder *os.File // out itself, opened before anything is written, so that a sync of it reports every failed write
	hook   hook
	now    func() time.Time
	sync   func(folder *os.File) error // syncAll, but in tests
	syncs  group
	making chan struct{} // has a token for each bundle that is being made: in memory, for which no more are made at once than there are cores

	lock    *os.File // of the work folder; nil: the execution leaves no invocation
	resumed bool     // what is there is gone on with
	inDoubt string   // what is then done about calls in doubt: InDoubt…, "" for nothing

	mu    sync.Mutex
	fresh bool                // calls of other executions are not used
	left  map[string][]string // folders of other executions, by the name of the case; nil: not looked for yet
	says  []string            // what is to be known of what was found
	from  map[ExecutionID]*Taken
	lost  []matrix.Asked // by calls of others whose answers were not taken, though the rest of their work was
	// doubts are the calls in doubt of each case without a bundle, by the name of the case.
	doubts map[string]Bill

	secret func([]byte) bool // nil: nothing is known of secrets

	reenacts string // digest of the manifest of the bundle that answers every call; "": backends do
}

// ErrSecret means that something was not written because a secret stands in it.
var ErrSecret = errors.New("secret_in_output: it holds a key or password that was read for this run, and is not written")

// Guard refuses to write whatever secret reports true for. A response that holds a secret is recorded as one that failed; anything else
// that does is an error. It is called before anything is written.
func (e *Execution) Guard(secret func([]byte) bool) { e.secret = secret }

func (e *Execution) guard(data []byte) error {
	if e.secret != nil && e.secret(data) {
		return ErrSecret
	}
	return nil
}

// NewExecution makes the folder of a new execution below out. Name is the experiment's name.
func NewExecution(out, name string, at time.Time) (*Execution, error) {
	return newExecution(out, name, at, nil)
}

func newExecution(out, name string, at time.Time, h hook) (*Execution, error) {
	if err := os.MkdirAll(out, 0o700); err != nil {
		return nil, fmt.Errorf("results folder: %w", err)
	}
	e, err := openExecution(out, h)
	if err != nil {
		return nil, err
	}
	if err := e.claim(name, at); err != nil {
		return nil, fmt.Errorf("results folder %q: %w", out, errors.Join(err, e.Close()))
	}
	return e, nil
}

func openExecution(out string, h hook) (_ *Execution, err error) {
	e := &Execution{out: out, hook: h, now: time.Now, sync: syncAll, making: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if e.root, err = os.OpenRoot(out); err != nil {
		return nil, fmt.Errorf("results folder: %w", err)
	}
	if e.folder, err = e.root.Open("."); err != nil {
		return nil, fmt.Errorf("results folder %q: %w", out, errors.Join(err, e.Close()))
	}
	return e, nil
}

// claim takes an id that sorts behind all earlier ones, also behind those of the same second.
func (e *Execution) claim(name string, at time.Time) error {
	earlier, err := Executions(e.out)
	if err != nil {
		return err
	}
	var last ExecutionID
	if len(earlier) > 0 {
		// The newest may bear the next second, where the ids of one were used up; one much later is of another clock.
		switch ahead := earlier[0].Time().Sub(at.UTC().Truncate(time.Second)); {
		case ahead >= time.Minute:
			e.say("the clock has gone back: execution %s bears a later time, so that it is taken for the newest, and not this one: name this one with --execution", earlier[0])
		case ahead >= 0:
			last, at = earlier[0], at.Add(ahead)
		}
	}
	for range claims {
		id, err := idBehind(last, name, at)
		if err != nil {
			return err
		}
		err = e.root.Mkdir(string(id), 0o700)
		if errors.Is(err, os.ErrExist) {
			last = id // another process was faster
			continue
		}
		e.id = id
		return err
	}
	return fmt.Errorf("too many executions began in this second: try again")
}

// idBehind returns an id of the second of at, behind last where that is not "". It is the nearest of many, so that thousands
// fit behind each other; where none fits any more, it is of the next second.
func idBehind(last ExecutionID, name string, at time.Time) (best ExecutionID, err error) {
	nonce := make([]byte, 16)
	tries := 1
	if last != "" {
		tries = nonceAttempts
	}
	for range tries {
		if _, err := rand.Read(nonce); err != nil {
			return "", err
		}
		if id := newExecutionID(name, at, nonce); id > last && (best == "" || id < best) {
			best = id
		}
	}
	if best == "" {
		next := at.Add(time.Second)
		return idBehind(ExecutionID(next.UTC().Format(stampLayout)+"-"), name, next) // at the start of it, where there is room
	}
	return best, nil
}

// ID returns the execution's id.
func (e *Execution) ID() ExecutionID { return e.id }

// Dir returns the folder that holds the bundles.
func (e *Execution) Dir() string { return filepath.Join(e.out, string(e.id)) }

// Case begins the work on one case. The digests go into the journal: pinsDigest is of what is declared, before any call.
func (e *Execution) Case(c *matrix.Case, caseDigest, pinsDigest string) (*CaseWriter, error) {
	w, err := e.openCase(c, caseDigest, pinsDigest)
	if err != nil {
		return nil, fmt.Errorf("work folder %q: %w", e.workDir(caseName(c.ID)), err)
	}
	return w, nil
}

func (e *Execution) workDir(name string) string {
	return filepath.Join(e.out, workFolder, string(e.id), name)
}

func (e *Execution) openCase(c *matrix.Case, caseDigest, pinsDigest string) (_ *CaseWriter, err error) {
	w := &CaseWriter{exec: e, id: c.ID, name: caseName(c.ID), caseDigest: caseDigest}
	if _, err := e.root.Lstat(w.bundle()); err == nil {
		return nil, fmt.Errorf("bundle %q: %w", w.bundle(), os.ErrExist)
	}
	if err := e.makeWork(path.Dir(w.work())); err != nil {
		return nil, err
	}
	made := e.root.Mkdir(w.work(), 0o700)
	if made != nil && !errors.Is(made, os.ErrExist) {
		return nil, made
	}
	if w.lock, err = e.root.Open(w.work()); err != nil {
		return nil, err
	}
	if err = lockFolder(w.lock); err == nil && made != nil && !e.resumed {
		err = ErrUnfinished
	}
	if errors.Is(err, ErrLocked) {
		err = whoHolds(e.root, w.work())
	}
	if err != nil {
		return nil, errors.Join(err, unlockFolder(w.lock))
	}
	if w.past = map[string]*Past{}; made != nil {
		if err = w.takeOver(pinsDigest, e.inDoubt); err != nil {
			return nil, errors.Join(err, w.leave())
		}
	} else if err = w.begin(pinsDigest); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	if !e.fresh {
		if err = w.takeOthers(pinsDigest); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	e.doubt(w.name, w.Bill())
	return w, nil
}

// Finish writes the summary of the execution, whole or not at all, clears up after cases that left nothing, and writes into the ledger
// that the execution ended.
func (e *Execution) Finish(s Summary) error {
	s.Schema, s.Execution, s.ReenactedOf = SummarySchema, e.id, e.reenacts
	var bundles int
	var sum string
	summed := make(chan error, 1)
	go func() { // beside the writing, which takes as long
		summed <- crash.Guard(func() (err error) {
			bundles, sum, err = e.sealed()
			return err
		})()
	}()
	err := e.finish(&s)
	if err != nil {
		err = fmt.Errorf("execution %q: summary %q: %w", e.id, filepath.Join(e.Dir(), summaryFile), err)
	}
	if err := cmp.Or(err, <-summed); err != nil {
		return err
	}
	return e.end(&s, bundles, sum)
}

func (e *Execution) finish(s *Summary) error {
	root, err := e.root.OpenRoot(string(e.id))
	if err != nil {
		return err
	}
	d := newDisk(root, e.hook)
	err = d.writeBy(summaryFile, func(f *os.File) error {
		if err := d.at(stepWrite, summaryFile); err != nil {
			return err
		}
		w := bufio.NewWriter(&guarded{to: f, exec: e})
		return errors.Join(s.Encode(w, " "), w.Flush())
	})
	if err == nil {
		err = e.save(d, summaryFile)
	}
	if closeErr := d.close(); err == nil {
		err = closeErr
	}
	// A folder that still holds unfinished work is not empty and stays.
	if err == nil && s.Stopped == "" {
		err = e.Forget()
	}
	_ = e.root.Remove(path.Join(workFolder, string(e.id)))
	_ = e.root.Remove(workFolder)
	return err
}

// guarded is a file that no secret is written to, also where it comes in two pieces of a length of its own.
type guarded struct {
	to   *os.File
	exec *Execution
	end  []byte // of what was written
}

func (g *guarded) Write(p []byte) (int, error) {
	const longest = 8 << 10 // form of a secret
	g.end = append(g.end, p...)
	if err := g.exec.guard(g.end); err != nil {
		return 0, fmt.Errorf("%s: %w", summaryFile, err)
	}
	g.end = append(g.end[:0], g.end[max(0, len(g.end)-longest):]...)
	return g.to.Write(p)
}

// save makes durable what was written so far: to a disk, where it is not nil, and the names in folders of the execution's root.
// One call for a whole file system takes less than one for each file, and cases that wait for it share it. Where there is no such
// call, every file and folder is synced on its own. The step that a disk's hook is told of bears a name.
func (e *Execution) save(d *disk, name string, folders ...string) error {
	if d != nil {
		if err := d.at(stepSync, name); err != nil {
			return err
		}
	}
	err := e.syncs.do(func() error { return e.sync(e.folder) })
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if d != nil {
		if err := d.saves.do(d.syncEach); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		if err := syncFolder(e.root, folder); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

// Close releases the folder. What was written stays.
func (e *Execution) Close() error {
	var err error
	if e.folder != nil {
		err = e.folder.Close()
		e.folder = nil
	}
	if e.lock != nil {
		err = errors.Join(err, unlockFolder(e.lock))
		e.lock = nil
	}
	if e.root != nil {
		err = errors.Join(err, e.root.Close())
		e.root = nil
	}
	return err
}
