package results

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// decodePlain reads one JSON value into what into points to, if the value is plain: with the keys that are written here, each once, and
// nothing where encoding/json does anything but take the value as it is. It reports whether it was; if not, into is as before, and
// encoding/json is to say what it makes of it. What is plain, encoding/json reads to the same, strictly or not: FuzzDecodePlain holds the
// two against each other. It goes over the bytes once, where encoding/json does so two or three times.
func decodePlain(data []byte, into any) bool {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || !v.Elem().IsZero() {
		return false
	}
	d := plainDecoder{text: string(data), simple: isSimple(bytes.TrimSuffix(data, []byte{'\n'}))}
	_, d.share = into.(*verdict.Features) // repetitions say the same
	return d.whole(v.Elem(), decoderOf(v.Type().Elem()))
}

// whole reads the text as one value.
func (d *plainDecoder) whole(v reflect.Value, as *decoder) bool {
	if d.value(v, as); !d.bad {
		d.space()
	}
	if d.bad || d.at < len(d.text) {
		v.SetZero()
		return false
	}
	return true
}

// lineDecoder reads the lines of a file, each as decodePlain does it. Where a line has a list or an object that is written as that of the
// same name was in the line before, as repetitions have their context and their prompt, both share what it holds.
type lineDecoder struct {
	as     *decoder
	before []written // by the place of the field
}

// written is a list or an object as it is written, "" for none, and as it was read.
type written struct {
	text string
	as   reflect.Value
}

func newLineDecoder(t reflect.Type) *lineDecoder {
	as := decoderOf(t)
	return &lineDecoder{as: as, before: make([]written, len(as.order))}
}

// decode reads a line; text is what it says.
func (l *lineDecoder) decode(line []byte, text string, into reflect.Value) bool {
	d := plainDecoder{text: text, simple: isSimple(line), before: l.before}
	if d.whole(into, l.as) {
		return true
	}
	clear(l.before) // what it read is no more
	return false
}

// plainDecoder is where it stands in a text. Strings are parts of the text, which is copied once for all of them.
type plainDecoder struct {
	text  string
	at    int
	depth int
	bad   bool

	simple bool // see isSimple
	bySort bool // the keys that were met last stand in the order of their names
	share  bool // the members of a list share what is written alike in one and the next

	before []written // what the next structure may share, by the place of the field; nil: nothing
}

func (d *plainDecoder) value(v reflect.Value, as *decoder) {
	const deepest = 100
	if d.depth++; d.depth > deepest {
		d.bad = true
		return
	}
	d.space()
	switch {
	case d.bad || d.at == len(d.text):
		d.bad = true
	case d.text[d.at] == 'n':
		d.null(as)
	default:
		d.present(v, as)
	}
	d.depth--
}

// present reads a value that is not null, and does not begin with white space.
func (d *plainDecoder) present(v reflect.Value, as *decoder) {
	switch {
	case as.custom:
		from := d.at
		if d.skip(); !d.bad {
			own := []byte(d.text[from:d.at])
			if raw, ok := v.Addr().Interface().(*json.RawMessage); ok {
				*raw = own
				return
			}
			d.bad = v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(own) != nil
		}
		return
	case as.text:
		says := d.str()
		if text, ok := v.Addr().Interface().(*matrix.Text); ok {
			*text = matrix.TextAt(says)
		} else if !d.bad {
			d.bad = v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(says)) != nil
		}
		return
	}
	switch as.kind {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(v.Elem(), as.elem)
	case reflect.String:
		v.SetString(d.str())
	case reflect.Bool:
		v.SetBool(d.boolean())
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(d.number(), 10, v.Type().Bits())
		d.bad = d.bad || err != nil
		v.SetInt(n)
	case reflect.Array:
		d.array(v, as)
	case reflect.Slice:
		d.slice(v, as)
	case reflect.Map:
		d.mapping(v, as)
	case reflect.Struct:
		d.structure(v, as)
	default:
		d.bad = true
	}
}

// null leaves zero what can be nil.
func (d *plainDecoder) null(as *decoder) {
	d.word("null")
	d.bad = d.bad || as.custom || as.text || as.kind != reflect.Pointer && as.kind != reflect.Slice && as.kind != reflect.Map
}

