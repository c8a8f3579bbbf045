package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// derived is what follows from the observations of a bundle.
type derived struct {
	features   verdict.Features
	evaluation verdict.Evaluation
	again      int // trials whose features were made again from their texts
}

// derivedFile is a file and what it is made of, as RFC 8785.
type derivedFile struct {
	name string
	of   any
}

func (d *derived) files() []derivedFile {
	return []derivedFile{{featuresFile, &d.features}, {evaluationFile, &d.evaluation}}
}

// cannotBe makes an error of a panic over ranks, counts and cells that nobody could have observed, in a bundle that was made up.
func cannotBe(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("its observations cannot be: %v", r)
	}
}

// WhyNot is [verdict.ExplainWhyNot] for a bundle.
func WhyNot(b *Bundle, label string) (n *verdict.WhyNot, err error) {
	defer cannotBe(&err)
	return verdict.ExplainWhyNot(&b.Experiment, &b.Case, &b.Plan, &b.Observations, &b.Features, label)
}

// derive makes features and evaluation again; digest is that of the observations. The plan is the one that was carried out, also where
// this version would plan otherwise. Where texts are withheld, the features that need them are taken as they are sealed.
func derive(b *Bundle, digest string) (*derived, error) { return deriveBy(b, digest, nil) }

// deriveBy is [derive] by the rules that were selected; nil: those of this program.
func deriveBy(b *Bundle, digest string, by *verdict.Selection) (d *derived, err error) {
	defer cannotBe(&err)
	d = &derived{again: len(b.Observations.Trials)}
	if d.features, err = verdict.Extract(&b.Experiment, &b.Case, &b.Observations); err != nil {
		return nil, err
	}
	if withheld(&b.Observations) {
		if d.again, err = d.keepSealed(&b.Features, &b.Observations); err != nil {
			return nil, err
		}
	}
	evaluate := verdict.EvaluateDigested
	if by != nil {
		evaluate = by.Evaluate
	}
	d.evaluation = evaluate(digest, &b.Experiment, &b.Case, &b.Plan, &b.Observations, &d.features)
	return d, nil
}

// keepSealed puts the sealed features in place of those that need a withheld text, and counts the trials for which it did not.
func (d *derived) keepSealed(sealed *verdict.Features, o *matrix.Observations) (again int, err error) {
	now := &d.features
	if len(sealed.Gold) != len(now.Gold) || len(sealed.Retrievals) != len(now.Retrievals) || len(sealed.Trials) != len(now.Trials) {
		return 0, fmt.Errorf("%s is of other observations than those that are here", featuresFile)
	}
	gold := withheld(&matrix.Observations{Store: matrix.StoreFacts{Gold: o.Store.Gold}})
	if gold {
		now.Fixture, now.Gold = sealed.Fixture, sealed.Gold
	}
	for i := range o.Retrievals {
		r, was := &now.Retrievals[i], &sealed.Retrievals[i]
		if withheld(&matrix.Observations{Retrievals: o.Retrievals[i : i+1]}) {
			cell := r.Cell
			*r = *was
			r.Cell = cell
		} else if gold {
			r.Gold, r.Searches = was.Gold, was.Searches
		}
	}
	numbers, taken := map[int]int{0: 0}, map[int]bool{0: true} // answers are numbered among all of them: only which are equal can be compared
	for i := range o.Trials {
		t, was := &now.Trials[i], &sealed.Trials[i]
		if withheld(&matrix.Observations{Trials: o.Trials[i : i+1]}) {
			key, cell, rep := t.CallKey, t.Cell, t.Rep
			*t = *was
			t.CallKey, t.Cell, t.Rep = key, cell, rep
			continue
		}
		if gold {
			t.Gold = was.Gold
		} else {
			again++
		}
		number, known := numbers[t.Answer]
		switch {
		case known:
		case taken[was.Answer]:
			number = -1 // it is another answer than one with the same number
		default:
			number = was.Answer
		}
		numbers[t.Answer], taken[number] = number, true
		t.Answer = number
	}
	return again, nil
}

