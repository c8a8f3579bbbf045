package results

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Regenerate with: go test ./results -update
var update = flag.Bool("update", false, "rewrite the golden files")

func TestExecutionIDs(t *testing.T) {
	t.Parallel()
	id := newExecutionID("travel-policy", testTime.In(time.FixedZone("", 3600)), []byte("nonce"))
	if again, err := ParseExecutionID(id.String()); err != nil || again != id || !id.Time().Equal(testTime) {
		t.Errorf("%q: %q, %v, %v", id, again, id.Time(), err)
	}
	if other := newExecutionID("travel-policy", testTime, []byte("other")); other == id {
		t.Error("the nonce does not count")
	}
	for _, bad := range []string{"", "20261129T200000Z", "20261129T200000Z-k3f9q", "20261129T200000Z-K3F9QA", "20261129T200000Z-k3f9qi", "20261399T200000Z-k3f9qa", "../x", "20261129T200000Z-k3f9qa/.."} {
		if _, err := ParseExecutionID(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
		var id ExecutionID
		if err := json.Unmarshal(fmt.Appendf(nil, "%q", bad), &id); err == nil {
			t.Errorf("%q is taken from JSON", bad)
		}
		if _, err := json.Marshal(ExecutionID(bad)); err == nil {
			t.Errorf("%q is written", bad)
		}
	}
}

// Executions of one second sort as they began.
func TestExecutionsOfOneSecondSortByAge(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	var made []ExecutionID
	for range 5 {
		made = append(made, newTestExecution(t, out).ID())
	}
	slices.Reverse(made)
	got, err := Executions(out)
	if err != nil || !slices.Equal(got, made) {
		t.Errorf("want %v, got %v, %v", made, got, err)
	}
	if got, err := Executions(filepath.Join(out, "none")); err != nil || len(got) != 0 {
		t.Errorf("a folder that is not there: %v, %v", got, err)
	}
}

// Ids sort by the clock. Where that has gone back, the ledger alone knows the order, and it is said.
func TestExecutionBehindTheClock(t *testing.T) {
	t.Parallel()
	out, now := t.TempDir(), time.Now()
	begin := func(at time.Time) (ExecutionID, []string) {
		e, err := NewExecution(out, "clock", at)
		if err != nil {
			t.Fatal(err)
		}
		id, says := e.ID(), e.Says()
		if err := errors.Join(e.Begin(&matrix.Experiment{Name: "clock"}, nil, nil, false), e.Close()); err != nil {
			t.Fatal(err)
		}
		return id, says
	}
	first, says := begin(now)
	if len(says) != 0 {
		t.Errorf("it is said of the first: %q", says)
	}
	behind, says := begin(now.Add(-24 * time.Hour))
	if len(says) != 1 || !strings.Contains(says[0], string(first)) {
		t.Errorf("of one that is a day behind it is said %q", says)
	}
	if got, err := Executions(out); err != nil || !slices.Equal(got, []ExecutionID{first, behind}) {
		t.Errorf("%v, %v", got, err)
	}
	l, err := ReadLedger(out)
	if err != nil || len(l.Records) != 2 || l.Records[0].Execution != first || l.Records[1].Execution != behind {
		t.Errorf("the ledger has %+v, %v", l, err)
	}
}

func TestCaseNames(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"long-haul", "a", "a.b_c-1", "2026"} {
		if got := caseName(id); got != id {
			t.Errorf("%q is stored as %q", id, got)
		}
	}
	seen := map[string]string{}
	for _, id := range []string{
		"A/b", "a/b", "a:b", "A:b", "..", ".", "", "../../etc/passwd", "CON", "con", "nul.txt", "com1", "x.", ".hidden", "日本語", "a b", "a\x00b",
		strings.Repeat("x", 65), strings.Repeat("x", 300), "a\nb", "case\u202e",
	} {
		name := caseName(id)
		if !plainCaseID.MatchString(name) || reservedName.MatchString(name) || filepath.Base(name) != name {
			t.Errorf("%q is stored as %q", id, name)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both stored as %q", id, other, name)
		}
		seen[name] = id
	}
}

