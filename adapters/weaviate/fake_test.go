package weaviate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fake is a server for faults that no real one can be asked for. It has one class "Docs" with the texts of its objects, and
// does what a handler says first.
type fake struct {
	mu      sync.Mutex
	texts   map[string]string                                        // id → text
	trouble func(w http.ResponseWriter, r *http.Request) (done bool) // nil: none
	pages   int                                                      // of objects that were asked for
}

const fakeSchema = `{"class":"Docs","vectorizer":"none","vectorIndexType":"hnsw","vectorIndexConfig":{"distance":"cosine","flatSearchCutoff":40000},` +
	`"properties":[{"name":"text","dataType":["text"],"tokenization":"word"}],"replicationConfig":{"factor":1}}`

// faked opens a store on a fake; the trouble begins when it is open.
func faked(t *testing.T, texts map[string]string, trouble func(f *fake, w http.ResponseWriter, r *http.Request) bool) (*store, *fake) {
	t.Helper()
	f := &fake{texts: texts}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	opened, err := Factory().OpenStore(t.Context(), config(t, settings{"address": host(server), "collection": "Docs"}, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = 0
	if trouble != nil {
		f.trouble = func(w http.ResponseWriter, r *http.Request) bool { return trouble(f, w, r) }
	}
	return opened.(*store), f //nolint:forcetypeassert // the factory makes nothing else
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if r.URL.Path == objectsPath {
		f.pages++
	}
	trouble := f.trouble
	f.mu.Unlock()
	if trouble != nil && trouble(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/v1/meta":
		fmt.Fprintf(w, `{"version":%q}`, tested)
	case "/v1/schema":
		fmt.Fprintf(w, `{"classes":[%s]}`, fakeSchema)
	case "/v1/schema/Docs":
		fmt.Fprint(w, fakeSchema)
	case objectsPath:
		f.page(w, r.URL.Query())
	case graphQLPath:
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprintf(w, `{"data":{"Aggregate":{"Docs":[{"meta":{"count":%d}}]},"Get":{"Docs":[]}}}`, len(f.texts))
	default:
		fmt.Fprint(w, `[]`)
	}
}

func (f *fake) page(w http.ResponseWriter, query url.Values) {
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	for id := range f.texts {
		if id > query.Get("after") {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	var objects []string
	for _, id := range ids[:min(limit, len(ids))] {
		objects = append(objects, fakeObject("Docs", id, f.texts[id]))
	}
	fmt.Fprintf(w, `{"deprecations":[],"objects":[%s],"totalResults":%d}`, strings.Join(objects, ","), len(objects))
}

func fakeObject(class, id, text string) string {
	properties, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err) // a text always has a form
	}
	return fmt.Sprintf(`{"class":%q,"id":%q,"lastUpdateTimeUnix":1,"properties":%s,"vector":[1,0]}`, class, id, properties)
}

// fakeTexts are n objects whose ids are in the order of their numbers.
func fakeTexts(n int) map[string]string {
	texts := map[string]string{}
	for i := range n {
		texts[fakeID(i)] = fmt.Sprintf("text %d", i)
	}
	return texts
}

func fakeID(n int) string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n) }
