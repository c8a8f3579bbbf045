package qdrant

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
)

// wantError holds an error to its kind and to what its text must name.
func wantError(t *testing.T, err error, kind adapters.Kind, names ...string) {
	t.Helper()
	var typed *adapters.Error
	if !errors.As(err, &typed) || typed.Adapter != Name || typed.Op == "" || typed.Kind != kind {
		t.Fatalf("%v, want an error of kind %q", err, kind)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %q: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "rpc error") || strings.Contains(err.Error(), "desc = ") {
		t.Errorf("the error is in the words of gRPC: %v", err)
	}
}

func ask(ctx context.Context, s *store, limit int) (adapters.SearchResponse, error) {
	return s.Search(ctx, adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: limit})
}

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code  codes.Code
		after string
		kind  adapters.Kind
		wait  time.Duration
		names string
	}{
		{codes.ResourceExhausted, "3", adapters.KindRateLimited, 3 * time.Second, "retry"},
		{codes.ResourceExhausted, "", adapters.KindRateLimited, 0, ""},
		{codes.Unavailable, "", adapters.KindTransient, 0, "backends.store.address"},
		{codes.Unauthenticated, "", adapters.KindUnauthorised, 0, "backends.store.api_key_env"},
		{codes.PermissionDenied, "", adapters.KindUnauthorised, 0, "backends.store.api_key_env"},
		{codes.NotFound, "", adapters.KindNotFound, 0, ""},
		{codes.InvalidArgument, "", adapters.KindInvalid, 0, ""},
		{codes.Unimplemented, "", adapters.KindUnsupported, 0, "too old"},
		{codes.DeadlineExceeded, "", adapters.KindTimeout, 0, ""},
		{codes.Internal, "", adapters.KindPermanent, 0, ""},
	} {
		t.Run(tt.code.String()+tt.after, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 3)
			s := f.open(t, "")
			f.fault = func(ctx context.Context, _ string, _ int) error {
				if tt.after != "" {
					_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", tt.after))
				}
				return status.Error(tt.code, "as the server says it")
			}
			_, searched := ask(t.Context(), s, 1)
			_, described := s.Describe(t.Context())
			_, fetched := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"1"}})
			_, scanned := s.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error { return nil })
			for _, err := range []error{searched, described, fetched, scanned} {
				wantError(t, err, tt.kind, tt.names, "as the server says it")
				var typed *adapters.Error
				if errors.As(err, &typed); typed.RetryAfter != tt.wait {
					t.Errorf("retry after %v, want %v", typed.RetryAfter, tt.wait)
				}
			}
		})
	}
}

func scanAll(ctx context.Context, s *store, visit func(adapters.Item) error) ([]string, adapters.ScanReport, error) {
	var ids []string
	report, err := s.Scan(ctx, adapters.ScanRequest{}, func(item adapters.Item) error {
		ids = append(ids, item.ID)
		if visit != nil {
			return visit(item)
		}
		return nil
	})
	return ids, report, err
}

func TestScanOfAServerThatStopsHalfWay(t *testing.T) {
	t.Parallel()
	f := newFake(t, 100)
	s := f.open(t, `"page": 10`)
	f.fault = func(_ context.Context, method string, call int) error {
		if method == qdrant.Points_Scroll_FullMethodName && call > 5 {
			return status.Error(codes.Unavailable, "shutting down")
		}
		return nil
	}
	ids, report, err := scanAll(t.Context(), s, nil)
	wantError(t, err, adapters.KindTransient, "shutting down")
	if len(ids) != 40 || report.Scanned != 40 || report.Scanned == report.Counted { // the first of five pages was read by Open
		t.Errorf("%d items, %+v", len(ids), report)
	}
}

