package matrix

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// canonicalPlain appends v's canonical bytes to b, if they follow without encoding/json: from structs, maps, slices, pointers, valid
// strings, booleans and integers that can be kept, and from what writes itself. ok is false where they do not, and encoding/json is to say
// what v is or what is wrong with it. FuzzCanonicalPlain and TestCanonicalPlain hold the two against each other. Members are written in
// their order at once, where the output of encoding/json is to be read and sorted.
func canonicalPlain(b []byte, v any) (_ []byte, ok bool) {
	e := plainEncoder{out: b}
	if value := reflect.ValueOf(v); value.IsValid() {
		e.value(value, encoderOf(value.Type()))
		return e.out, !e.bad
	}
	return b, false
}

type plainEncoder struct {
	out   []byte
	depth int
	bad   bool
}

// encoder says how a type is written.
type encoder struct {
	kind   reflect.Kind // Invalid: it writes itself, or is left to encoding/json
	custom bool         // it writes itself, as JSON
	text   bool         // it writes itself, as text
	ref    bool         // it is a Text
	fields []fieldEncoder
	elem   *encoder
}

type fieldEncoder struct {
	head      string // comma, key and colon
	path      []int  // through structures that are embedded
	omitEmpty bool
	omitZero  bool
	*encoder
}

var (
	encoders       sync.Map // by reflect.Type
	makingEncoders sync.Mutex
)

func encoderOf(t reflect.Type) *encoder {
	if e, ok := encoders.Load(t); ok {
		return e.(*encoder)
	}
	makingEncoders.Lock()
	defer makingEncoders.Unlock()
	made := map[reflect.Type]*encoder{}
	e := makeEncoder(t, made)
	for t, e := range made { // all of them are whole now
		encoders.Store(t, e)
	}
	return e
}

func makeEncoder(t reflect.Type, made map[reflect.Type]*encoder) *encoder {
	if e, ok := made[t]; ok {
		return e
	}
	e := &encoder{kind: t.Kind()}
	made[t] = e
	asJSON, asText := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	switch own := reflect.PointerTo(t); {
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface: // what it points to may write itself
	case t == reflect.TypeFor[Text]():
		e.kind, e.ref = reflect.Invalid, true
		return e
	case t.Implements(asJSON):
		e.kind, e.custom = reflect.Invalid, true
		return e
	case own.Implements(asJSON):
		e.kind = reflect.Invalid
	case t.Implements(asText):
		e.kind, e.text = reflect.Invalid, true
		return e
	case own.Implements(asText), t == reflect.TypeFor[json.Number]():
		e.kind = reflect.Invalid
	}
	switch e.kind {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.String, reflect.Interface:
	case reflect.Pointer, reflect.Array:
		e.elem = makeEncoder(t.Elem(), made)
	case reflect.Slice:
		if e.elem = makeEncoder(t.Elem(), made); t.Elem().Kind() == reflect.Uint8 {
			e.kind = reflect.Invalid // base64
		}
	case reflect.Map:
		e.elem = makeEncoder(t.Elem(), made)
		if t.Key().Kind() != reflect.String || t.Key().Implements(asText) {
			e.kind = reflect.Invalid
		}
	case reflect.Struct:
		e.structure(t, nil, made)
		// The quotation mark at the end is before all that may stand in a name.
		slices.SortFunc(e.fields, func(a, b fieldEncoder) int { return strings.Compare(a.head, b.head) })
	default:
		e.kind = reflect.Invalid
	}
	return e
}

// structure adds the fields of a structure that stands at a path.
func (e *encoder) structure(t reflect.Type, at []int, made map[reflect.Type]*encoder) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := append(slices.Clone(at), i)
		if f.Anonymous {
			if f.Type.Kind() != reflect.Struct || f.Tag.Get("json") != "" {
				e.kind = reflect.Invalid
				return
			}
			e.structure(f.Type, path, made)
			continue
		}
		if !f.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		field := fieldEncoder{head: `,"` + name + `":`, path: path, encoder: makeEncoder(f.Type, made)}
		other := func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}
		again := slices.ContainsFunc(e.fields, func(f fieldEncoder) bool { return f.head == field.head })
		if strings.ContainsFunc(name, other) || again {
			e.kind = reflect.Invalid
			return
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "omitempty":
				field.omitEmpty = true
			case "omitzero":
				field.omitZero = true
				zeroer := reflect.TypeFor[interface{ IsZero() bool }]()
				if !field.ref && (f.Type.Implements(zeroer) || reflect.PointerTo(f.Type).Implements(zeroer)) {
					e.kind = reflect.Invalid
					return
				}
			default:
				e.kind = reflect.Invalid
				return
			}
		}
		e.fields = append(e.fields, field)
	}
}

