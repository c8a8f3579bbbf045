package results

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// DroppedSchema is the schema of [Dropped].
const DroppedSchema = "culprit.dropped/v1"

// Dropped is what an execution had left of cases that it did not finish, and is removed.
type Dropped struct {
	Schema    string      `json:"schema"`
	Execution ExecutionID `json:"execution"`
	Cases     int         `json:"cases"`
	Calls     int         `json:"calls"`            // tries that its journals announce, of calls that leave the machine or cost money
	Paid      int         `json:"paid"`             // of Calls, those of which an outcome tells that they may have to be paid for
	Answers   int         `json:"answers"`          // answers to them, which are lost
	InDoubt   int         `json:"in_doubt"`         // of Calls, those of which nothing tells what came back
	Unread    int         `json:"unread,omitempty"` // cases whose journal is damaged: their calls are not counted
}

// Drop removes what an execution has left of cases that it did not finish. Its bundles stay. What is lost stands in the ledger before.
func Drop(out string, id ExecutionID) (*Dropped, error) {
	e, err := openLeft(out, id)
	if err != nil {
		return nil, err
	}
	d := &Dropped{Schema: DroppedSchema, Execution: id}
	if err = e.lockWork(false); err == nil {
		err = e.dropping(d)
	}
	if err == nil {
		err = e.enter(LedgerRecord{Type: LedgerDrop, Cases: d.Cases, Calls: d.Calls, Paid: d.Paid, Answers: d.Answers, InDoubt: d.InDoubt, Unread: d.Unread})
	}
	if err == nil {
		err = e.root.RemoveAll(path.Join(workFolder, string(id)))
	}
	if err == nil {
		_ = e.root.Remove(workFolder) // where it was the last
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, fmt.Errorf("execution %q in %q: %w", id, out, err)
	}
	return d, nil
}

// dropping counts what is to be dropped.
func (e *Execution) dropping(d *Dropped) error {
	s, _, err := e.ReadShared()
	if err != nil {
		return err
	}
	i, unknown := e.invocation()
	d.InDoubt += s.Doubt
	d.Paid += paidOf(s.Far)
	for _, a := range s.Far {
		d.Calls += a.Calls
	}
	d.Calls += s.Doubt
	return e.inWork(func(work *disk) error {
		names, err := readFolder(work.root, ".")
		for _, name := range names {
			if isSealed(e.out, string(e.id), name) {
				continue
			}
			d.Cases++
			w, lock, err := openWork(e.root, e.out, path.Join(workFolder, string(e.id), name))
			if errors.Is(err, ErrLocked) {
				return err
			}
			if err != nil {
				d.Unread++
				continue
			}
			b := w.doubts.bill()
			d.InDoubt += b.InDoubt
			var roles []string
			if unknown == nil {
				roles = i.Pins.paid()
			} else { // damage keeps nobody from giving up: each model that was asked may have to be paid for
				roles = slices.DeleteFunc(slices.Collect(maps.Keys(b.paid)), func(role string) bool { return role == matrix.RoleStore })
			}
			d.Paid += b.Paid(roles)
			for _, p := range w.Calls {
				if p.From != e.id {
					continue
				}
				d.Calls += p.Tries
				if p.Observed != nil && p.Outcome.Type == RecordResult {
					d.Answers++
				}
			}
			if err := unlockFolder(lock); err != nil {
				return err
			}
		}
		return err
	})
}
