package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix"
)

// dogJudge finds every claim entailed by an answer that speaks of a dog.
type dogJudge struct{ adapters.Generator }

func (dogJudge) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{Adapter: "fair", Model: "judge-1"}, nil
}

func (dogJudge) Generate(_ context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	word := `{"quote":"","word":"absent"}`
	if _, answer, _ := strings.Cut(req.Messages[1].Text, "BEGIN ANSWER "); strings.Contains(answer, "your dog") {
		word = `{"quote":"your dog","word":"entailed"}`
	}
	return adapters.GenerateResponse{Text: word, FinishReason: adapters.FinishStop, ModelReported: "judge-1-2026"}, nil
}

// judgedPiers is an experiment of so many cases that are all answered alike, and a judge.
func judgedPiers(n int) string {
	var docs, cases strings.Builder
	for i := range n {
		fmt.Fprintf(&docs, "      - {id: pier%d, text: Pets are welcome on pier %d.}\n", i, i)
		fmt.Fprintf(&cases, "  - {id: pier%d, query: May I bring a dog to pier %d?, tags: {side: %s}, evidence: {required: [{source: pier%d, span: Pets are welcome on pier %d}]}, claims: [{id: pets, says: Pets are welcome., any: [pets are welcome]}]}\n",
			i, i, []string{"left", "right"}[i%2], i, i)
	}
	return "culprit: v1\nname: piers\nbackends:\n  store:\n    adapter: embedded\n    documents:\n" + docs.String() +
		"  generator: {adapter: embedded, fixed: You may take your dog along.}\n  judge: {adapter: fair}\npipeline: {search: {k: 2}}\nruns: {perturbations: none, repairs: false}\ncases:\n" + cases.String()
}

