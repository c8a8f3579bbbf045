package conformance

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func (s *storeSuite) wrongArguments(t T, store adapters.VectorStore) {
	refused := func(what string, req adapters.SearchRequest) string {
		t.Helper()
		response, err := store.Search(t.Context(), req)
		if !errors.Is(err, adapters.ErrInvalid) {
			t.Errorf("%s: %d hits, %v, want an error that is ErrInvalid", what, len(response.Hits), err)
			return ""
		}
		return err.Error()
	}
	for _, mode := range s.Capabilities.Modes {
		for _, limit := range []int{0, -1} {
			req := s.request(mode)
			req.Limit = limit
			refused(mode+" with limit "+strconv.Itoa(limit), req)
		}
		if mode == keyword {
			continue
		}
		req := s.request(mode)
		req.Vector = nil
		refused(mode+" without a vector", req)
		req.Vector = slices.Clone(queryVector(1))
		req.Vector[3] = float32(math.NaN())
		refused(mode+" with a vector that holds NaN", req)
		req.Vector[3] = float32(math.Inf(1))
		refused(mode+" with a vector that holds infinity", req)
		req.Vector = make([]float32, dimensions+3)
		req.Vector[0] = 1
		message := refused(mode+" with a vector of other dimensions", req)
		for _, number := range []int{dimensions, dimensions + 3} {
			if message != "" && !strings.Contains(message, strconv.Itoa(number)) {
				t.Errorf("the error %q does not name %d dimensions", message, number)
			}
		}
	}
}

func (s *storeSuite) cancelled(t T, store adapters.VectorStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range s.calls() {
		err := c.do(ctx, store)
		if !errors.Is(err, context.Canceled) || adapters.KindOf(err) != adapters.KindCanceled {
			t.Errorf("%s: %v of kind %q, want one of kind canceled", c.name, err, adapters.KindOf(err))
		}
		checkError(t, c.name, err)
	}
}

func (s *storeSuite) deadline(t T, store adapters.VectorStore) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, c := range s.calls() {
		err := c.do(ctx, store)
		if !errors.Is(err, context.DeadlineExceeded) || adapters.KindOf(err) != adapters.KindTimeout {
			t.Errorf("%s: %v of kind %q, want one of kind timeout", c.name, err, adapters.KindOf(err))
		}
		checkError(t, c.name, err)
	}
}

// checkError holds for every error of an adapter.
func checkError(t T, what string, err error) {
	t.Helper()
	var typed *adapters.Error
	if err != nil && !errors.As(err, &typed) {
		t.Errorf("%s: %v is no *adapters.Error", what, err)
		return
	}
	if typed != nil && (typed.Adapter == "" || typed.Op == "") {
		t.Errorf("%s: %v names no adapter or operation", what, err)
	}
}

func (s *storeSuite) cancelledScan(t T, store adapters.VectorStore) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	visited := 0
	report, err := store.Scan(ctx, adapters.ScanRequest{}, func(adapters.Item) error {
		if visited++; visited == 2 {
			cancel()
		}
		return nil
	})
	if adapters.KindOf(err) != adapters.KindCanceled {
		t.Errorf("error %v, want one of kind canceled", err)
	}
	if report.Scanned == report.Counted {
		t.Errorf("%+v looks like the proof of a whole scan", report)
	}
}

