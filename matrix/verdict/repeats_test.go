package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// TestCopiesCountOnce holds repeats that the provider served from one response to counting as one, in the counts and the intervals.
func TestCopiesCountOnce(t *testing.T) {
	t.Parallel()
	carry := func(ids string) func(*matrix.Trial) { // a letter for each repeat of A
		return func(t *matrix.Trial) {
			if t.Cell == "A" && ids[t.Rep-1] != '-' {
				t.Metadata = map[string]string{matrix.MetadataResponseID: ids[t.Rep-1 : t.Rep]}
			}
		}
	}
	then := func(changes ...func(*matrix.Trial)) func(*matrix.Trial) {
		return func(t *matrix.Trial) {
			for _, change := range changes {
				change(t)
			}
		}
	}
	cache := func(hits string) func(*matrix.Trial) { // "H": served by a cache
		return func(t *matrix.Trial) {
			if t.Cell == "A" && hits[t.Rep-1] == 'H' {
				t.Metadata[matrix.MetadataCache] = "cf-aig-cache-status: HIT"
			}
		}
	}
	timed := func(ms ...int64) func(*matrix.Trial) { // the wire time of each repeat of A; all but the last are one text
		return func(t *matrix.Trial) {
			if t.Cell == "A" {
				t.LatencyMS = ms[t.Rep-1]
				if t.Rep < len(ms) {
					t.Answer = matrix.NewText("It is fifty crowns.")
				}
			}
		}
	}
	for _, test := range []struct {
		name           string
		change         func(*matrix.Trial)
		deterministic  bool
		scored, copies int
		findings       []string
	}{
		{name: "no ids", change: carry("-----"), scored: 5},
		{name: "an id each", change: carry("abcde"), scored: 5},
		{
			name: "three of one", change: carry("abaca"), scored: 3, copies: 2,
			findings: []string{"generator: 3 of 5 repeats of A carry one response id: the provider served one answer, and they count as one"},
		},
		{
			name: "two pairs", change: carry("aabb-"), scored: 3, copies: 2,
			findings: []string{
				"generator: 2 of 5 repeats of A carry one response id: the provider served one answer, and they count as one",
				"generator: 2 of 5 repeats of A carry one response id: the provider served one answer, and they count as one",
			},
		},
		{
			name: "all of one", change: carry("aaaaa"), scored: 1, copies: 4,
			findings: []string{"generator: 5 of 5 repeats of A carry one response id: the provider served one answer, and they count as one"},
		},
		{name: "copies that this program made", scored: 5, change: then(carry("aaaaa"), func(t *matrix.Trial) {
			if t.Rep > 1 {
				t.SameAs = "A1"
			}
		})},
		{name: "served by production's cache", scored: 5, change: then(carry("aaaaa"), func(t *matrix.Trial) { t.Cached = true })},
		{name: "a deterministic generator", deterministic: true, change: carry("aaaaa"), scored: 5},
		{
			name: "one text for every seed", scored: 5, change: func(t *matrix.Trial) { t.Answer = matrix.NewText("It is fifty crowns.") },
			findings: []string{"generator: at temperature 0.7 all answers of A (5), B (5) are the same to the letter, though each was asked for with a seed of its own: the server may ignore seed or temperature"},
		},
		{
			name: "a cache that says so, with ids of its own", scored: 3, copies: 2, change: then(carry("abcde"), cache("-HHHH"), func(t *matrix.Trial) {
				if t.Cell == "A" && t.Rep != 4 && t.Rep != 5 {
					t.Answer = matrix.NewText("It is fifty crowns.")
				}
			}),
			findings: []string{
				"generator: a cache served 4 of 10 generations, by the header cf-aig-cache-status: HIT: switch it off for a test",
				"generator: 2 of 5 repeats of A have the text of an earlier one, and their headers say that a cache served them: they count as one with it",
			},
		},
		{
			name: "a prompt cache, which is fast", scored: 5, change: then(timed(3000, 100, 100, 100, 100), func(t *matrix.Trial) {
				in, cached := 1000, 896
				t.Usage = matrix.Usage{InputTokens: &in, CachedInputTokens: &cached}
			}),
			findings: []string{"generator: the provider's prompt cache held half of the prompt or more in 10 of 10 generations: that makes reading it cheaper, and no answer a copy"},
		},
		{
			name: "a prompt cache of little", scored: 5, change: func(t *matrix.Trial) {
				in, cached := 1000, 128
				t.Usage = matrix.Usage{InputTokens: &in, CachedInputTokens: &cached}
			},
		},
		{
			name: "copies by their time", scored: 5, change: timed(900, 2, 90, 91, 4),
			findings: []string{"generator: 2 of 5 repeats of A have the text of an earlier one, and took a tenth of its time or less (2 ms after 900 ms): a cache may have served them, or the first had to wait; they are counted"},
		},
		{name: "all of them fast", scored: 5, change: timed(199, 0, 0, 0, 0)},
		{name: "fast, and another text", scored: 5, change: func(t *matrix.Trial) { t.LatencyMS = int64(900 / (1 + 100*(t.Rep-1))) }},
		{
			name: "one text for no seed", scored: 5, change: func(t *matrix.Trial) {
				t.Answer, t.Notes = matrix.NewText("It is fifty crowns."), []string{fmt.Sprintf("seed %d was not sent: backends.generator.supports.seed is false", t.Seed)}
			},
			findings: []string{
				"generator: seed was not sent: backends.generator.supports.seed is false (in 10 of 10 generations)",
				"generator: at temperature 0.7 all answers of A (5), B (5) are the same to the letter, though no seed was sent: the server may ignore the temperature, or a cache may have served them",
			},
		},
		{name: "one text, in this process", scored: 5, change: func(t *matrix.Trial) {
			t.Answer, t.Outside = matrix.NewText("It is fifty crowns."), false
		}},
	} {
		e, c, p, o := askedCase(5, test.change)
		p.Deterministic = test.deterministic
		ev := evaluated(t, e, c, p, o)
		a := ev.Cells[0]
		if a.Scored != test.scored || a.Copies != test.copies || a.Unscored != test.copies || (a.Reason != "") != (test.copies > 0) {
			t.Errorf("%s: %+v", test.name, a)
		}
		if want := Wilson95(a.Pass, test.scored); !test.deterministic && !slices.Equal(a.Wilson95, want) {
			t.Errorf("%s: want the interval %v of %d answers, got %v", test.name, want, test.scored, a.Wilson95)
		}
		if a.Claims[0].N != test.scored || ev.Answer.Scored != test.scored {
			t.Errorf("%s: claims over %d, answers over %d", test.name, a.Claims[0].N, ev.Answer.Scored)
		}
		got := slices.DeleteFunc(ev.Findings, func(s string) bool { return !strings.HasPrefix(s, "generator: ") })
		got = append(got, TimeFindings(p, o)...)
		if diff := cmp.Diff(test.findings, got); diff != "" && len(test.findings)+len(got) > 0 {
			t.Errorf("%s: findings (-want +got):\n%s", test.name, diff)
		}
	}
}

