package adapters_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// slowStore yields items, each after a pause, and fails after some of them, once.
type slowStore struct {
	adapters.VectorStore
	items  int
	pause  time.Duration
	failAt int // after that many items; -1: never
	scans  int
}

func (s *slowStore) Capabilities() adapters.StoreCapabilities {
	return adapters.StoreCapabilities{Modes: []string{"keyword"}, Only: true}
}

func (s *slowStore) Scan(ctx context.Context, _ adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	s.scans++
	for i := range s.items {
		if i == s.failAt {
			s.failAt = -1
			return adapters.ScanReport{}, failure(adapters.KindTransient, 0)
		}
		select {
		case <-time.After(s.pause):
		case <-ctx.Done():
			return adapters.ScanReport{}, adapters.NewError("slow", "scan", adapters.KindPermanent, ctx.Err())
		}
		if err := visit(adapters.Item{ID: string(rune('a' + i))}); err != nil {
			return adapters.ScanReport{}, err
		}
	}
	return adapters.ScanReport{Scanned: s.items, Counted: s.items}, nil
}

func TestScanVisitsNothingTwice(t *testing.T) {
	t.Parallel()
	refusal := errors.New("enough")
	for _, tt := range []struct {
		name    string
		store   slowStore
		refuse  bool // the second visit
		visited string
		scans   int
		want    adapters.Kind
	}{
		{"no failure", slowStore{items: 3, failAt: -1}, false, "abc", 1, ""},
		{"a failure before the first item", slowStore{items: 3, failAt: 0}, false, "abc", 2, ""},
		{"a failure after an item", slowStore{items: 3, failAt: 1}, false, "a", 1, adapters.KindTransient},
		{"visit refuses", slowStore{items: 3, failAt: -1}, true, "ab", 1, adapters.KindPermanent},
		{"a long scan of quick items", slowStore{items: 20, failAt: -1, pause: time.Second}, false, "abcdefghijklmnopqrst", 1, ""},
		{"a stall is a timeout", slowStore{items: 3, failAt: -1, pause: time.Minute}, false, "", 3, adapters.KindTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := tt.store
				wrapped := adapters.WrapStore(&store, adapters.Policy{Retries: 2, Timeout: 10 * time.Second})
				visited := ""
				report, err := wrapped.Scan(t.Context(), adapters.ScanRequest{}, func(item adapters.Item) error {
					visited += item.ID
					time.Sleep(30 * time.Second) // in the bubble's clock: a slow visitor is not a slow store
					if tt.refuse && len(visited) == 2 {
						return refusal
					}
					return nil
				})
				if visited != tt.visited || store.scans != tt.scans {
					t.Errorf("visited %q in %d scans, want %q in %d", visited, store.scans, tt.visited, tt.scans)
				}
				if tt.refuse && err != refusal { //nolint:errorlint // as it is
					t.Errorf("error %v, want that of visit as it is", err)
				}
				if tt.want == "" && (err != nil || report.Scanned != tt.store.items) || tt.want != "" && (err == nil || adapters.KindOf(err) != tt.want) {
					t.Errorf("report %+v, error %v; want kind %q", report, err, tt.want)
				}
			})
		})
	}
}

func TestVisitMayCallTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 1)
		wrapped := adapters.WrapStore(&slowStore{items: 3, failAt: -1, pause: time.Second}, adapters.Policy{Slots: slots})
		inner := 0
		count := func(adapters.Item) error { inner++; return nil }
		_, err := wrapped.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error {
			_, err := wrapped.Scan(t.Context(), adapters.ScanRequest{}, count)
			return err
		})
		if err != nil || inner != 9 || len(slots) != 0 {
			t.Errorf("error %v, %d inner visits, %d slots taken; want none, 9, 0", err, inner, len(slots))
		}
	})
}

// TestWrapStoreRefusesWhatIsNotDeclared: an adapter that knows nothing of it would make another search.
func TestWrapStoreRefusesWhatIsNotDeclared(t *testing.T) {
	t.Parallel()
	_, err := adapters.WrapStore(&slowStore{}, adapters.Policy{Name: "slow"}).Search(t.Context(), adapters.SearchRequest{FilterStatistics: true})
	if !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("error %v, want unsupported", err)
	}
}

func TestWrapStoreForwardsCapabilities(t *testing.T) {
	t.Parallel()
	if c := adapters.WrapStore(&slowStore{}, adapters.Policy{}).Capabilities(); !c.Only || len(c.Modes) != 1 {
		t.Errorf("capabilities %+v", c)
	}
}
