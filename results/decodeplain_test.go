package results

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// everyPart is decoded in each of the ways that a part of a bundle has.
var everyPart = []reflect.Type{
	reflect.TypeFor[matrix.Case](), reflect.TypeFor[matrix.Experiment](), reflect.TypeFor[matrix.Plan](), reflect.TypeFor[matrix.StoreFacts](),
	reflect.TypeFor[matrix.Rewriting](), reflect.TypeFor[matrix.Retrieval](), reflect.TypeFor[matrix.Trial](), reflect.TypeFor[matrix.Judgement](),
	reflect.TypeFor[verdict.Features](), reflect.TypeFor[verdict.Evaluation](), reflect.TypeFor[Manifest](), reflect.TypeFor[Pins](),
	reflect.TypeFor[Environment](), reflect.TypeFor[Record](), reflect.TypeFor[link](), reflect.TypeFor[Invocation](), reflect.TypeFor[oddPart](),
}

// oddPart has what the parts of a bundle do not have, or not yet.
type oddPart struct {
	A     map[string]map[string]int `json:"a"`
	B     *[]*bool
	C     string `json:",omitempty"`
	D     any    `json:"d"`
	E     []byte `json:"e"`
	F     int8   `json:"f"`
	G     float64
	Minus string     `json:"-"`
	I     int64      `json:"i"`
	S     [][]string `json:"s"`
	Two   [2]string  `json:"two"`

	Counts
	Raw map[string]json.RawMessage `json:"raw"`
}

