package qdrant

import (
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
// other places.
const (
	sampleFirst = 512
	sampleOther = 64
	samplePage  = 128
	sampleBytes = 16 << 20 // no place is read further than this
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
	ids, err := s.hashSample(ctx, h, count)
	if err != nil {
		return "", err
	}
	if config.GetParams().GetReplicationFactor() <= 1 { // each replica counts the changes for itself
		if err := s.hashVersions(ctx, h, ids); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func hashMessage(h hash.Hash, message proto.Message) error {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	fmt.Fprintf(h, "%d ", len(data))
	h.Write(data)
	return err
}

// hashSample adds the sample and returns its ids.
func (s *store) hashSample(ctx context.Context, h hash.Hash, count int) ([]*qdrant.PointId, error) {
	first, err := s.hashFrom(ctx, h, nil, sampleFirst)
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
		more, err := s.hashFrom(ctx, h, offset, sampleOther)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

// hashFrom adds the n items from an id on.
func (s *store) hashFrom(ctx context.Context, h hash.Hash, offset *qdrant.PointId, n int) ([]*qdrant.PointId, error) {
	p := s.pages(s.set.Collection, s.withVectors(true), samplePage)
	p.offset = offset
	var ids []*qdrant.PointId
	for !p.done && len(ids) < n && p.bytes < sampleBytes {
		p.size = uint32(min(int(p.size), n-len(ids)))
		points, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		for _, point := range points {
			ids = append(ids, point.GetId())
			if err := hashPoint(h, point, s.set.Vector); err != nil {
				return nil, err
			}
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

// hashVersions adds by which change each item of the sample was written last, which only the answer of a search tells.
func (s *store) hashVersions(ctx context.Context, h hash.Hash, ids []*qdrant.PointId) error {
	if s.shape.dense == nil || len(ids) == 0 {
		return nil
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
		return err
	}
	versions := map[string]uint64{}
	for _, point := range response.GetResult() {
		versions[idText(point.GetId())] = point.GetVersion()
	}
	for _, id := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(h, "\n%s %d", id, versions[id])
	}
	return nil
}
