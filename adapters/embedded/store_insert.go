package embedded

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// inserts are the prepared statements of a build.
type inserts struct {
	item, vector, attr *sql.Stmt
}

func prepareInserts(ctx context.Context, conn *sql.Conn) (inserts, error) {
	var failed error
	prepare := func(query string) *sql.Stmt {
		stmt, err := conn.PrepareContext(ctx, query)
		failed = errors.Join(failed, err)
		return stmt
	}
	return inserts{
		item:   prepare(`INSERT INTO item (n, collection, id, source, revision, details, text) VALUES (?, ?, ?, ?, ?, ?, ?)`),
		vector: prepare(`INSERT INTO vector (n, norm, v) VALUES (?, ?, ?)`),
		attr:   prepare(`INSERT OR IGNORE INTO attr (field, value, n) VALUES (?, ?, ?)`),
	}, failed
}

// put stores one item: what is found (indexed, vector) and what is then returned (item).
func (b *builder) put(ctx context.Context, item *adapters.Item, indexed string, vector []float32) error {
	c, err := b.collection(ctx, item.Collection)
	if err != nil {
		return err
	}
	b.last++
	more, err := detailsOf(item)
	if err != nil {
		return err
	}
	if _, err := b.insert.item.Exec(b.last, c.Number, item.ID, item.Source, item.Revision, more, item.Text); err != nil {
		return err
	}
	if _, err := b.keyword[c.Number].Exec(b.last, indexed); err != nil {
		return err
	}
	if err := b.putAttributes(item); err != nil {
		return err
	}
	if item.EmbedModel != "" {
		if c.Declared == nil {
			c.Declared = map[string]int{}
		}
		c.Declared[item.EmbedModel]++
	}
	b.sum.item(c.Name, item, indexed, more)
	if vector == nil {
		return nil
	}
	return b.putVector(b.last, c.Name, item.ID, vector)
}

// putAttributes stores the fields that a filter may name, besides those that are columns of item and hide metadata of
// their names.
func (b *builder) putAttributes(item *adapters.Item) error {
	for _, who := range item.Access {
		if _, err := b.insert.attr.Exec(fieldAccess, who, b.last); err != nil {
			return err
		}
	}
	for name, list := range item.Metadata {
		if reserved(name) {
			continue
		}
		for _, value := range list {
			if _, err := b.insert.attr.Exec(name, value, b.last); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) putVector(n int64, collection, id string, vector []float32) error {
	length, err := checkVector(vector)
	if err != nil {
		return invalid("open", "the vector of document %q: %w", id, err)
	}
	if b.dimensions == 0 {
		b.dimensions = len(vector)
	}
	if len(vector) != b.dimensions {
		return invalid("open", "the vector of document %q has %d dimensions, and those before it have %d", id, len(vector), b.dimensions)
	}
	b.anyVector = true
	data := blob(vector)
	b.sum.vector(collection, id, data, 1)
	_, err = b.insert.vector.Exec(n, length, data)
	return err
}

// swap exchanges the vectors of two documents.
func (b *builder) swap(ctx context.Context, one, other string) error {
	var n [2]int64
	var number [2]int
	var length [2]float64
	var data [2][]byte
	for i, id := range []string{one, other} {
		// A document that stands in several collections is meant where it was ingested first.
		err := b.conn.QueryRowContext(ctx, `SELECT i.n, i.collection, v.norm, v.v FROM item i JOIN vector v ON v.n = i.n
			WHERE i.id = ? ORDER BY i.n LIMIT 1`, id).Scan(&n[i], &number[i], &length[i], &data[i])
		if errors.Is(err, sql.ErrNoRows) {
			return invalid("open", "fault \"vectors\" swaps the vector of %q, which has none", id)
		}
		if err != nil {
			return err
		}
	}
	for i, id := range []string{one, other} {
		collection := b.nameOf(number[i])
		b.sum.vector(collection, id, data[i], -1)
		b.sum.vector(collection, id, data[1-i], 1)
		if err := b.exec(ctx, `UPDATE vector SET norm = ?, v = ? WHERE n = ?`, length[1-i], data[1-i], n[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) nameOf(number int) string {
	for name, c := range b.collections {
		if c.Number == number {
			return name
		}
	}
	return ""
}

// contentSum is a digest of a set: the sum of one hash for each item and one for each vector. So it does not depend on the
// order, needs no second pass over the file, and follows a vector that moves.
type contentSum struct {
	lanes [4]uint64
	hash  hash.Hash
	count uint64
}

func (s *contentSum) item(collection string, item *adapters.Item, indexed string, more any) {
	text, _ := more.(string)
	fields := []string{"item", collection, item.ID, item.Source, item.Revision, text, item.Text}
	if indexed != item.Text {
		fields = append(fields, indexed)
	}
	s.add(1, fields...)
	s.count++
}

func (s *contentSum) vector(collection, id string, data []byte, sign int) {
	s.add(sign, "vector", collection, id, string(data))
}

func (s *contentSum) add(sign int, fields ...string) {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	s.hash.Reset()
	var size [8]byte
	for _, field := range fields {
		binary.LittleEndian.PutUint64(size[:], uint64(len(field)))
		s.hash.Write(size[:])
		_, _ = io.WriteString(s.hash, field) // a hash never fails
	}
	sum := s.hash.Sum(nil)
	for i := range s.lanes {
		lane := binary.LittleEndian.Uint64(sum[8*i:])
		if sign < 0 {
			lane = -lane
		}
		s.lanes[i] += lane
	}
}

// fingerprint covers the content and how its texts are split; how queries are read is no part of the store.
func (s *contentSum) fingerprint(r *recipe) string {
	final := sha256.New()
	keyword, err := json.Marshal(r.Keyword)
	if err != nil {
		panic(fmt.Sprintf("settings of plain values cannot be written: %v", err))
	}
	lanes := slices.Concat(s.lanes[:], []uint64{s.count, storeFormat})
	for _, lane := range lanes {
		_ = binary.Write(final, binary.LittleEndian, lane)
	}
	final.Write(keyword)
	return hex.EncodeToString(final.Sum(nil))
}
