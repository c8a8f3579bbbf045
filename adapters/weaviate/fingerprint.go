package weaviate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"slices"
)

const fingerprintMisses = "what it cannot see: a write that undoes itself, or that keeps the count and is not the newest, such as a delete and an insert with a clock that is behind, unless it is in the sample of objects"

// samples are the ids behind which a few objects of each tenant go into the fingerprint whole, with their vectors.
var samples = []string{
	"",
	"40000000-0000-0000-0000-000000000000",
	"80000000-0000-0000-0000-000000000000",
	"c0000000-0000-0000-0000-000000000000",
}

// sampled is how many objects each sample has.
const sampled = 4

// state is what the fingerprint sees of a tenant.
type state struct {
	count  int
	newest string // when the newest object was written, and which that is
	sample []byte
}

// fingerprint composes what there is, for the server has no revision: the schema as it came, the exact counts, the newest write, a sample
// of objects. It returns the count as well.
func (s *store) fingerprint(ctx context.Context, c *class, list tenantList) (string, int, error) {
	states, err := overTenants(ctx, list.active, func(ctx context.Context, tenant string) (state, error) { return s.state(ctx, c, tenant) })
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	part := func(data []byte) { fmt.Fprintf(h, "%d:%s", len(data), data) }
	part(c.raw)
	total := 0
	for i, st := range states {
		total += st.count
		part([]byte(list.active[i]))
		part(fmt.Append(nil, st.count, st.newest))
		part(st.sample)
	}
	for _, name := range sortedKeys(list.inactive) {
		part([]byte(name))
		part([]byte(list.inactive[name]))
	}
	return fmt.Sprintf("%x", h.Sum(nil)), total, nil
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s *store) state(ctx context.Context, c *class, tenant string) (state, error) {
	var st state
	var err error
	if st.count, err = s.count(ctx, c, tenant); err != nil || st.count == 0 {
		return st, err
	}
	if st.newest, err = s.newest(ctx, c, tenant); err != nil {
		return st, err
	}
	h := sha256.New()
	for _, after := range samples {
		if err := s.sample(ctx, c, tenant, after, h); err != nil {
			return st, err
		}
	}
	st.sample = h.Sum(nil)
	return st, nil
}

func (s *store) newest(ctx context.Context, c *class, tenant string) (string, error) {
	var args arguments
	args.add("tenant", tenantArgument(tenant))
	args.add("sort", `[{path:["_lastUpdateTimeUnix"],order:desc}]`)
	args.add("limit", "1")
	rows, err := s.query(ctx, "Get", c.name, document("Get", c.name, args, selection(nil, "id", "lastUpdateTimeUnix")))
	if err != nil || len(rows) == 0 {
		return "", err
	}
	o, _, _ := objectOf(rows[0], tenant, "")
	return fmt.Sprint(o.written), nil
}

// sample writes a few objects into h as they come.
func (s *store) sample(ctx context.Context, c *class, tenant, after string, h io.Writer) error {
	query := url.Values{"class": {c.name}, "limit": {fmt.Sprint(sampled)}, "after": {after}, "include": {"vector"}}
	if tenant != "" {
		query.Set("tenant", tenant)
	}
	data, err := s.raw(ctx, "/objects?"+query.Encode())
	if err != nil {
		return err
	}
	_, err = h.Write(data)
	return err
}
