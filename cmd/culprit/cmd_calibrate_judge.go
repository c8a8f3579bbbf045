package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

type calibrateJudgeOptions struct {
	looking
	labels string
	sample int
	seed   int64
	by     []string
	out    string
}

func (a *app) calibrateJudgeCommand() *cobra.Command {
	var o calibrateJudgeOptions
	c := &cobra.Command{
		Use:   "judge [results]",
		Short: "Hold the words of a judge against labels that persons give",
		Long: `Read labels, which say of judged answers whether they state the claim (pass) or not (fail), and hold
the judge's words in the bundles of a folder of results against them: how much of what persons pass
it passes (sensitivity), how much of what they fail it fails (specificity), with bounds, kappa and
AC1, of all labels and for the values of a tag of the cases apart (--by). What is counted are claims
that the deterministic match leaves missing, as a judge decides no others.

With --sample, that many judged answers are drawn at random and written to the labels file, with
texts and without the judge's word: fill in human, and second where a second person labels.

With --out the calibration is written to a file that the experiment names in judge.calibration.
It ends with 0 where the judge may decide claims by it, and with 4 where it may not.`,
		Example: `  culprit calibrate judge culprit-results --sample 120 --labels labels.jsonl
  culprit calibrate judge culprit-results --labels labels.jsonl --by language --out calibration.json`,
		Args: between(0, 1, "at most one folder of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.results = append(args, defaultResults)[0]
			return a.calibrateJudge(o)
		},
	}
	c.Flags().StringVar(&o.labels, "labels", "", "`file` of labels: JSON Lines, or CSV where its name ends in .csv")
	c.Flags().IntVar(&o.sample, "sample", 0, "draw so many `judgements` into a new labels file, as JSON Lines")
	c.Flags().Int64Var(&o.seed, "seed", 1, "`seed` of the sample")
	c.Flags().StringArrayVar(&o.by, "by", nil, "hold the values of this `tag` of the cases apart; may be given several times")
	c.Flags().StringVar(&o.out, "out", "", "write the calibration to this `file`")
	c.Flags().StringVar(&o.execution, "execution", "", "only the execution with this `id` (default: all, the newest first)")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+matrix.CalibrationSchema+")")
	return c
}

func (a *app) calibrateJudge(o calibrateJudgeOptions) error {
	id, err := o.id()
	switch {
	case err != nil:
		return err
	case o.labels == "":
		return usage("--labels: name the file of labels; --sample 120 --labels labels.jsonl makes one to fill in")
	case o.sample < 0:
		return usage("--sample: %d is no number of judgements", o.sample)
	case o.sample > 0 && strings.EqualFold(filepath.Ext(o.labels), ".csv"):
		return usage("--labels: a sample is written as JSON Lines, and %s would be read as CSV: name a file that ends in .jsonl", quote(o.labels))
	}
	var labels []experiments.Label
	if o.sample == 0 { // what is wrong with the file is told before anything is read
		var problems experiments.Problems
		if labels, err = experiments.Labels(o.labels); errors.As(err, &problems) {
			return &brokenError{problems: problems, files: 1}
		} else if err != nil {
			return err
		}
	}
	judged, err := results.Judged(o.results, id)
	if err != nil {
		return notFound(err)
	}
	if len(judged) == 0 {
		return usage("no judged claims in %q: run an experiment with backends.judge, or name the folder of its results", o.results)
	}
	if o.sample > 0 {
		return a.drawLabels(judged, o)
	}
	given, blank, problems := matchLabels(judged, labels)
	if len(problems) > 0 {
		return &brokenError{problems: problems, files: 1}
	}
	if len(given) == 0 {
		return usage("%s holds no label that is filled in: write pass or fail for human", quote(o.labels))
	}
	agreed, err := verdict.Agree(judged, given, o.by, time.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return &usageError{fmt.Errorf("%w: keep those of one, or name an execution with --execution", err)}
	}
	agreed.Show()
	if o.out != "" {
		var b bytes.Buffer
		if err := encode(&b, agreed.Calibration, "  "); err != nil {
			return err
		}
		if err := os.WriteFile(o.out, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing the calibration: %w", err)
		}
	}
	if a.json {
		err = a.writeJSON(agreed.Calibration)
	} else {
		a.showCalibration(agreed, blank, &o)
	}
	if err == nil && !agreed.Calibration.Shown.Gates {
		err = finished(exitHeld)
	}
	return err
}