// TestCalibrateAJudge goes the whole way: runs, a sample that is labelled, a calibration, and verdicts that it decides.
func TestCalibrateAJudge(t *testing.T) {
	t.Chdir(t.TempDir())
	fair := embedded.Factory()
	open := fair.OpenGenerator
	fair.Name, fair.OpenStore, fair.OpenReranker, fair.OpenEmbedder = "fair", nil, nil, nil
	fair.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		g, err := open(ctx, cfg)
		return dogJudge{g}, err
	}
	registry, err := adapters.NewRegistry(embedded.Factory(), fair)
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	culprit := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := &app{out: stream{Writer: &out}, err: stream{Writer: &errs}, registry: registry, env: func(name string) string {
			return map[string]string{"CULPRIT_CACHE": cache}[name]
		}}
		if code := a.main(t.Context(), args); code != want {
			t.Fatalf("culprit %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	const piers = 29
	if err := os.WriteFile("piers.yaml", []byte(judgedPiers(piers)), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := "backends.generator.fixed=The office has a cat."
	culprit(exitUsage, "calibrate", "judge", "--labels", "labels.jsonl", "--sample", "5")
	for range 2 { // so that every question is judged twice
		culprit(3, "run", "piers.yaml")
		culprit(3, "run", "piers.yaml", "--set", wrong)
	}

	isIn(t, "the sample", culprit(exitOK, "calibrate", "judge", "culprit-results", "--labels", "labels.jsonl", "--sample", "500"), "58 judgements of 58 that the match leaves to the judge, seed 1")
	isIn(t, "a second sample", culprit(exitUsage, "calibrate", "judge", "--labels", "labels.jsonl", "--sample", "5"), "is there already")
	isIn(t, "labels that are not filled in", culprit(exitUsage, "calibrate", "judge", "--labels", "labels.jsonl"), "no label that is filled in")
	drawn, err := os.ReadFile("labels.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(drawn), "entailed") {
		t.Error("the sample tells the judge's word")
	}
	label := func(name string, n int) {
		t.Helper()
		var out bytes.Buffer
		for line := range strings.Lines(string(drawn)) {
			verdict := map[bool]string{true: "pass", false: "fail"}[strings.Contains(line, "your dog")]
			if n--; n >= 0 {
				line = strings.Replace(line, `"human":""`, `"human":"`+verdict+`"`, 1)
			}
			out.WriteString(line)
		}
		if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	label("few.jsonl", 20)
	isIn(t, "too few labels", culprit(exitHeld, "calibrate", "judge", "--labels", "few.jsonl", "--out", "few.json"),
		"20 labels of claims that the match leaves missing", "not counted: 38 not filled in", "✗ specificity is not shown to be 0.90", "more of answers that persons fail, if the judge errs on none of them", "The judge stays a signal", "corrected by the labels")
	label("all.jsonl", piers*2)
	isIn(t, "enough labels", culprit(exitOK, "calibrate", "judge", "--labels", "all.jsonl", "--by", "side", "--out", "all.json"),
		"sensitivity   1.00, at least 0.90   it passes 29 of the 29 that persons pass", "specificity   1.00, at least 0.90", "1.00 over 58 questions that were judged more than once", "✗ side: left", "✓ The judge may decide claims")
	told := culprit(exitOK, "calibrate", "judge", "--labels", "all.jsonl", "--out", "plain.json", "--json")
	written, err := os.ReadFile("plain.json")
	if err != nil || told != string(written) {
		t.Errorf("%v: --json and --out differ:\n%s\n%s", err, told, written)
	}
	var c matrix.Calibration
	if err := json.Unmarshal(written, &c); err != nil || !c.Shown.Gates || c.Judge.Reported[0] != "judge-1-2026" || c.Labels.N() != 2*piers {
		t.Errorf("%v: %s", err, written)
	}

	// The judge decides while the calibration holds, and only there.
	isIn(t, "a run that it decides", culprit(exitOK, "run", "piers.yaml", "--set", "judge.calibration=plain.json"), "29 passing", "met 58 claims that the checks leave missing")
	isIn(t, "explain", culprit(exitOK, "explain", "pier7"), "its word met 2 claims that the match leaves missing")
	culprit(3, "run", "piers.yaml", "--set", "judge.calibration=plain.json", "--set", wrong)
	for why, args := range map[string][]string{
		"specificity is not shown to be 0.90":                 {"judge.calibration=few.json"},
		`its labels do not show it for cases of side "right"`: {"judge.calibration=all.json"},
		"model, prompt or rubric changed":                     {"judge.calibration=plain.json", "judge.seed=8"},
	} {
		run := []string{"run", "piers.yaml", "--case", "pier7"}
		for _, set := range args {
			run = append(run, "--set", set)
		}
		culprit(3, run...)
		isIn(t, why, strings.Join(strings.Fields(culprit(exitOK, "explain", "pier7", "--json")), " "), "judge: decides nothing: "+strings.ReplaceAll(why, `"`, `\"`))
	}
	isIn(t, "check", culprit(exitOK, "check", "piers.yaml", "--set", "judge.calibration=plain.json", "--set", "judge.seed=8"), "another backend or other settings")
	isIn(t, "no such file", culprit(exitUsage, "check", "piers.yaml", "--set", "judge.calibration=none.json"), "none.json")
	isIn(t, "another file", culprit(exitUsage, "check", "piers.yaml", "--set", "judge.calibration=piers.yaml"), "is none that culprit calibrate judge wrote")

	// Labels that name nothing are told with their places, all at once.
	if err := os.WriteFile("bad.csv", []byte("call,case,cell,rep,claim,human\nsha256:0,,,,,pass\n,pier1,A,1,pets,fail\n,pier1,A,1,pets,fail\n,pier1,A,9,pets,pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	isIn(t, "labels of nothing", culprit(exitUsage, "calibrate", "judge", "--labels", "bad.csv"),
		`bad.csv:2:1: no judged claim of call "sha256:0"`, `bad.csv:4:1: a second label of case "pier1"`, `bad.csv:5:1: no judged claim of case "pier1", cell "A", rep 9`, "3 problems")
	isIn(t, "no labels file", culprit(exitUsage, "calibrate", "judge", "--labels", filepath.Join("no", "such.csv")), "does not exist")
}