func TestFindCase(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if _, err := FindCase(out, "long-haul", ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("want not found, got %v", err)
	}
	first, second := newTestExecution(t, out), newTestExecution(t, out)
	old, err := writeCase(first, testBundle(t, "Long/haul", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeCase(second, testBundle(t, "taxi", 1), false); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[ExecutionID]string{"": old, first.ID(): old, second.ID(): ""} {
		dir, err := FindCase(out, "Long/haul", id)
		if dir != want || (want == "") != errors.Is(err, ErrNotFound) {
			t.Errorf("in %q: %q, %v", id, dir, err)
		}
	}
	if _, err := FindCase(out, "long-hall", ""); err == nil || !strings.Contains(err.Error(), "has taxi") {
		t.Errorf("the error does not say what there is: %v", err)
	}
	if _, err := FindCase(out, "taxi", "../x"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// A bundle that was copied under another name, or into another execution, is not shown as what it is not.
func TestCopiedBundle(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	first, second := newTestExecution(t, out), newTestExecution(t, out)
	taxi, err := writeCase(first, testBundle(t, "taxi", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeCase(second, testBundle(t, "Long/haul", 1), false); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, to, asked string
		in              ExecutionID
		says            string
	}{
		{"another case", "hotel", "hotel", first.ID(), `of case "taxi"`},
		{"a case of a name that is no path", caseName("Hotel/x"), "Hotel/x", first.ID(), `of case "taxi"`},
		{"another execution", "taxi", "taxi", second.ID(), fmt.Sprintf("of execution %q", first.ID())},
	} {
		to := filepath.Join(out, string(tc.in), tc.to)
		for path, copies := range map[string]func(to string) error{
			to + archiveSuffix: func(to string) error { return os.WriteFile(to, readAll(t, taxi), 0o600) },
			to + folderSuffix:  func(to string) error { return os.CopyFS(to, os.DirFS(unpack(t, taxi))) },
		} {
			if err := copies(path); err != nil {
				t.Fatal(err)
			}
			if dir, err := FindCase(out, tc.asked, tc.in); err == nil || dir != "" || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: got %q, %v", tc.name, dir, err)
			}
			if _, err := ReadSummary(out, tc.in); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s, summary: %v", tc.name, err)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if dir, err := FindCase(out, "taxi", ""); dir != taxi || err != nil {
		t.Errorf("the bundle itself: %q, %v", dir, err)
	}
	if s, err := ReadSummary(out, first.ID()); err != nil || len(s.Cases) != 1 {
		t.Errorf("the summary of what is left: %v, %v", s, err)
	}
}

// A bundle that was unpacked is found like one that was not, and beside it the one that was not is the one that is read.
func TestUnpackedBundle(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	sealed, err := writeCase(e, testBundle(t, "taxi", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeCase(e, testBundle(t, "taxi.bundle", 1), false); err != nil {
		t.Fatal(err)
	}
	folder := strings.TrimSuffix(sealed, ".zip")
	if err := os.CopyFS(folder, os.DirFS(unpack(t, sealed))); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		if path, err := FindCase(e.out, "taxi", ""); path != want || err != nil {
			t.Errorf("found %q, %v", path, err)
		}
		if paths, err := Bundles(e.out, e.ID()); err != nil || len(paths) != 2 || paths[0] != want {
			t.Errorf("bundles %q, %v", paths, err)
		}
		if s, err := ReadSummary(e.out, e.ID()); err != nil || len(s.Cases) != 2 || s.Cases[0].Bundle != want {
			t.Errorf("summary %+v, %v", s, err)
		}
	}
	check(sealed)
	if err := os.Remove(sealed); err != nil {
		t.Fatal(err)
	}
	check(folder)
}

// How a run is carried out is no part of what is run.
func TestPinsExperiment(t *testing.T) {
	t.Parallel()
	of := func(change func(e *matrix.Experiment)) string {
		t.Helper()
		e := testBundle(t, "taxi", 1).Experiment
		change(&e)
		p, err := NewPins(&e)
		if err != nil {
			t.Fatal(err)
		}
		return p.Experiment
	}
	plain := of(func(*matrix.Experiment) {})
	for name, change := range map[string]func(l *matrix.Limits){
		"concurrency":         func(l *matrix.Limits) { l.Concurrency = 7 },
		"requests_per_minute": func(l *matrix.Limits) { l.RequestsPerMinute = 7 },
		"timeout":             func(l *matrix.Limits) { l.Timeout = 7 },
		"retries":             func(l *matrix.Limits) { l.Retries = 7 },
		"tokens_per_minute":   func(l *matrix.Limits) { l.TokensPerMinute = 7 },
	} {
		if of(func(e *matrix.Experiment) { change(&e.Limits) }) != plain {
			t.Errorf("limits.%s changes what the experiment is", name)
		}
	}
	for name, change := range map[string]func(e *matrix.Experiment){
		"limits.budget":     func(e *matrix.Experiment) { e.Limits.Budget.Calls = 7 }, // some are not made
		"pipeline.search.k": func(e *matrix.Experiment) { e.Pipeline.Search.K = 7 },
		"runs.repeats":      func(e *matrix.Experiment) { e.Runs.Repeats = 7 },
	} {
		if of(change) == plain {
			t.Errorf("%s does not change what the experiment is", name)
		}
	}
}

// number is for tables.
func number(f float64) *Number { return newNumber(f) }

func TestNumbers(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{0.66666666: "0.6667", 1: "1", 0: "0", math.Copysign(0, -1): "0", -0.00001: "0", 1e21: "1000000000000000000000"} {
		got, err := json.Marshal(number(f))
		if err != nil || string(got) != want {
			t.Errorf("%v: want %s, got %s, %v", f, want, got, err)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if n := number(f); n != nil {
			t.Errorf("%v became %v", f, *n)
		}
	}
	for _, s := range []string{"", "NaN", "Inf", "-Inf", "x"} {
		if n := parseNumber(s); n != nil {
			t.Errorf("%q became %v", s, *n)
		}
	}
	if _, err := json.Marshal(Number(math.NaN())); err == nil {
		t.Error("NaN is written")
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	b := testBundle(t, "long-haul", 0)
	b.Observations.Retrievals = append(b.Observations.Retrievals, matrix.Retrieval{Cell: "C/exact", Status: matrix.StatusNotRun})
	b.Observations.Trials = []matrix.Trial{
		{Cell: "A", Status: matrix.StatusOK, Attempts: 3, Usage: matrix.Usage{InputTokens: ptr(10)}},
		{Cell: "A", Status: matrix.StatusError, Attempts: 2},
		{Cell: "B", Status: matrix.StatusOK, SameAs: "x", Usage: matrix.Usage{InputTokens: ptr(10)}},
		{Cell: "B", Status: matrix.StatusOK, Cached: true},
		{Cell: "D/closed-book", Status: matrix.StatusNotRun},
		{Cell: "D/irrelevant", Status: matrix.StatusOK, Usage: matrix.Usage{InputTokens: ptr(5)}},
	}
	b.Evaluation.Retrieval.Gold = []verdict.GoldRank{{Source: "c08", Rank: ptr(3)}, {Source: "c08"}, {Source: "c09", Rank: ptr(1)}}
	b.Evaluation.Retrieval.Metrics = []verdict.Metric{{Name: "recall@2", Value: "0.333333"}, {Name: "rr", Value: "0.500000"}, {Name: "ndcg@10", Value: "NaN"}}
	b.Evaluation.Cells = []verdict.CellResult{{Cell: "A", Planned: 7, Scored: 3, Pass: 1, Unscored: 1, Failed: 1, NotRun: 2, Wilson95: []string{"0.06", "0.79"}}}
	b.Evaluation.Checks = []verdict.Check{{Name: "corpus_hit", Result: matrix.Yes}}
	s := Summarise(b.Evaluation, &b.Experiment, &b.Observations, "x.bundle.zip")
	if s.Totals.Calls != 1+3+2+1 || s.Totals.Reused != 1 || *s.Totals.TokensIn != 15 || s.Totals.TokensOut != nil {
		t.Errorf("totals %+v", s.Totals)
	}
	if got, err := json.Marshal(s.Retrieval); err != nil || string(got) != `{"ranks":{"c08":3,"c08#2":null,"c09":1},"recall":{"2":0.3333},"metrics":{"ndcg@10":null,"rr":0.5}}` {
		t.Errorf("retrieval %s, %v", got, err)
	}
	if c := s.Cells["A"]; c.Trials != 5 || c.Errors != 1 || c.NotRun != 2 {
		t.Errorf("cell %+v", c)
	}
}

// TestTotalsOfJudgements: a judge's calls count as calls, and as paid where it is no part of this process.
func TestTotalsOfJudgements(t *testing.T) {
	t.Parallel()
	o := matrix.Observations{Judgements: []matrix.Judgement{
		{Status: matrix.StatusOK, Attempts: 2, Usage: matrix.Usage{InputTokens: ptr(10), OutputTokens: ptr(3)}},
		{Status: matrix.StatusOK, SameAs: "x", Usage: matrix.Usage{InputTokens: ptr(10)}},
		{Status: matrix.StatusError, Attempts: 1},
		{Status: matrix.StatusNotRun},
	}}
	judged := func(adapter string) *matrix.Experiment {
		return &matrix.Experiment{Backends: matrix.Backends{Judge: &matrix.Backend{Adapter: adapter}}, Judge: &matrix.Judge{Claims: true}}
	}
	c := Summarise(verdict.Evaluation{Case: "a", Judged: &verdict.Judged{Judgements: 4}}, judged("embedded"), &o, "x.bundle.zip")
	if c.Totals.Judgements != 3 || c.Totals.Calls != 3 || *c.Totals.TokensIn != 10 || *c.Totals.TokensOut != 3 || c.Judged == nil {
		t.Errorf("totals %+v, judged %v", c.Totals, c.Judged)
	}
	for _, local := range []bool{true, false} {
		e := judged("paid")
		if local {
			e = judged("embedded")
		}
		s := Summary{Cases: []CaseSummary{Summarise(verdict.Evaluation{Case: "a"}, e, &o, "x.bundle.zip")}}
		s.Total()
		if want := map[bool]int{true: 0, false: 3}[local]; s.Totals.Paid != want || (s.Totals.CostMicro == nil) == local {
			t.Errorf("judge local %t: want %d paid, got %+v", local, want, s.Totals)
		}
	}
}

func TestTotal(t *testing.T) {
	t.Parallel()
	gold := func(at1, at2 float64) RetrievalSummary {
		return RetrievalSummary{Ranks: map[string]*int{"x": nil}, Recall: map[string]*Number{"1": number(at1), "2": number(at2)}, Metrics: map[string]*Number{"rr": number(at1), "ndcg@2": nil}}
	}
	cell := map[matrix.CellID]CellSummary{"A": {Trials: 1, Scored: 1, Exact: true}, "D/closed-book": {NotRun: 1}}
	s := Summary{Setup: Setup{Local: true}, Cases: []CaseSummary{
		{
			ID: "a", Outcome: verdict.Fail, Risk: matrix.RiskInvestigate, Defects: []DefectSummary{{Stage: verdict.StageRetrieve}, {Stage: verdict.StageGenerate}}, Retrieval: gold(0, 1), Cells: cell,
			Answer: AnswerTotals{Scored: 1, Answered: 1, Copied: 1}, Totals: Totals{Calls: 4, Generation: 3, Reused: 1, TokensIn: ptr(int64(7))},
		},
		{ID: "b", Outcome: verdict.Fail, Risk: matrix.RiskInvestigate, Defects: []DefectSummary{{Stage: verdict.StageIndex}}, Retrieval: gold(1, 1), Cells: cell, Totals: Totals{Calls: 2, Generation: 2}},
		{ID: "c", Outcome: verdict.Pass, Risk: matrix.RiskBlocking, Cells: cell, Answer: AnswerTotals{Scored: 1, Correct: 1}},
		{ID: "d", Outcome: verdict.InvalidFixture, Risk: matrix.RiskInvestigate, Retrieval: gold(1, 0)},
	}}
	s.Total()
	s.Total() // totals are made anew
	if s.Counts != (Counts{Cases: 4, Failing: 2, Passing: 1, Invalid: 1}) || s.Exit != 0 {
		t.Errorf("counts %+v, exit %d", s.Counts, s.Exit)
	}
	if diff := cmp.Diff([]StageCount{{verdict.StageIndex, 1}, {verdict.StageRetrieve, 1}}, s.ByStage); diff != "" {
		t.Error(diff)
	}
	if *s.Recall["1"] != 0.6667 || *s.Recall["2"] != 0.6667 || s.RecallCases != (Share{Used: 3, Total: 4}) {
		t.Errorf("recall %v over %+v", s.Recall, s.RecallCases)
	}
	if diff := cmp.Diff(map[string]Mean{"mrr": {Mean: number(0.6667), Share: Share{Used: 3, Total: 4}}}, s.Metrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if s.Totals.Calls != 6 || s.Totals.Paid != 0 || *s.Totals.CostMicro != 0 || *s.Totals.TokensIn != 7 || s.Totals.TokensOut != nil {
		t.Errorf("totals %+v", s.Totals)
	}
	if s.Setup.Generation != "deterministic" || strings.Join(s.Setup.Runs, "") != "AC" {
		t.Errorf("setup %+v", s.Setup)
	}
	s.Cases[0].Totals.Paid, s.Cases[1].Totals.Paid, s.Cases[1].Totals.CostUnknown = 3, 2, []string{"prices.generator is not set"}
	s.Cases[0].Cells = map[matrix.CellID]CellSummary{"B": {Trials: 2, Scored: 2}}
	s.Total()
	if s.Totals.Paid != 5 || s.Totals.CostMicro != nil || s.Setup.Generation != "mixed" {
		t.Errorf("totals %+v, setup %+v", s.Totals, s.Setup)
	}
	if *s.Cases[0].Totals.TokensIn != 7 {
		t.Error("a total has changed its case")
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	c := func(outcome verdict.Outcome, risk matrix.Risk) CaseSummary {
		return CaseSummary{Outcome: outcome, Risk: risk}
	}
	pass := c(verdict.Pass, matrix.RiskBlocking)
	for _, tc := range []struct {
		name  string
		cases []CaseSummary
		want  int
	}{
		{"everything passes", []CaseSummary{pass, pass}, 0},
		{"a case to investigate fails", []CaseSummary{pass, c(verdict.Fail, matrix.RiskInvestigate)}, 0},
		{"a case to investigate cannot judge", []CaseSummary{c(verdict.InvalidFixture, matrix.RiskInvestigate)}, 0},
		{"a blocking case fails", []CaseSummary{pass, c(verdict.Fail, matrix.RiskBlocking)}, 3},
		{"a blocking case cannot judge", []CaseSummary{c(verdict.InvalidFixture, matrix.RiskBlocking)}, 3},
		{"a blocking case is undecided", []CaseSummary{pass, c(verdict.Inconclusive, matrix.RiskBlocking)}, 4},
		{"a case to investigate is undecided", []CaseSummary{pass, c(verdict.Inconclusive, matrix.RiskInvestigate)}, 0},
		{"a case to investigate is undecided beside one that holds", []CaseSummary{c(verdict.Inconclusive, matrix.RiskInvestigate), c(verdict.Inconclusive, matrix.RiskBlocking)}, 4},
		{"a case to investigate fails beside one that holds", []CaseSummary{c(verdict.Fail, matrix.RiskInvestigate), c(verdict.Inconclusive, matrix.RiskBlocking)}, 4},
		{"a blocking case met errors", []CaseSummary{pass, c(verdict.Environment, matrix.RiskBlocking)}, 5},
		{"a case to investigate met errors", []CaseSummary{pass, c(verdict.Environment, matrix.RiskInvestigate)}, 5},
		{"errors go before the undecided", []CaseSummary{c(verdict.Inconclusive, matrix.RiskBlocking), c(verdict.Environment, matrix.RiskBlocking)}, 5},
		{"a failure goes before errors", []CaseSummary{c(verdict.Environment, matrix.RiskBlocking), c(verdict.Fail, matrix.RiskBlocking)}, 3},
		{"an outcome that is not known is no success", []CaseSummary{c("splendid", matrix.RiskBlocking)}, 4},
		{"an outcome that is not known, to investigate", []CaseSummary{c("splendid", matrix.RiskInvestigate)}, 0},
	} {
		s := Summary{Cases: tc.cases}
		if got := s.ExitCode(); got != tc.want {
			t.Errorf("%s: want %d, got %d", tc.name, tc.want, got)
		}
	}
}

// The object that a run ends with keeps its shape.
func TestSummaryJSON(t *testing.T) {
	t.Parallel()
	b := testBundle(t, "long-haul", 3)
	s := NewSummary("20261129T200000Z-k3f9qa", &b.Experiment)
	s.Setup.Local = true
	s.Cases = append(s.Cases, Summarise(b.Evaluation, &b.Experiment, &b.Observations, "out/long-haul.bundle.zip"))
	s.WallMS = 212
	s.Total()
	got, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "execution.golden.json")
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadSummary(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	if _, err := ReadSummary(e.out, e.ID()); !errors.Is(err, ErrNotFound) {
		t.Errorf("want not found, got %v", err)
	}
	b := testBundle(t, "long-haul", 3)
	b.Pins.Generator.Local = true
	path, err := writeCase(e, b, false)
	if err != nil {
		t.Fatal(err)
	}
	want := NewSummary(e.ID(), &b.Experiment)
	want.Setup.Local = true
	want.Cases = append(want.Cases, Summarise(b.Evaluation, &b.Experiment, &b.Observations, path))
	want.Total()
	rebuilt, err := ReadSummary(e.out, e.ID())
	if err != nil || !rebuilt.Rebuilt {
		t.Fatalf("got %+v, %v", rebuilt, err)
	}
	rebuilt.Rebuilt, rebuilt.Bundles = false, ""
	if diff := cmp.Diff(want, *rebuilt); diff != "" {
		t.Errorf("made of the bundles (-want +got):\n%s", diff)
	}
	if err := e.Finish(want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSummary(e.out, e.ID())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Lstat(filepath.Join(e.out, workFolder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the work folder is left: %v", err)
	}
	data := strings.Replace(string(read(t, e.Dir(), summaryFile)), SummarySchema, "culprit.execution/v2", 1)
	write(t, e.Dir(), summaryFile, []byte(data))
	if _, err := ReadSummary(e.out, e.ID()); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v", err)
	}
}
