package matrix

import (
	"encoding/json"
	"testing"
)

func TestBackendSettingsAreStoredExactly(t *testing.T) {
	t.Parallel()
	b := Backend{Adapter: "embedded", Settings: json.RawMessage(`{"flip":{"rate":0.30},"vectors":{"a":[1,-0.5]},"seed":18446744073709551615}`)}
	got, err := Canonical(b)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"adapter":"embedded","flip":{"rate":"0.30"},"seed":"18446744073709551615","vectors":{"a":[1,"-0.5"]}}`
	if string(got) != want {
		t.Errorf("want %s, got %s", want, got)
	}
}
