package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	t.Chdir("../..") // the suites of the contract are looked up from there
	const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    good_test.go:1: of no interest\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestNeedy","Output":"    needy_test.go:9: no sha256sum here\n"}
{"Action":"skip","Package":"p","Test":"TestNeedy"}
{"Action":"output","Package":"p","Test":"TestStoreSuite/filters","Output":"    store_filter.go:13: the store has no filters\n"}
{"Action":"skip","Package":"p","Test":"TestStoreSuite/filters"}
{"Action":"skip","Package":"p","Test":"FuzzRedact/seed#3"}
{"Action":"skip","Package":"p","Test":"TestSilent"}
{"Action":"output","Package":"p","Output":"-test.shuffle 7\n"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
go: a line of the command itself
{"ImportPath":"q","Action":"build-output","Output":"q.go:1:1: it does not compile\n"}
{"Action":"output","Package":"r","Test":"TestBad","Output":"    bad_test.go:3: 1, want 2\n"}
{"Action":"fail","Package":"r","Test":"TestBad"}
{"Action":"output","Package":"r","Test":"TestPanics","Output":"panic: there\n"}
{"Action":"output","Package":"r","Output":"FAIL\tr\t0.2s\n"}
{"Action":"fail","Package":"r"}
{"Action":"output","Package":"s","Output":"?   \ts\t[no test files]\n"}
{"Action":"skip","Package":"s"}
`
	var out strings.Builder
	left, err := show(&out, strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	want := "ok  \tp\t0.1s\n" +
		"go: a line of the command itself\n" +
		"q.go:1:1: it does not compile\n" +
		"    bad_test.go:3: 1, want 2\n" +
		"panic: there\n" +
		"FAIL\tr\t0.2s\n" +
		"?   \ts\t[no test files]\n"
	if out.String() != want {
		t.Errorf("it shows\n%s\nwant\n%s", out.String(), want)
	}
	if want := []string{"TestNeedy of p: no sha256sum here", "TestSilent of p: no reason given"}; !slices.Equal(left, want) {
		t.Errorf("left out: %q, want %q", left, want)
	}
}

func TestLeftOutFailsTheWhole(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestNeedy(t *testing.T) { t.Skip(\"not here\") }\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, whole := range []bool{false, true} {
		var out strings.Builder
		c := &check{out: &out}
		c.tests(t.Context(), false, whole, "go", "test", "-json", "./...")
		if ok := c.close(); ok == whole || !strings.HasSuffix(out.String(), "; without TestNeedy of m: not here\n") {
			t.Errorf("whole %v: well is %v\n%s", whole, ok, out.String())
		}
	}
}
