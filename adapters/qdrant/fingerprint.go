package qdrant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"
)

// The sample of a fingerprint: so many items from the first id on, and in larger collections so many from each of three
// other places. Of an item the server tells by which change it was written last, which is enough; the first few are read whole
// all the same, and so are all where the server does not tell.
const (
	sampleFirst = 512
	sampleOther = 64
	sampleWhole = 8
	sampleBytes = 16 << 20 // no more is read whole
)

var fingerprintMisses = fmt.Sprintf("It cannot see a change of items that leaves their number as it was, except in a fixed sample: the first %d items by id and %d from each of three other places.", sampleFirst, sampleOther)

// fingerprint identifies the state of the collection: its configuration, its exact count, and a sample of its items.
func (s *store) fingerprint(ctx context.Context, info *qdrant.CollectionInfo, physical string, count int) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", physical, count)
	config := info.GetConfig()
	// Not the optimiser's part, nor counts of segments: they move by themselves and change nothing that is found.
	messages := []proto.Message{config.GetParams(), config.GetHnswConfig(), config.GetQuantizationConfig(), config.GetStrictModeConfig()}
	for _, key := range slices.Sorted(maps.Keys(config.GetMetadata())) {
		fmt.Fprintf(h, "%q ", key)
		messages = append(messages, config.GetMetadata()[key])
	}
	for _, message := range messages {
		if err := hashMessage(h, message); err != nil {
			return "", err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(info.GetPayloadSchema())) {
		fmt.Fprintf(h, "%q %s\n", key, info.GetPayloadSchema()[key].GetDataType())
	}
	// Each replica counts the changes for itself.
	if err := s.hashSample(ctx, h, count, config.GetParams().GetReplicationFactor() <= 1); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func hashMessage(h hash.Hash, message proto.Message) error {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	fmt.Fprintf(h, "%d ", len(data))
	h.Write(data)
	return err
}

// hashSample adds the sample: of each item its last change, where these are told, and else the item itself.
func (s *store) hashSample(ctx context.Context, h hash.Hash, count int, versioned bool) error {
	ids, err := s.sampleIDs(ctx, count)
	if err != nil {
		return err
	}
	var versions map[string]uint64
	if versioned {
		if versions, err = s.versions(ctx, ids); err != nil {
			return err
		}
	}
	var whole []*qdrant.PointId
	for i, id := range ids {
		version, told := versions[idText(id)]
		fmt.Fprintf(h, "\n%s %d", idText(id), version)
		if !told || i < sampleWhole {
			whole = append(whole, id)
		}
	}
	var failed error
	bytes := 0
	err = s.points(ctx, whole, s.withVectors(true), func(point *qdrant.RetrievedPoint) bool {
		failed = hashPoint(h, point, s.set.Vector)
		bytes += proto.Size(point)
		return failed == nil && bytes < sampleBytes
	})
	return cmp.Or(failed, err)
}

// sampleIDs returns the ids of the sample.
func (s *store) sampleIDs(ctx context.Context, count int) ([]*qdrant.PointId, error) {
	first, err := s.idsFrom(ctx, nil, sampleFirst)
	if err != nil || count <= sampleFirst || len(first) == 0 {
		return first, err
	}
	_, numbers := first[len(first)-1].GetPointIdOptions().(*qdrant.PointId_Num)
	ids := first
	for quarter := 1; quarter <= 3; quarter++ {
		offset := qdrant.NewID(fmt.Sprintf("%x0000000-0000-0000-0000-000000000000", 4*quarter))
		if numbers {
			offset = qdrant.NewIDNum(uint64(count) / 4 * uint64(quarter))
		}
		more, err := s.idsFrom(ctx, offset, sampleOther)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

// idsFrom returns the n ids from an id on.
func (s *store) idsFrom(ctx context.Context, offset *qdrant.PointId, n int) ([]*qdrant.PointId, error) {
	p := s.pages(s.set.Collection, s.withVectors(false), sampleFirst)
	p.offset, p.bare = offset, true
	var ids []*qdrant.PointId
	for !p.done && len(ids) < n {
		p.size = uint32(min(int(p.size), n-len(ids)))
		points, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		for _, point := range points {
			ids = append(ids, point.GetId())
		}
	}
	return ids, nil
}

func hashPoint(h hash.Hash, point *qdrant.RetrievedPoint, vector string) error {
	fmt.Fprintf(h, "\n%s ", idText(point.GetId()))
	payload := point.GetPayload()
	for _, key := range slices.Sorted(maps.Keys(payload)) {
		fmt.Fprintf(h, "%q ", key)
		if err := hashMessage(h, payload[key]); err != nil {
			return err
		}
	}
	for _, x := range denseVector(point.GetVectors(), vector) {
		_ = binary.Write(h, binary.LittleEndian, math.Float32bits(x)) // a hash takes everything
	}
	return nil
}

// versions tells by which change each item was written last, which only the answer of a search does: an item without a vector
// is left out.
func (s *store) versions(ctx context.Context, ids []*qdrant.PointId) (map[string]uint64, error) {
	if s.shape.dense == nil || len(ids) == 0 {
		return nil, nil
	}
	vector := make([]float32, s.shape.dense.GetSize())
	vector[0] = 1
	limit := uint64(len(ids))
	if s.shape.maxLimit > 0 {
		limit = min(limit, s.shape.maxLimit)
		ids = ids[:limit]
	}
	response, err := s.grpc.Points().Query(ctx, &qdrant.QueryPoints{
		CollectionName: s.set.Collection, Query: qdrant.NewQueryDense(vector), Using: using(s.set.Vector), Limit: &limit,
		Filter: &qdrant.Filter{Must: []*qdrant.Condition{qdrant.NewHasID(ids...)}}, Params: s.params(!s.shape.noExact),
		WithPayload: qdrant.NewWithPayload(false), WithVectors: qdrant.NewWithVectors(false),
		ReadConsistency: s.set.ReadConsistency.value, ShardKeySelector: s.set.ShardKey.selector(), Timeout: s.timeout(ctx),
	})
	if err != nil {
		return nil, err
	}
	versions := map[string]uint64{}
	for _, point := range response.GetResult() {
		versions[idText(point.GetId())] = point.GetVersion()
	}
	return versions, nil
}
