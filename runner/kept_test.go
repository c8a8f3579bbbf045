package runner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/results"
)

func keptRequest(texts ...string) *adapters.EmbedRequest {
	prefix := "p: "
	return &adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForPassage, Prefix: &prefix}
}

// leftKept is what a process leaves that was killed after it had kept the vector [1, i, 0.5] of each "text i", in answers of three texts.
func leftKept(t *testing.T, dir string, texts int) (path string) {
	t.Helper()
	k := newKept(dir, adapters.EmbedderInfo{Model: "m"})
	for i := 0; i < texts; i += 3 {
		var some []string
		var vectors [][]float32
		for n := i; n < min(i+3, texts); n++ {
			some, vectors = append(some, fmt.Sprint("text ", n)), append(vectors, []float32{1, float32(n), 0.5})
		}
		if err := k.keep(keptRequest(some...), vectors); err != nil {
			t.Fatal(err)
		}
	}
	path = k.own.path
	if err := k.close(false); err != nil {
		t.Fatal(err)
	}
	return path
}

// known lists which of the texts have a vector, which must be theirs.
func known(t *testing.T, k *keptVectors, texts int) (out []int) {
	t.Helper()
	for i := range texts {
		v, err := k.find(keptRequest(), fmt.Sprint("text ", i))
		switch {
		case err != nil:
			t.Errorf("text %d: %v", i, err)
		case v == nil:
		case !slices.Equal(v, []float32{1, float32(i), 0.5}):
			t.Errorf("text %d has the vector %v", i, v)
		default:
			out = append(out, i)
		}
	}
	return out
}

// TestKeptVectorsFindDamage changes every byte of what a killed process has left, and cuts it at every place: no vector is another, and
// none is lost but that which was changed.
func TestKeptVectorsFindDamage(t *testing.T) {
	t.Parallel()
	const texts = 7
	dir := t.TempDir()
	path := leftKept(t, dir, texts)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := len(whole) / texts
	read := func(data []byte) ([]int, *keptVectors) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		k := newKept(dir, adapters.EmbedderInfo{Model: "m"})
		got := known(t, k, texts)
		if err := k.close(false); err != nil {
			t.Fatal(err)
		}
		return got, k
	}
	all := []int{0, 1, 2, 3, 4, 5, 6}
	if got, k := read(whole); !slices.Equal(got, all) || len(k.says) > 0 {
		t.Fatalf("of %d texts %v are known: %q", texts, got, k.says)
	}
	for at := range whole {
		changed := slices.Clone(whole)
		changed[at] ^= 1
		want := slices.Delete(slices.Clone(all), at/record, at/record+1)
		got, k := read(changed)
		if !slices.Equal(got, want) {
			t.Errorf("byte %d changed: %v are known", at, got)
		}
		if said := len(k.says) == 1 && strings.Contains(k.says[0], "damaged in 1 places"); said != (at/record < texts-1) {
			t.Errorf("byte %d changed: it says %q", at, k.says)
		}
		if got, k := read(whole[:at]); !slices.Equal(got, all[:at/record]) || len(k.says) > 0 {
			t.Errorf("cut to %d bytes: %v are known: %q", at, got, k.says)
		}
	}
	long := slices.Clone(whole)
	binary.LittleEndian.PutUint32(long[keptHead-4:], math.MaxUint32) // a size that is no size takes no memory
	if got, _ := read(long); !slices.Equal(got, all[1:]) {
		t.Errorf("%v are known", got)
	}
}

// TestKeptVectorsOf: what is kept is found for the same text of the same embedder alone.
func TestKeptVectorsOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leftKept(t, dir, 1)
	other := "q: "
	for name, test := range map[string]struct {
		of     adapters.EmbedderInfo
		change func(*adapters.EmbedRequest)
		known  bool
	}{
		"the same":          {adapters.EmbedderInfo{Model: "m"}, func(*adapters.EmbedRequest) {}, true},
		"another model":     {adapters.EmbedderInfo{Model: "n"}, func(*adapters.EmbedRequest) {}, false},
		"another adapter":   {adapters.EmbedderInfo{Model: "m", Adapter: "a"}, func(*adapters.EmbedRequest) {}, false},
		"more dimensions":   {adapters.EmbedderInfo{Model: "m", Dimensions: 4}, func(*adapters.EmbedRequest) {}, false},
		"another server":    {adapters.EmbedderInfo{Model: "m", Revision: "r"}, func(*adapters.EmbedRequest) {}, false},
		"prefix of queries": {adapters.EmbedderInfo{Model: "m", QueryPrefix: "x"}, func(*adapters.EmbedRequest) {}, true},
		"another prefix":    {adapters.EmbedderInfo{Model: "m"}, func(r *adapters.EmbedRequest) { r.Prefix = &other }, false},
		"no prefix":         {adapters.EmbedderInfo{Model: "m"}, func(r *adapters.EmbedRequest) { r.Prefix = nil }, false},
		"a fault's model":   {adapters.EmbedderInfo{Model: "m"}, func(r *adapters.EmbedRequest) { r.Model = "n" }, false},
		"as a query":        {adapters.EmbedderInfo{Model: "m"}, func(r *adapters.EmbedRequest) { r.Purpose = adapters.ForQuery }, false},
	} {
		k := newKept(dir, test.of)
		req := keptRequest()
		test.change(req)
		v, err := k.find(req, "text 0")
		if err != nil || (v != nil) != test.known {
			t.Errorf("%s: %v, %v", name, v, err)
		}
		if err := k.close(false); err != nil {
			t.Error(err)
		}
	}
}

