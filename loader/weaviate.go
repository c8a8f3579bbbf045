package loader

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/weaviate/weaviate-go-client/v4/weaviate"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/filters"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/graphql"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
)

// weaviateTarget is a class of a Weaviate server, written over REST.
type weaviateTarget struct {
	at        *settings
	client    *weaviate.Client
	transport *http.Transport
}

var weaviateClass = regexp.MustCompile(`^[A-Z][_0-9A-Za-z]{0,254}$`)

func openWeaviate(at *settings, timeout time.Duration) (target, error) {
	invalid := func(err error) error { return adapters.NewError("weaviate", "load", adapters.KindInvalid, err) }
	if !weaviateClass.MatchString(at.Collection) {
		return nil, invalid(fmt.Errorf("backends.store.collection %q is no name of a collection in Weaviate: a capital letter, then letters, digits and _", at.Collection))
	}
	if _, _, err := at.hostPort(); err != nil {
		return nil, invalid(err)
	}
	w := &weaviateTarget{at: at, transport: &http.Transport{TLSClientConfig: at.tls, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}}
	config := weaviate.Config{Host: at.Address, Scheme: "http", ConnectionClient: &http.Client{Transport: w.transport, Timeout: timeout}}
	if at.tls != nil {
		config.Scheme = "https"
	}
	if at.key != "" {
		config.Headers = map[string]string{"Authorization": "Bearer " + at.key}
	}
	var err error
	if w.client, err = weaviate.NewClient(config); err != nil {
		return nil, invalid(err)
	}
	return w, nil
}

func (w *weaviateTarget) close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// cause returns the innermost error of the client, whose own type hides it from errors.Is, and the last HTTP status.
func cause(err error) (error, int) {
	code := 0
	var e *fault.WeaviateClientError
	for errors.As(err, &e) {
		if e.StatusCode > 0 {
			code = e.StatusCode
		}
		if e.DerivedFromError == nil {
			return errors.New(e.Msg), code
		}
		err = e.DerivedFromError
	}
	return err, code
}

// fail says what an error of the server means for who has written the experiment.
func (w *weaviateTarget) fail(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	err, code := cause(err)
	kind, hint := adapters.KindPermanent, ""
	var header tls.RecordHeaderError
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		kind, hint = adapters.KindTimeout, fmt.Sprintf(": no answer in time from backends.store.address %s; raise limits.timeout, and load again to go on", w.at.Address)
	case errors.As(err, &header):
		hint = ": the server at backends.store.address speaks no TLS; set backends.store.tls: false"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind = adapters.KindUnauthorised
		hint = ": the key of backends.store.api_key_env (or api_key_file) is missing, wrong, or may not write"
	case code == http.StatusTooManyRequests:
		kind = adapters.KindRateLimited
	case code == http.StatusUnprocessableEntity:
		kind = adapters.KindInvalid
	case code == 0:
		kind = adapters.KindTransient
		hint = fmt.Sprintf(": no Weaviate answers at backends.store.address %s; its HTTP port is 8080 unless it was changed, and backends.store.tls must be as the server is", w.at.Address)
	}
	return adapters.NewError("weaviate", "load", kind, fmt.Errorf("%s%s: %w", doing, hint, err))
}

func (w *weaviateTarget) about(doing string) string {
	return fmt.Sprintf("%s collection %q", doing, w.at.Collection)
}

// describes begins the description of a class that a load has made; the mark follows.
const describes = "Filled by culprit load: "

func description(m mark) string { return describes + m.text() }

func (w *weaviateTarget) find(ctx context.Context) (found, error) {
	meta, err := w.client.Misc().MetaGetter().Do(ctx)
	if err != nil {
		return found{}, w.fail(ctx, "asking the server what it is", err)
	}
	if meta.Version == "" {
		return found{}, w.fail(ctx, "asking the server what it is", errors.New("it told no version"))
	}
	class, err := w.client.Schema().ClassGetter().WithClassName(w.at.Collection).Do(ctx)
	if _, code := cause(err); err != nil && code == http.StatusNotFound {
		return found{}, nil
	}
	if err != nil {
		return found{}, w.fail(ctx, w.about("looking for"), err)
	}
	f := found{exists: true}
	if text, ours := strings.CutPrefix(class.Description, describes); ours {
		f.mark = readMark(text)
	}
	return f, nil
}

func (w *weaviateTarget) create(ctx context.Context, m mark, s survey) error {
	err := w.client.Schema().ClassCreator().WithClass(class(w.at, m, s)).Do(ctx)
	return w.fail(ctx, w.about("making"), err)
}

func (w *weaviateTarget) remark(ctx context.Context, m mark) error {
	class, err := w.client.Schema().ClassGetter().WithClassName(w.at.Collection).Do(ctx)
	if err != nil {
		return w.fail(ctx, w.about("looking at"), err)
	}
	class.Description = description(m)
	return w.fail(ctx, w.about("marking"), w.client.Schema().ClassUpdater().WithClass(class).Do(ctx))
}

func (w *weaviateTarget) drop(ctx context.Context) error {
	return w.fail(ctx, w.about("deleting"), w.client.Schema().ClassDeleter().WithClassName(w.at.Collection).Do(ctx))
}

func (w *weaviateTarget) count(ctx context.Context) (int, error) {
	response, err := w.client.GraphQL().Aggregate().WithClassName(w.at.Collection).
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
	response, err := w.client.GraphQL().Get().WithClassName(w.at.Collection).
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

func (w *weaviateTarget) put(ctx context.Context, batch []entry) error {
	objects := make([]*models.Object, len(batch))
	for i, e := range batch {
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
	doing := fmt.Sprintf("writing document %q and the %d after it to collection %q", batch[0].item.ID, len(batch)-1, w.at.Collection)
	answers, err := w.client.Batch().ObjectsBatcher().WithObjects(objects...).Do(ctx)
	if err != nil {
		return w.fail(ctx, doing, err)
	}
	if len(answers) != len(batch) { // else one of them would be lost without a word
		return w.fail(ctx, doing, &fault.WeaviateClientError{StatusCode: http.StatusOK, Msg: fmt.Sprintf("the server answered for %d of them", len(answers))})
	}
	for i := range answers {
		result := answers[i].Result
		if result == nil || result.Errors == nil || len(result.Errors.Error) == 0 {
			continue
		}
		doing := fmt.Sprintf("writing document %q to collection %q", batch[i].item.ID, w.at.Collection)
		return w.fail(ctx, doing, &fault.WeaviateClientError{StatusCode: http.StatusUnprocessableEntity, Msg: result.Errors.Error[0].Message})
	}
	return nil
}
