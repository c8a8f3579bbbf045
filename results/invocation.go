package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// InvocationSchema is the schema of [Invocation].
const InvocationSchema = "culprit.invocation/v1"

const (
	invocationFile = "invocation.json"
	maxInvocation  = 64 << 20
)

// Invocation is what an execution was begun with, so that another process can go on with it. It holds no secrets: backends read theirs
// from the environment.
type Invocation struct {
	Schema    string   `json:"schema"`
	Path      string   `json:"path"` // of the experiment, absolute
	Profile   string   `json:"profile,omitempty"`
	Set       []string `json:"set,omitempty"`
	Outside   bool     `json:"allow_outside,omitempty"`
	Repeats   string   `json:"repeats,omitempty"`
	NoRepairs bool     `json:"no_repairs,omitempty"`
	Fresh     bool     `json:"fresh,omitempty"`

	Cases []InvokedCase `json:"cases"`         // that are to be run, in their order
	Pins  Pins          `json:"pins,omitzero"` // as declared, before the first call of a case; zero: none was made
}

// InvokedCase is a case with its digest.
type InvokedCase struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

// Taken counts what was taken over from the unfinished work of an execution.
type Taken struct {
	Execution ExecutionID `json:"execution"`
	Calls     int         `json:"calls,omitempty"`    // finished ones, which were not made again
	InDoubt   int         `json:"in_doubt,omitempty"` // calls of another execution that may have been made, and are made again
}

func (e *Execution) took(from ExecutionID, calls, inDoubt int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.from == nil {
		e.from = map[ExecutionID]*Taken{}
	}
	if e.from[from] == nil {
		e.from[from] = &Taken{Execution: from}
	}
	e.from[from].Calls += calls
	e.from[from].InDoubt += inDoubt
}

// Taken says what was taken over so far, by execution.
func (e *Execution) Taken() (out []Taken) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.from {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Taken) int { return cmp.Compare(a.Execution, b.Execution) })
	return out
}

func (e *Execution) lose(asked []matrix.Asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost = matrix.AddAsked(e.lost, asked...)
}

// Lost is what other executions asked by calls whose answers were not taken over, though the rest of their work was.
func (e *Execution) Lost() []matrix.Asked {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lost)
}

func (e *Execution) say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.says = append(e.says, fmt.Sprintf(format, args...))
}

// Says is what a person should know of the unfinished work that was found.
func (e *Execution) Says() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.says)
}

// Fresh leaves the calls of other executions alone.
func (e *Execution) Fresh() { e.fresh = true }

// Keep keeps what the execution was begun with, and locks it against other processes. Found is what the caller knows of its backends, for
// [Execution.ReadFound]; nil: nothing. Where a secret stands in it, it is not kept.
func (e *Execution) Keep(i Invocation, found []byte) error {
	i.Schema = InvocationSchema
	data, err := json.MarshalIndent(i, "", " ")
	if err == nil && e.lock == nil {
		err = e.lockWork(true)
	}
	if err == nil {
		err = e.inWork(func(d *disk) error {
			if found != nil && e.guard(found) == nil {
				if err := d.write(foundFile, found); err != nil {
					return err
				}
			}
			if err := d.write(invocationFile, append(data, '\n')); err != nil {
				return err
			}
			return d.syncEach()
		})
	}
	if err != nil {
		return fmt.Errorf("execution %q: %w", e.id, err)
	}
	return nil
}

