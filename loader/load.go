package loader

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
)

// Job says what is loaded where.
type Job struct {
	Adapter   string          // the adapter of backends.store
	Settings  json.RawMessage // of backends.store
	Dir       string          // what relative paths in the settings are relative to
	Secrets   *adapters.Secrets
	Documents adapters.Documents // nil: the experiment names none
	Embedder  adapters.Embedder  // nil: items get no vector but their document's own
	Texts     int                // in one call of it at the most, so that a call is a request; 0: as many as are written at once
	Timeout   time.Duration      // of one call to the store; 0: none
	Recreate  bool               // delete what an earlier load has made, and load anew
	Progress  func(done, total int)

	dial []grpc.DialOption // of tests
}

// Action is what a load did to the collection.
type Action string

// The actions.
const (
	Created   Action = "created"
	Continued Action = "continued" // an earlier load was cut short
	Recreated Action = "recreated"
	Unchanged Action = "unchanged" // it holds what would have been loaded
	Unneeded  Action = "unneeded"  // the store fills itself, so that there is nothing to load
)

// Report says what a load did. Dimensions is 0 where no item has a vector.
type Report struct {
	Adapter    string `json:"adapter"`
	Address    string `json:"address,omitempty"`
	Collection string `json:"collection,omitempty"`
	Action     Action `json:"action"`
	Items      int    `json:"items"`   // that the collection holds
	Written    int    `json:"written"` // by this load
	EmbedModel string `json:"embed_model,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"`
	Documents  string `json:"documents,omitempty"` // digest of the corpus
	Truncated  int    `json:"truncated,omitempty"` // texts that the embedder did not read to their end
}

// Refusal says why nothing was written, and what can be done about it.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// target is a store that can be written, with one collection of it. Its errors are *adapters.Error.
type target interface {
	// find returns the mark of the collection. The collection is not there, or it has no mark of ours, or it has one.
	find(ctx context.Context) (found, error)
	// create makes the collection, its indexes among it, with a mark.
	create(ctx context.Context, m mark, s survey) error
	// remark replaces the mark.
	remark(ctx context.Context, m mark) error
	drop(ctx context.Context) error
	count(ctx context.Context) (int, error)
	// present tells which of these ids the collection holds.
	present(ctx context.Context, ids []string) (map[string]bool, error)
	put(ctx context.Context, batch []entry) error
	close() error
}

// found is what stands under the collection's name.
type found struct {
	exists bool
	mark   *mark // nil: no load made it
}

// batches are small enough for every server's limit of a message, and large enough that the way there costs little.
const (
	batchItems = 128
	batchBytes = 1 << 20
)

// Load fills the collection that the settings name. After an error the collection is as it was, or marked as unfinished.
func Load(ctx context.Context, job Job) (_ Report, err error) {
	if job.Adapter == "embedded" {
		return Report{Adapter: job.Adapter, Action: Unneeded}, nil
	}
	if job.Documents == nil {
		return Report{}, refuse("backends.store.documents is missing: name the files that the collection is filled from")
	}
	at, err := readSettings(job)
	if err != nil {
		return Report{}, adapters.NewError(job.Adapter, "load", adapters.KindInvalid, err)
	}
	s, err := newSurvey(ctx, job, at)
	if err != nil {
		return Report{}, err
	}
	t, err := open(job, at)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	l := &load{job: job, at: at, survey: s, target: t, report: Report{
		Adapter: job.Adapter, Address: at.Address, Collection: at.Collection, Items: s.Items,
		EmbedModel: s.Embedder.Model, Dimensions: s.Embedder.Dimensions, Documents: s.Documents,
	}}
	err = l.run(ctx)
	return l.report, err
}

// open returns the target of an adapter.
func open(job Job, at *settings) (target, error) {
	switch job.Adapter {
	case "qdrant":
		return openQdrant(at, job.Timeout, job.dial...)
	case "weaviate":
		return openWeaviate(at, job.Timeout)
	}
	return nil, refuse("backends.store.adapter %q has no loader: it can be qdrant or weaviate", job.Adapter)
}

// load is one load under way.
type load struct {
	job    Job
	at     *settings
	survey survey
	target target
	report Report
}

