// Replay holds the golden bundles to what BUNDLE.md calls re-evaluation identity: the same bytes on every processor.
//
//	go run ./scripts/replay
//
// It builds itself for several processors, lets each of them verify and replay the bundles in results/testdata/golden, and compares
// what they say. One that this machine can neither run nor emulate is left out, and said so; qemu-user-static brings the emulators.
//
//	go run ./scripts/replay <bundle>...
//
// says in a line for each bundle what follows from it here.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/culprit-rag/culprit/matrix/measure"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if bundles := os.Args[1:]; len(bundles) > 0 {
		err = replay(os.Stdout, bundles)
	} else {
		err = everywhere(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

// numbers writes a line for each function whose numbers stand in what is derived, over many arguments and with as many places as there:
// few bundles meet the arguments of which two processors make two numbers.
func numbers(w io.Writer) {
	const alpha, level, most, mostPairs = 0.05, 0.95, 30, 9
	for _, of := range []struct {
		name string
		of   func(k, n int) (lo, hi float64)
	}{
		{"wilson", func(k, n int) (lo, hi float64) { return measure.Wilson(k, n, level) }},
		{"jeffreys", func(k, n int) (lo, hi float64) { return measure.Jeffreys(k, n, level) }},
		{"clopper-pearson", func(k, n int) (lo, hi float64) {
			return measure.ClopperPearsonLower(k, n, alpha).Float(), measure.ClopperPearsonUpper(k, n, alpha).Float()
		}},
		{"sequence", func(k, n int) (lo, hi float64) { return measure.ConfidenceSequence(n, k, alpha) }},
		{"evidence", func(k, n int) (lo, hi float64) { return measure.LogEvidence(k, n/2, n), measure.LogEvidence(n/2, k, n) }},
		{"boschloo", func(k, n int) (lo, hi float64) {
			n = min(n, mostPairs)
			return measure.Boschloo(min(k, n), n, n/2, n), measure.Boschloo(n/2, n, min(k, n), n)
		}},
		{"newcombe", func(k, n int) (lo, hi float64) { return measure.Newcombe(k, n, n/2, n, level) }},
		{"difference", func(k, n int) (lo, hi float64) { return measure.DifferenceSequence(k, n, n/2, n, alpha) }},
	} {
		h := sha256.New()
		for n := 1; n <= most; n++ {
			for k := range n + 1 {
				lo, hi := of.of(k, n)
				fmt.Fprintf(h, "%.6f %.6f\n", lo, hi)
			}
		}
		fmt.Fprintf(w, "%s=%x\n", of.name, h.Sum(nil))
	}
}

// replay writes those lines, and one for each bundle. Whoever reads the same bundles by the same code must write the same lines.
func replay(w io.Writer, bundles []string) error {
	numbers(w)
	for _, path := range bundles {
		v := results.Verify(path, results.Policy{Partial: true})
		if v.State != results.StateIntact && v.State != results.StateEvaluator {
			return fmt.Errorf("%s is %s: %v", path, v.State, v.Problems)
		}
		r, err := results.ReplayBundle(path)
		if err != nil {
			return err
		}
		b, err := results.Open(path)
		if err != nil {
			return err
		}
		features, evaluation, err := r.Derived()
		if err != nil {
			return err
		}
		b.Features, b.Evaluation = r.Bundle.Features, r.Bundle.Evaluation
		var page bytes.Buffer
		if err := report.Explain(&page, b, report.Options{Full: true}); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s derived=%t same=%t %s features=%x evaluation=%x report=%x\n", filepath.Base(path), v.Derived, r.Same, r.Now.Verdict,
			sha256.Sum256(features), sha256.Sum256(evaluation), sha256.Sum256(page.Bytes()))
	}
	return nil
}

// processor is one to replay on. Emulator is the program that runs it where this machine cannot.
type processor struct {
	name     string
	env      []string
	emulator string
}

var processors = []processor{
	{"386", []string{"GOARCH=386"}, "qemu-i386-static"},
	{"amd64 v1", []string{"GOARCH=amd64", "GOAMD64=v1"}, "qemu-x86_64-static"},
	{"amd64 v3, which fuses products", []string{"GOARCH=amd64", "GOAMD64=v3"}, ""},
	{"arm64, which fuses products", []string{"GOARCH=arm64"}, "qemu-aarch64-static"},
	{"s390x, which fuses products and is big-endian", []string{"GOARCH=s390x"}, "qemu-s390x-static"},
}

// errCannotRun means that this machine can neither run nor emulate a processor.
var errCannotRun = errors.New("this machine cannot run it")

func everywhere(ctx context.Context, w io.Writer) error {
	bundles, err := filepath.Glob("results/testdata/golden/*.bundle.zip")
	if err != nil {
		return err
	}
	if len(bundles) == 0 {
		return errors.New("no golden bundle below results/testdata/golden: run it in the root of the repository")
	}
	var here bytes.Buffer
	if err := replay(&here, bundles); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "culprit-replay-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left there harms nobody
	fmt.Fprint(w, here.String())
	same := []string{runtime.GOARCH}
	var differ []error
	for _, p := range processors {
		out, err := p.replay(ctx, dir, bundles)
		switch {
		case errors.Is(err, errCannotRun):
			fmt.Fprintf(w, "SKIPPED %s: %v; apt-get install qemu-user-static brings an emulator\n", p.name, err)
		case err != nil:
			differ = append(differ, fmt.Errorf("on %s: %w", p.name, err))
		case out != here.String():
			differ = append(differ, fmt.Errorf("on %s other bytes follow:\n%s", p.name, out))
		default:
			same = append(same, p.name)
		}
	}
	if err := errors.Join(differ...); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d bundles, the same bytes on %s\n", len(bundles), strings.Join(same, "; "))
	return nil
}

// replay builds this program for a processor and runs it.
func (p *processor) replay(ctx context.Context, dir string, bundles []string) (string, error) {
	program := filepath.Join(dir, strings.Fields(p.name)[0])
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./scripts/replay")
	build.Env = append(os.Environ(), append(p.env, "GOOS=linux", "CGO_ENABLED=0")...)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	out, err := run(ctx, program, bundles)
	if err == nil {
		return out, nil
	}
	emulator, missing := exec.LookPath(p.emulator)
	if missing != nil {
		if len(out) == 0 { // it said nothing of a bundle: it did not begin
			return "", fmt.Errorf("%w: %w", errCannotRun, err)
		}
		return "", err
	}
	return run(ctx, emulator, append([]string{program}, bundles...))
}

func run(ctx context.Context, program string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w %s", err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