// makeWork makes a folder for work. An execution that ends removes the folder of all work where nothing is left in it, maybe just now.
func (e *Execution) makeWork(folder string) (err error) {
	for range 100 {
		if err = e.root.MkdirAll(folder, 0o700); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return err
}

// lockWork locks the work folder, which it makes where it may be missing.
func (e *Execution) lockWork(make bool) (err error) {
	folder := path.Join(workFolder, string(e.id))
	if make {
		if err := e.makeWork(folder); err != nil {
			return err
		}
	}
	lock, err := e.root.Open(folder)
	if err != nil {
		return err
	}
	if err = lockFolder(lock); errors.Is(err, ErrLocked) {
		err = whoHolds(e.root, folder)
	}
	if err != nil {
		return errors.Join(err, unlockFolder(lock))
	}
	e.lock = lock
	return e.inWork(func(d *disk) error { return d.write(lockFile, e.owner()) })
}

// inWork works in the execution's own work folder.
func (e *Execution) inWork(do func(*disk) error) error {
	root, err := e.root.OpenRoot(path.Join(workFolder, string(e.id)))
	if err != nil {
		return err
	}
	return errors.Join(do(newDisk(root, e.hook)), root.Close())
}

// Forget takes the invocation away, when nothing is left to go on with.
func (e *Execution) Forget() error {
	if e.lock == nil {
		return nil
	}
	return e.inWork(func(d *disk) error {
		left, err := readFolder(d.root, ".")
		if err != nil || len(left) > 0 {
			return err
		}
		for _, name := range []string{foundFile, sharedFile} {
			if err := ignoreMissing(d.root.Remove(name)); err != nil {
				return err
			}
		}
		return errors.Join(ignoreMissing(d.root.Remove(invocationFile)), ignoreMissing(d.root.Remove(lockFile)))
	})
}

// Resumable lists the executions of a results folder that were not finished and can be gone on with, newest first.
func Resumable(out string) (ids []ExecutionID, err error) {
	root, err := os.OpenRoot(filepath.Join(out, workFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("results folder %q: %w", out, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	names, err := readFolder(root, ".")
	if err != nil {
		return nil, fmt.Errorf("results folder %q: %w", out, err)
	}
	for _, name := range slices.Backward(names) {
		id, err := ParseExecutionID(name)
		if _, missing := root.Lstat(path.Join(name, invocationFile)); err == nil && missing == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Resume opens an execution that was not finished, to go on with it, with what it was begun with and what is left of its cases. The error
// is [ErrNotFound] where there is nothing to go on with, and [ErrLocked] where a process is still at it. Every damage of its journals
// is found before anything else is done.
func Resume(out string, id ExecutionID) (_ *Execution, _ *Invocation, _ []*Work, err error) {
	e, err := openLeft(out, id)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("execution %q in %q: %w", id, out, errors.Join(err, e.Close()))
		}
	}()
	if err := e.lockWork(false); err != nil {
		return nil, nil, nil, err
	}
	invocation, err := e.invocation()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := e.root.MkdirAll(string(id), 0o700); err != nil {
		return nil, nil, nil, err
	}
	for _, folder := range []string{string(id), path.Join(workFolder, string(id))} {
		root, err := e.root.OpenRoot(folder)
		if err == nil {
			err = errors.Join(clean(root, false), root.Close())
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	works, err := e.works()
	for _, w := range works {
		e.doubt(filepath.Base(w.Dir), w.doubts.bill())
	}
	return e, invocation, works, err
}

func (e *Execution) invocation() (*Invocation, error) {
	var i Invocation
	return &i, e.inWork(func(d *disk) error {
		for _, name := range []string{".", invocationFile} {
			info, err := d.root.Lstat(name)
			if err == nil {
				err = isPrivate(filepath.Join(e.out, workFolder, string(e.id), name), info)
			}
			if err != nil {
				return err
			}
		}
		data, err := readFile(d.root, invocationFile, maxInvocation)
		if err == nil {
			err = checkSchema(data, InvocationSchema)
		}
		if err == nil {
			err = decodeStrict(bytes.TrimSpace(data), &i)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", invocationFile, err)
		}
		return nil
	})
}

// works reads what is left of every case.
func (e *Execution) works() (works []*Work, err error) {
	err = e.inWork(func(d *disk) error {
		names, err := readFolder(d.root, ".")
		if err != nil {
			return err
		}
		for _, name := range names {
			if isSealed(e.out, string(e.id), name) {
				continue
			}
			w, lock, err := openWork(e.root, e.out, path.Join(workFolder, string(e.id), name))
			if damaged := (*JournalError)(nil); errors.As(err, &damaged) {
				return err // which names it
			}
			if err != nil {
				return fmt.Errorf("work folder %q: %w", e.workDir(name), err)
			}
			if err := unlockFolder(lock); err != nil {
				return err
			}
			works = append(works, w)
		}
		return nil
	})
	return works, err
}

// InDoubt says what is done about calls of which nobody knows whether they were made: InDoubt…; "" is an error for each.
func (e *Execution) InDoubt(how string) { e.inDoubt = how }

// Sealed returns the path of the bundle that the execution has of a case, "" where it has none. What a killed process did not clear up
// beside it is removed.
func (e *Execution) Sealed(c *matrix.Case) (string, error) {
	name := caseName(c.ID)
	if !isSealed(e.out, string(e.id), name) {
		return "", nil
	}
	if err := e.root.RemoveAll(path.Join(workFolder, string(e.id), name)); err != nil {
		return "", err
	}
	return filepath.Join(e.Dir(), name+archiveSuffix), nil
}

// SpentOf is what the calls of a journal took of limits.budget, without those of other executions. Those in doubt took the most that they
// may have taken.
func SpentOf(j *Journal) (s Spent) {
	most := map[string]Spent{}
	for i := range j.Records {
		switch r := &j.Records[i]; {
		case r.From != "":
		case r.Type == RecordIntent:
			most[r.CallKey] = r.Spent
		case r.Type == RecordInDoubt:
			s.Add(most[r.CallKey])
		case r.Type == RecordResult || r.Type == RecordFailure:
			s.Add(r.Spent)
		}
	}
	return s
}

// Difference lists what is not the same in two pins, a line for each value.
func (p *Pins) Difference(now *Pins) ([]string, error) {
	var flat [2]map[string]string
	for i, pins := range []*Pins{p, now} {
		data, err := json.Marshal(pins)
		if err != nil {
			return nil, err
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			return nil, err
		}
		flat[i] = map[string]string{}
		flatten(flat[i], "", value)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(flat[0])) {
		if was, is := flat[0][name], flat[1][name]; was != is {
			out = append(out, fmt.Sprintf("pins%s was %s, and is %s", name, was, cmp.Or(is, "not there")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(flat[1])) {
		if _, ok := flat[0][name]; !ok {
			out = append(out, fmt.Sprintf("pins%s was not there, and is %s", name, flat[1][name]))
		}
	}
	return out, nil
}

func flatten(into map[string]string, name string, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		data, err := json.Marshal(value)
		if err != nil {
			data = fmt.Append(nil, value)
		}
		into[name] = string(data)
		return
	}
	for field, value := range fields {
		flatten(into, name+"."+field, value)
	}
}

// ReadInvocation returns what an execution was begun with. The error is [ErrNotFound] where there is nothing to go on with.
func ReadInvocation(out string, id ExecutionID) (*Invocation, error) {
	e, err := openLeft(out, id)
	if err != nil {
		return nil, err
	}
	i, err := e.invocation()
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, fmt.Errorf("execution %q in %q: %w", id, out, err)
	}
	return i, nil
}

// openLeft opens an execution that was not finished.
func openLeft(out string, id ExecutionID) (*Execution, error) {
	if _, err := ParseExecutionID(string(id)); err != nil {
		return nil, err
	}
	e, err := openExecution(out, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("results folder %q: %w", out, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	e.id, e.resumed = id, true
	_, err = e.root.Lstat(path.Join(workFolder, string(id), invocationFile))
	if err == nil {
		return e, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: nothing is left to go on with", ErrNotFound)
	}
	return nil, fmt.Errorf("execution %q in %q: %w", id, out, errors.Join(err, e.Close()))
}