func (d *plainDecoder) slice(v reflect.Value, as *decoder) {
	if d.expect('['); d.bad {
		return
	}
	var before []written
	from := d.at
	for n := 0; !d.closed(']', n); n++ {
		if n == v.Cap() {
			v.Grow(more(n, d.at-from, len(d.text)-d.at))
		}
		v.SetLen(n + 1)
		if d.share && n == 1 && as.elem.kind == reflect.Struct {
			before = make([]written, len(as.elem.order))
		}
		d.before = before
		d.value(v.Index(n), as.elem)
	}
	d.before = nil
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
}

// more is for how many members room is made, behind n that took so many bytes of a text of which so many are left: for seven times as
// many, but not for more than the rest of the text can hold of such.
func more(n, took, left int) int {
	const several = 4
	switch {
	case n == 0:
		return 1
	case n < several:
		return several - n
	}
	return min(7*n, 1+left/(took/n))
}

// array reads as many members as there are; what encoding/json makes of more or fewer is left to it.
func (d *plainDecoder) array(v reflect.Value, as *decoder) {
	if d.expect('['); d.bad {
		return
	}
	n := 0
	for ; !d.closed(']', n) && n < v.Len(); n++ {
		d.value(v.Index(n), as.elem)
	}
	d.bad = d.bad || n < v.Len() || d.text[d.at-1] != ']'
}

