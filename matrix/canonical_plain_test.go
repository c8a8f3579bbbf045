package matrix

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// odd has what encoding/json knows and the values of this project hardly have.
type odd struct {
	Z         string            `json:"a_z,omitempty"`
	A         *odd              `json:"a,omitempty"`
	AB        any               `json:"ab"`
	Map       map[string]*int   `json:"map,omitempty"`
	Named     map[CellID]bool   `json:"named"`
	List      []string          `json:"list,omitzero"`
	Two       [2]int64          `json:"two,omitzero"`
	None      [0]int            `json:"none,omitempty"`
	Text      Text              `json:"text,omitzero"`
	Always    Text              `json:"always,omitempty"`
	Texts     []*Text           `json:"texts"`
	Rate      Rate              `json:"rate"`
	Rates     map[string]Rate   `json:"rates,omitempty"`
	Took      Duration          `json:"took,omitempty"`
	Raw       json.RawMessage   `json:"raw"`
	Skipped   string            `json:"-"`
	Untagged  bool              `json:",omitempty"`
	Structure struct{ In bool } `json:"structure,omitempty"`
	under     string
}

// holdPlain reports whether a value is plain; then its bytes are those that follow from the output of encoding/json.
func holdPlain(t *testing.T, v any) bool {
	t.Helper()
	var want []byte
	err := canonicalAny(v, func(data []byte) { want = bytes.Clone(data) })
	before := []byte("before")
	got, ok := canonicalPlain(before, v)
	switch {
	case !ok:
		return false
	case err != nil:
		t.Errorf("%+v is plain, and by encoding/json: %v", v, err)
	case string(got) != "before"+string(want):
		t.Errorf("%s\nby encoding/json\n%s", got, want)
	}
	return true
}

func TestCanonicalPlain(t *testing.T) {
	t.Parallel()
	one, text := 1, NewText("é")
	type cycle struct{ C *cycle }
	round := &cycle{}
	round.C = round
	for _, test := range []struct {
		name  string
		give  any
		plain bool
	}{
		{"nothing is set", odd{}, true},
		{"all is set", &odd{
			"z", &odd{Untagged: true},
			[]any{1, "x", nil, map[string]any{"ö": true, "€": one, "😀": nil, "\ufb33": 3}},
			map[string]*int{"b": &one, "a": nil},
			map[CellID]bool{CellB: true, CellA: false},
			[]string{},
			[2]int64{1, -2},
			[0]int{},
			text,
			Text{},
			[]*Text{&text, nil},
			7,
			map[string]Rate{"x": 1, "": 2},
			1e9, json.RawMessage(`{"b":1,"a":[ ]}`), "-", true,
			struct{ In bool }{true},
			"unexported",
		}, true},
		{"a text with quotation marks", "\"\\\b\f\n\r\t\x01\x7f</é>\u2028", true},
		{"invalid UTF-8", "a\xffb", false},
		{"an invalid key", map[string]int{"\xff": 1, "\xfe": 2}, false},
		{"too large", []int64{1 << 53}, false},
		{"a fraction", map[string]any{"x": 0.5}, false},
		{"not a number", math.NaN(), false},
		{"bytes", []byte("x"), false},
		{"a number as text", json.Number("1"), false},
		{"an embedded structure", struct {
			Z int
			Usage
			A int
		}{1, Usage{InputTokens: &one}, 2}, true},
		{"an embedded pointer", struct{ *Usage }{&Usage{}}, false},
		{"an embedded text", struct{ Text }{text}, true},
		{"an integer as a string", struct {
			N int `json:",string"`
		}{1}, false},
		{"keys that are no ints", map[int]bool{1: true}, false},
		{"two of one name", reflect.Zero(reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[bool](), Tag: `json:"a"`}, {Name: "B", Type: reflect.TypeFor[bool](), Tag: `json:"a"`},
		})).Interface(), false},
		{"a circle", round, false},
		{"raw JSON that is none", odd{Raw: json.RawMessage(`{`)}, false},
		{"nil", nil, false},
	} {
		if got := holdPlain(t, test.give); got != test.plain {
			t.Errorf("%s: plain is %t", test.name, got)
		}
	}
}

func FuzzCanonicalPlain(f *testing.F) {
	bundles, err := filepath.Glob("../results/testdata/golden/*.bundle.zip")
	if err != nil || len(bundles) == 0 {
		f.Fatalf("%d golden bundles, %v", len(bundles), err)
	}
	for _, path := range bundles {
		z, err := zip.OpenReader(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range z.File {
			if !strings.Contains(file.Name, ".json") || file.Name == "journal.jsonl" {
				continue
			}
			r, err := file.Open()
			if err != nil {
				f.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				f.Fatal(err)
			}
			line, _, _ := bytes.Cut(data, []byte("\n"))
			f.Add(line)
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(`{"a":{"a_z":"é\n"},"ab":[{"b":1,"a":"\ud800"}],"map":{"x":1,"w":null},"list":[],"text":"sha256:00","raw":{"z":1,"y":[]}}`))
	types := []reflect.Type{
		reflect.TypeFor[any](), reflect.TypeFor[odd](), reflect.TypeFor[Case](), reflect.TypeFor[Experiment](), reflect.TypeFor[Plan](),
		reflect.TypeFor[StoreFacts](), reflect.TypeFor[Rewriting](), reflect.TypeFor[Retrieval](), reflect.TypeFor[Trial](), reflect.TypeFor[Judgement](), reflect.TypeFor[Call](),
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, of := range types {
			v := reflect.New(of)
			if decodeNumbers(data, v.Interface()) == nil {
				holdPlain(t, v.Interface())
				holdPlain(t, v.Elem().Interface())
			}
		}
	})
}
