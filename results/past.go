package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
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

	Tries int            // so far
	Asked []matrix.Asked // by those of which an outcome tells; of their tokens nothing is known here. Role is "" where the journal does not say
	Parts [][]byte       // what further steps need of those that were answered
	Same  string         // the id of the try that the next one of Role may be the same request as, for a provider that can tell; "": none
	Role  string         // of the backend that the try asked of which nobody knows

	Outcome  *Record // of the last try; nil: none
	Observed []byte  // what was made of the answer; nil: nothing is kept
	Doubt    bool    // the last try has no outcome: it is not known whether it was made
	Skipped  bool    // nor is it to be made

	id                string // that the provider was told with the last try
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
func (w *Work) Doubts() int { return w.doubts.count() }

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
		return nil, &JournalError{filepath.Join(dir, journalFile), err}
	}
	if tail := data[0][len(data[0])-w.journal.Torn:]; len(tail) > 0 {
		// Of a record that was cut off nothing stands behind its closing brace. Where something does, its line end was changed.
		if _, err := decodeLink(tail[:len(tail)-1]); err == nil {
			return nil, &JournalError{filepath.Join(dir, journalFile), fmt.Errorf("the end of its last line was changed: %w", ErrJournal)}
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
		p.id = TryID(cmp.Or(r.From, w.Execution), r.CallKey, r.Attempt)
		if p.Same != "" && p.Role == r.Role {
			p.id, p.Same = p.Same, ""
		}
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
		p.Doubt = false
		if !r.Unmade {
			asked := matrix.Asked{Role: p.intent.Role, Calls: 1}
			if asked.Unpaid = 1; r.Spent.Calls > 0 {
				asked.Unpaid, asked.Untold = 0, 1
			}
			p.Asked = matrix.AddAsked(p.Asked, asked)
		}
		if r.More {
			p.Parts, p.Observed = append(p.Parts, p.Observed), nil
			return
		}
		p.Outcome, p.response = r, blob(r.Response)
	case r.Type == RecordInDoubt && r.From == "":
		p.settle(r.Text)
	}
}

// TryID is the id that the provider was told with the last try.
func (p *Past) TryID() string { return p.id }

// settle ends the doubt.
func (p *Past) settle(how string) {
	p.Doubt = false
	if how == InDoubtSkip {
		p.Skipped = true
		return
	}
	p.Same, p.Role = p.id, p.intent.Role
}

// Past returns what is known of a call from earlier work, nil where nothing is.
func (w *CaseWriter) Past(key string) *Past {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.past[key]
}

// TryID names a try of a call of this execution.
func (w *CaseWriter) TryID(key string, attempt int) string { return TryID(w.exec.id, key, attempt) }