func (d *plainDecoder) mapping(v reflect.Value, as *decoder) {
	if d.expect('{'); d.bad {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for n := 0; !d.closed('}', n); n++ {
		key := reflect.ValueOf(d.key()).Convert(v.Type().Key())
		elem := reflect.New(v.Type().Elem()).Elem()
		if !d.bad {
			d.value(elem, as.elem)
		}
		if d.bad = d.bad || v.MapIndex(key).IsValid(); !d.bad {
			v.SetMapIndex(key, elem)
		}
	}
}

func (d *plainDecoder) structure(v reflect.Value, as *decoder) {
	if d.expect('{'); d.bad {
		return
	}
	before := d.before
	d.before = nil
	seen, next := uint(0), 0
	for n := 0; !d.closed('}', n); n++ {
		f := d.field(as, &next)
		if f == nil {
			d.bad = true // it may be a key in other letters
			return
		}
		bit := uint(1) << f.n
		if d.bad = seen&bit != 0; d.bad {
			return
		}
		seen |= bit
		into := v.Field(f.path[0])
		for _, i := range f.path[1:] {
			into = into.Field(i)
		}
		switch {
		case f.bare && d.at < len(d.text) && d.text[d.at] == '"': // most fields are
			into.SetString(d.str())
		case before != nil && f.shares():
			d.shared(into, f, &before[f.n])
		default:
			d.value(into, f.decoder)
		}
	}
}

// field reads a key and finds its field, nil where there is none. Most keys stand in the order of the structure or, in a canonical text,
// in that of their names: the search goes on at the place next in the order that was met last.
func (d *plainDecoder) field(as *decoder, next *int) *fieldDecoder {
	fields := as.order
	if d.bySort {
		fields = as.sorted
	}
	d.space()
	const ahead = 4 // most often, no more are left out
	for i := *next; i < min(*next+ahead, len(fields)); i++ {
		if f := fields[i]; strings.HasPrefix(d.text[d.at:], f.head) {
			d.at, *next = d.at+len(f.head), i+1
			return f
		}
	}
	key := d.key()
	if d.bad {
		return nil
	}
	for *next < len(fields) {
		f := fields[*next]
		if *next++; f.name == key {
			return f
		}
	}
	f := as.fields[key]
	if f != nil {
		d.bySort = !d.bySort
		if *next = f.n + 1; d.bySort {
			*next = f.at + 1
		}
	}
	return f
}

// shared reads a list or an object, or takes the one before where it is written alike.
func (d *plainDecoder) shared(v reflect.Value, f *fieldDecoder, before *written) {
	if before.text != "" && strings.HasPrefix(d.text[d.at:], before.text) {
		v.Set(before.as)
		d.at += len(before.text)
		return
	}
	from := d.at
	d.value(v, f.decoder)
	switch {
	case d.bad:
	case d.text[from] == '[':
		v.Set(v.Slice3(0, v.Len(), v.Len())) // who appends to it, copies it
		*before = written{d.text[from:d.at], v}
	case d.text[from] == '{':
		*before = written{d.text[from:d.at], v}
	}
}

// closed reports whether an object or an array of n members so far ends here, or cannot be read.
func (d *plainDecoder) closed(end byte, n int) bool {
	if d.space(); !d.bad && d.at < len(d.text) && d.text[d.at] == end {
		d.at++
		return true
	}
	if n > 0 {
		d.expect(',')
	}
	return d.bad
}

func (d *plainDecoder) key() string {
	d.space()
	key := d.str()
	d.space()
	d.expect(':')
	return key
}

func (d *plainDecoder) space() {
	for d.at < len(d.text) {
		switch d.text[d.at] {
		case ' ', '\n', '\t', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *plainDecoder) expect(c byte) {
	if d.bad = d.bad || d.at == len(d.text) || d.text[d.at] != c; !d.bad {
		d.at++
	}
}

func (d *plainDecoder) word(w string) {
	if d.bad = d.bad || !strings.HasPrefix(d.text[d.at:], w); !d.bad {
		d.at += len(w)
	}
}

func (d *plainDecoder) boolean() bool {
	if d.at < len(d.text) && d.text[d.at] == 't' {
		d.word("true")
		return true
	}
	d.word("false")
	return false
}

// number reads an integer as JSON writes it.
func (d *plainDecoder) number() string {
	from := d.at
	if d.text[d.at] == '-' {
		d.at++
	}
	digits := d.at
	for d.at < len(d.text) && d.text[d.at] >= '0' && d.text[d.at] <= '9' {
		d.at++
	}
	switch {
	case d.at == digits, d.at > digits+1 && d.text[digits] == '0', d.at < len(d.text) && strings.IndexByte(".eE", d.text[d.at]) >= 0:
		d.bad = true
	}
	return d.text[from:d.at]
}

// isSimple reports whether a text is of characters of ASCII alone that stand for themselves within a string, but for the quotation mark:
// then a string goes to the next of these.
func isSimple(data []byte) bool {
	const (
		spaces = 0x2020202020202020
		high   = 0x8080808080808080
	)
	if bytes.IndexByte(data, '\\') >= 0 {
		return false
	}
	for ; len(data) >= 16; data = data[16:] {
		// A byte below a space borrows, and leaves the high bit of its own place.
		v, w := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		if (v-spaces|v|w-spaces|w)&high != 0 {
			return false
		}
	}
	return standsForItself(string(data))
}

// standsForItself reports whether a string without quotation marks is of plain characters of ASCII.
func standsForItself(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

func (d *plainDecoder) str() string {
	if d.expect('"'); d.bad {
		return ""
	}
	n := strings.IndexByte(d.text[d.at:], '"')
	if d.bad = n < 0; d.bad {
		return ""
	}
	if says := d.text[d.at : d.at+n]; d.simple || standsForItself(says) {
		d.at += n + 1
		return says
	}
	from, plain, ascii := d.at, true, true
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			says := d.text[from:d.at]
			d.at++
			if !plain {
				return d.unquoted(d.text[from-1 : d.at])
			} else if !ascii {
				d.bad = !utf8.ValidString(says)
			}
			return says
		case c == '\\':
			plain = false
			d.at++
		case c < ' ':
			d.bad = true
			return ""
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	d.bad = true
	return ""
}

func (d *plainDecoder) unquoted(quoted string) (says string) {
	d.bad = json.Unmarshal([]byte(quoted), &says) != nil
	return says
}

// skip goes over a value that reads itself.
func (d *plainDecoder) skip() {
	const deepest = 100
	if d.depth++; d.depth > deepest {
		d.bad = true
	}
	if d.space(); d.bad || d.at == len(d.text) {
		d.bad = true
		return
	}
	switch c := d.text[d.at]; c {
	case '"':
		d.str()
	case '[':
		d.at++
		for n := 0; !d.closed(']', n); n++ {
			d.skip()
		}
	case '{':
		d.at++
		for n := 0; !d.closed('}', n); n++ {
			d.key()
			d.skip()
		}
	case 't', 'f':
		d.boolean()
	case 'n':
		d.word("null")
	default:
		d.number()
	}
	d.depth--
}
