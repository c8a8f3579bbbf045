package verdict

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// BenchmarkEvaluate judges a case of 50 trials, each with a response id, as a live model gives them, without the digest of its observations,
// which has a line of its own: one whose failure is explained, by both ways of deciding, and one that is left undecided. What package
// measure keeps was kept from the case before.
func BenchmarkEvaluate(b *testing.B) {
	for name, auto := range map[string]bool{"fixed": false, "auto": true} {
		e, c, p, o := askedCase(25, func(trial *matrix.Trial) {
			trial.Metadata = map[string]string{matrix.MetadataResponseID: trial.CallKey}
			if trial.Cell == matrix.CellA {
				trial.Packed, trial.Prompt = trial.Packed[1:], []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("Lunch is at noon.\n")}}
			}
		})
		p.Auto = auto
		o.Retrievals[0].K = 1
		o.Retrievals[0].Candidates[0], o.Retrievals[0].Candidates[1] = o.Retrievals[0].Candidates[1], o.Retrievals[0].Candidates[0]
		o.Retrievals[0].Candidates[0].Rank, o.Retrievals[0].Candidates[1].Rank = 1, 2
		f, err := Extract(e, c, o)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				ev := EvaluateDigested("", e, c, p, o, &f)
				if len(ev.Defects) != 1 || ev.Defects[0].Name() != "retrieve/below-cutoff" {
					b.Fatal(ev.Defects, ev.Missing)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
	b.Run("undecided", func(b *testing.B) { // every pair is looked at
		e, c, p, o := askedCase(25, func(trial *matrix.Trial) {
			trial.Metadata = map[string]string{matrix.MetadataResponseID: trial.CallKey}
			if trial.Rep%3 != 0 {
				trial.Answer = matrix.NewText(fmt.Sprintf("It is forty crowns, said %d.", trial.Rep))
			} else {
				trial.Answer = matrix.NewText(fmt.Sprintf("It is fifty crowns, said %d.", trial.Rep))
			}
		})
		p.Auto = true
		f, err := Extract(e, c, o)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		before := cpuTime(b)
		for b.Loop() {
			if ev := EvaluateDigested("", e, c, p, o, &f); ev.Outcome != Inconclusive {
				b.Fatal(ev.Outcome)
			}
		}
		b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	})
	b.Run("digest", func(b *testing.B) {
		_, _, _, o := askedCase(25, func(*matrix.Trial) {})
		b.ReportAllocs()
		before := cpuTime(b)
		for b.Loop() {
			if _, err := o.Digest(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	})
}

// cpuTime is what the process has used, which other work on the machine does not change.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
