//go:build unix

package experiments

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesOutsideAndIrregular names prompts, cases, includes and documents that must not be read.
func TestFilesOutsideAndIrregular(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "experiment")
	write(t, filepath.Join(parent, "secret.md"), "{{query}} {{#context}}{{text}}{{/context}} secret")
	write(t, filepath.Join(parent, "shared", "case.yaml"), "id: shared\nquery: q\nexpect: abstain\n")
	write(t, filepath.Join(dir, "inside", "real.md"), "{{query}} {{#context}}{{text}}{{/context}} inside")
	for link, target := range map[string]string{
		"link-in.md": "inside/real.md", "link-out.md": "../secret.md", "loop.md": "loop.md", "linked": "inside", "linked-out": "../shared",
		"zero.md": "/dev/zero",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(dir, "big.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(5 << 30); err != nil { // sparse: only its size is large
		t.Fatal(err)
	}
	if err := big.Close(); err != nil {
		t.Fatal(err)
	}
	prompt := func(path string) string {
		return "culprit: v1\nname: files\nbackends: {store: {adapter: plain}, generator: {adapter: plain}}\n" +
			"pipeline: {prompt: {user: " + path + "}}\ncases: [{id: a, query: q, expect: abstain}]\n"
	}
	cases := func(glob string) string {
		return "culprit: v1\nname: files\nbackends: {store: {adapter: plain}, generator: {adapter: plain}}\ncases: [" + glob + "]\n"
	}
	documents := func(path string) string {
		return "culprit: v1\nname: files\nbackends: {store: {adapter: plain, documents: " + path + "}, generator: {adapter: plain}}\n" +
			"cases: [{id: a, query: q, expect: abstain}]\n"
	}
	const outside = "leads out of the experiment's folder"
	for name, test := range map[string]struct {
		text, want  string
		withAllowed string // with AllowOutside; "-": the same
	}{
		"a file inside":               {prompt("inside/real.md"), "", "-"},
		"a link inside":               {prompt("link-in.md"), "", "-"},
		"a linked folder inside":      {prompt("linked/real.md"), "", "-"},
		"an absolute path inside":     {prompt(filepath.Join(dir, "inside/real.md")), "", "-"},
		"dots that stay inside":       {prompt("inside/../inside/real.md"), "", "-"},
		"dots that lead out":          {prompt("../secret.md"), outside, "read from outside"},
		"a link that leads out":       {prompt("link-out.md"), outside, "read from outside"},
		"an absolute path":            {prompt("/etc/passwd"), outside, "read from outside"},
		"a link to itself":            {prompt("loop.md"), "leads back to itself", "-"},
		"a device":                    {prompt("/dev/zero"), outside, "is a device"},
		"a link to a device":          {prompt("zero.md"), outside, "is a device"},
		"a named pipe":                {prompt("pipe.md"), "is a named pipe", "-"},
		"a folder":                    {prompt("inside"), "is a folder", "-"},
		"a file of 5 GB":              {prompt("big.md"), "is larger than 1 MiB", "-"},
		"cases outside":               {cases("../shared/*.yaml"), outside, "read from outside"},
		"cases of a link outside":     {cases("linked-out/*.yaml"), outside, "read from outside"},
		"documents outside":           {documents("../shared"), outside, "holds no"},
		"documents that are a device": {documents("zero.md"), outside, "is a device"},
		"documents of 5 GB":           {documents("big.md"), "is larger than 16 MiB", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".yaml")
			write(t, file, test.text)
			for _, allow := range []bool{false, true} {
				want := test.want
				if allow && test.withAllowed != "-" {
					want = test.withAllowed
				}
				found := ""
				loaded, err := Load(file, Options{Schemas: schemas(t), AllowOutside: allow})
				if err != nil {
					found = err.Error()
				} else {
					found = loaded.Warnings.Error()
				}
				if want == "" && found != "" || !strings.Contains(found, want) {
					t.Errorf("outside allowed %v: want %q, got %q", allow, want, found)
				}
			}
		})
	}
}

func TestDocumentFolderWithALoop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "docs", "a.md"), "text")
	if err := os.Symlink("..", filepath.Join(dir, "docs", "up")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.md", filepath.Join(dir, "docs", "b.md")); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, documentsOf(t, dir, "documents: docs")); got != "a.md#1 b.md#1" {
		t.Errorf("got %s", got)
	}
}

// TestAliasBomb reads what stops a reader that expands before it checks: the test itself would not end. Each is told wrong
// without a flood of problems.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		bomb += sprint("a", i+1, ": &a", i+1, " [", strings.TrimSuffix(strings.Repeat(sprint("*a", i, ", "), 9), ", "), "]\n")
	}
	for name, text := range map[string]string{
		"aliases":         bomb,
		"merge keys":      "a: &a {x: 1}\nb: &b {<<: [*a, *a]}\nc: {<<: [*b, *b]}\n",
		"deep lists":      strings.Repeat("[", 1<<19),
		"deep and closed": strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep mappings":   strings.Repeat("{a: ", 1<<17),
		"many keys":       strings.Repeat("k: v\n", 20_000),
		"many mistakes":   strings.Repeat("- *a\n", 20_000),
		"one long line":   "id: " + strings.Repeat("x", 1<<20-10),
		"too large":       strings.Repeat("# comment\n", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, "-- experiment.yaml --\nculprit: v1\nname: bomb\nbackends: {store: {adapter: plain}, generator: {adapter: plain}}\ncases: [case.yaml]\n")
			write(t, filepath.Join(dir, "case.yaml"), text)
			got := problems(t, dir, Options{})
			if got == "" {
				t.Error("the file is fine")
			}
			if lines := strings.Count(got, "\n"); lines > maxProblems+1 {
				t.Errorf("%d problems are shown", lines)
			}
		})
	}
}