func (e *plainEncoder) value(v reflect.Value, as *encoder) {
	const deepest = 100 // what refers to itself ends nowhere
	if e.depth++; e.bad || e.depth > deepest {
		e.bad = true
		return
	}
	e.present(v, as)
	e.depth--
}

func (e *plainEncoder) present(v reflect.Value, as *encoder) {
	switch {
	case as.ref:
		e.string(v.Field(0).String())
		return
	case as.custom:
		e.bad = canonicalAny(v.Interface(), func(data []byte) { e.out = append(e.out, data...) }) != nil
		return
	case as.text:
		says, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		e.bad = err != nil
		e.string(string(says))
		return
	}
	switch as.kind {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			e.out = append(e.out, "null"...)
			return
		}
	}
	switch as.kind {
	case reflect.Pointer:
		e.value(v.Elem(), as.elem)
	case reflect.Interface:
		e.value(v.Elem(), encoderOf(v.Elem().Type()))
	case reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case reflect.Int, reflect.Int64:
		e.integer(v.Int())
	case reflect.String:
		e.string(v.String())
	case reflect.Slice, reflect.Array:
		e.out = append(e.out, '[')
		for i := range v.Len() {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			e.value(v.Index(i), as.elem)
		}
		e.out = append(e.out, ']')
	case reflect.Map:
		e.mapping(v, as)
	case reflect.Struct:
		e.structure(v, as)
	default:
		e.bad = true
	}
}

func (e *plainEncoder) structure(v reflect.Value, as *encoder) {
	begin := len(e.out)
	for i := range as.fields {
		f := &as.fields[i]
		value := v.Field(f.path[0])
		for _, i := range f.path[1:] {
			value = value.Field(i)
		}
		switch f.kind { // of what is most often there, nothing but the value is asked
		case reflect.String:
			if says := value.String(); says != "" || !f.omitEmpty && !f.omitZero {
				e.out = append(e.out, f.head...)
				e.string(says)
			}
		case reflect.Bool:
			if is := value.Bool(); is || !f.omitEmpty && !f.omitZero {
				e.out = strconv.AppendBool(append(e.out, f.head...), is)
			}
		case reflect.Int, reflect.Int64:
			if n := value.Int(); n != 0 || !f.omitEmpty && !f.omitZero {
				e.out = append(e.out, f.head...)
				e.integer(n)
			}
		default:
			if f.omitEmpty && isEmpty(value) || f.omitZero && (f.ref && value.Field(0).Len() == 0 || !f.ref && value.IsZero()) {
				continue
			}
			e.out = append(e.out, f.head...)
			e.value(value, f.encoder)
		}
	}
	e.braces(begin)
}

func (e *plainEncoder) mapping(v reflect.Value, as *encoder) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareUTF16([]byte(a.String()), []byte(b.String())) })
	begin := len(e.out)
	for _, key := range keys {
		e.out = append(e.out, ',')
		e.string(key.String())
		e.out = append(e.out, ':')
		e.value(v.MapIndex(key), as.elem)
	}
	e.braces(begin)
}

// braces puts what was written from begin on, with a comma before each member, between braces.
func (e *plainEncoder) braces(begin int) {
	if len(e.out) == begin {
		e.out = append(e.out, '{')
	}
	e.out[begin] = '{'
	e.out = append(e.out, '}')
}

func (e *plainEncoder) integer(n int64) {
	e.bad = e.bad || n > maxSafeInteger || n < -maxSafeInteger
	e.out = strconv.AppendInt(e.out, n, 10)
}

func (e *plainEncoder) string(s string) {
	if !e.bad {
		var err error
		e.out, err = appendString(e.out, s)
		e.bad = err != nil
	}
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Interface, reflect.Pointer:
		return v.IsZero()
	}
	return false
}
