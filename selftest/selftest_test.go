package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestThresholds holds verdicts to what is promised, on a few corpora of each fault. Of noise it takes one rate.
func TestThresholds(t *testing.T) {
	t.Parallel()
	o := Options{Seeds: 1, Rates: []float64{0.9}, Noisy: 1, Pairs: 25}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, missed := range r.Missing() {
		t.Error(missed)
	}
	for _, m := range r.Wrong {
		t.Errorf("%s in %s, seed %d: got %s, want %s", m.Fault, m.Shape, m.Seed, strings.Join(m.Given, ", "), m.True)
	}
	if least := 300; r.Deterministic.Cases < least || r.Deterministic.Harmless > r.Deterministic.Cases/20 {
		t.Errorf("%d faults bite and %d do not; want at least %d, and few that do not", r.Deterministic.Cases, r.Deterministic.Harmless, least)
	}
	for _, f := range r.Faults {
		if f.Deterministic.N+f.Noisy.N == 0 {
			t.Errorf("fault %q was not tried, or never bites", f.Fault)
		}
	}
	if r.Deterministic.SpanScript.K >= r.Deterministic.Product.K || r.Deterministic.Constant.K == 0 {
		t.Errorf("baselines: span script %s, constant %s, culprit %s", r.Deterministic.SpanScript, r.Deterministic.Constant, r.Deterministic.Product)
	}
}

