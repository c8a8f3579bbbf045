package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/batch"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/connection"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/filters"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/graphql"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/misc"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
)

// weaviateTarget is a class of a Weaviate server, written over REST.
//
// It is put together from the parts of the client, not by its constructor: that one asks the server for its version without a
// context, and leaves the connection to a finalizer which never ends.
type weaviateTarget struct {
	at         *settings
	connection *connection.Connection
	transport  *http.Transport
}

var weaviateClass = regexp.MustCompile(`^[A-Z][_0-9A-Za-z]{0,254}$`)

func openWeaviate(at *settings, timeout time.Duration) (target, error) {
	invalid := func(err error) error { return adapters.NewError("weaviate", "load", adapters.KindInvalid, err) }
	if !weaviateClass.MatchString(at.Collection) {
		return nil, invalid(fmt.Errorf("backends.store.collection %q is no name of a collection in Weaviate: a capital letter, then letters, digits and _", at.Collection))
	}
	if _, _, err := at.hostPort(""); err != nil {
		return nil, invalid(err)
	}
	w := &weaviateTarget{at: at, transport: &http.Transport{TLSClientConfig: at.tls, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}}
	scheme, headers := "http", map[string]string{}
	if at.tls != nil {
		scheme = "https"
	}
	if at.key != "" {
		headers["Authorization"] = "Bearer " + at.key
	}
	w.connection = connection.NewConnection(scheme, at.Address, &http.Client{Transport: w.transport, Timeout: timeout}, timeout, headers)
	runtime.SetFinalizer(w.connection, nil)
	return w, nil
}

func (w *weaviateTarget) close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// cause returns the last HTTP status, 0 for none, and the innermost error of the client, whose own type hides it from errors.Is.
func cause(err error) (int, error) {
	code := 0
	var e *fault.WeaviateClientError
	for errors.As(err, &e) {
		if e.StatusCode > 0 {
			code = e.StatusCode
		}
		if e.DerivedFromError == nil {
			return code, errors.New(e.Msg)
		}
		err = e.DerivedFromError
	}
	return code, err
}

// fail says what an error of the server means for who has written the experiment.
func (w *weaviateTarget) fail(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	code, err := cause(err)
	kind, hint := adapters.KindPermanent, ""
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		kind, hint = adapters.KindTimeout, fmt.Sprintf(": no answer in time from backends.store.address %s; raise limits.timeout, and load again to go on", w.at.Address)
	case errors.Is(err, http.ErrSchemeMismatch):
		hint = ": the server at backends.store.address speaks no TLS; set backends.store.tls: false"
	case code == http.StatusBadRequest && strings.Contains(err.Error(), "HTTPS server"):
		hint = ": the server at backends.store.address speaks TLS; set backends.store.tls: true"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind = adapters.KindUnauthorised
		hint = ": the key of backends.store.api_key_env (or api_key_file) is missing, wrong, or may not write"
	case code == http.StatusTooManyRequests:
		kind = adapters.KindRateLimited
	case code == http.StatusUnprocessableEntity:
		kind = adapters.KindInvalid
	case code == http.StatusNotFound, code == 0:
		if code == 0 {
			kind = adapters.KindTransient
		}
		hint = fmt.Sprintf(": no Weaviate answers at backends.store.address %s; its HTTP port is 8080 unless it was changed, and backends.store.tls must be as the server is", w.at.Address)
	}
	return adapters.NewError("weaviate", "load", kind, fmt.Errorf("%s%s: %w", doing, hint, err))
}

func (w *weaviateTarget) about(doing string) string {
	return fmt.Sprintf("%s collection %q", doing, w.at.Collection)
}

// declaration is the description of a class that a load has made: what made the vectors, in the names under which everybody
// may declare it, and the mark.
type declaration struct {
	EmbedModel    string  `json:"embed_model,omitempty"`
	Dimensions    int     `json:"dimensions,omitempty"`
	QueryPrefix   *string `json:"query_prefix,omitempty"`
	PassagePrefix *string `json:"passage_prefix,omitempty"`
	Load          *mark   `json:"culprit_load"`
}

func description(m mark) string {
	d := declaration{Load: &m, EmbedModel: m.Embedder.Model, Dimensions: m.Embedder.Dimensions}
	if m.Embedder.Model != "" {
		d.QueryPrefix, d.PassagePrefix = &m.Embedder.QueryPrefix, &m.Embedder.PassagePrefix
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("a mark of plain values cannot be written: %v", err))
	}
	return string(text)
}

func (w *weaviateTarget) find(ctx context.Context) (found, error) {
	meta, err := misc.New(w.connection, nil).MetaGetter().Do(ctx)
	if err != nil {
		return found{}, w.fail(ctx, "asking the server what it is", err)
	}
	if meta.Version == "" {
		return found{}, w.fail(ctx, "asking the server what it is", errors.New("it told no version"))
	}
	class, err := schema.New(w.connection).ClassGetter().WithClassName(w.at.Collection).Do(ctx)
	if code, _ := cause(err); err != nil && code == http.StatusNotFound {
		return found{}, nil
	}
	if err != nil {
		return found{}, w.fail(ctx, w.about("looking for"), err)
	}
	var d declaration
	if json.Unmarshal([]byte(class.Description), &d) != nil || !d.Load.whole() {
		d.Load = nil // words, or somebody else's declaration
	}
	return found{exists: true, mark: d.Load}, nil
}

