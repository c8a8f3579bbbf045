package results

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/culprit-rag/culprit/matrix"
)

// Left is what an execution has left that it did not finish: what the journals of its cases say, and what it has asked for all of them.
// Calls are those that leave the machine or cost money.
type Left struct {
	Cases     int            `json:"begun"`                      // that have a journal
	Asked     []matrix.Asked `json:"asked,omitempty"`            // of each backend, by calls of which an outcome tells; nothing is known here of their tokens
	InDoubt   int            `json:"in_doubt"`                   // calls besides, of which nothing tells what came of them
	Undecided []Undecided    `json:"undecided,omitempty"`        // of these, those of which nobody has said what is to be done
	Unread    int            `json:"unread,omitempty"`           // cases whose journal is damaged
	Shared    int            `json:"undecided_shared,omitempty"` // as Undecided, of the calls that serve all cases
	Busy      bool           `json:"busy,omitempty"`             // a process is at some of them, which are not counted
}

// Undecided is a call in doubt, and what its provider was told that it is.
type Undecided struct {
	Case string      `json:"case"`
	ID   string      `json:"id"`
	Role string      `json:"role,omitempty"`
	Call matrix.Call `json:"call"`
	At   string      `json:"at"`
}

// Calls counts the calls of which an outcome tells, and those among them that nobody has to pay for.
func (l *Left) Calls() (made, unpaid int) {
	for i := range l.Asked {
		made, unpaid = made+l.Asked[i].Calls, unpaid+l.Asked[i].Unpaid
	}
	return made, unpaid
}

// ReadLeft reads what an execution has left, and changes nothing. The error is [ErrNotFound] where there is nothing to go on with.
func ReadLeft(out string, id ExecutionID) (*Left, error) {
	e, err := openLeft(out, id)
	if err != nil {
		return nil, err
	}
	l := &Left{}
	shared, undecided, err := e.ReadShared()
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	l.Asked, l.InDoubt, l.Shared = shared.Far, shared.Doubt, undecided
	err = e.inWork(func(work *disk) error {
		names, err := readFolder(work.root, ".")
		for _, name := range names {
			if !isSealed(e.out, string(id), name) {
				err = errors.Join(err, e.addLeft(l, path.Join(workFolder, string(id), name)))
			}
		}
		return err
	})
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, fmt.Errorf("execution %q in %q: %w", id, out, err)
	}
	return l, nil
}

func (e *Execution) addLeft(l *Left, folder string) error {
	w, lock, err := openWork(e.root, e.out, folder)
	switch {
	case errors.Is(err, os.ErrNotExist): // it has got its bundle meanwhile
		return nil
	case errors.Is(err, ErrLocked):
		l.Busy = true
		return nil
	case err != nil:
		l.Unread++
		return nil
	}
	if len(w.journal.Records) > 0 {
		l.Cases++
	}
	l.InDoubt += w.Doubts() - len(w.doubts.others)
	for _, p := range w.Calls {
		if p.From == e.id {
			l.Asked = matrix.AddAsked(l.Asked, p.Asked...)
		}
	}
	for _, p := range w.InDoubt() {
		l.Undecided = append(l.Undecided, Undecided{w.Case, p.TryID(), p.intent.Role, p.Call, p.At})
	}
	return unlockFolder(lock)
}
