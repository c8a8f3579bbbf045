package qdrant

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
)

// The search modes.
const (
	modeKeyword = "keyword"
	modeDense   = "dense"
	modeHybrid  = "hybrid"
)

// store is one collection of a server. What it knows of the collection's configuration it read when it was opened.
type store struct {
	set      settings
	grpc     *qdrant.GrpcClient
	plain    bool // a key goes over a connection without TLS
	version  release
	shape    shape
	encoder  *bm25.Encoder // nil where the server encodes, or where there is no keyword search
	closed   atomic.Bool
	pageSize atomic.Uint32 // of scans: it shrinks where pages are too large to be received
}

// Close ends the store. It may be called again.
func (s *store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.grpc.Close()
}

// enter is the first thing that a method does.
func (s *store) enter(ctx context.Context, op string) error {
	if s.closed.Load() {
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fail(op, adapters.KindCanceled, err)
	}
	return nil
}

// Capabilities declares what the collection's configuration and the settings allow.
func (s *store) Capabilities() adapters.StoreCapabilities {
	c := adapters.StoreCapabilities{
		Exact: !s.shape.noExact, Threshold: true, Filter: true, Vectors: s.shape.dense != nil, Collections: true, Only: true,
	}
	if s.set.Keyword != nil {
		c.Modes = append(c.Modes, modeKeyword)
	}
	if s.shape.dense != nil {
		c.Modes = append(c.Modes, modeDense)
	}
	if len(c.Modes) == 2 {
		c.Modes = append(c.Modes, modeHybrid)
	}
	return c
}

// shape is what searches depend on in the configuration of a collection.
type shape struct {
	dense    *qdrant.VectorParams // nil: the collection has no dense vector
	maxLimit uint64               // by strict mode; 0: none
	noExact  bool                 // by strict mode
	maxTime  uint32               // by strict mode, in seconds; 0: none
}

func shapeOf(config *qdrant.CollectionConfig, vector string) shape {
	s := shape{dense: denseVectors(config)[vector]}
	if strict := config.GetStrictModeConfig(); strict.GetEnabled() {
		s.maxLimit = uint64(strict.GetMaxQueryLimit())
		s.noExact = strict.SearchAllowExact != nil && !strict.GetSearchAllowExact()
		s.maxTime = strict.GetMaxTimeout()
	}
	return s
}

// denseVectors returns the dense vectors of a collection by name; the unnamed one is "".
func denseVectors(config *qdrant.CollectionConfig) map[string]*qdrant.VectorParams {
	vectors := config.GetParams().GetVectorsConfig()
	if unnamed := vectors.GetParams(); unnamed != nil {
		return map[string]*qdrant.VectorParams{"": unnamed}
	}
	return vectors.GetParamsMap().GetMap()
}

// lowerIsBetter holds for distances, which are not turned into similarities.
func (s shape) lowerIsBetter() bool {
	return slices.Contains([]qdrant.Distance{qdrant.Distance_Euclid, qdrant.Distance_Manhattan}, s.dense.GetDistance())
}

// timeout is how long the server may work on a request, in whole seconds; nil: as long as it is configured.
func (s *store) timeout(ctx context.Context) *uint64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	seconds := uint64(max(1, math.Ceil(time.Until(deadline).Seconds())))
	if s.shape.maxTime > 0 {
		seconds = min(seconds, uint64(s.shape.maxTime))
	}
	return &seconds
}

// release is a version of the server, as far as it matters.
type release struct {
	text         string
	major, minor int // 0.0: it cannot be read
}

func parseRelease(text string) release {
	r := release{text: text}
	if v, err := qdrant.ParseVersion(text); err == nil {
		r.major, r.minor = v.Major, v.Minor
	}
	return r
}

// before reports whether the server is certainly older.
func (r release) before(major, minor int) bool {
	if r.major == 0 && r.minor == 0 {
		return false
	}
	return r.major < major || r.major == major && r.minor < minor
}

func (r release) String() string {
	if r.text == "" {
		return "of a version that it does not tell"
	}
	return fmt.Sprintf("version %s", r.text)
}
