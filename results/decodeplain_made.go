package results

import (
	"encoding"
	"encoding/json"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// decoder says how a type is read.
type decoder struct {
	kind   reflect.Kind // Invalid: left to encoding/json
	custom bool         // it reads itself, as JSON
	text   bool         // it reads itself, as text
	fields map[string]*fieldDecoder
	order  []*fieldDecoder // as they stand in the structure
	sorted []*fieldDecoder // by their names
	elem   *decoder
}

type fieldDecoder struct {
	name string
	head string // with quotation marks and a colon
	path []int  // through structures that are embedded
	n    int    // its place in order
	at   int    // and in sorted
	bare bool   // a string, and does not read itself
	*decoder
}

// shares reports whether what a field holds may be shared with another structure that holds the same.
func (f *fieldDecoder) shares() bool {
	return (f.kind == reflect.Slice || f.kind == reflect.Struct) && !f.custom && !f.text
}

var (
	decoders       sync.Map // by reflect.Type
	makingDecoders sync.Mutex
)

func decoderOf(t reflect.Type) *decoder {
	if d, ok := decoders.Load(t); ok {
		return d.(*decoder)
	}
	makingDecoders.Lock()
	defer makingDecoders.Unlock()
	made := map[reflect.Type]*decoder{}
	d := makeDecoder(t, made)
	for t, d := range made { // all of them are whole now
		decoders.Store(t, d)
	}
	return d
}

func makeDecoder(t reflect.Type, made map[reflect.Type]*decoder) *decoder {
	if d, ok := made[t]; ok {
		return d
	}
	d := &decoder{kind: t.Kind()}
	made[t] = d
	switch own := reflect.PointerTo(t); {
	case t.Kind() == reflect.Pointer: // what it points to may read itself
		d.elem = makeDecoder(t.Elem(), made)
		return d
	case own.Implements(reflect.TypeFor[json.Unmarshaler]()):
		d.custom = true
		return d
	case own.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.text = true
		return d
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.String:
	case reflect.Array:
		d.elem = makeDecoder(t.Elem(), made)
	case reflect.Slice:
		if d.elem = makeDecoder(t.Elem(), made); t.Elem().Kind() == reflect.Uint8 {
			d.kind = reflect.Invalid // base64
		}
	case reflect.Map:
		d.elem = makeDecoder(t.Elem(), made)
		if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			d.kind = reflect.Invalid
		}
	case reflect.Struct:
		d.fields = map[string]*fieldDecoder{}
		d.structure(t, nil, made)
		d.sorted = slices.SortedFunc(slices.Values(d.order), func(a, b *fieldDecoder) int { return strings.Compare(a.name, b.name) })
		for at, field := range d.sorted {
			field.at = at
		}
	default:
		d.kind = reflect.Invalid
	}
	return d
}

// structure adds the fields of a structure that stands at a path.
func (d *decoder) structure(t reflect.Type, at []int, made map[reflect.Type]*decoder) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := append(slices.Clone(at), i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == "":
			d.structure(f.Type, path, made)
			continue
		case f.Anonymous || strings.Contains(options, "string"):
			d.kind = reflect.Invalid
			return
		case !f.IsExported() || name == "-" && options == "":
			continue
		case name == "":
			name = f.Name
		}
		if d.fields[name] != nil || len(d.order) == bits.UintSize {
			d.kind = reflect.Invalid
			return
		}
		field := &fieldDecoder{name: name, head: `"` + name + `":`, path: path, n: len(d.order), decoder: makeDecoder(f.Type, made)}
		field.bare = field.kind == reflect.String && !field.custom && !field.text
		d.fields[name], d.order = field, append(d.order, field)
	}
}
