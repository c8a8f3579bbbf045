package qdrant

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
)

// TestNothingIsLeftToDefaults looks at what is sent: a server's own defaults differ from call to call.
func TestNothingIsLeftToDefaults(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	f.info = func(i *qdrant.CollectionInfo) {
		i.Config.Params.SparseVectorsConfig = qdrant.NewSparseVectorsConfig(map[string]*qdrant.SparseVectorParams{"bm25": {}})
	}
	s := f.open(t, `"keyword": {"vector": "bm25"}, "hnsw_ef": 99, "indexed_only": true, "shard_key": "eu", "read_consistency": "majority", "hybrid": {"prefetch": 70}`)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for _, mode := range []string{modeKeyword, modeDense, modeHybrid} {
		for _, exact := range []bool{false, true} {
			for _, bare := range []bool{false, true} {
				f.mu.Lock()
				f.asked = nil
				f.mu.Unlock()
				_, err := s.Search(ctx, adapters.SearchRequest{Mode: mode, Query: "invoices", Vector: []float32{1, 0}, Limit: 20, Exact: exact, IDsOnly: bare})
				if err != nil {
					t.Fatal(err)
				}
				req, ok := f.asked[0].(*qdrant.QueryPoints)
				if !ok {
					t.Fatalf("%T was sent", f.asked[0])
				}
				if req.Limit == nil || req.GetLimit() < 20 || req.GetWithVectors().GetEnable() || req.GetWithVectors() == nil || req.GetWithPayload() == nil || req.GetWithPayload().GetEnable() == bare {
					t.Errorf("%s: limit, payload and vectors: %v", mode, req)
				}
				if seconds := req.GetTimeout(); seconds < 80 || seconds > 90 {
					t.Errorf("%s: the server may take %d s", mode, seconds)
				}
				if req.GetReadConsistency().GetType() != qdrant.ReadConsistencyType_Majority || req.GetShardKeySelector().GetShardKeys()[0].GetKeyword() != "eu" {
					t.Errorf("%s: consistency and shard key: %v", mode, req)
				}
				checkArms(t, mode, exact, req)
			}
		}
	}
}

// checkArms looks at the rankings of a search, which do not inherit anything from the search around them.
func checkArms(t *testing.T, mode string, exact bool, req *qdrant.QueryPoints) {
	t.Helper()
	using, params := []string{req.GetUsing()}, []*qdrant.SearchParams{req.GetParams()}
	if mode == modeHybrid {
		using, params = nil, nil
		for _, arm := range req.GetPrefetch() {
			using, params = append(using, arm.GetUsing()), append(params, arm.GetParams())
			if arm.GetLimit() != 70 {
				t.Errorf("a ranking of %d", arm.GetLimit())
			}
		}
		if req.GetQuery().GetRrf().GetK() != 60 || len(params) != 2 {
			t.Errorf("fusion %v of %d rankings", req.GetQuery(), len(params))
		}
	}
	for i, p := range params {
		switch {
		case using[i] == "bm25":
			if !p.GetExact() {
				t.Errorf("%s: the keyword ranking is sent as %v", mode, p)
			}
		case exact && (!p.GetExact() || !p.GetQuantization().GetIgnore() || p.HnswEf != nil || p.GetIndexedOnly()):
			t.Errorf("%s: an exact ranking is sent as %v", mode, p)
		case !exact && (p.GetExact() || p.GetHnswEf() != 99 || !p.GetIndexedOnly()):
			t.Errorf("%s: an approximate ranking is sent as %v", mode, p)
		}
	}
}

// TestAKeyForOneCollection may not list anything.
func TestAKeyForOneCollection(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	f.fault = func(_ context.Context, method string, _ int) error {
		if method == qdrant.Collections_List_FullMethodName || method == qdrant.Collections_ListAliases_FullMethodName {
			return status.Error(codes.PermissionDenied, "Global access is required")
		}
		return nil
	}
	info, err := f.open(t, "").Describe(t.Context())
	if err != nil || len(info.Collections) > 0 || info.Collection != "docs" || info.Count != 3 {
		t.Errorf("%+v, %v", info, err)
	}
	for _, may := range []string{"may not list collections", "may not list aliases"} {
		if !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, may) }) {
			t.Errorf("no note with %q in %q", may, info.Notes)
		}
	}
	_, err = open(t.Context(), adapters.Config{Settings: []byte(strings.Replace(string(f.settings("")), `"docs"`, `"none"`, 1))})
	wantError(t, err, adapters.KindNotFound, "backends.store.collection", `"none"`)
}

// TestScanTellsWhatAShardKeyLeavesOut: what was not found may stand in another shard.
func TestScanTellsWhatAShardKeyLeavesOut(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	for more, want := range map[string]string{"": "", `"shard_key": "eu"`: "the shards without the key of backends.store.shard_key"} {
		report, err := f.open(t, more).Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error { return nil })
		if err != nil || report.LeftOut != want {
			t.Errorf("%s: %+v, %v", more, report, err)
		}
	}
}