// withheld reports whether a text was taken out.
func withheld(o *matrix.Observations) bool {
	found := errors.New("withheld")
	return o.Texts(func(t *matrix.Text) error {
		if t.Withheld() {
			return found
		}
		return nil
	}) != nil
}

// asked goes through the rounds of a complete case again and says where a trial is missing or nobody asked for it, "" where none is.
func asked(b *Bundle, f *verdict.Features) string {
	if b.Status != StatusComplete {
		return ""
	}
	cells := map[matrix.CellID]int{} // repetitions that were asked for
	for _, c := range b.Plan.Cells {
		cells[c.Cell] = 0
	}
	for wants := verdict.First(&b.Plan); len(wants) > 0; {
		more := false
		for _, w := range wants {
			more, cells[w.Cell] = more || w.Reps > cells[w.Cell], max(w.Reps, cells[w.Cell])
		}
		o, seen, lacks := upTo(b, f, cells)
		if lacks != "" || !more {
			return lacks
		}
		wants = verdict.Next(&b.Experiment, &b.Case, &b.Plan, o, seen)
	}
	for i := range b.Observations.Trials {
		if t := &b.Observations.Trials[i]; t.Rep > cells[t.Cell] {
			return fmt.Sprintf("repetition %d of cell %q is there, and what was observed before asks for %d", t.Rep, t.Cell, cells[t.Cell])
		}
	}
	return ""
}

// upTo is what was known when no more repetitions of each cell had been made, and which of them is lacking.
func upTo(b *Bundle, f *verdict.Features, reps map[matrix.CellID]int) (*matrix.Observations, *verdict.Features, string) {
	o, seen := b.Observations, *f
	o.Judgements, o.Store.FingerprintAfter, o.Store.ContentAfter, o.Store.ItemsAfter = nil, "", "", 0 // which came later
	o.Trials, seen.Trials, o.Retrievals, seen.Retrievals = nil, nil, nil, nil
	last := map[matrix.CellID]*matrix.Trial{}
	for i := range b.Observations.Trials {
		if t := &b.Observations.Trials[i]; t.Rep <= reps[t.Cell] {
			o.Trials, seen.Trials = append(o.Trials, *t), append(seen.Trials, f.Trials[i])
			last[t.Cell] = t
		}
	}
	for i := range b.Observations.Retrievals {
		r := &b.Observations.Retrievals[i]
		if n, generates := reps[r.Cell]; !generates || n > 0 {
			o.Retrievals, seen.Retrievals = append(o.Retrievals, *r), append(seen.Retrievals, f.Retrievals[i])
		}
	}
	for _, c := range b.Plan.Cells {
		n := reps[c.Cell]
		if t := last[c.Cell]; n > 0 && (t == nil || t.Rep < n && t.Status != matrix.StatusNotRun) {
			return nil, nil, fmt.Sprintf("what was observed asks for %d repetitions of cell %q, and not all of them are there", n, c.Cell)
		}
	}
	return &o, &seen, ""
}

// derivePlan makes the plan again. Of the sealed one it takes only whether the generator was held to be deterministic, and whether it
// was held to that; of a bundle that was migrated also the words that another version has carried it out with, as they stand.
func derivePlan(b *Bundle) (*matrix.Plan, error) {
	plan, err := matrix.Expand(&b.Experiment, &b.Case, b.Plan.Deterministic)
	if err != nil {
		return nil, err
	}
	if _, held := b.Plan.Cell(matrix.CellAgain); held {
		plan.HoldToWord()
	}
	if b.Manifest.DerivedFrom != "" {
		for i := range plan.Cells {
			if was, planned := b.Plan.Cell(plan.Cells[i].Cell); planned {
				plan.Cells[i].Change = was.Change
			}
		}
		for i := range min(len(plan.Retrievals), len(b.Plan.Retrievals)) {
			plan.Retrievals[i].Change = b.Plan.Retrievals[i].Change
		}
	}
	return plan, nil
}