func (w *weaviateTarget) create(ctx context.Context, m mark, s survey) error {
	err := schema.New(w.connection).ClassCreator().WithClass(class(w.at, m, s)).Do(ctx)
	return w.fail(ctx, w.about("making"), err)
}

func (w *weaviateTarget) remark(ctx context.Context, m mark) error {
	class, err := schema.New(w.connection).ClassGetter().WithClassName(w.at.Collection).Do(ctx)
	if err != nil {
		return w.fail(ctx, w.about("looking at"), err)
	}
	class.Description = description(m)
	return w.fail(ctx, w.about("marking"), schema.New(w.connection).ClassUpdater().WithClass(class).Do(ctx))
}

func (w *weaviateTarget) drop(ctx context.Context) error {
	return w.fail(ctx, w.about("deleting"), schema.New(w.connection).ClassDeleter().WithClassName(w.at.Collection).Do(ctx))
}

func (w *weaviateTarget) count(ctx context.Context) (int, error) {
	response, err := graphql.New(w.connection).Aggregate().WithClassName(w.at.Collection).
		WithFields(graphql.Field{Name: "meta", Fields: []graphql.Field{{Name: "count"}}}).Do(ctx)
	if err == nil && len(response.Errors) > 0 {
		err = &fault.WeaviateClientError{StatusCode: http.StatusUnprocessableEntity, Msg: response.Errors[0].Message}
	}
	if err != nil {
		return 0, w.fail(ctx, w.about("counting"), err)
	}
	rows, _ := dig(response.Data["Aggregate"], w.at.Collection).([]any)
	if len(rows) == 1 {
		if n, ok := dig(rows[0], "meta", "count").(float64); ok {
			return int(n), nil
		}
	}
	return 0, w.fail(ctx, w.about("counting"), &fault.WeaviateClientError{StatusCode: http.StatusOK, Msg: "the server's answer holds no count"})
}

// dig follows names through objects; nil where one is missing.
func dig(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func (w *weaviateTarget) present(ctx context.Context, ids []string) (map[string]bool, error) {
	response, err := graphql.New(w.connection).Get().WithClassName(w.at.Collection).
		WithFields(graphql.Field{Name: "_additional", Fields: []graphql.Field{{Name: "id"}}}).
		WithWhere(filters.Where().WithPath([]string{"id"}).WithOperator(filters.ContainsAny).WithValueText(ids...)).
		WithLimit(len(ids)).Do(ctx)
	if err == nil && len(response.Errors) > 0 {
		err = &fault.WeaviateClientError{StatusCode: http.StatusUnprocessableEntity, Msg: response.Errors[0].Message}
	}
	if err != nil {
		return nil, w.fail(ctx, w.about("reading"), err)
	}
	there := map[string]bool{}
	rows, _ := dig(response.Data["Get"], w.at.Collection).([]any)
	for _, row := range rows {
		if id, ok := dig(row, "_additional", "id").(string); ok {
			there[id] = true
		}
	}
	return there, nil
}

func (w *weaviateTarget) put(ctx context.Context, entries []entry) error {
	objects := make([]*models.Object, len(entries))
	for i, e := range entries {
		o := &models.Object{Class: w.at.Collection, ID: strfmt.UUID(e.id), Properties: e.values}
		switch {
		case e.item.Vector == nil:
		case w.at.Vector == "":
			o.Vector = e.item.Vector
		default:
			o.Vectors = models.Vectors{w.at.Vector: e.item.Vector}
		}
		objects[i] = o
	}
	doing := fmt.Sprintf("writing document %q and the %d after it to collection %q", entries[0].item.ID, len(entries)-1, w.at.Collection)
	answers, err := batch.New(w.connection, nil, nil).ObjectsBatcher().WithObjects(objects...).Do(ctx)
	if err != nil {
		return w.fail(ctx, doing, err)
	}
	if len(answers) != len(entries) { // else one of them would be lost without a word
		return w.fail(ctx, doing, &fault.WeaviateClientError{StatusCode: http.StatusOK, Msg: fmt.Sprintf("the server answered for %d of them", len(answers))})
	}
	for i := range answers {
		result := answers[i].Result
		if result == nil || result.Errors == nil || len(result.Errors.Error) == 0 {
			continue
		}
		doing := fmt.Sprintf("writing document %q to collection %q", entries[i].item.ID, w.at.Collection)
		return w.fail(ctx, doing, &fault.WeaviateClientError{StatusCode: http.StatusUnprocessableEntity, Msg: result.Errors.Error[0].Message})
	}
	return nil
}