// TestKeptVectorsOfOthers: what another user owns or may write to is not used, nor what a process is at, nor what is no file.
func TestKeptVectorsOfOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, path string)
		says string // "": nothing
	}{
		"open to others": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "which is not of its owner alone"},
		"of another user": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Chown(path, 12345, -1); err != nil {
				t.Skipf("this user cannot give a file away: %v", err)
			}
		}, "belongs to user 12345"},
		"in use": {func(t *testing.T, path string) {
			t.Helper()
			f, err := openKept(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = results.Release(f.File) })
		}, ""},
		"a folder": {func(t *testing.T, path string) {
			t.Helper()
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := leftKept(t, dir, 3)
			test.make(t, path)
			k := newKept(dir, adapters.EmbedderInfo{Model: "m"})
			if got := known(t, k, 3); len(got) > 0 {
				t.Errorf("%v are known", got)
			}
			if said := strings.Join(k.says, "\n"); !strings.Contains(said, test.says) || (said == "") != (test.says == "") {
				t.Errorf("it says %q", said)
			}
			if err := k.keep(keptRequest("text 0"), [][]float32{{1, 0, 0.5}}); err != nil {
				t.Error(err)
			}
			if err := k.close(true); err != nil {
				t.Error(err)
			}
			if left := keptNames(t, dir); !slices.Equal(left, []string{filepath.Base(path)}) {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func keptNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestKeptVectorsGo: when an index is whole, what it is made of goes, and what belongs to another stays until it is old or too much.
func TestKeptVectorsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leftKept(t, dir, 4)
	k := newKept(dir, adapters.EmbedderInfo{Model: "m"})
	if got := known(t, k, 3); len(got) != 3 || k.earlier != 3 {
		t.Errorf("%v are known, %d are of earlier", got, k.earlier)
	}
	if err := k.keep(keptRequest("another"), [][]float32{{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(k.own.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := k.close(true); err != nil {
		t.Fatal(err)
	}
	left := keptNames(t, dir)
	if len(left) != 1 { // the fourth text is of no index yet
		t.Fatalf("left: %q", left)
	}
	k = newKept(dir, adapters.EmbedderInfo{Model: "m"})
	if got := known(t, k, 4); len(got) != 4 {
		t.Errorf("%v are known", got)
	}
	if err := k.close(true); err != nil {
		t.Fatal(err)
	}
	if left := keptNames(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	old := leftKept(t, dir, 1)
	long := time.Now().Add(-2 * keptFor)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	large := leftKept(t, t.TempDir(), 1)
	if err := os.Truncate(large, keptBytes+1); err != nil { // which takes no disk
		t.Fatal(err)
	}
	if err := os.Rename(large, filepath.Join(dir, filepath.Base(large))); err != nil {
		t.Fatal(err)
	}
	k = newKept(dir, adapters.EmbedderInfo{Model: "another"})
	if err := k.keep(keptRequest("text"), [][]float32{{1}}); err != nil {
		t.Fatal(err)
	}
	if left := keptNames(t, dir); !slices.Equal(left, []string{filepath.Base(k.own.path)}) {
		t.Errorf("left: %q", left)
	}
	if err := k.close(true); err != nil {
		t.Fatal(err)
	}
}

// TestKeptVectorsAnew: what earlier processes have left is not used where every call is to be made.
func TestKeptVectorsAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leftKept(t, dir, 1)
	k := newKept(dir, adapters.EmbedderInfo{Model: "m"})
	k.anew = true
	if got := known(t, k, 1); len(got) > 0 {
		t.Errorf("%v are known", got)
	}
	if err := k.close(true); err != nil || len(keptNames(t, dir)) != 1 {
		t.Errorf("left: %q, %v", keptNames(t, dir), err)
	}
}

// TestKeptVectorsAreSound: a vector that no index takes is not kept, so that it is asked for again.
func TestKeptVectorsAreSound(t *testing.T) {
	t.Parallel()
	k := newKept(t.TempDir(), adapters.EmbedderInfo{Model: "m"})
	nan := float32(math.NaN())
	if err := k.keep(keptRequest("a", "b", "c"), [][]float32{{}, {1, nan}, {1e30}}); err != nil || k.own != nil {
		t.Errorf("%v, %v", k.own, err)
	}
}

// TestKeptVectorsOfAnotherWidth: where an embedder answers with longer vectors than it did, no index is made of both.
func TestKeptVectorsOfAnotherWidth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leftKept(t, dir, 3)
	k := newKept(dir, adapters.EmbedderInfo{Model: "m"})
	if v, err := k.find(keptRequest(), "text 0"); len(v) != 3 || err != nil {
		t.Fatal(v, err)
	}
	if err := k.keep(keptRequest("new", "odd"), [][]float32{{1, 2, 3, 4}, {1, 2, 3}}); err != nil || !k.changed || k.earlier != 0 || len(k.says) != 1 {
		t.Errorf("%v, changed %v, %d earlier, says %q", err, k.changed, k.earlier, k.says)
	}
	for text, numbers := range map[string]int{"text 0": 0, "text 1": 0, "text 2": 0, "new": 4, "odd": 0} {
		if v, err := k.find(keptRequest(), text); len(v) != numbers || err != nil {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	if err := k.close(true); err != nil || len(keptNames(t, dir)) > 0 {
		t.Errorf("left: %q, %v", keptNames(t, dir), err)
	}
	leftKept(t, dir, 1)
	k = newKept(dir, adapters.EmbedderInfo{Model: "m"})
	if err := k.keep(keptRequest("new"), [][]float32{{1, 2}}); err != nil {
		t.Fatal(err)
	}
	if v, err := k.find(keptRequest(), "text 0"); v != nil || err != nil || k.changed {
		t.Errorf("%v, %v, changed %v", v, err, k.changed)
	}
	if err := k.close(true); err != nil || len(keptNames(t, dir)) > 0 {
		t.Errorf("left: %q, %v", keptNames(t, dir), err)
	}
}

// otherModel embeds "text i" as [1, i, 0.5], or as another model does.
type otherModel struct {
	adapters.Embedder
	other bool
	asked [][]string
}

func (e *otherModel) Embed(_ context.Context, req adapters.EmbedRequest) (out adapters.EmbedResponse, err error) {
	e.asked = append(e.asked, req.Texts)
	for _, text := range req.Texts {
		n, err := strconv.Atoi(strings.TrimPrefix(text, "text "))
		if err != nil {
			return out, err
		}
		v := []float32{1, float32(n), 0.5}
		if e.other {
			v = []float32{0.5, 1, -float32(n)}
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out, nil
}

// TestKeptVectorsOfAnotherModel: with the first texts that nobody has paid for, one is asked again that somebody has. Where another model
// answers behind the same name by now, no index is made of both.
func TestKeptVectorsOfAnotherModel(t *testing.T) {
	t.Parallel()
	all := []string{"text 0", "text 1", "text 2", "text 3", "text 4"}
	for name, tt := range map[string]struct {
		left, most int
		other      bool
		asked      [][]string
		earlier    int
	}{
		"the same":                {3, 2, false, [][]string{{"text 0", "text 3"}, {"text 4"}}, 3},
		"the same, one by one":    {3, 1, false, [][]string{{"text 0"}, {"text 3"}, {"text 4"}}, 3},
		"nothing is left to ask":  {5, 2, false, nil, 5},
		"nothing was paid for":    {0, 5, true, [][]string{all}, 0},
		"another":                 {3, 2, true, [][]string{{"text 0", "text 3"}, {"text 1", "text 2"}, {"text 4"}}, 0},
		"another, in one request": {3, 5, true, [][]string{{"text 0", "text 3", "text 4"}, {"text 1", "text 2"}}, 0},
		"another, and one by one": {3, 1, true, [][]string{{"text 0"}, {"text 1"}, {"text 2"}, {"text 3"}, {"text 4"}}, 0},
		"another, nothing to ask": {5, 2, true, nil, 5}, // the comparison of stored vectors tells it, as of any index that is whole
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.left > 0 {
				leftKept(t, dir, tt.left)
			}
			inner := &otherModel{other: tt.other}
			e := &indexEmbedder{keepingEmbedder{inner}, newKept(dir, adapters.EmbedderInfo{Model: "m"}), tt.most}
			got, err := e.Embed(t.Context(), *keptRequest(all...))
			if e.kept.changed != (tt.other && tt.asked != nil && tt.left > 0) || (err != nil) != e.kept.changed {
				t.Fatalf("changed %v, %v", e.kept.changed, err)
			}
			if e.kept.changed {
				e.kept.changed = false
				if got, err = e.Embed(t.Context(), *keptRequest(all...)); err != nil {
					t.Fatal(err)
				}
			}
			want, _ := (&otherModel{other: tt.other && tt.asked != nil}).Embed(t.Context(), *keptRequest(all...))
			if diff := cmp.Diff(want.Vectors, got.Vectors); diff != "" {
				t.Errorf("vectors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.asked, inner.asked); diff != "" || e.kept.earlier != tt.earlier {
				t.Errorf("%d are of earlier; asked (-want +got):\n%s", e.kept.earlier, diff)
			}
			if err := e.kept.close(true); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeptVectorsFullDisk: where a vector that was paid for cannot be kept, the call fails, so that no other is made.
func TestKeptVectorsFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	k := newKept(t.TempDir(), adapters.EmbedderInfo{Model: "m"})
	k.begun, k.own = true, &keptFile{File: full}
	if err := k.keep(keptRequest("a"), [][]float32{{1}}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if v, err := k.find(keptRequest(), "a"); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
}
