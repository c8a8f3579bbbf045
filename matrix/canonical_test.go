package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		give any
		want string
	}{
		{"keys are sorted at every depth", map[string]any{"b": 1, "a": map[string]any{"d": nil, "c": true}}, `{"a":{"c":true,"d":null},"b":1}`},
		{"keys are sorted by UTF-16 units, as RFC 8785 section 3.2.3 shows", map[string]int{"€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, "ö": 7}, "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"only what must be is escaped", "é</script>\u2028\"\\\b\f\n\r\t\x01", "\"é</script>\u2028\\\"\\\\\\b\\f\\n\\r\\t\\u0001\""},
		{"the largest integers that every reader keeps", []int64{1<<53 - 1, -(1<<53 - 1)}, `[9007199254740991,-9007199254740991]`},
		{"an empty list is not null", []string{}, `[]`},
		{"a decimal is a string", struct{ T Decimal }{"0.7"}, `{"T":"0.7"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Canonical(tt.give)
			if err != nil || string(got) != tt.want {
				t.Errorf("want %s\n got %s, %v", tt.want, got, err)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]any{
		"a fraction":                    0.7,
		"an integer that some round":    int64(1 << 53),
		"the largest unsigned integer":  uint64(math.MaxUint64),
		"not a number":                  math.NaN(),
		"a raw fraction in raw JSON":    json.RawMessage(`{"a":1.0}`),
		"an exponent in raw JSON":       json.RawMessage(`1e3`),
		"something without a JSON form": func() {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Canonical(give); err == nil {
				t.Errorf("want an error, got %s", got)
			}
		})
	}
}

// byTree writes a decoded value: slower, and plain to read.
func byTree(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case json.Number:
		n, err := v.Int64()
		return strconv.AppendInt(b, n, 10), err
	case string:
		return appendString(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = byTree(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		less := func(a, b string) int { return compareUTF16([]byte(a), []byte(b)) }
		for i, k := range slices.SortedFunc(maps.Keys(v), less) {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendString(b, k); err != nil {
				return nil, err
			}
			if b, err = byTree(append(b, ':'), v[k]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("a %T", v)
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",null,true]}`, `{"é":{"😀":-3}}`, `"\ud800"`, `1e400`, `{"a":1,"a":2}`, `{"b":{"d":"\n","c":[{"f":false,"e":[]}]},"a":"\u0061","b":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if decodeNumbers(data, &v) != nil {
			return
		}
		once, err := Canonical(v)
		if err != nil {
			return
		}
		if want, err := byTree(nil, v); err != nil || string(want) != string(once) {
			t.Fatalf("want %s, %v\n got %s", want, err, once)
		}
		if raw, err := Canonical(json.RawMessage(data)); err != nil || string(raw) != string(once) {
			t.Fatalf("as raw JSON it is %s, %v\nand decoded %s", raw, err, once)
		}
		var back any
		if err := decodeNumbers(once, &back); err != nil {
			t.Fatalf("canonical bytes cannot be read back: %v\n%s", err, once)
		}
		again, err := Canonical(back)
		if err != nil || string(again) != string(once) {
			t.Fatalf("not a fixed point: %v\n%s\n%s", err, once, again)
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	o := Observations{Trials: make([]Trial, 40)}
	for i := range o.Trials {
		t := &o.Trials[i]
		t.Cell, t.Rep, t.Packed, t.Answer = CellA, i, make([]Packed, 5), NewText("The code is value7.\n")
		for j := range t.Packed {
			t.Packed[j] = Packed{ID: "d7", Source: "d7", Text: NewText("The code of item7 is value7."), Access: []string{"everyone"}}
		}
		t.Prompt = []PromptMessage{{Role: "system", Text: NewText("Answer.")}, {Role: "user", Text: NewText("Which?")}}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Digest(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`"x"`, `""`, `"NaN"`, `"Inf"`, `1e400`, `"-Inf"`, `true`} {
		var d Decimal
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s: want an error, got %q", bad, d)
		}
	}
	var d Decimal
	if err := json.Unmarshal([]byte(`0.70`), &d); err != nil || d != "0.70" || d.Float() != 0.7 {
		t.Errorf("want it kept as it was written, got %q (%v), %v", d, d.Float(), err)
	}
}