func (s *storeSuite) concurrent(t T, store adapters.VectorStore) {
	want := map[string][]string{}
	for _, mode := range s.Capabilities.Modes {
		want[mode] = ids(search(t, store, s.request(mode)).Hits)
	}
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for round := range 4 {
				if (worker+round)%4 == 0 { // every visit reads the store again: a scan must not hold what a fetch needs
					visited := 0
					_, err := store.Scan(t.Context(), adapters.ScanRequest{}, func(item adapters.Item) error {
						if visited++; visited%40 != 1 {
							return nil
						}
						got, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{item.ID}})
						if err == nil && (len(got) != 1 || got[0].ID != item.ID) {
							t.Errorf("fetching %q while scanning: %d items", item.ID, len(got))
						}
						return err
					})
					if err != nil || visited != len(s.main) {
						t.Errorf("scan: %d items, %v", visited, err)
					}
				}
				if (worker+round)%4 == 1 {
					info, err := store.Describe(t.Context())
					if err != nil || info.Count != len(s.main) {
						t.Errorf("describe: %d items, %v", info.Count, err)
					}
				}
				for mode, first := range want {
					response, err := store.Search(t.Context(), s.request(mode))
					if err != nil || !slices.Equal(ids(response.Hits), first) {
						t.Errorf("%s: another ranking, or %v", mode, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func (s *storeSuite) empty(t T, _ adapters.VectorStore) {
	store := s.Open(t, Corpus{Dimensions: dimensions})
	defer closeStore(t, store)
	info, err := store.Describe(t.Context())
	if err != nil || info.Count != 0 {
		t.Errorf("Describe counts %d, %v", info.Count, err)
	}
	if items, report := scan(t, store, adapters.ScanRequest{}); len(items) != 0 || report != (adapters.ScanReport{}) {
		t.Errorf("scan: %d items, %+v", len(items), report)
	}
	for _, mode := range store.Capabilities().Modes {
		if hits := search(t, store, s.request(mode)).Hits; len(hits) != 0 {
			t.Errorf("%s finds %q", mode, ids(hits))
		}
	}
	if items, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"x"}}); err != nil || len(items) != 0 {
		t.Errorf("fetch: %d items, %v", len(items), err)
	}
}

func closeStore(t T, store adapters.VectorStore) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Errorf("closing the store: %v", err)
	}
}

func (s *storeSuite) closed(t T, _ adapters.VectorStore) {
	store := s.Open(t, s.corpus)
	for range 2 {
		closeStore(t, store)
	}
	for _, c := range s.calls() {
		err := c.do(t.Context(), store)
		if !errors.Is(err, adapters.ErrClosed) {
			t.Errorf("%s after Close: %v, want an error that is ErrClosed", c.name, err)
		}
		checkError(t, c.name, err)
	}
	if diff := cmp.Diff(s.Capabilities, store.Capabilities()); diff != "" {
		t.Errorf("capabilities after Close (-want +got):\n%s", diff)
	}
}

func (s *storeSuite) fingerprint(t T, store adapters.VectorStore) {
	open := func(c Corpus) string {
		t.Helper()
		opened := s.Open(t, c)
		defer closeStore(t, opened)
		return describe(t, opened).Fingerprint
	}
	first := describe(t, store).Fingerprint
	if again := describe(t, store).Fingerprint; again != first {
		t.Errorf("it changes from %q to %q by itself", first, again)
	}
	if again := open(s.corpus); again != first {
		t.Errorf("it is %q, and %q when the same content is opened again", first, again)
	}
	changed := map[string]Corpus{
		"a text":     s.corpus.with(20, func(i *adapters.Item) { i.Text += " more" }),
		"an id":      s.corpus.with(20, func(i *adapters.Item) { i.ID = s.fresh(0).ID }),
		"a revision": s.corpus.with(20, func(i *adapters.Item) { i.Revision += "x" }),
		"metadata":   s.corpus.with(20, func(i *adapters.Item) { i.Metadata = map[string][]string{"tenant": {"x"}} }),
		"access":     s.corpus.with(20, func(i *adapters.Item) { i.Access = []string{"nobody"} }),
		"an item":    {Items: s.corpus.Items[1:], Dimensions: dimensions},
	}
	if s.Capabilities.Vectors {
		changed["a vector"] = s.corpus.with(20, func(i *adapters.Item) { i.Vector = queryVector(5) })
	}
	for what, c := range changed {
		if open(c) == first {
			t.Errorf("it does not change with %s", what)
		}
	}
}
