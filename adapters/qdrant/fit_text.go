package qdrant

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// textSample is how many items are looked at for the text field before the server is asked for one that has it.
const textSample = 16

// fitText refuses a text field that no item has, or that holds something else. A collection without items has every field.
func (s *store) fitText(ctx context.Context) error {
	points, err := s.some(ctx, nil)
	if err != nil {
		return err
	}
	sample := s.textsOf(points)
	if len(points) == 0 || sample.texts > 0 {
		return nil
	}
	// A wrong guess of the sample: most items may be of another kind than those that have a text.
	having, err := s.some(ctx, &qdrant.Filter{MustNot: []*qdrant.Condition{qdrant.NewIsEmpty(jsonPath(s.set.Fields.Text))}})
	if status.Code(err) == codes.InvalidArgument {
		return nil // strict mode does not let us look; a scan will say it
	}
	if err != nil {
		return err
	}
	if found := s.textsOf(having); found.texts > 0 {
		return nil
	} else if len(found.others) > 0 {
		sample.others = found.others
	}
	return sample.error("open", s.set.Collection, s.set.Fields.Text)
}

// some returns the first items that a filter admits.
func (s *store) some(ctx context.Context, filter *qdrant.Filter) ([]*qdrant.RetrievedPoint, error) {
	p := s.pages(s.set.Collection, qdrant.NewWithVectors(false), textSample)
	p.filter = filter
	return p.next(ctx)
}

// textFields counts what items hold in the text field.
type textFields struct {
	items  int
	texts  int
	others map[string]int  // kind of value → items
	fields map[string]bool // the payload fields that hold a string
}

func (s *store) textsOf(points []*qdrant.RetrievedPoint) textFields {
	var t textFields
	for _, point := range points {
		t.add(point.GetPayload(), s.set.Fields.Text)
	}
	return t
}

func (t *textFields) add(payload map[string]*qdrant.Value, field string) {
	t.items++
	value := lookup(payload, field)
	if _, ok := value.GetKind().(*qdrant.Value_StringValue); ok {
		t.texts++
		return
	}
	if kind := kindOf(value); kind != "" {
		if t.others == nil {
			t.others = map[string]int{}
		}
		t.others[kind]++
	}
	if t.fields == nil {
		t.fields = map[string]bool{}
	}
	if len(t.fields) < mostNamed { // enough for a message
		stringFields(payload, "", t.fields)
	}
}

// error says that no item has a text.
func (t *textFields) error(op, collection, field string) error {
	instead := "backends.store.fields.text must name another field, and none of those seen holds a string"
	if len(t.fields) > 0 {
		instead = "set backends.store.fields.text to one of the fields that hold a string: " + list(slices.Sorted(maps.Keys(t.fields)))
	}
	if len(t.others) > 0 {
		kind := slices.Sorted(maps.Keys(t.others))[0]
		return invalid(op, "field %q of collection %q holds %s and not a text: %s", field, collection, kind, instead)
	}
	return invalid(op, "no item of collection %q has a field %q: %s", collection, field, instead)
}

// unread says of a complete scan that some items hold something else than a text; "" where none does.
func (t *textFields) unread(field string) string {
	if len(t.others) == 0 {
		return ""
	}
	n := 0
	for _, items := range t.others {
		n += items
	}
	return fmt.Sprintf("%d items hold %s and not a text in the field %q", n, strings.Join(slices.Sorted(maps.Keys(t.others)), " or "), field)
}

// scanned is what a scan says of the texts after its last page.
func (t *textFields) scanned(collection, field string) (unread string, err error) {
	if t.items > 0 && t.texts == 0 {
		return "", t.error("scan", collection, field)
	}
	return t.unread(field), nil
}
