package results

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// goldens are the bundles that must verify and replay for ever, by name.
func goldens(tb testing.TB) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("testdata/golden/*" + archiveSuffix)
	if err != nil || len(paths) < 6 {
		tb.Fatalf("%d golden bundles, %v", len(paths), err)
	}
	out := map[string]string{}
	for _, path := range paths {
		out[strings.TrimSuffix(filepath.Base(path), archiveSuffix)] = path
	}
	return out
}

// A trial says the same whether others were read before it, from which what they say alike is taken, or none.
func TestEachTrialIsReadByItself(t *testing.T) {
	t.Parallel()
	for name, path := range goldens(t) {
		b, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		together, err := verdict.Extract(&b.Experiment, &b.Case, &b.Observations)
		if err != nil {
			t.Fatal(err)
		}
		alone := b.Observations
		for i := range b.Observations.Trials {
			alone.Trials = b.Observations.Trials[i : i+1]
			f, err := verdict.Extract(&b.Experiment, &b.Case, &alone)
			if err != nil {
				t.Fatal(err)
			}
			want := together.Trials[i]
			if f.Trials[0].Answer = want.Answer; !reflect.DeepEqual(f.Trials[0], want) { // a number among all of them
				t.Errorf("%s, trial %d: %+v, and among others %+v", name, i, f.Trials[0], want)
			}
		}
	}
}

// What is derived says all that it is in the bytes that it is sealed as: what is read from them is what was derived.
func TestDerivedIsItsBytes(t *testing.T) {
	t.Parallel()
	for name, path := range goldens(t) {
		r, err := ReplayBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		var features verdict.Features
		var evaluation verdict.Evaluation
		if err := errors.Join(decodeJSON(remade(t, r)[0], &features, true), decodeJSON(remade(t, r)[1], &evaluation, true)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r.Bundle.Features, features, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: features (-derived +read):\n%s", name, diff)
		}
		if diff := cmp.Diff(r.Bundle.Evaluation, evaluation, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: evaluation (-derived +read):\n%s", name, diff)
		}
	}
}

// The experiment that was read last is taken for no other, whichever bundle was replayed before, and for none whose bytes are not those
// that are listed.
func TestLastExperimentIsNoOther(t *testing.T) { // alone, so that no other test replays in between
	path := goldens(t)["repeated"]
	other := unpack(t, path)
	edited(t, other, experimentFile, `"I don't know","I do not know"`, `"Fee unknown"`)
	reseal(t, other, nil)
	var evaluations [][]byte
	for range 2 {
		for _, path := range []string{path, other, other} {
			r, err := ReplayBundle(path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := derive(b, b.Manifest.Digests.Observation)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(remade(t, r), [][]byte{canonical(t, &want.features), canonical(t, &want.evaluation)}, bytes.Equal) {
				t.Errorf("%s: something else follows with the last experiment", path)
			}
			evaluations = append(evaluations, canonical(t, &want.evaluation))
		}
	}
	if bytes.Equal(evaluations[0], evaluations[1]) {
		t.Error("nothing follows from the other experiment")
	}
	edited(t, other, experimentFile, `"Fee unknown"`, `"Fee unheard"`)
	if _, err := ReplayBundle(other); err == nil || !strings.Contains(err.Error(), "its sum differs") {
		t.Errorf("another experiment than is listed: %v", err)
	}
}

// BenchmarkReplay replays the golden bundles as other rules sealed them, so that their differences are listed, and as these rules seal them.
func BenchmarkReplay(b *testing.B) {
	for name, path := range goldens(b) {
		b.Run(name, func(b *testing.B) {
			b.Run("other", func(b *testing.B) { benchmarkReplay(b, path) })
			b.Run("same", func(b *testing.B) { benchmarkReplay(b, packFolder(b, current(b, name))) })
		})
	}
}

func benchmarkReplay(b *testing.B, path string) {
	untouched := make([]byte, 32<<20) // the collector waits as it does in culprit replay
	defer runtime.KeepAlive(untouched)
	b.ReportAllocs()
	before := cpuTime(b)
	trials := 0
	for b.Loop() {
		r, err := ReplayBundle(path)
		if err != nil {
			b.Fatal(err)
		}
		trials = len(r.Bundle.Observations.Trials)
	}
	b.ReportMetric(float64(trials), "trials")
	b.ReportMetric(float64(b.N)/(cpuTime(b)-before).Seconds(), "bundles/cpu-s")
}

// cpuTime is what the process has used, which other work on the machine does not change.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