// TestHealthyShapesPass: what is broken later is whole before, in every shape and for many seeds.
func TestHealthyShapesPass(t *testing.T) {
	t.Parallel()
	h, err := newHarness(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var jobs []*job
	for _, s := range shapes() {
		for seed := range uint64(2) {
			jobs = append(jobs, &job{shape: s.name, seed: seed, spec: s.newBase(seed).spec})
		}
	}
	if err := h.runAll(t.Context(), "healthy", jobs); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if got := j.got[0]; got.given != string(verdict.Pass) {
			t.Errorf("%s, seed %d: %v", j.shape, j.seed, got.all)
		}
	}
	entries, err := os.ReadDir(h.dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestSameOptionsSameReport runs a little of everything twice; wall time aside, the records are the same bytes.
func TestSameOptionsSameReport(t *testing.T) {
	t.Parallel()
	o := Options{Seeds: 1, Rates: []float64{0.7}, Noisy: 1, Pairs: 3, Healthy: 0, Only: func(_, label string) bool { return strings.HasPrefix(label, "assemble/") }}
	var got [2][]byte
	for i := range got {
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		r.WallMS = 0
		if got[i], err = json.MarshalIndent(r, "", " "); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(got[0]), string(got[1])); diff != "" {
		t.Error(diff)
	}
}

// TestTally counts verdicts of which it is known what they are.
func TestTally(t *testing.T) {
	t.Parallel()
	jobs := []*job{
		{want: "index/missing", got: []seen{{given: "index/missing", all: []string{"index/missing"}, verified: []string{"index/missing"}, span: "index", generations: 2, fixed: 40}}},
		{want: "index/missing", got: []seen{{given: "index/stale", all: []string{"index/stale"}, verified: []string{"index/stale"}, span: "index", generations: 2, fixed: 40}}},
		{want: "retrieve/below-cutoff", got: []seen{{given: "generate/unstable", all: []string{"generate/unstable"}, span: "index"}, {given: inconclusive, span: "retrieve"}}},
		{want: "retrieve/below-cutoff", got: []seen{{given: string(verdict.Pass), right: true}}},
		{want: "generate/x", also: "abstain/y", got: []seen{{given: "abstain/y", span: "generate"}}},
	}
	a := tally(jobs)
	for name, c := range map[string][2]Rate{
		"stage":          {rate(3, 4), a.Stage},
		"label":          {rate(2, 4), a.Label},
		"inconclusive":   {rate(1, 5), a.Inconclusive},
		"span script":    {rate(4, 5), a.SpanScript},
		"constant":       {rate(2, 5), a.Constant},
		"product":        {rate(3, 5), a.Product},
		"verified":       {rate(2, 4), a.Verified},
		"verified wrong": {rate(1, 2), a.VerifiedWrong},
	} {
		if diff := cmp.Diff(c[0], c[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if a.Cases != 5 || a.Harmless != 1 || a.Generations != 4 || a.FixedN != 80 {
		t.Errorf("%d cases, %d harmless, %d of %d generations; want 5, 1, 4 of 80", a.Cases, a.Harmless, a.Generations, a.FixedN)
	}
}

// TestVerifiedWrong: whatever is verified must have been injected, be it the first defect or another, a label or the production prompt.
func TestVerifiedWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		job      job
		verified []string
		want     bool
	}{
		{"nothing is verified", job{want: "index/missing"}, nil, false},
		{"what was injected", job{want: "rerank/demoted"}, []string{"rerank/demoted"}, false},
		{"what is as true", job{want: "abstain/x", also: "generate/y"}, []string{"generate/y"}, false},
		{"another behind it", job{want: "rerank/demoted"}, []string{"rerank/demoted", "assemble/budget-cut"}, true},
		{"the second of two", job{want: "rerank/demoted", later: "assemble/budget-cut"}, []string{"rerank/demoted", "assemble/budget-cut"}, false},
		{"the prompt for the generator's fault", job{want: "generate/contradicts"}, []string{thePrompt}, true},
		{"the prompt for its own", job{want: "prompt/role-dropped"}, []string{thePrompt}, false},
		{"a healthy case", job{want: "pass", rate: 0.9}, []string{"generate/unstable"}, true},
		{"a generator that is not reliable", job{want: "pass", rate: 0.7}, []string{"generate/unstable"}, false},
		{"the prompt for one that is not reliable", job{want: "pass", rate: 0.7}, []string{thePrompt}, true},
	} {
		if got := tt.job.verifiedWrong(&seen{verified: tt.verified}); got != tt.want {
			t.Errorf("%s: wrong %t, want %t", tt.name, got, tt.want)
		}
	}
	g := look(&results.Bundle{Evaluation: verdict.Evaluation{Defects: []verdict.Defect{
		{Stage: verdict.StageRerank, Label: "demoted", Grade: verdict.Shown},
		{Stage: verdict.StageGenerate, Label: "contradicts", Grade: verdict.Verified, Repair: string(matrix.RungPrompt)},
		{Stage: verdict.StagePrompt, Label: "role-dropped", Grade: verdict.Verified, Repair: string(matrix.RungPrompt)},
	}}})
	if diff := cmp.Diff([]string{thePrompt, "prompt/role-dropped"}, g.verified); diff != "" {
		t.Errorf("verified (-want +got):\n%s", diff)
	}
}

func TestBlame(t *testing.T) {
	t.Parallel()
	defect := func(name string) seen { return seen{given: name, all: []string{name}} }
	for _, tt := range []struct {
		rate float64
		seen seen
		want bool
	}{
		{0.9, seen{given: "pass"}, false},
		{0.9, seen{given: inconclusive}, false},
		{0.9, defect("generate/unstable"), true},
		{0.8, defect("generate/unstable"), true},
		{0.7, defect("generate/unstable"), false},
		{0.7, defect("abstain/answered-unanswerable"), false},
		{0.7, defect("retrieve/below-cutoff"), true},
	} {
		if got := blames(&job{rate: tt.rate}, &tt.seen); got != tt.want {
			t.Errorf("pass rate %g, %s: blames %t", tt.rate, tt.seen.given, got)
		}
	}
}

func TestSameSystemTwice(t *testing.T) {
	t.Parallel()
	got := sameSystemTwice([]*job{{got: []seen{{given: "pass"}, {given: "pass"}, {given: "pass"}, {given: "generate/unstable"}, {given: inconclusive}, {given: "pass"}, {given: "index/stale"}, {given: "index/missing"}, {given: "pass"}}}})
	if diff := cmp.Diff(AA{Flips: rate(1, 4), Open: rate(1, 4)}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	good := Accuracy{Stage: rate(400, 400), Label: rate(396, 400), Inconclusive: rate(0, 400), VerifiedWrong: rate(0, 100)}
	bad := good
	bad.Label = rate(391, 400)
	for _, tt := range []struct {
		name string
		r    Report
		want []string
	}{
		{"nothing was run", Report{}, nil},
		{"all holds", Report{Deterministic: good, Noisy: good, Healthy: Healthy{FalseBlame: rate(60, 2000)}, AA: AA{Flips: rate(1, 100)}}, nil},
		{"labels", Report{Deterministic: bad}, []string{"deterministic faults: right label"}},
		{"the interval of false blame", Report{Healthy: Healthy{FalseBlame: rate(95, 2000)}}, []string{"healthy noisy cases: false blame, with its interval"}},
		{"false blame of too few", Report{Healthy: Healthy{FalseBlame: rate(90, 1000)}}, nil},
		{"flips", Report{AA: AA{Flips: rate(6, 100)}}, []string{"same system twice: flips"}},
	} {
		tt.r.hold()
		var missed []string
		for _, th := range tt.r.Thresholds {
			if th.State == Missed {
				missed = append(missed, th.Name)
			}
		}
		if diff := cmp.Diff(tt.want, missed); diff != "" || (tt.r.Exit != 0) != (len(tt.want) > 0) {
			t.Errorf("%s: exit %d (-want +got):\n%s", tt.name, tt.r.Exit, diff)
		}
	}
}

// TestEveryLabelHasAFault: a label that is added to the rules needs a fault, or a reason why there is none.
func TestEveryLabelHasAFault(t *testing.T) {
	t.Parallel()
	if missing := untested(Options{}); len(missing) > 0 {
		t.Errorf("no fault brings about %q: add one to faults, or say why in unproduced", missing)
	}
	known := map[string]bool{environment: true}
	for _, r := range verdict.Rules() {
		known[r.ID()] = true
	}
	for _, f := range faults() {
		if !known[f.want] || f.also != "" && !known[f.also] {
			t.Errorf("fault %q is to give %q, which is no label", f.name, f.want)
		}
		if !slices.ContainsFunc(shapes(), func(s shape) bool { return f.fits(s.name) }) {
			t.Errorf("fault %q fits no shape", f.name)
		}
	}
	for label := range unproduced() {
		if !known[label] || slices.ContainsFunc(faults(), func(f fault) bool { return f.want == label }) {
			t.Errorf("%q is listed as not brought about, and is no label or has a fault", label)
		}
	}
}

// TestEveryPairIsTried: of two faults of two stages one hides the other, or there is a reason why neither does.
func TestEveryPairIsTried(t *testing.T) {
	t.Parallel()
	all, reasons := faults(), map[string]bool{}
	for i := range all {
		if f := &all[i]; f.place() < 0 && stageOf(f.want) != "access" {
			t.Errorf("fault %q acts nowhere (%q)", f.name, f.acts)
		}
		for j := range i {
			f, g := &all[i], &all[j]
			why := leftOut(f, g)
			reasons[why] = true
			if stageOf(f.want) != stageOf(g.want) && one(f.hides(g))+one(g.hides(f))+one(why != "") != 1 {
				t.Errorf("%q and %q: hides %t, is hidden %t, left out %q; want one of the three", f.name, g.name, f.hides(g), g.hides(f), why)
			}
		}
	}
	for _, l := range exempt() {
		if !reasons[l.why] {
			t.Errorf("no pair is left out because of %s", l.why)
		}
	}
}

// TestPairsAreDrawnEvenly: no fault is left out where there are as many pairs as faults.
func TestPairsAreDrawnEvenly(t *testing.T) {
	t.Parallel()
	turns := map[string]int{}
	for _, p := range pairs(Options{Pairs: 150}) {
		turns[p.first.name]++
		turns[p.second.name]++
	}
	all := faults()
	for i := range all {
		f := &all[i]
		hidden := slices.ContainsFunc(all, func(g fault) bool { return f.hides(&g) || g.hides(f) })
		if n := turns[f.name]; hidden && n == 0 || n > 15 {
			t.Errorf("%q is in %d of 150 pairs", f.name, n)
		}
	}
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	o := Options{Seeds: 1, Only: func(_, label string) bool { return label == "index/missing" }}
	ctx, cancel := context.WithCancel(t.Context())
	o.Show = func(string, int, int) { cancel() }
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was cancelled: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestAccuracyIsCurrent: docs/accuracy.md is of the rules as they are.
func TestAccuracyIsCurrent(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Rules: " + short(verdict.Ruleset()) + "."; !bytes.Contains(page, []byte(want)) {
		t.Errorf("docs/accuracy.md is of other rules (want %q): go run ./cmd/culprit selftest --markdown > docs/accuracy.md", want)
	}
	for _, f := range faults() {
		if !regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(f.name) + ` +\| ` + "`" + regexp.QuoteMeta(f.want) + "`").Match(page) {
			t.Errorf("docs/accuracy.md has no row of fault %q: go run ./cmd/culprit selftest --markdown > docs/accuracy.md", f.name)
		}
	}
}