// VerdictOf names a verdict in one line: its defects, or else its outcome with the qualifier.
func VerdictOf(e *verdict.Evaluation) string {
	var names []string
	for _, d := range e.Defects {
		names = append(names, d.Name())
	}
	switch {
	case len(names) > 0:
		return strings.Join(slices.Compact(names), ", ")
	case e.Qualifier != "":
		return fmt.Sprintf("%s/%s", e.Outcome, e.Qualifier)
	}
	return string(e.Outcome)
}

// Replay is what follows from the input and the observations of a bundle by this program, held against what was sealed.
type Replay struct {
	Path      string      `json:"path"`
	Case      string      `json:"case"`
	Execution ExecutionID `json:"execution"`
	Sealed    Decided     `json:"sealed"`
	Now       Decided     `json:"now"`
	Same      bool        `json:"same"`              // features and evaluation are the same bytes
	Differ    []string    `json:"differ,omitempty"`  // the files that are not
	Changes   []Change    `json:"changes,omitempty"` // what the evaluation says otherwise

	Reenacted string `json:"reenacted,omitempty"` // path of the bundle that was made, where the case was run again with this one as its backends

	// Bundle is the bundle with what is derived now, without what nothing is derived from: Pins, Environment, CaseSource and Withheld.
	// What its Experiment refers to is shared with other replays, and not to be written to.
	Bundle *Bundle `json:"-"`

	own bool // this very program sealed it, as far as it can be known
}

// Slim lets go of the bundle and of what was derived, of which a report of many replays shows nothing.
func (r *Replay) Slim() { r.Bundle = nil }

// Derived returns features and evaluation as they follow now, in the bytes of their files.
func (r *Replay) Derived() (features, evaluation []byte, err error) {
	features, err = matrix.Canonical(&r.Bundle.Features)
	if err == nil {
		evaluation, err = matrix.Canonical(&r.Bundle.Evaluation)
	}
	return features, evaluation, err
}

// Decided is a verdict with the rules that it was decided by.
type Decided struct {
	Verdict string `json:"verdict"`
	Summary string `json:"summary"`
	Ruleset string `json:"ruleset"`
}

// Change is one part of an evaluation that is another one now.
type Change struct {
	What   string `json:"what"`
	Sealed string `json:"sealed"`
	Now    string `json:"now"`
}

// Changed reports whether the verdict is another one now.
func (r *Replay) Changed() bool { return r.Sealed.Verdict != r.Now.Verdict }

// State says what it means for the bundle that not all is the same: it was decided by another evaluator, or it is broken.
func (r *Replay) State() State {
	switch {
	case r.Same:
		return StateIntact
	case r.own:
		return StateBroken
	}
	return StateEvaluator
}

// sameEvaluator reports whether this very program sealed a bundle, as far as it can be known. The digest of the rules says nothing of the
// code behind them, and a build that bears neither a version nor a commit, as go run makes it, is told from no other.
func sameEvaluator(m *Manifest) bool {
	tool := BuildTool()
	return m.Evaluator.Ruleset == verdict.Ruleset() && tool == m.Tool && !tool.Dirty && identified(tool)
}

// identified reports whether a build says which one it is. Tests, which are built without a commit, know that they sealed what they read.
var identified = func(t Tool) bool { return t.Commit != "" || t.Version != "devel" }

// ReplayBundle makes features and evaluation of a bundle again from what was given and observed. It reads nothing but the bundle,
// each file once and held to its sum in the manifest, and writes nothing. What was sealed is held against what follows byte by byte, and
// decoded only where that differs: from the same bytes [Open] reads the same, and the same report is drawn. The digest of the observations is taken from the manifest: what
// follows is what follows from the observations as they are read, and that the digest is theirs is for [Verify] to prove.
func ReplayBundle(path string) (*Replay, error) { return ReplayBy(path, nil) }

