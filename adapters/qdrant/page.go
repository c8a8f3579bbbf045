package qdrant

import (
	"context"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/culprit-rag/culprit/crash"
)

// pageBytes is about what a page should hold, so that the memory of a scan stays flat.
const pageBytes = 4 << 20

// pages reads a collection by id, page after page.
type pages struct {
	store      *store
	collection string
	filter     *qdrant.Filter // nil: every item
	vectors    *qdrant.WithVectorsSelector
	bare       bool            // no payloads
	offset     *qdrant.PointId // where the next page begins; nil: at the first item
	last       *qdrant.PointId // the last item that was read
	size       uint32          // of the next page
	most       uint32          // size is never more
	bytes      int             // read so far
	done       bool
}

func (s *store) pages(collection string, vectors *qdrant.WithVectorsSelector, size uint32) *pages {
	if s.shape.maxLimit > 0 {
		size = uint32(min(uint64(size), s.shape.maxLimit))
	}
	return &pages{store: s, collection: collection, vectors: vectors, size: size, most: size}
}

// next reads a page; done holds after the last. It may run on a goroutine of its own.
func (p *pages) next(ctx context.Context) (_ []*qdrant.RetrievedPoint, err error) {
	defer crash.Catch(&err)
	response, err := p.scroll(ctx)
	if err != nil {
		return nil, err
	}
	points := response.GetResult()
	for _, point := range points {
		if p.last != nil && !after(point.GetId(), p.last) {
			return nil, &repeatedError{id: idText(point.GetId()), after: idText(p.last)}
		}
		p.last = point.GetId()
	}
	p.offset = response.GetNextPageOffset()
	p.done = p.offset == nil
	if !p.done && p.last != nil && !after(p.offset, p.last) {
		return nil, &repeatedError{id: idText(p.offset), after: idText(p.last)}
	}
	if !p.done && p.last == nil {
		return nil, &repeatedError{id: idText(p.offset)}
	}
	bytes := proto.Size(response)
	p.bytes += bytes
	p.size = min(p.most, uint32(max(1, pageBytes/max(1, bytes/max(1, len(points))))))
	return points, nil
}

// scroll asks for a page, and for a smaller one where that is more than can be received.
func (p *pages) scroll(ctx context.Context) (*qdrant.ScrollResponse, error) {
	for {
		size := p.size
		response, err := p.store.grpc.Points().Scroll(ctx, &qdrant.ScrollPoints{
			CollectionName: p.collection, Filter: p.filter, Offset: p.offset, Limit: &size, WithPayload: qdrant.NewWithPayload(!p.bare), WithVectors: p.vectors,
			ReadConsistency: p.store.set.ReadConsistency.value, ShardKeySelector: p.store.set.ShardKey.selector(), Timeout: p.store.timeout(ctx),
		})
		if !tooLarge(err) || size == 1 {
			return response, err
		}
		p.size = max(1, size/4)
	}
}

// repeatedError says that a scroll does not go forward: a page was repeated, or its order is not that of the ids.
type repeatedError struct{ id, after string }

func (e *repeatedError) Error() string {
	if e.after == "" {
		return "the server answers with an empty page and says that " + e.id + " comes next"
	}
	return "the server answers with item " + e.id + " after item " + e.after + ": the scan does not go forward in the order of ids"
}
