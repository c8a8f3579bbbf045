package loader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/culprit-rag/culprit/adapters"
)

func TestLoadWritesTheDocuments(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		docs := corpus(300)
		when := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		docs[0].IndexedAt, docs[0].UpdatedAt, docs[0].EmbedModel = when, when.Add(-time.Hour), "other"
		docs[1].Access = nil
		job := s.job(t, docs)
		job.Texts = 50
		calls := &callSizes{Embedder: job.Embedder}
		job.Embedder = calls
		var seen []int
		job.Progress = func(done, total int) { seen = append(seen, done, total) }
		r := mustLoad(t, job)
		digest, _ := docs.Digest(t.Context())
		want := Report{
			Adapter: s.adapter, Address: s.address, Collection: s.collection, Action: Created, Items: 300, Written: 300,
			EmbedModel: "hashing", Dimensions: 64, Documents: digest,
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{128, 300, 256, 300, 300, 300}, seen); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{50, 50, 28, 50, 50, 28, 44}, calls.texts[len(calls.texts)-7:]); diff != "" {
			t.Errorf("texts of each call (-want +got):\n%s", diff)
		}
		got := contents(t, s)
		if len(got) != 300 {
			t.Fatalf("the collection holds %d items", len(got))
		}
		for i, doc := range docs {
			item := got[doc.ID]
			if id, err := uuid.Parse(item.id); err != nil || id.Version() != 5 || item.id != itemID(doc.ID) {
				t.Fatalf("document %q has the id %q, want %q", doc.ID, item.id, itemID(doc.ID))
			}
			fields := map[string][]string{
				documentField: {doc.ID}, "body": {doc.Text}, "doc": {"guide.md"}, "rev": {"2026-07-01"}, "groups": {"staff", "board"}, "model": {"hashing"},
				"tenant": doc.Metadata["tenant"], "tags": doc.Metadata["tags"],
			}
			switch i {
			case 0:
				fields["indexed"], fields["updated"], fields["model"] = []string{"2026-07-01T12:00:00Z"}, []string{"2026-07-01T11:00:00Z"}, []string{"other"}
			case 1:
				delete(fields, "groups")
			}
			if diff := cmp.Diff(fields, item.fields); diff != "" {
				t.Fatalf("fields of %q (-want +got):\n%s", doc.ID, diff)
			}
			checkVector(t, job.Embedder, doc.Text, item.vector)
		}
	})
}

// callSizes tells how many texts each call of an embedder had.
type callSizes struct {
	adapters.Embedder
	texts []int
}

func (c *callSizes) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	c.texts = append(c.texts, len(req.Texts))
	return c.Embedder.Embed(ctx, req)
}

// checkVector holds a stored vector against the embedding of the text as a passage.
func checkVector(t *testing.T, e adapters.Embedder, text string, got []float32) {
	t.Helper()
	r, err := e.Embed(t.Context(), adapters.EmbedRequest{Texts: []string{text}, Purpose: adapters.ForPassage})
	if err != nil {
		t.Fatal(err)
	}
	dot := 0.0
	for i, v := range r.Vectors[0] {
		if i < len(got) {
			dot += float64(v) * float64(got[i])
		}
	}
	if math.Abs(dot-1) > 1e-5 {
		t.Fatalf("the stored vector of %q has a cosine of %.6f with its embedding as a passage", text, dot)
	}
}

func TestLoadAgain(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		mustLoad(t, s.job(t, corpus(10)))
		if r := mustLoad(t, s.job(t, corpus(10))); r.Action != Unchanged || r.Written != 0 {
			t.Errorf("the same again: %+v", r)
		}
		wantError(t, s.job(t, corpus(9)), "refused", fmt.Sprintf("%q", s.collection), "the documents are others (10 items there, 9 now)", "--recreate", "Nothing was written")
		if n := len(contents(t, s)); n != 10 {
			t.Errorf("after a refusal the collection holds %d items", n)
		}
		changed := s.job(t, corpus(10))
		changed.Embedder = openEmbedder(t, `{"model": "hashing-2", "dimensions": 32}`)
		wantError(t, changed, "refused", "the embedding model: hashing there, hashing-2 now", "the dimensions: 64 there, 32 now",
			`the passage prefix: "passage: " there, "" now`, `the query prefix: "query: " there, "" now`, "--recreate")
		wantError(t, s.job(t, corpus(10), map[string]any{"fields": map[string]string{"text": "content"}}), "refused", "the names of fields")
		changed.Recreate = true
		if r := mustLoad(t, changed); r.Action != Recreated || r.Written != 10 || r.Dimensions != 32 {
			t.Errorf("recreated: %+v", r)
		}
		for id, item := range contents(t, s) {
			if len(item.vector) != 32 {
				t.Errorf("%s has a vector of %d dimensions", id, len(item.vector))
			}
		}
	})
}

func TestLoadIsTakenUp(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		interrupted := s.job(t, corpus(300))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		interrupted.Progress = func(done, _ int) {
			if done >= 256 {
				cancel()
			}
		}
		r, err := Load(ctx, interrupted)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the interrupted load returned %v", err)
		}
		if r.Action != Created || r.Written != 256 || len(contents(t, s)) != 256 {
			t.Errorf("interrupted: %+v, and %d items are there", r, len(contents(t, s)))
		}
		wantError(t, s.job(t, corpus(299)), "refused", "was cut short", "the documents are others (300 items there, 299 now)", "--recreate")
		if r := mustLoad(t, s.job(t, corpus(300))); r.Action != Continued || r.Written != 44 {
			t.Errorf("taken up: %+v", r)
		}
		if n := len(contents(t, s)); n != 300 {
			t.Errorf("the collection holds %d items", n)
		}
		if r := mustLoad(t, s.job(t, corpus(300))); r.Action != Unchanged {
			t.Errorf("after it was taken up: %+v", r)
		}
	})
}

func TestLoadWithoutEmbedderOfNamedVectors(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		docs := corpus(2)
		docs[0].Vector, docs[1].Vector = []float32{1, 0, 0}, []float32{0, 1, 0}
		job := s.job(t, docs, map[string]any{"vector": "dense"})
		job.Embedder = nil
		if r := mustLoad(t, job); r.Dimensions != 3 || r.EmbedModel != "" || r.Written != 2 {
			t.Errorf("%+v", r)
		}
		for id, item := range contents(t, s) {
			if model := item.fields["model"]; model != nil {
				t.Errorf("%s says that %q made its vector, and nobody has said so", id, model)
			}
		}
	})
}

func TestLoadOfAStoreThatFillsItself(t *testing.T) {
	r, err := Load(t.Context(), Job{Adapter: "embedded"})
	if diff := cmp.Diff(Report{Adapter: "embedded", Action: Unneeded}, r); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