// matchLabels finds the judgement of every label that is filled in; those that are not are counted. Every label that names none, or
// one that has a label already, is a problem.
func matchLabels(judged []verdict.JudgedAnswer, labels []experiments.Label) (given []verdict.Label, blank int, problems experiments.Problems) {
	byCall, byPlace := map[string][]int{}, map[string][]int{}
	place := func(caseID, cell string, rep int, claim string) string {
		return fmt.Sprintf("%q %q %d %q", caseID, cell, rep, claim)
	}
	for i := range judged {
		j := &judged[i]
		byCall[j.CallKey] = append(byCall[j.CallKey], i)
		at := place(j.Case, string(j.Cell), j.Rep, j.Claim)
		byPlace[at] = append(byPlace[at], i)
	}
	seen := map[int]bool{}
	for i := range labels {
		l := &labels[i]
		candidates, what := byCall[l.Call], fmt.Sprintf("call %q", l.Call)
		if l.Call == "" {
			candidates, what = byPlace[place(l.Case, l.Cell, l.Rep, l.Claim)], fmt.Sprintf("case %q, cell %q, rep %d, claim %q", l.Case, l.Cell, l.Rep, l.Claim)
		}
		at := slices.IndexFunc(candidates, func(i int) bool { return l.Execution == "" || judged[i].Execution == l.Execution })
		switch {
		case at < 0:
			problems = append(problems, l.Problem("no judged claim of %s, or one that a judge cannot decide", what))
		case seen[candidates[at]]:
			problems = append(problems, l.Problem("a second label of %s: keep one of the two", what))
		case l.Human == "":
			blank++
		default:
			label := verdict.Label{Of: candidates[at], Human: l.Human == experiments.LabelPass}
			if l.Second != "" {
				second := l.Second == experiments.LabelPass
				label.Second = &second
			}
			given = append(given, label)
		}
		if at >= 0 {
			seen[candidates[at]] = true
		}
	}
	return given, blank, problems
}

// drawLabels writes a random sample of what a judge may decide, each question once, in a random order.
func (a *app) drawLabels(judged []verdict.JudgedAnswer, o calibrateJudgeOptions) error {
	asked := map[string]bool{}
	var drawn []*verdict.JudgedAnswer
	for i := range judged {
		if j := &judged[i]; j.Left && !j.Void && !j.Copied && !asked[j.Asked] {
			asked[j.Asked] = true
			drawn = append(drawn, j)
		}
	}
	of := len(drawn)
	if of == 0 {
		return usage("in %q the match leaves no judged claim missing, so that there is nothing to label", o.results)
	}
	order := func(j *verdict.JudgedAnswer) string {
		return matrix.DigestBytes(fmt.Appendf(nil, "%d %s", o.seed, j.Asked))
	}
	slices.SortFunc(drawn, func(a, b *verdict.JudgedAnswer) int { return cmp.Compare(order(a), order(b)) })
	drawn = drawn[:min(o.sample, of)]
	file, err := os.OpenFile(o.labels, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already, and labels may be in it: name another file", quote(o.labels))
	}
	if err != nil {
		return fmt.Errorf("writing the labels: %w", err)
	}
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	for _, j := range drawn {
		label := experiments.Label{
			Call: j.CallKey, Execution: j.Execution, Case: j.Case, Cell: string(j.Cell), Rep: j.Rep, Claim: j.Claim,
			Question: j.Question, States: j.States, Answer: j.Answer,
		}
		if err == nil {
			err = encoder.Encode(label)
		}
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the labels: %w", err)
	}
	if a.json {
		return a.writeJSON(struct {
			Schema string `json:"schema"`
			File   string `json:"file"`
			Drawn  int    `json:"drawn"`
			Of     int    `json:"of"`
			Seed   int64  `json:"seed"`
		}{"culprit.labels/v1", o.labels, len(drawn), of, o.seed})
	}
	linef(a.out, "%s: %s of %d that the match leaves to the judge, seed %d", o.labels, counted(len(drawn), "judgement", "judgements"), of, o.seed)
	a.wrapped("  Write pass for human where the answer states what states says, and else fail; the judge's word is not shown. Then:")
	linef(a.out, "  culprit calibrate judge %s --labels %s", quote(o.results), quote(o.labels))
	return nil
}