func TestScanThatDoesNotGoForward(t *testing.T) {
	t.Parallel()
	for name, scroll := range map[string]func(req *qdrant.ScrollPoints, call int, answer *qdrant.ScrollResponse){
		"a page is repeated": func(_ *qdrant.ScrollPoints, call int, answer *qdrant.ScrollResponse) {
			if call == 4 {
				answer.Result = []*qdrant.RetrievedPoint{fakePoint(10, "again"), fakePoint(11, "again")}
			}
		},
		"the offset stays": func(req *qdrant.ScrollPoints, call int, answer *qdrant.ScrollResponse) {
			if call > 2 {
				answer.NextPageOffset = req.GetOffset()
			}
		},
		"an empty page has a next one": func(_ *qdrant.ScrollPoints, _ int, answer *qdrant.ScrollResponse) {
			answer.Result, answer.NextPageOffset = nil, qdrant.NewIDNum(1)
		},
		"an item stands twice in a page": func(_ *qdrant.ScrollPoints, call int, answer *qdrant.ScrollResponse) {
			if call == 3 {
				answer.Result = append(answer.Result, answer.GetResult()[0])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 100)
			s := f.open(t, `"page": 10`)
			f.scroll = scroll
			ids, report, err := scanAll(t.Context(), s, nil)
			wantError(t, err, adapters.KindPermanent, "the server answers with")
			slices.Sort(ids)
			if len(slices.Compact(ids)) != report.Scanned || report.Scanned == 100 {
				t.Errorf("%+v of %d items: one was visited twice, or all", report, len(ids))
			}
		})
	}
}

func TestScanOfItemsThatChangeBetweenPages(t *testing.T) {
	t.Parallel()
	f := newFake(t, 100)
	s := f.open(t, `"page": 10`)
	var texts []string
	_, report, err := scanAll(t.Context(), s, func(item adapters.Item) error {
		if item.ID == "5" {
			f.mu.Lock()
			f.points[50] = fakePoint(50, "changed behind the reader's back")
			f.points = slices.Delete(slices.Clone(f.points), 90, 92)
			f.mu.Unlock()
		}
		texts = append(texts, item.Text)
		return nil
	})
	if err != nil || report.Scanned != 98 || report.Counted != 98 || texts[50] != "changed behind the reader's back" {
		t.Errorf("%+v, %v, item 50 is %q", report, err, texts[50])
	}
	f.mu.Lock()
	f.calls = map[string]int{}
	f.mu.Unlock()
	_, report, err = scanAll(t.Context(), s, func(item adapters.Item) error {
		if item.ID == "50" { // one that the scan has passed is deleted
			f.mu.Lock()
			f.points = f.points[1:]
			f.mu.Unlock()
		}
		return nil
	})
	if err != nil || report.Scanned != 98 || report.Counted != 97 {
		t.Errorf("%+v, %v, want 98 scanned and 97 counted", report, err)
	}
}

func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	f := newFake(t, 100)
	s := f.open(t, `"page": 10`)
	waiting := make(chan struct{}, 100)
	f.fault = func(ctx context.Context, method string, call int) error {
		if method != qdrant.Points_Scroll_FullMethodName || call > 3 {
			waiting <- struct{}{}
			<-ctx.Done() // until the client gives up
			return status.FromContextError(ctx.Err()).Err()
		}
		return nil
	}
	for name, do := range map[string]func(context.Context) error{
		"search":   func(ctx context.Context) error { _, err := ask(ctx, s, 1); return err },
		"describe": func(ctx context.Context) error { _, err := s.Describe(ctx); return err },
		"scan":     func(ctx context.Context) error { _, _, err := scanAll(ctx, s, nil); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began := time.Now()
		err := do(ctx)
		cancel()
		wantError(t, err, adapters.KindTimeout, f.address)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
	}
	for len(waiting) > 0 {
		<-waiting
	}
	// Close ends what is under way.
	ended := make(chan error, 1)
	go func() { _, err := ask(context.Background(), s, 1); ended <- err }() //nolint:usetesting // it must end by Close alone
	<-waiting
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, adapters.ErrClosed) {
		t.Errorf("cut short by Close: %v, want an error that is ErrClosed", err)
	}
}

