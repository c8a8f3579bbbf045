package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	firstPage   = 4        // objects, before it is known how large they are
	pageGrowth  = 8        // times, from page to page at most
	pageTarget  = 4 << 20  // bytes of a page
	pageMost    = 32 << 20 // bytes of objects that are kept of one answer; the rest is asked for again
	objectMost  = 128 << 20
	idBytes     = 36
	beforeFirst = "" // the cursor in front of every object
)

// pager reads the objects of a tenant page by page. A page has about as many bytes as the target, so that memory stays flat
// whatever the size of an object is.
type pager struct {
	store   *store
	class   *class
	tenant  string
	vectors bool
	limit   int    // objects of the next page
	after   string // the id of the last object that was returned
}

// storedObject is an object as the list of objects has it.
type storedObject struct {
	Class      string                     `json:"class"`
	ID         string                     `json:"id"`
	Tenant     string                     `json:"tenant"`
	Properties map[string]any             `json:"properties"`
	Written    int64                      `json:"lastUpdateTimeUnix"`
	Vector     json.RawMessage            `json:"vector"`
	Vectors    map[string]json.RawMessage `json:"vectors"`
}

// next returns the next objects, none at the end.
func (p *pager) next(ctx context.Context) ([]object, error) {
	query := url.Values{"class": {p.class.name}, "limit": {strconv.Itoa(p.limit)}, "after": {p.after}}
	if p.tenant != "" {
		query.Set("tenant", p.tenant)
	}
	if p.vectors {
		query.Set("include", "vector")
	}
	if level := p.store.consistency(p.class); level != "" {
		query.Set("consistency_level", level)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.store.base+objectsPath+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := p.store.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	page, bytes, err := p.read(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading a page after %q of class %q: %w", p.after, p.class.name, err)
	}
	if len(page) > 0 {
		p.after = page[len(page)-1].id
		each := max(bytes/int64(len(page)), 1)
		p.limit = max(1, min(int(pageTarget/each), p.limit*pageGrowth, p.store.set.PageSize))
	}
	return page, nil
}

// read decodes the objects of a page one by one, and stops early where they are larger than was to be expected.
func (p *pager) read(body io.Reader) ([]object, int64, error) {
	meter := &meter{next: body, left: objectMost}
	dec := json.NewDecoder(meter)
	if err := toObjects(dec); err != nil {
		return nil, 0, err
	}
	var page []object
	last := p.after
	for dec.More() {
		meter.left = objectMost
		var stored storedObject
		if err := dec.Decode(&stored); err != nil {
			return nil, 0, cut(err)
		}
		o, err := p.object(stored, last)
		if err != nil {
			return nil, 0, err
		}
		last = o.id
		if page = append(page, o); dec.InputOffset() > pageMost {
			return page, dec.InputOffset(), nil
		}
	}
	if _, err := dec.Token(); err != nil { // the end must be there: a list that was cut between two objects looks whole up to here
		return nil, 0, cut(err)
	}
	return page, dec.InputOffset(), nil
}

// toObjects reads up to the first object of the list.
func toObjects(dec *json.Decoder) error {
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return notAList(err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return cut(err)
		}
		if name == "objects" {
			t, err := dec.Token()
			if err != nil || t != json.Delim('[') {
				return notAList(err)
			}
			return nil
		}
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return cut(err)
		}
	}
	return notAList(nil)
}

func notAList(err error) error {
	if err != nil {
		return cut(err)
	}
	return problemf(adapters.KindInvalid, "the answer is no list of objects: check backends.store.address")
}

// cut makes an error of an answer that is no whole JSON worth another try: it ended too early or was garbled on its way.
func cut(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return problemf(adapters.KindTransient, "the answer was cut: %w", err)
	}
	return err
}

// object checks that what came is what was asked for, behind what came before.
func (p *pager) object(stored storedObject, last string) (object, error) {
	switch {
	case stored.Class != p.class.name:
		return object{}, problemf(adapters.KindPermanent, "object %q is of class %q and not of %q: the server does not keep to the class that is asked for", stored.ID, stored.Class, p.class.name)
	case stored.Tenant != "" && stored.Tenant != p.tenant: // a list does not always tell it
		return object{}, problemf(adapters.KindPermanent, "object %q is of tenant %q and not of %q", stored.ID, stored.Tenant, p.tenant)
	case len(stored.ID) != idBytes:
		return object{}, problemf(adapters.KindPermanent, "an object has the id %q, which is none", stored.ID)
	case last != beforeFirst && stored.ID <= last:
		return object{}, problemf(adapters.KindPermanent, "object %q comes after %q: the server repeats what it has sent, and the cursor does not advance", stored.ID, last)
	}
	o := object{id: stored.ID, tenant: p.tenant, props: stored.Properties, written: stored.Written}
	if p.vectors {
		raw := stored.Vector
		if name := p.store.set.Vector; name != "" {
			raw = stored.Vectors[name]
		}
		o.vector = readVector(raw)
	}
	return o, nil
}

// readVector reads a vector. What is none, as a list of vectors, is nil.
func readVector(raw json.RawMessage) []float32 {
	var vector []float32
	if len(raw) == 0 || json.Unmarshal(raw, &vector) != nil || len(vector) == 0 {
		return nil
	}
	return vector
}

// meter lets so many bytes through.
type meter struct {
	next io.Reader
	left int64
}

func (m *meter) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, fmt.Errorf("%w: an object of more than %d bytes", errTooLarge, objectMost)
	}
	n, err := m.next.Read(b[:min(int64(len(b)), m.left)])
	m.left -= int64(n)
	return n, err
}
