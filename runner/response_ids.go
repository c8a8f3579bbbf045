package runner

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
)

// responseIDs notices answers to different requests that carry one response id: a provider, or a cache before it, served the
// answer to one request for another. Equal requests that share an id are the business of their case.
type responseIDs struct {
	mu     sync.Mutex
	first  map[[8]byte]firstSeen // by digest of the id
	shared int                   // answers whose id another request had before
	sample [2]string             // of the first such pair: the cases
}

type firstSeen struct {
	request [8]byte
	at      string // the case
}

func newResponseIDs() *responseIDs { return &responseIDs{first: map[[8]byte]firstSeen{}} }

// add looks at the answers of one case.
func (r *responseIDs) add(id string, o *matrix.Observations) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range o.Trials {
		t := &o.Trials[i]
		if t.RequestID == "" || t.SameAs != "" || t.Cached {
			continue
		}
		key, request := short(sha256.New(), t.RequestID), requestOf(t)
		before, known := r.first[key]
		switch {
		case !known:
			r.first[key] = firstSeen{request, id}
		case before.request != request:
			if r.shared++; r.shared == 1 {
				r.sample = [2]string{before.at, id}
			}
		}
	}
}

// requestOf tells one request from another: the prompt that was sent.
func requestOf(t *matrix.Trial) [8]byte {
	refs := make([]string, 0, 2*len(t.Prompt))
	for _, m := range t.Prompt {
		refs = append(refs, m.Role, m.Text.Ref)
	}
	return short(sha256.New(), refs...)
}

func short(h hash.Hash, parts ...string) (out [8]byte) {
	fmt.Fprintf(h, "%q", parts)
	copy(out[:], h.Sum(nil))
	return out
}

// warnings say what was noticed.
func (r *responseIDs) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared == 0 {
		return nil
	}
	where := fmt.Sprintf("the first in case %q", r.sample[0])
	if r.sample[0] != r.sample[1] {
		where = fmt.Sprintf("the first in the cases %q and %q", r.sample[0], r.sample[1])
	}
	answers := "answers carry the response id"
	if r.shared == 1 {
		answers = "answer carries the response id"
	}
	return []string{fmt.Sprintf("%d %s of another request, %s: the provider, or a cache before it, served one answer for different questions", r.shared, answers, where)}
}
