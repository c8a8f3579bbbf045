package weaviate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

func scanAll(ctx context.Context, s *store, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	return s.Scan(ctx, adapters.ScanRequest{}, visit)
}

func ignore(adapters.Item) error { return nil }

func answer(status int, body string) func(*fake, http.ResponseWriter, *http.Request) bool {
	return func(_ *fake, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	}
}

func TestFaultsHaveAKind(t *testing.T) {
	t.Parallel()
	graphQL := func(message string) func(*fake, http.ResponseWriter, *http.Request) bool {
		return func(_ *fake, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == graphQLPath {
				fmt.Fprintf(w, `{"data":{"Get":{"Docs":null}},"errors":[{"message":%q}]}`, message)
			}
			return r.URL.Path == graphQLPath
		}
	}
	for _, test := range []struct {
		name    string
		trouble func(*fake, http.ResponseWriter, *http.Request) bool
		kind    adapters.Kind
		names   []string
	}{
		{"401", answer(401, `{"error":[{"message":"anonymous access not enabled"}]}`), adapters.KindUnauthorised, []string{"api_key_env", "anonymous access"}},
		{"403", answer(403, `{"error":[{"message":"forbidden"}]}`), adapters.KindUnauthorised, []string{"api_key"}},
		{"404", answer(404, ""), adapters.KindNotFound, []string{"address"}},
		{"422", answer(422, `{"error":[{"message":"tenant not active: 'x'"}]}`), adapters.KindPermanent, []string{"tenant not active"}},
		{"429", answer(429, ""), adapters.KindRateLimited, nil},
		{"500", answer(500, "boom"), adapters.KindTransient, []string{"boom"}},
		{"503", answer(503, ""), adapters.KindTransient, nil},
		{"504", answer(504, ""), adapters.KindTimeout, nil},
		{"no JSON", answer(200, "<html>"), adapters.KindTransient, nil},
		{"error in a query", graphQL("something broke"), adapters.KindPermanent, []string{"something broke"}},
		{"too many queries", graphQL("429 Too many requests"), adapters.KindRateLimited, nil},
		{"query that is forbidden", graphQL("rbac: forbidden: user 'x'"), adapters.KindUnauthorised, []string{"api_key"}},
		{"class that is gone", graphQL(`Cannot query field "Docs" on type "GetObjectsObj".`), adapters.KindNotFound, []string{"backends.store.collection"}},
		{"vectors of another length", graphQL("knn search: 4 vs 3: vector lengths don't match"), adapters.KindInvalid, []string{"backends.store.vector"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := faked(t, nil, test.trouble)
			_, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "x", Limit: 3})
			wantError(t, err, test.kind, test.names...)
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s, _ := faked(t, nil, func(_ *fake, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	_, err := scanAll(t.Context(), s, ignore)
	var typed *adapters.Error
	if !errors.As(err, &typed) || typed.Kind != adapters.KindRateLimited || typed.RetryAfter != 7*time.Second {
		t.Errorf("%+v, want a wait of 7s", typed)
	}
}

// TestMetaDown sees that nothing goes on without /v1/meta, where the client would take all classes for one.
func TestMetaDown(t *testing.T) {
	t.Parallel()
	s, _ := faked(t, fakeTexts(1), func(_ *fake, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/meta" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return r.URL.Path == "/v1/meta"
	})
	_, err := s.Describe(t.Context())
	wantError(t, err, adapters.KindTransient, "503")
	if _, err := scanAll(t.Context(), s, ignore); err != nil {
		t.Errorf("a scan needs no version: %v", err)
	}
}

func TestScanThatCannotFinish(t *testing.T) {
	t.Parallel()
	onPage := func(n int, do func(w http.ResponseWriter)) func(*fake, http.ResponseWriter, *http.Request) bool {
		return func(f *fake, w http.ResponseWriter, r *http.Request) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			if r.URL.Path != objectsPath || f.pages < n {
				return false
			}
			do(w)
			return true
		}
	}
	page := func(objects ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { fmt.Fprintf(w, `{"objects":[%s]}`, strings.Join(objects, ",")) }
	}
	for _, test := range []struct {
		name  string
		do    func(w http.ResponseWriter)
		kind  adapters.Kind
		names []string
	}{
		{"the server stops", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, adapters.KindTransient, []string{"cut"}},
		{"the server fails", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, adapters.KindTransient, []string{"502"}},
		{"the body is cut in an object", func(w http.ResponseWriter) { fmt.Fprint(w, `{"objects":[{"class":"Docs","id":"`) }, adapters.KindTransient, []string{"cut"}},
		{"the body is cut between objects", func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"objects":[`+fakeObject("Docs", fakeID(90), "x"))
		}, adapters.KindTransient, []string{"cut"}},
		{"a page comes again", page(fakeObject("Docs", fakeID(0), "x"), fakeObject("Docs", fakeID(1), "x")), adapters.KindPermanent, []string{"repeats"}},
		{"an object stands twice in a page", page(fakeObject("Docs", fakeID(90), "x"), fakeObject("Docs", fakeID(90), "x")), adapters.KindPermanent, []string{"repeats"}},
		{"an object of another class", page(fakeObject("Others", fakeID(90), "x")), adapters.KindPermanent, []string{`"Others"`}},
		{"an id that is none", page(fakeObject("Docs", "x", "x")), adapters.KindPermanent, []string{`"x"`}},
		{"something else", func(w http.ResponseWriter) { fmt.Fprint(w, `{"other":[]}`) }, adapters.KindInvalid, []string{"no list"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, _ := faked(t, fakeTexts(40), onPage(2, test.do))
			report, err := scanAll(t.Context(), s, ignore)
			wantError(t, err, test.kind, test.names...)
			if report.Scanned == 0 || report.Scanned == report.Counted {
				t.Errorf("%+v looks like the proof of a whole scan, or like none at all", report)
			}
		})
	}
}

// TestChangesDuringAScan: what is put in behind the cursor, and what is taken away, shows in the counts.
func TestChangesDuringAScan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(texts map[string]string)
		scan   int
		count  int
	}{
		{"nothing", func(map[string]string) {}, 40, 40},
		{"an object is put in behind the cursor", func(m map[string]string) { m["00000000-0000-0000-0000-000000000001"] = "new" }, 40, 41},
		{"an object that was read is taken away", func(m map[string]string) { delete(m, fakeID(0)) }, 40, 39},
		{"an object that was not read yet changes", func(m map[string]string) { m[fakeID(39)] = "changed" }, 40, 40},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, f := faked(t, fakeTexts(40), nil)
			last := ""
			report, err := scanAll(t.Context(), s, func(item adapters.Item) error {
				if item.ID == fakeID(0) {
					f.mu.Lock()
					test.change(f.texts)
					f.mu.Unlock()
				}
				last = item.Text
				return nil
			})
			if err != nil || report.Scanned != test.scan || report.Counted != test.count {
				t.Errorf("%+v, %v, want %d of %d", report, err, test.scan, test.count)
			}
			if last != f.texts[fakeID(39)] {
				t.Errorf("the last text is %q, and %q in the store", last, f.texts[fakeID(39)])
			}
		})
	}
}

func TestLargeObjectsAreReadInFlatMemory(t *testing.T) {
	t.Parallel()
	const size, objects = 10 << 20, 12
	large := strings.Repeat("x", size)
	texts := map[string]string{}
	for i := range objects {
		texts[fakeID(i)] = large
	}
	s, f := faked(t, texts, nil)
	report, err := scanAll(t.Context(), s, func(item adapters.Item) error {
		if len(item.Text) != size {
			t.Errorf("a text has %d bytes", len(item.Text))
		}
		return nil
	})
	if err != nil || report.Scanned != objects {
		t.Fatalf("%+v, %v", report, err)
	}
	if f.pages < objects-firstPage {
		t.Errorf("%d pages of objects of 10 MB each", f.pages)
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := faked(t, nil, func(_ *fake, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == graphQLPath {
			fmt.Fprintf(w, `{"data":{"Get":{"Docs":[]}},"x":%q}`, strings.Repeat("x", 2<<20))
		}
		return r.URL.Path == graphQLPath
	})
	s.transport.limit = 1 << 20
	_, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "x", Limit: 3})
	wantError(t, err, adapters.KindPermanent, "too large", "fewer items")
}

// hang answers nothing until the caller is gone.
func hang(_ *fake, _ http.ResponseWriter, r *http.Request) bool {
	_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice that the caller is gone
	<-r.Context().Done()
	return true
}

func TestSilenceEndsWithTheDeadline(t *testing.T) {
	t.Parallel()
	s, _ := faked(t, fakeTexts(3), hang)
	for what, call := range map[string]func(context.Context) error{
		"Describe": func(ctx context.Context) error { _, err := s.Describe(ctx); return err },
		"Scan":     func(ctx context.Context) error { _, err := scanAll(ctx, s, ignore); return err },
		"Fetch": func(ctx context.Context) error {
			_, err := s.Fetch(ctx, adapters.FetchRequest{IDs: []string{fakeID(1)}})
			return err
		},
		"Search": func(ctx context.Context) error {
			_, err := s.Search(ctx, adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 3})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		err := call(ctx)
		cancel()
		wantError(t, err, adapters.KindTimeout, "backends.store.address")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			t.Errorf("%s: %v after %s", what, err, time.Since(start))
		}
	}
}

func TestCloseCutsShort(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	s, _ := faked(t, fakeTexts(3), func(f *fake, w http.ResponseWriter, r *http.Request) bool {
		called <- struct{}{}
		return hang(f, w, r)
	})
	ended := make(chan error)
	go func() { _, err := scanAll(t.Context(), s, ignore); ended <- err }()
	<-called
	s.Close()
	if err := <-ended; !errors.Is(err, adapters.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}

// TestNoFinalizerIsHeldUp: one that waits forever, as the client's does, would keep every later one from running.
func TestNoFinalizerIsHeldUp(t *testing.T) {
	for range 3 {
		s, _ := faked(t, nil, nil)
		s.Close()
	}
	ran := make(chan struct{}, 1)
	for range 50 {
		func() {
			probe := new([64]byte)
			runtime.SetFinalizer(probe, func(*[64]byte) {
				select {
				case ran <- struct{}{}:
				default:
				}
			})
		}()
		runtime.GC()
		select {
		case <-ran:
			return
		case <-time.After(20 * time.Millisecond): // finalizers run some time after the collection
		}
	}
	t.Error("no finalizer runs")
}

// TestOnePageIsReadAhead: while visit works, the next page is read, and no more than that.
func TestOnePageIsReadAhead(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	s, _ := faked(t, fakeTexts(2000), func(_ *fake, _ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == objectsPath {
			asked <- r.URL.Query().Get("after")
		}
		return false
	})
	s.set.PageSize = 10
	visited := 0
	stop := errors.New("enough")
	_, err := scanAll(t.Context(), s, func(adapters.Item) error {
		if visited++; visited > 1 {
			return stop
		}
		for range 2 {
			select {
			case <-asked:
			case <-time.After(10 * time.Second):
				t.Error("the next page is not asked for while visit runs")
			}
		}
		select {
		case after := <-asked:
			t.Errorf("a page after %q is asked for, two pages ahead", after)
		case <-time.After(100 * time.Millisecond): // time enough for a mistake to show
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("%v, want the error of visit", err)
	}
}
