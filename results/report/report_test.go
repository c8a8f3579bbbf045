package report

import (
	"bytes"
	"testing"
)

func TestRunScreens(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Run(&b, travelPolicy(), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "run-travel-policy", b.Bytes())
}

func TestExplainScreens(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Explain(&b, longHaul(), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "explain-long-haul", b.Bytes())
}
