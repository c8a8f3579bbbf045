package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// TestLabelPages holds docs/labels to the table of rules and to what each example prints, which must give the page's label; -update
// writes the pages.
func TestLabelPages(t *testing.T) {
	t.Parallel()
	const dir = "../../docs/labels"
	link := func(label string) string { return fmt.Sprintf("[%s](%s)", label, verdict.PageFile(label)) }
	var want []string
	for _, label := range verdict.Labels() {
		want = append(want, verdict.PageFile(label))
		t.Run(strings.ReplaceAll(label, "/", "-"), func(t *testing.T) {
			t.Parallel()
			page := verdict.LabelPage(label, link)
			if example := verdict.ExampleOf(label); example.None == "" {
				page = strings.TrimSuffix(page, "```\n") + printed(t, example, label) + "```\n"
			}
			file := filepath.Join(dir, verdict.PageFile(label))
			if *update {
				if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), page); diff != "" {
				t.Errorf("%s is out of date; run this test with -update (-written +true):\n%s", file, diff)
			}
		})
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(want, f.Name()) {
			t.Errorf("%s/%s is the page of no label", dir, f.Name())
		}
	}
}

// printed is what the example prints down to the verdict of its case, which must be the label's.
func printed(t *testing.T, e verdict.Example, label string) string {
	t.Helper()
	cache := t.TempDir()
	a, out, errs := testApp(t, func(string) string { return cache })
	args := []string{"run", filepath.Join("../..", e.File), "--results", t.TempDir()}
	if e.Service != nil {
		at := startService(t, exampleService(t), append([]string{"--listen", "127.0.0.1:0", "--corpus", remoteExample + "/policy.jsonl"}, e.Service...)...)
		args = append(args, "--set", "backends.service.url="+at)
	}
	if e.Case != "" {
		args = append(args, "--case", e.Case)
	}
	for _, set := range e.Set {
		args = append(args, "--set", set)
	}
	a.main(t.Context(), args)
	const head, cases = 0, 1
	parts := strings.SplitN(out.String(), "\n\n", 3)
	if len(parts) < 3 || !strings.Contains(parts[cases], " "+label+" ") {
		t.Fatalf("%s does not give %s:\n%s%s", e.Command(), label, out, errs)
	}
	return parts[head] + "\n\n" + parts[cases] + "\n"
}

func TestLabelsCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"labels"}, exitOK, "\nretrieve/below-cutoff\n", ""},
		{[]string{"labels", "index/missing"}, exitOK, "# index/missing\n", ""},
		{[]string{"labels", "index/missng"}, exitUsage, "", `did you mean "index/missing"?`},
		{[]string{"labels", "a", "b"}, exitUsage, "", "one label"},
	} {
		a, out, errs := testApp(t, func(string) string { return "" })
		if code := a.main(t.Context(), test.args); code != test.code || !strings.Contains(out.String(), test.out) || !strings.Contains(errs.String(), test.err) {
			t.Errorf("%q: exit %d, want %d\n%s%s", test.args, code, test.code, out, errs)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	known := []string{"vpn-client", "office-vpn", "vpn-old", "leave", "leave-2", "leave-3", "leave-4", "leave-5"}
	for name, want := range map[string]string{
		"vpn":        `: did you mean "vpn-client", "vpn-old" or "office-vpn"?`,
		"VPN-":       `: did you mean "vpn-client" or "vpn-old"?`,
		"pn":         "", // too short to be sought in others
		"":           "",
		"leav":       `: did you mean "leave", "leave-2", "leave-3", "leave-4" or 1 other?`,
		"vpn-cleint": `: did you mean "vpn-client"?`,
		"elephant":   "",
	} {
		if got := didYouMean(name, known); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}