func (l *load) run(ctx context.Context) error {
	want := newMark(l.at, l.survey)
	there, err := l.target.find(ctx)
	if err != nil {
		return err
	}
	switch l.report.Action, err = l.decide(ctx, there, want); {
	case err != nil || l.report.Action == Unchanged:
		return err
	case l.report.Action == Recreated:
		if err := l.target.drop(ctx); err != nil {
			return err
		}
	}
	want.State = stateLoading
	if l.report.Action != Continued {
		if err := l.target.create(ctx, want, l.survey); err != nil {
			return err
		}
	}
	if err := l.fill(ctx); err != nil {
		return err
	}
	n, err := l.target.count(ctx)
	if err != nil {
		return err
	}
	if n != l.survey.Items {
		return refuse("collection %q holds %d items after a load of %d: something else writes to it. Stop that, and load again with --recreate", l.at.Collection, n, l.survey.Items)
	}
	want.State = stateComplete
	return l.target.remark(ctx, want)
}

// decide says what is to be done with what stands under the collection's name.
func (l *load) decide(ctx context.Context, there found, want mark) (Action, error) {
	name := l.at.Collection
	switch {
	case !there.exists:
		return Created, nil
	case there.mark == nil:
		return "", refuse("collection %q was not made by culprit load, and is neither written nor deleted: choose another backends.store.collection", name)
	case there.mark.Collection != "" && there.mark.Collection != name:
		return "", refuse("collection %q is another name of %q: load into backends.store.collection: %s", name, there.mark.Collection, there.mark.Collection)
	}
	if l.job.Recreate {
		return Recreated, nil
	}
	differs := there.mark.differences(want)
	if len(differs) == 0 && there.mark.State == stateComplete {
		n, err := l.target.count(ctx)
		if err != nil {
			return "", err
		}
		if n == l.survey.Items {
			return Unchanged, nil
		}
		differs = []string{fmt.Sprintf("it was filled with %d items and now holds %d", l.survey.Items, n)}
	}
	if len(differs) == 0 {
		return Continued, nil
	}
	state := "holds an earlier load"
	if there.mark.State != stateComplete {
		state = "holds an earlier load that was cut short"
	}
	return "", refuse("collection %q %s, and it differs: %s. Nothing was written; to delete it and load again, add --recreate", name, state, joined(differs))
}

// fill writes every item that is not there yet.
func (l *load) fill(ctx context.Context) error {
	var batch []entry
	size, done := 0, 0
	flush := func() error {
		if err := l.write(ctx, batch); err != nil {
			return err
		}
		done += len(batch)
		if l.job.Progress != nil {
			l.job.Progress(done, l.survey.Items)
		}
		batch, size = batch[:0], 0
		return nil
	}
	for item, err := range l.job.Documents.Items(ctx) {
		if err != nil {
			return err
		}
		batch = append(batch, l.survey.entry(item))
		if size += len(item.Text); len(batch) >= batchItems || size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return flush()
}

// write embeds and stores a batch. What an earlier load has stored is left out, so that no text is embedded twice.
func (l *load) write(ctx context.Context, batch []entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.report.Action == Continued {
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = batch[i].id
		}
		there, err := l.target.present(ctx, ids)
		if err != nil {
			return err
		}
		batch = slices.DeleteFunc(slices.Clone(batch), func(e entry) bool { return there[e.id] })
	}
	if len(batch) == 0 {
		return nil
	}
	if err := l.embed(ctx, batch); err != nil {
		return err
	}
	if err := l.target.put(ctx, batch); err != nil {
		return err
	}
	l.report.Written += len(batch)
	return nil
}

// embed makes the vectors of the documents that bring none.
func (l *load) embed(ctx context.Context, batch []entry) error {
	if l.job.Embedder == nil {
		return nil
	}
	var texts []string
	var which []int
	for i := range batch {
		if batch[i].item.Vector == nil {
			texts, which = append(texts, batch[i].item.Text), append(which, i)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	var vectors [][]float32
	for some := range slices.Chunk(texts, cmp.Or(l.job.Texts, len(texts))) {
		response, err := l.job.Embedder.Embed(ctx, adapters.EmbedRequest{Texts: some, Purpose: adapters.ForPassage})
		if err != nil {
			return fmt.Errorf("embedding document %q and those after it: %w", batch[which[len(vectors)]].item.ID, err)
		}
		if len(response.Vectors) != len(some) {
			return fmt.Errorf("the embedder returned %d vectors for %d texts", len(response.Vectors), len(some))
		}
		l.report.Truncated += len(response.Truncated)
		vectors = append(vectors, response.Vectors...)
	}
	for k, i := range which {
		v := vectors[k]
		if len(v) != l.survey.Embedder.Dimensions {
			return fmt.Errorf("the embedder returned a vector of %d dimensions for document %q, and the collection has %d", len(v), batch[i].item.ID, l.survey.Embedder.Dimensions)
		}
		batch[i].item.Vector = v
	}
	return nil
}