func TestLargePayloads(t *testing.T) {
	t.Parallel()
	f := newFake(t, 24)
	large := strings.Repeat("ten megabytes ", 10<<20/14)
	for n := range f.points {
		f.points[n] = fakePoint(uint64(n), large[:len(large)-n])
	}
	s := f.open(t, "")
	n := 0
	_, report, err := scanAll(t.Context(), s, func(item adapters.Item) error {
		if len(item.Text) != len(large)-n {
			t.Errorf("item %d has %d bytes, want %d", n, len(item.Text), len(large)-n)
		}
		n++
		return nil
	})
	if err != nil || report.Scanned != 24 || report.Counted != 24 {
		t.Errorf("%+v, %v", report, err)
	}
	ids := []string{"20", "3", "7", "9", "11", "2", "1", "0"}
	items, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: ids})
	if err != nil || len(items) != len(ids) || items[0].ID != "20" {
		t.Errorf("fetch: %d items, %v", len(items), err)
	}
	if _, err := ask(t.Context(), s, 10); err == nil || !strings.Contains(err.Error(), "lower the limit") {
		t.Errorf("an answer that is too large: %v", err)
	}
}

func TestPagesShrinkWithTheItems(t *testing.T) {
	t.Parallel()
	f := newFake(t, 200)
	for n := range f.points {
		f.points[n] = fakePoint(uint64(n), strings.Repeat("x", 1<<20))
	}
	var sizes []int
	f.scroll = func(req *qdrant.ScrollPoints, _ int, answer *qdrant.ScrollResponse) {
		sizes = append(sizes, len(answer.GetResult()))
	}
	s := f.open(t, `"page": 20`)
	if _, report, err := scanAll(t.Context(), s, nil); err != nil || report.Scanned != 200 {
		t.Fatalf("%+v, %v", report, err)
	}
	if last := sizes[len(sizes)-2]; last > 4 {
		t.Errorf("pages of %d MiB are still asked for: %v", last, sizes)
	}
}

func TestOldAndStrangeServers(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	f.version = "1.9.7"
	_, err := open(t.Context(), adapters.Config{Settings: f.settings("")})
	wantError(t, err, adapters.KindUnsupported, "1.10", f.address)

	f.version = ""
	info, err := f.open(t, "").Describe(t.Context())
	if err != nil || !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, "does not tell") }) {
		t.Errorf("%q, %v", info.Notes, err)
	}
}

func TestAliasToNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	f.aliases = map[string]string{"live": "docs-2025"}
	settings := strings.Replace(string(f.settings("")), `"docs"`, `"live"`, 1)
	_, err := open(t.Context(), adapters.Config{Settings: []byte(settings)})
	wantError(t, err, adapters.KindNotFound, "backends.store.collection", `"live"`, `"docs-2025"`)
}

func TestNotesOfACollectionThatIsNotWell(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	s := f.open(t, "")
	for note, change := range map[string]func(*qdrant.CollectionInfo){
		"yellow": func(i *qdrant.CollectionInfo) { i.Status = qdrant.CollectionStatus_Yellow },
		"grey":   func(i *qdrant.CollectionInfo) { i.Status = qdrant.CollectionStatus_Grey },
		"red":    func(i *qdrant.CollectionInfo) { i.Status = qdrant.CollectionStatus_Red },
		"holds 4 items more": func(i *qdrant.CollectionInfo) {
			i.Status, i.PointsCount = qdrant.CollectionStatus_Yellow, qdrant.PtrOf(uint64(7))
		},
		"no space left": func(i *qdrant.CollectionInfo) { i.OptimizerStatus = &qdrant.OptimizerStatus{Error: "no space left"} },
		"5 shards":      func(i *qdrant.CollectionInfo) { i.Config.Params.ShardNumber = 5 },
	} {
		f.info = change
		info, err := s.Describe(t.Context())
		if err != nil || !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, note) }) {
			t.Errorf("no note with %q in %q, %v", note, info.Notes, err)
		}
	}
}

func TestScoresThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	points := []*qdrant.ScoredPoint{
		{Id: qdrant.NewIDNum(1), Score: float32(math.NaN())}, {Id: qdrant.NewIDNum(2), Score: 0.5}, {Id: qdrant.NewIDNum(3), Score: float32(math.Inf(1))},
	}
	got := tidy(points, adapters.SearchRequest{Limit: 5}, false)
	if len(got) != 1 || got[0].GetId().GetNum() != 2 {
		t.Errorf("%v", got)
	}
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	// It accepts connections and never says a word.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = open(ctx, adapters.Config{Settings: []byte(`{"collection": "docs", "address": ` + strconv.Quote(listener.Addr().String()) + `}`)})
	wantError(t, err, adapters.KindTimeout, listener.Addr().String())
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("it took %v", waited)
	}
}
