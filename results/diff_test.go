package results

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	wilson := func(c *verdict.CellResult, pass, n int, bounds ...string) {
		c.Pass, c.Scored = pass, n
		if bounds != nil {
			c.Wilson95 = bounds
		}
	}
	passes := func(b *Bundle) { b.Evaluation.Outcome, b.Evaluation.Defects = verdict.Pass, nil }
	for name, tc := range map[string]struct {
		change func(l, r *Bundle)
		how    Comparing
		want   string
		says   []string
		shows  func(d *CaseDiff) bool
	}{
		"nothing": {func(*Bundle, *Bundle) {}, Comparing{}, DiffSame, []string{"retrieve/below-cutoff as before."}, func(d *CaseDiff) bool {
			return len(d.Pins)+len(d.Gold)+len(d.Checks)+len(d.Ranking)+len(d.Cells)+len(d.Claims) == 0
		}},
		"another case":  {func(_, r *Bundle) { r.Manifest.CaseDigest = "x"; passes(r) }, Comparing{}, DiffNotComparable, []string{"the case was changed"}, nil},
		"other rules":   {func(_, r *Bundle) { r.Evaluation.Ruleset = "sha256:1"; passes(r) }, Comparing{}, DiffNotComparable, []string{"--rejudge"}, nil},
		"another judge": {func(_, r *Bundle) { r.Pins.Judge = &JudgePin{Adapter: "openai"} }, Comparing{}, DiffNotComparable, []string{"the judge is another"}, nil},
		"other rules, by force": {
			func(_, r *Bundle) { r.Evaluation.Ruleset = "sha256:1"; passes(r) },
			Comparing{Force: true},
			DiffWithinNoise,
			[]string{"Not comparable: ", "retrieve/below-cutoff became pass."},
			nil,
		},
		"a label, and nothing that it rests on": {
			func(_, r *Bundle) { passes(r) },
			Comparing{},
			DiffWithinNoise,
			[]string{"became pass.", "the generator is not the same each time"},
			nil,
		},
		"a few passes, which may be chance": {func(l, r *Bundle) {
			wilson(&l.Evaluation.Cells[0], 2, 5, "0.1", "0.8")
			wilson(&r.Evaluation.Cells[0], 4, 5, "0.3", "0.9")
			passes(r)
		}, Comparing{}, DiffWithinNoise, []string{"became pass."}, func(d *CaseDiff) bool {
			return len(d.Cells) == 1 && d.Cells[0].Differs == matrix.No && d.Cells[0].By == "fisher" && d.Cells[0].P == "0.5238"
		}},
		"many passes, which are none": {func(l, r *Bundle) {
			wilson(&l.Evaluation.Cells[0], 0, 10, "0", "0.3")
			wilson(&r.Evaluation.Cells[0], 10, 10, "0.7", "1")
			passes(r)
		}, Comparing{}, DiffChanged, []string{"A passes 0/10 → 10/10."}, func(d *CaseDiff) bool { return d.Cells[0].P == "<0.0001" }},
		"counted until decided, intervals overlap": {func(l, r *Bundle) {
			wilson(&l.Evaluation.Cells[0], 0, 10)
			wilson(&r.Evaluation.Cells[0], 10, 10)
			l.Evaluation.Cells[0].Sequence95, r.Evaluation.Cells[0].Sequence95 = []string{"0", "0.5"}, []string{"0.5", "1"}
			passes(r)
		}, Comparing{}, DiffWithinNoise, nil, func(d *CaseDiff) bool { return d.Cells[0].By == "intervals" && d.Cells[0].P == "" }},
		"deterministic: one pass is a change": {func(l, r *Bundle) {
			wilson(&l.Evaluation.Cells[0], 0, 1)
			wilson(&r.Evaluation.Cells[0], 1, 1)
			l.Evaluation.Cells[0].Exact, r.Evaluation.Cells[0].Exact = true, true
			passes(r)
		}, Comparing{}, DiffChanged, nil, func(d *CaseDiff) bool { return d.Cells[0].By == "exact" }},
		"deterministic, and then never": {func(l, r *Bundle) {
			wilson(&l.Evaluation.Cells[0], 1, 1)
			wilson(&r.Evaluation.Cells[0], 0, 10, "0", "0.2775")
			l.Evaluation.Cells[0].Exact = true
			passes(r)
		}, Comparing{}, DiffChanged, nil, func(d *CaseDiff) bool { return d.Cells[0].By == "intervals" && d.Cells[0].P == "" }},
		"deterministic, and then as ever": {func(l, r *Bundle) {
			wilson(&l.Evaluation.Cells[0], 1, 1)
			wilson(&r.Evaluation.Cells[0], 9, 9, "0.7009", "1")
			l.Evaluation.Cells[0].Exact = true
			passes(r)
		}, Comparing{}, DiffWithinNoise, nil, func(d *CaseDiff) bool { return d.Cells[0].Differs == matrix.No }},
		"a model, and the ranking with it": {func(_, r *Bundle) {
			r.Pins.Embedder = &EmbedderPin{Adapter: "openai", Model: "large"}
			hits := r.Observations.Retrievals[0].Candidates
			r.Observations.Retrievals[0].Candidates = append(slices.Clone(hits[2:]), hits[0])
			r.Evaluation.Retrieval.Gold[0].Rank = ptr(1)
			r.Evaluation.Retrieval.Gold[0].Prompt = true
			passes(r)
		}, Comparing{}, DiffChanged, []string{"gold c08: rank 3, not in the prompt → rank 1, in the prompt.", "What moved of the pins: embedder.adapter, embedder.model."}, func(d *CaseDiff) bool {
			items := d.Ranking[0].Items
			return slices.Contains(items, Moved{"c01", "1", "6"}) && slices.Contains(items, Moved{"c02", "2", ""}) && slices.Contains(items, Moved{"c03", "3", "1"})
		}},
		"a setting": {func(_, r *Bundle) {
			r.Experiment.Pipeline.Search.K = 5
			r.Experiment.Limits.Concurrency = 99 // changes no result
			r.Pins.Experiment = "sha256:1"
		}, Comparing{}, DiffSame, []string{"experiment.pipeline.search.k"}, func(d *CaseDiff) bool {
			return slices.Equal(d.Pins, []Moved{{"experiment.pipeline.search.k", "2", "5"}})
		}},
		"only this machine": {func(_, r *Bundle) { r.Pins.Toolchain.Arch = "arm64"; passes(r) }, Comparing{}, DiffWithinNoise, []string{"No pin differs"}, nil},
		"items of equal score in another order": {func(l, r *Bundle) {
			for _, b := range []*Bundle{l, r} {
				hits := slices.Clone(b.Observations.Retrievals[0].Candidates)
				hits[1].Score = hits[0].Score
				b.Observations.Retrievals[0].Candidates = hits
			}
			hits := r.Observations.Retrievals[0].Candidates
			hits[0], hits[1] = hits[1], hits[0]
		}, Comparing{}, DiffSame, nil, func(d *CaseDiff) bool { return len(d.Ranking) == 0 }},
		"a claim": {func(l, r *Bundle) {
			l.Evaluation.Cells[0].Claims = []verdict.ClaimCount{{ID: "class", Met: 1, N: 2}}
			r.Evaluation.Cells[0].Claims = []verdict.ClaimCount{{ID: "class", Met: 3, N: 4}}
		}, Comparing{}, DiffSame, nil, func(d *CaseDiff) bool { return len(d.Claims) == 1 && d.Claims[0].Right.Pass == 3 }},
		"both judged again": {func(l, r *Bundle) {
			l.Evaluation.Ruleset, r.Evaluation.Ruleset = "sha256:1", "sha256:2"
		}, Comparing{Rejudge: true}, DiffSame, nil, func(d *CaseDiff) bool { return len(d.Because) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, r := testBundle(t, "a", 5), testBundle(t, "a", 5)
			tc.change(&l, &r)
			d, err := Compare(&l, &r, tc.how)
			if err != nil {
				t.Fatal(err)
			}
			if d.Result != tc.want {
				t.Errorf("it is %q and should be %q: %s", d.Result, tc.want, d.Story)
			}
			for _, says := range tc.says {
				if !strings.Contains(d.Story, says) {
					t.Errorf("%q is not in the story: %s", says, d.Story)
				}
			}
			if tc.shows != nil && !tc.shows(d) {
				t.Errorf("%+v", d)
			}
		})
	}
	l, r := testBundle(t, "a", 1), testBundle(t, "b", 1)
	if _, err := Compare(&l, &r, Comparing{}); err == nil {
		t.Error("two cases are compared")
	}
}
