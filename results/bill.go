package results

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/culprit-rag/culprit/matrix"
)

// readBill finds what an execution without an end has asked for: what its bundles say, what it has left or what stands in the ledger of that
// which was dropped, and what was asked for all cases together. It is not known where a process is at it, or where something of it is gone or
// cannot be read; what is counted is then the least.
func (e *Executed) readBill(out string) error {
	if e.ReenactedOf != "" {
		return nil // nobody was asked
	}
	e.Paid, e.InDoubt = e.dropped.Paid, e.dropped.InDoubt
	x, err := openLeft(out, e.Execution)
	left := err == nil
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	e.AtLeast = !left && e.Dropped == "" || e.dropped.Unread > 0
	if left {
		err = errors.Join(e.addWork(x), x.Close())
	} else if _, missing := os.Lstat(filepath.Join(out, string(e.Execution), summaryFile)); missing == nil && e.AtLeast {
		s, err := ReadSummary(out, e.Execution) // it was killed when all was done but the last line of the ledger
		if err == nil {
			t := &s.Totals
			e.Paid, e.InDoubt, e.PaidElsewhere, e.InDoubtElsewhere, e.AtLeast = t.Paid, t.InDoubt, t.PaidElsewhere, t.InDoubtElsewhere, false
		}
		return err
	}
	if err != nil {
		return err
	}
	bundles, err := Bundles(out, e.Execution)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	for _, path := range bundles {
		b, err := Open(path)
		if err != nil {
			return err
		}
		j, err := ReadJournal(path)
		if err != nil {
			return err
		}
		e.add(j.Bill(), b.Experiment.Paid())
	}
	return err
}

func (e *Executed) add(b Bill, roles []string) {
	e.Paid, e.InDoubt = e.Paid+b.Paid(roles), e.InDoubt+b.InDoubt
	e.AtLeast = e.AtLeast || b.paid[""] > 0 // a journal of before does not say who was asked
}

// addWork adds what the work folder of the execution tells.
func (e *Executed) addWork(x *Execution) error {
	i, err := x.invocation()
	if err != nil {
		return err
	}
	s, _, err := x.ReadShared()
	if err != nil {
		return err
	}
	e.Paid, e.InDoubt = e.Paid+paidOf(s.Far), e.InDoubt+s.Doubt
	return x.inWork(func(work *disk) error {
		names, err := readFolder(work.root, ".")
		for _, name := range names {
			if isSealed(x.out, string(x.id), name) {
				continue
			}
			w, lock, wrong := openWork(x.root, x.out, path.Join(workFolder, string(x.id), name))
			if wrong != nil {
				e.AtLeast = true
				continue
			}
			e.add(w.doubts.bill(), i.Pins.paid())
			err = errors.Join(err, unlockFolder(lock))
		}
		return err
	})
}

// paidOf counts the calls of backends outside of the process that may have to be paid for.
func paidOf(far []matrix.Asked) (n int) {
	for i := range far {
		if far[i].Role != matrix.RoleStore {
			n += far[i].Calls - far[i].Unpaid
		}
	}
	return n
}

// paid lists the roles whose backends leave the process.
func (p *Pins) paid() []string {
	x := matrix.Experiment{}
	x.Backends.Generator = &matrix.Backend{Adapter: p.Generator.Adapter}
	if p.Embedder != nil {
		x.Backends.Embedder = &matrix.Backend{Adapter: p.Embedder.Adapter}
	}
	if p.Reranker != nil {
		x.Backends.Reranker = &matrix.Backend{Adapter: p.Reranker.Adapter}
	}
	if p.Extra["pipeline"] != "" {
		x.Backends.Pipeline = &matrix.Backend{}
	}
	roles := x.Paid()
	if p.Judge != nil && !(&matrix.Backend{Adapter: p.Judge.Adapter}).Free() {
		roles = append(roles, matrix.RoleJudge)
	}
	return roles
}

// Bills are the calls of all executions of a ledger, each counted once.
type Bills struct {
	Paid    int `json:"paid"`              // that may have to be paid for
	InDoubt int `json:"in_doubt"`          // besides, of which nothing tells what came back
	Unknown int `json:"unknown,omitempty"` // executions of which more may have been asked, and nothing tells how much
}

// SumUp finds what those executions have asked for that did not end, and sums all of them up. An execution that is not in the ledger is left out.
func SumUp(out string, all []Executed) (sum Bills) {
	for i := range all {
		e := &all[i]
		if e.Unledgered {
			continue
		}
		if e.Ended == "" && e.readBill(out) != nil {
			e.AtLeast = true
		}
		if e.AtLeast {
			sum.Unknown++
		}
		sum.Paid += e.Paid - e.PaidElsewhere
		sum.InDoubt += e.InDoubt - e.InDoubtElsewhere
	}
	return sum
}