// A cell is not scored because of the answers that it lacks, whatever came before them.
func TestReasonIsOfWhatWasNotScored(t *testing.T) {
	t.Parallel()
	cell := &cellFacts{all: []*matrix.Trial{
		{Status: matrix.StatusOK, FinishReason: "stop"},
		{Status: matrix.StatusTruncated, FinishReason: "length"},
	}}
	if got := new(walker).cellReason(cell); got != "finish reason length" {
		t.Errorf("got %q", got)
	}
}

// TestSharedContext reads repetitions that share their context as it reads those of a file, where each has its own.
func TestSharedContext(t *testing.T) {
	t.Parallel()
	e, c, _, o := askedCase(3, func(*matrix.Trial) {})
	shared := map[matrix.CellID][]matrix.Packed{}
	for i := range o.Trials {
		trial := &o.Trials[i]
		if shared[trial.Cell] == nil {
			shared[trial.Cell] = trial.Packed
		}
		trial.Packed = shared[trial.Cell]
	}
	got, err := Extract(e, c, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range o.Trials {
		o.Trials[i].Packed = slices.Clone(o.Trials[i].Packed)
	}
	want, err := Extract(e, c, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(got.Trials, func(f TrialFeatures) bool { return f.Carried > 0 && f.Rep > 1 }) {
		t.Error("no repetition carries an item")
	}
}