// What is read as plain, encoding/json reads to the same, also where it is strict; and what it refuses is not plain.
func holdPlain(t *testing.T, part reflect.Type, data []byte) bool {
	t.Helper()
	got, want := reflect.New(part), reflect.New(part)
	plain := decodePlain(data, got.Interface())
	if !plain {
		if !got.Elem().IsZero() {
			t.Errorf("%s: something is left of what was not plain: %q", part, data)
		}
		return false
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(want.Interface()); err != nil || !json.Valid(data) {
		t.Errorf("%s: %q is plain, and encoding/json: %v", part, data, err)
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Errorf("%s: %q is\n%+v, and by encoding/json\n%+v", part, data, got.Elem(), want.Elem())
	}
	return true
}

func TestDecodePlain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		plain bool
	}{
		{`{"a":{"x":{"y":1}},"B":[true,null,false],"C":"c","i":-9007199254740993,"s":[["a","\u00e9\n"],[],null]}`, true},
		{" {\t} \n", true},
		{`{"two":["a","b"]}`, true},
		{`{"raw":{"a": {"x" : [1,"\u00e9",true , {}]} ,"b":[ ],"c":-0,"d":false}}`, true},
		{`{"raw":{"a":{"x":[1,"\u00e9"}}`, false},
		{`{"raw":{"a":[1,]}}`, false},
		{`{"raw":{"a":{"x"}}}`, false},
		{`{"raw":{"a":}}`, false},
		{`{"raw":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, false},
		{`{"i":1,"passing":2,"raw":{}}`, true},
		{`{"two":["a"]}`, false},
		{`{"two":["a","b","c"]}`, false},
		{`{"two":["a","]"`, false},
		{`{"two":[]}`, false},
		{`{"a":null,"B":null,"s":null}`, true},
		{`{"i":0,"C":"<\ud800>"}`, true},
		{`{"c":"in other letters"}`, false},
		{`{"C":"twice","C":"twice"}`, false},
		{`{"a":{"x":{"y":1,"y":2}}}`, false},
		{`{"C":null}`, false},
		{`{"i":01}`, false},
		{`{"i":-}`, false},
		{`{"i":1.0}`, false},
		{`{"i":1e3}`, false},
		{`{"i":9223372036854775808}`, false},
		{`{"C":"` + "\xff" + `"}`, false},
		{`{"C":"` + "\n" + `"}`, false},
		{`{"C":"\x"}`, false},
		{`{"C":"cut`, false},
		{`{"C":"\`, false},
		{`{"s":[["a"],]}`, false},
		{`{"s":[,["a"]]}`, false},
		{`{"s":["a"}`, false},
		{`{"unknown":1}`, false},
		{`{"-":"not a field"}`, false},
		{`{"d":1}`, false},
		{`{} {}`, false},
		{`{"B":[truefalse]}`, false},
		{`null`, false},
		{``, false},
	} {
		if got := holdPlain(t, reflect.TypeFor[oddPart](), []byte(test.text)); got != test.plain {
			t.Errorf("%q: plain is %t", test.text, got)
		}
	}
	if into := (oddPart{C: "as before"}); decodePlain([]byte(`{}`), &into) || into.C == "" {
		t.Error("a value that is not zero was written over")
	}
}

// What replay reads of a bundle is plain, or nothing was gained.
func TestBundlesArePlain(t *testing.T) {
	t.Parallel()
	for name, path := range goldens(t) {
		dir := unpack(t, path)
		for file, part := range map[string]reflect.Type{
			manifestFile: reflect.TypeFor[Manifest](), caseFile: reflect.TypeFor[matrix.Case](), experimentFile: reflect.TypeFor[matrix.Experiment](),
			planFile: reflect.TypeFor[matrix.Plan](), storeFile: reflect.TypeFor[matrix.StoreFacts](), featuresFile: reflect.TypeFor[verdict.Features](),
			evaluationFile: reflect.TypeFor[verdict.Evaluation](),
		} {
			// Rules of another version may have derived fields that are no longer known.
			if !holdPlain(t, part, read(t, dir, file)) && file != evaluationFile {
				t.Errorf("%s: %s is not plain", name, file)
			}
		}
		for file, part := range map[string]reflect.Type{retrievalsFile: reflect.TypeFor[matrix.Retrieval](), generationsFile: reflect.TypeFor[matrix.Trial]()} {
			for _, line := range strings.Split(strings.TrimSpace(string(read(t, dir, file))), "\n") {
				if !holdPlain(t, part, []byte(line)) {
					t.Errorf("%s: of %s, %s is not plain", name, file, line)
				}
			}
		}
	}
}

// What is written alike in one line and the next is shared, also behind a line that is left to encoding/json, and each line is read as if
// it stood alone.
func TestLinesShare(t *testing.T) {
	t.Parallel()
	text := `{"call_key":"1","packed":[{"id":"a","units":1}],"usage":{"input_tokens":3},"prompt":[]}
{"call_key":"2","packed":[{"id":"a","units":1}],"usage":{"input_tokens":3},"prompt":[]}
{"call_key":"3","packed":[{"id":"a","units":1}],"usage":{"input_tokens":3},"Call_Key":"in other letters"}
{"call_key":"4","packed":[{"id":"a","units":1},{"id":"b"}],"usage":{"input_tokens":3,"output_tokens":4}}
{"call_key":"5","packed": [{"id":"a","units":1},{"id":"b"}],"usage":{"input_tokens":3,"output_tokens":4},"reason":"\u00e9"}
{"call_key":"6","packed":null,"notes":["é"]}
{"call_key":"7","packed":[{"id":"a","units":1},{"id":"b"}],"notes":["é"]}
`
	got, err := decodeLines[matrix.Trial]([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var want matrix.Trial
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("line %d is %+v, and alone %+v", i+1, got[i], want)
		}
	}
	if &got[0].Packed[0] != &got[1].Packed[0] || got[0].Usage.InputTokens != got[1].Usage.InputTokens {
		t.Error("two lines that say the same do not share it")
	}
	if _ = append(got[0].Packed, matrix.Packed{ID: "more"}); len(got[1].Packed) != 1 || cap(got[1].Packed) != 1 {
		t.Error("what is appended to one would be appended to both")
	}
}

func FuzzDecodePlain(f *testing.F) {
	for _, path := range goldens(f) {
		for _, name := range []string{manifestFile, caseFile, experimentFile, planFile, storeFile, featuresFile, evaluationFile, generationsFile, retrievalsFile} {
			data, err := ReadFile(path, name)
			if name != manifestFile && err != nil {
				f.Fatal(err)
			}
			line, _, _ := strings.Cut(string(data), "\n")
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, part := range everyPart {
			holdPlain(t, part, data)
		}
	})
}
