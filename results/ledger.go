package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

const (
	ledgerFile   = "ledger.jsonl"
	ledgerSchema = "culprit.ledger/v1"
)

// The types of a ledger record.
const (
	LedgerBegin  = "begin"  // an execution begins, before its first call
	LedgerResume = "resume" // another process goes on with it
	LedgerEnd    = "end"    // it ended. One that was killed has none
	LedgerDrop   = "drop"   // what it left of unfinished cases is about to be removed
)

// LedgerRecord is one record of a ledger. Which fields are set depends on Type.
type LedgerRecord struct {
	Type      string      `json:"t"`
	At        string      `json:"at"`
	Execution ExecutionID `json:"execution"`

	// begin, resume
	Schema     string `json:"schema,omitempty"`
	Name       string `json:"name,omitempty"`        // of the experiment
	Experiment string `json:"experiment,omitempty"`  // digest of what is run, without the knobs of the machine
	PinsDigest string `json:"pins_digest,omitempty"` // of what is declared, before any call
	Cases      int    `json:"cases,omitempty"`       // that were to be run
	CasesSum   string `json:"cases_sum,omitempty"`   // digest of their ids and digests, a line each
	Tool       *Tool  `json:"tool,omitempty"`
	// ReenactedOf is the digest of the manifest of the bundle that answers every call; "": they are made.
	ReenactedOf string `json:"reenacted_of,omitempty"`

	// drop
	Answers int `json:"answers,omitempty"` // of the calls that are dropped, those whose answers were kept
	Unread  int `json:"unread,omitempty"`  // of the cases that are dropped, those whose journal could not be read: their calls are not known

	// end; of drop, the calls that the unfinished cases announced
	Exit    int    `json:"exit,omitempty"`
	Stopped string `json:"stopped,omitempty"`  // why it ended before its last case
	Calls   int    `json:"calls,omitempty"`    // that were made, with every retry
	Paid    int    `json:"paid,omitempty"`     // of these, those that may have to be paid for
	InDoubt int    `json:"in_doubt,omitempty"` // calls besides, of which nothing tells what came back: they may be billed
	// Of Paid and InDoubt, calls that another execution has made: they count there, too.
	PaidElsewhere    int `json:"paid_elsewhere,omitempty"`
	InDoubtElsewhere int `json:"in_doubt_elsewhere,omitempty"`
	Bundles          int `json:"bundles,omitempty"` // that stand in its folder
	// BundlesSum is the digest of "<sha256 of manifest.json>  <name>", a line for each bundle in the order of the names.
	BundlesSum string `json:"bundles_sum,omitempty"`
}

// ErrLedger means that the ledger was changed or damaged.
var ErrLedger = errors.New("the ledger is damaged")

// Ledger is the content of a ledger.
type Ledger struct {
	Records []LedgerRecord
	Head    string // sum of the last record: who names it names all before it
	Torn    int    // bytes of a last line that was never finished; the next execution takes them away
}

// ReadLedger reads the ledger of a results folder, where every execution stands, and checks its chain. A folder without one has an
// empty ledger.
func ReadLedger(out string) (*Ledger, error) {
	l, err := readLedger(out)
	if err != nil {
		return nil, fmt.Errorf("ledger %q: %w", filepath.Join(out, ledgerFile), err)
	}
	return l, nil
}

func readLedger(out string) (_ *Ledger, err error) {
	root, err := os.OpenRoot(out)
	if errors.Is(err, os.ErrNotExist) {
		return &Ledger{Head: noRecord}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	data, err := readFile(root, ledgerFile, maxLedger)
	if errors.Is(err, os.ErrNotExist) {
		return &Ledger{Head: noRecord}, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := decodeChain[LedgerRecord](data, maxLedgerLine)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrLedger)
	}
	return &Ledger{Records: c.records, Head: c.head, Torn: c.torn}, nil
}

// Begin writes into the ledger that the execution begins, or that it is gone on with, and does not return before that is durable: no
// call is made of an execution that the ledger does not know. Digests are those of the cases, in their order. The whole ledger is checked
// before: the error is [ErrLedger] where it is damaged, and nothing is appended to it.
func (e *Execution) Begin(x *matrix.Experiment, ids, digests []string, resumed bool) error {
	if _, err := ReadLedger(e.out); err != nil {
		if errors.Is(err, ErrLedger) {
			err = fmt.Errorf("%w: move it away to begin a new one, and keep it", err)
		}
		return err
	}
	tool := BuildTool()
	r := LedgerRecord{Type: LedgerBegin, Schema: ledgerSchema, Name: x.Name, Cases: len(ids), Tool: &tool, ReenactedOf: e.reenacts}
	if resumed {
		r.Type = LedgerResume
	}
	pins, err := NewPins(x)
	if err == nil {
		r.PinsDigest, err = matrix.Digest(pins)
	}
	if err == nil {
		r.Experiment, err = experimentDigest(x)
	}
	if err != nil {
		return err
	}
	var lines strings.Builder
	for i := range ids {
		fmt.Fprintf(&lines, "%s  %q\n", digests[i], ids[i])
	}
	r.CasesSum = matrix.DigestBytes([]byte(lines.String()))
	return e.enter(r)
}

// sealed counts the bundles of the execution, and sums their manifests up.
func (e *Execution) sealed() (bundles int, sum string, err error) {
	paths, err := Bundles(e.out, e.id)
	if err != nil {
		return 0, "", err
	}
	sum, err = bundlesSum(paths)
	return len(paths), sum, err
}