// ReplayBy is [ReplayBundle] by the rules that were selected; nil: those of this program.
func ReplayBy(path string, by *verdict.Selection) (*Replay, error) {
	out, err := replay(path, by)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", path, err)
	}
	return out, nil
}

func replay(path string, by *verdict.Selection) (_ *Replay, err error) {
	r, err := openReader(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.done()) }()
	b := &Bundle{Path: path, Manifest: *r.manifest, Status: r.manifest.Status}
	if err := cmp.Or(r.experiment(&b.Experiment), r.fillObserved(b)); err != nil {
		return nil, err
	}
	if withheld(&b.Observations) {
		if err := r.decode(featuresFile, &b.Features, true); err != nil {
			return nil, err
		}
	}
	again, err := deriveBy(b, r.manifest.Digests.Observation, by)
	if err != nil {
		return nil, err
	}
	out := &Replay{Path: path, Case: b.Case.ID, Execution: r.manifest.ExecID, Bundle: b, Same: true, own: sameEvaluator(r.manifest) && (by == nil || by.Digest() == verdict.Ruleset())}
	sealed := &again.evaluation
	for _, f := range again.files() {
		data, err := r.read(f.name)
		if err != nil {
			return nil, err
		}
		now, err := matrix.Differs(data, f.of)
		if err != nil {
			return nil, err
		}
		if now == nil {
			continue
		}
		out.Same, out.Differ = false, append(out.Differ, f.name)
		if f.name == evaluationFile {
			sealed = &verdict.Evaluation{}
			if err := decodeJSON(data, sealed, false); err != nil {
				return nil, fmt.Errorf("%q: %w", f.name, err)
			}
			if out.Changes, err = changes(data, now); err != nil {
				return nil, fmt.Errorf("%q: %w", f.name, err)
			}
		}
	}
	for _, name := range [...]string{caseSourceFile, pinsFile, environmentFile} { // nothing is derived from them
		if _, err := r.read(name); err != nil {
			return nil, err
		}
	}
	b.Features, b.Evaluation = again.features, again.evaluation
	out.Sealed, out.Now = decided(sealed), decided(&b.Evaluation)
	return out, nil
}

// lastExperiment is the experiment that was read last, with its sum.
var lastExperiment atomic.Pointer[summedExperiment]

type summedExperiment struct {
	sum string
	matrix.Experiment
}

// experiment reads the experiment, or takes the last one where that is of the same bytes, as in all bundles of an execution.
func (r *reader) experiment(into *matrix.Experiment) error {
	data, err := r.read(experimentFile) // which have the sum that is listed
	if err != nil {
		return err
	}
	sum := r.listed(experimentFile).SHA256
	last := lastExperiment.Load()
	if last == nil || last.sum != sum {
		last = &summedExperiment{sum: sum}
		if err := decodeJSON(data, &last.Experiment, false); err != nil {
			return fmt.Errorf("%q: %w", experimentFile, err)
		}
		lastExperiment.Store(last)
	}
	*into = last.Experiment
	return nil
}

func decided(e *verdict.Evaluation) Decided {
	return Decided{Verdict: VerdictOf(e), Summary: e.Summary, Ruleset: e.Ruleset}
}

// changes lists the parts of two evaluations that differ, but for the rules that decided, as they stand in the files.
func changes(sealed, now []byte) ([]Change, error) {
	var was, is map[string]json.RawMessage
	if err := errors.Join(decode(sealed, &was), decode(now, &is)); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, parts := range []map[string]json.RawMessage{was, is} {
		for name := range parts {
			names[name] = true
		}
	}
	delete(names, "ruleset")
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(was[name], is[name]) {
			out = append(out, Change{name, string(was[name]), string(is[name])})
		}
	}
	return out, nil
}
