package matrix

import (
	"encoding/json"
	"math"
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

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",null,true]}`, `{"é":{"😀":-3}}`, `"\ud800"`, `1e400`, `{"a":1,"a":2}`} {
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