func (a *app) showCalibration(g *verdict.Agreed, blank int, o *calibrateJudgeOptions) {
	c := &g.Calibration
	s := c.Shown
	linef(a.out, "%s · %s of claims that the match leaves missing · %s", cmp.Or(strings.Join(c.Judge.Reported, ", "), c.Judge.Model), counted(c.Labels.N(), "label", "labels"), c.Date)
	var rest []string
	for _, left := range []struct {
		n    int
		says string
	}{{blank, "not filled in"}, {g.Aside, "of claims that the match decides"}, {g.Void, "of void judgements"}, {g.Again, "of questions that are labelled already"}} {
		if left.n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", left.n, left.says))
		}
	}
	if len(rest) > 0 {
		a.wrapped("  not counted: " + strings.Join(rest, ", "))
	}
	line(a.out, "")
	a.showRates("  ", s.Of, c.Labels)
	self := "not measured: run the experiment again, so that identical questions are judged again"
	if s.SelfAgreement != "" {
		self = fmt.Sprintf("%s over %s that were judged more than once", two(s.SelfAgreement), counted(s.Questions, "question", "questions"))
	}
	a.wrapped("  self-agreement: " + self)
	if s.HumanAC1 != "" {
		linef(a.out, "  two persons: AC1 %s over %s", two(s.HumanAC1), counted(c.Humans.N(), "label", "labels"))
	}
	linef(a.out, "  void: %d of %s", c.Void, counted(c.Judgements, "judgement", "judgements"))
	if len(s.Rate) == 3 {
		a.wrapped(fmt.Sprintf("  pass rate: the judge passes %s of %s without a label; corrected by the labels %s [%s, %s]", two(s.JudgedRate), counted(s.Unlabelled, "answer", "answers"), two(s.Rate[0]), two(s.Rate[1]), two(s.Rate[2])))
	}
	for i, slice := range s.Slices {
		line(a.out, "")
		holds := "✗"
		if slice.Holds {
			holds = "✓"
		}
		linef(a.out, "  %s %s: %s", holds, slice.Tag, cmp.Or(slice.Value, "(none)"))
		a.showRates("    ", slice.Of, c.Slices[i].Labels)
	}
	line(a.out, "")
	for _, lacks := range s.Lacks {
		linef(a.out, "  ✗ %s%s", lacks, needed(lacks, s.Of))
	}
	if s.Gates {
		line(a.out, "  ✓ The judge may decide claims that the match leaves missing, for 90 days, and while model, prompt and settings stay.")
	} else {
		line(a.out, "  The judge stays a signal: it decides nothing.")
	}
	if o.out != "" {
		linef(a.out, "  Written: %s. In the experiment: judge: {calibration: %s}", o.out, o.out)
	}
}

func (a *app) showRates(indent string, r matrix.ShownRates, labels matrix.LabelCounts) {
	rate := func(name, value, least string, k, n int, says, does string) {
		if value == "" {
			linef(a.out, "%s%s  no label of what persons %s", indent, name, says)
			return
		}
		linef(a.out, "%s%s   %s, at least %s   it %s %d of the %d that persons %s", indent, name, two(value), two(least), does, k, n, says)
	}
	rate("sensitivity", r.Sensitivity, r.SensitivityAtLeast, labels.BothPass, r.Pass, "pass", "passes")
	rate("specificity", r.Specificity, r.SpecificityAtLeast, labels.BothFail, r.Fail, "fail", "fails")
	interval := func(name string, v []string) string {
		switch len(v) {
		case 0:
			return name + " –"
		case 1:
			return name + " " + two(v[0])
		}
		return fmt.Sprintf("%s %s [%s, %s]", name, two(v[0]), two(v[1]), two(v[2]))
	}
	linef(a.out, "%sagreement     %s   %s", indent, interval("kappa", r.Kappa), interval("AC1", r.AC1))
}

// two writes a decimal with two places.
func two(decimal string) string {
	return fmt.Sprintf("%.2f", matrix.Decimal(decimal).Float())
}

// needed says how many labels a condition takes.
func needed(lacks string, r matrix.ShownRates) string {
	more, class := 0, ""
	switch {
	case strings.HasPrefix(lacks, "sensitivity is not"):
		more, class = r.MorePass, "pass"
	case strings.HasPrefix(lacks, "specificity is not"):
		more, class = r.MoreFail, "fail"
	}
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(": %d more of answers that persons %s, if the judge errs on none of them", more, class)
}
