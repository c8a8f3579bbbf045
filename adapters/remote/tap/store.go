package tap

import (
	"slices"
	"sync"
)

// What is kept in memory: beyond it the oldest request goes.
const (
	mostRequests = 1000
	mostCalls    = 64        // of one request
	mostBytes    = 128 << 20 // of the texts of all requests
	maxBody      = 32 << 20  // of one body that is read; a longer one is passed on unread, or not sent where a context is to be substituted
)

// Request is what is known of one request of a service.
type Request struct {
	ID       string `json:"request_id"`
	Open     bool   `json:"open"` // it was announced, and is not closed yet
	Calls    []Call `json:"calls"`
	LeftOut  int    `json:"left_out,omitempty"` // calls beyond those that are kept
	Unopened int    `json:"unbound,omitempty"`  // calls, since it was announced, that were made for no known request
}

// entry is a request with what only the proxy needs of it.
type entry struct {
	Request
	substitution *Substitution
	calls        []*Call
	size         int
	before       int // unbound calls when it was announced
}

// requests keeps the requests in the order in which they came.
type requests struct {
	mu      sync.Mutex // keeps order and byID the same set, and size their sum
	order   []*entry
	byID    map[string]*entry
	size    int
	unbound int
}

// open announces a request; one of the same id begins anew.
func (r *requests) open(id string, s *Substitution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id)
	r.add(&entry{Request: Request{ID: id, Open: true}, substitution: s, before: r.unbound})
}

func (r *requests) add(e *entry) {
	r.order = append(r.order, e)
	r.byID[e.ID] = e
	for len(r.order) > mostRequests {
		r.drop(r.order[0].ID)
	}
}

func (r *requests) drop(id string) {
	e := r.byID[id]
	if e == nil {
		return
	}
	delete(r.byID, id)
	r.size -= e.size
	r.order = slices.DeleteFunc(r.order, func(other *entry) bool { return other == e })
}

// close ends an announced request, whose calls are kept.
func (r *requests) close(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byID[id]
	if e == nil {
		return false
	}
	e.Open, e.substitution = false, nil
	return true
}

// read returns a copy of what is known of a request.
func (r *requests) read(id string) (Request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byID[id]
	if e == nil {
		return Request{}, false
	}
	out := e.Request
	out.Unopened = r.unbound - e.before
	out.Calls = make([]Call, len(e.calls))
	for i, c := range e.calls {
		out.Calls[i] = *c
	}
	return out, true
}

// bind returns the request that a call with this id (from a header or the body) belongs to, and its substitution. A call
// without an id belongs to the only open request. id is "" where it belongs to none.
func (r *requests) bind(header, metadata string) (id, bound string, s *Substitution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case header != "":
		id, bound = header, ByHeader
	case metadata != "":
		id, bound = metadata, ByMetadata
	default:
		for _, e := range r.order {
			if e.Open && id != "" {
				return "", "", nil
			}
			if e.Open {
				id, bound = e.ID, ByOrder
			}
		}
	}
	e := r.byID[id]
	if e == nil && id != "" { // a request that was not announced is recorded all the same
		e = &entry{Request: Request{ID: id}, before: r.unbound}
		r.add(e)
	}
	if e != nil {
		s = e.substitution
	}
	return id, bound, s
}

// mayChange reports whether a call that cannot be read, with this id in its header, may be one in which a context is to be substituted.
func (r *requests) mayChange(header string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if header != "" {
		e := r.byID[header]
		return e != nil && e.substitution != nil
	}
	return slices.ContainsFunc(r.order, func(e *entry) bool { return e.substitution != nil })
}

// record keeps a call with its request, before it is sent.
func (r *requests) record(id string, c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byID[id]
	if e == nil {
		r.unbound++
		return
	}
	if len(e.calls) == mostCalls {
		e.LeftOut++
		return
	}
	e.calls = append(e.calls, c)
	r.grow(e, c)
}

func (r *requests) grow(e *entry, c *Call) {
	n := len(c.Answer)
	if !c.Done {
		for _, m := range c.Messages {
			n += len(m.Text)
		}
	}
	e.size += n
	r.size += n
	for r.size > mostBytes && len(r.order) > 1 && r.order[0] != e {
		r.drop(r.order[0].ID)
	}
}

// finish fills in what came of a call.
func (r *requests) finish(id string, c *Call, fill func(*Call)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fill(c)
	c.Done = true
	if e := r.byID[id]; e != nil && slices.Contains(e.calls, c) {
		r.grow(e, c)
	}
}