// end writes into the ledger that the execution ended, and what it left.
func (e *Execution) end(s *Summary, bundles int, sum string) error {
	made := s.Totals
	if e.reenacts != "" {
		made = Totals{} // they are those of the bundle
	}
	return e.enter(LedgerRecord{Type: LedgerEnd, Exit: s.Exit, Stopped: s.Stopped, Calls: made.Calls, Paid: made.Paid, InDoubt: made.InDoubt, PaidElsewhere: made.PaidElsewhere, InDoubtElsewhere: made.InDoubtElsewhere, Bundles: bundles, BundlesSum: sum})
}

func bundlesSum(bundles []string) (string, error) {
	var lines strings.Builder
	for _, path := range bundles {
		sum, err := manifestSum(path)
		if err != nil {
			return "", fmt.Errorf("bundle %q: %w", path, err)
		}
		fmt.Fprintf(&lines, "%s  %s\n", strings.TrimPrefix(sum, "sha256:"), strings.TrimSuffix(filepath.Base(path), ".zip"))
	}
	return matrix.DigestBytes([]byte(lines.String())), nil
}

// manifestSum returns the digest of the manifest of a bundle.
func manifestSum(path string) (_ string, err error) {
	f, err := openFiles(path, false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	data, err := f.read(manifestFile, maxManifest)
	return matrix.DigestBytes(data), err
}

// enter appends a record to the ledger of the results folder.
func (e *Execution) enter(r LedgerRecord) error {
	r.Execution, r.At = e.id, e.now().UTC().Format(time.RFC3339)
	raw, err := json.Marshal(r)
	if err == nil {
		err = e.appendLedger(raw)
	}
	if err != nil {
		return fmt.Errorf("ledger %q: %w", filepath.Join(e.out, ledgerFile), err)
	}
	return nil
}

func (e *Execution) appendLedger(raw []byte) (err error) {
	f, err := e.root.OpenFile(ledgerFile, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlockFolder(f)) }()
	if err := lockSoon(f); err != nil {
		return err
	}
	seq, head, err := lastLink(f)
	if err != nil {
		return err
	}
	line := journalLine(nil, seq+1, head, raw, recordSum(seq+1, head, raw))
	d := newDisk(e.root, e.hook)
	if err := d.fill(f, ledgerFile, line); err != nil {
		return err
	}
	if err := d.at(stepSync, ledgerFile); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncFolder(e.root, ".")
}

// lockSoon waits for a lock that is held for as long as one line takes to be written.
func lockSoon(f *os.File) error {
	const patience, pause = 10 * time.Second, 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := lockFolder(f)
		if !errors.Is(err, ErrLocked) || waited > patience {
			return err
		}
		time.Sleep(pause)
	}
}

// lastLink returns the place and the sum of the last record of an open ledger, and takes a line away that a killed process did not
// finish: whoever wrote it had not gone on yet.
func lastLink(f *os.File) (seq int, head string, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	size := info.Size()
	tail := make([]byte, min(size, maxLedgerLine+1))
	if _, err := io.ReadFull(io.NewSectionReader(f, size-int64(len(tail)), int64(len(tail))), tail); err != nil {
		return 0, "", err
	}
	end := bytes.LastIndexByte(tail, '\n')
	if torn := len(tail) - 1 - end; torn > 0 {
		if int64(len(tail)) < size && end < 0 {
			return 0, "", fmt.Errorf("its last line is over the limit of %d bytes: %w", maxLedgerLine, ErrLedger)
		}
		if err := f.Truncate(size - int64(torn)); err != nil {
			return 0, "", err
		}
	}
	if end < 0 {
		return 0, noRecord, nil
	}
	l, err := decodeLink(tail[bytes.LastIndexByte(tail[:end], '\n')+1 : end])
	if err != nil {
		return 0, "", fmt.Errorf("its last line: %w: %w: move it away to begin a new one, and keep it", err, ErrLedger)
	}
	return l.Seq, l.Sum, nil
}

// Check compares the ledger with the executions that a results folder holds, and returns what does not fit, a sentence each. The bundles
// are read of the executions of which reads says so.
func (l *Ledger) Check(out string, reads func(ExecutionID) bool) (problems []string, err error) {
	there, err := Executions(out)
	if err != nil {
		return nil, err
	}
	last := map[ExecutionID]LedgerRecord{}
	for _, r := range l.Records {
		if r.Type != LedgerDrop { // bundles stay
			last[r.Execution] = r
		}
	}
	if l.Torn > 0 {
		problems = append(problems, fmt.Sprintf("the last line of the ledger was not finished (%d bytes)", l.Torn))
	}
	stands := map[ExecutionID]bool{}
	for _, id := range there {
		stands[id] = true
		r, known := last[id]
		switch {
		case !known:
			problems = append(problems, fmt.Sprintf("execution %q is not in the ledger: it is older than it, was copied here, or the ledger was cut", id))
		case r.Type == LedgerEnd && reads(id):
			bundles, err := Bundles(out, id)
			if err != nil {
				return nil, err
			}
			sum, err := bundlesSum(bundles)
			if err != nil {
				problems = append(problems, err.Error())
			} else if sum != r.BundlesSum {
				problems = append(problems, fmt.Sprintf("execution %q left %d bundles, and holds others now (%d)", id, r.Bundles, len(bundles)))
			}
		}
	}
	for _, r := range l.Records {
		if r.Type == LedgerBegin && !stands[r.Execution] {
			problems = append(problems, fmt.Sprintf("execution %q is in the ledger, and its folder is gone", r.Execution))
		}
	}
	return problems, nil
}
