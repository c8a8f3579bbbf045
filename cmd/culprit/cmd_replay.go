package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// replaySchema is the schema of [replayRecord].
const replaySchema = "culprit.replay/v1"

// replayRecord is what culprit replay --json prints.
type replayRecord struct {
	Schema  string            `json:"schema"`
	Exit    int               `json:"exit"`
	Ruleset string            `json:"ruleset"` // of this program, or of --ruleset
	Bundles []*results.Replay `json:"bundles"`
}

// replayed is the ending of the file that --write makes.
const replayed = ".evaluation.replay.json"

type replayOptions struct {
	results   string
	evaluator string
	write     bool
	out       string
	asBackend bool
	ruleset   string             // file
	by        *verdict.Selection // that it selects; nil: none was given
}

func (a *app) replayCommand() *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:     "replay <bundle>...",
		GroupID: groupLook,
		Short:   "Decide the verdicts of bundles again from what was observed",
		Long: `Read the texts and decide the verdict of each bundle again, from what was given and observed in it
and from nothing else: no network, no clock, no store and no model. By the same rules features,
evaluation and report are the bytes that were sealed. By other rules, such as those of a newer
version, what changes is shown: which label was sealed, and which one follows now.

A <bundle> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution. A bundle is never written; --write and --out put the evaluation that follows now into a
file of its own.

With --ruleset the verdicts are decided by the rules of this version that a file lists, in its
order, and by its alpha where it has one: leave a rule out, and see which label follows without
it. culprit labels --ruleset prints the file to begin with. What the rules read, the observations
and what was read from the texts, stays as it is. The digest that is shown is that of these rules:
no bundle is sealed by them.

Exit codes, which are not those of culprit run:

  0  the same bytes
  1  other bytes, though the same program sealed them; or a bundle whose files are not as sealed
  2  usage, or a ruleset with mistakes: nothing was read
  4  other bytes, by another evaluator than the one that sealed them, or by a --ruleset

With --as-backend the whole case is run again: it is planned, searched, packed, asked, judged and
sealed as culprit run does it, and the bundle stands for every backend. A call gets the answer that
was recorded under its key; what scans of the store showed is taken as recorded. A call that the
bundle does not hold, as where this version plans or packs otherwise, is an error (5) that names
it: nobody is ever asked. The new bundle goes into --results as an execution of its own, and says
that it is re-enacted, and of what. A bundle that holds restricted texts is refused: the calls that
were made of them bear random keys.`,
		Example: `  culprit replay culprit-results/20261129T200000Z-k3f9qa/long-haul-cabin.bundle.zip
  culprit replay 20261129T200000Z-k3f9qa --out replayed/
  culprit replay old-release/ --json
  culprit labels --ruleset > rules.yaml && culprit replay old-release/ --ruleset rules.yaml
  culprit replay long-haul-cabin.bundle.zip --as-backend --results reenacted/`,
		Args: atLeastOne("bundle"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.ruleset == "" && c.Flags().Changed("ruleset") { // such as an unset variable, by which other rules would decide than were meant
				return usage("--ruleset: name a file, such as one that culprit labels --ruleset has printed")
			}
			return a.replay(c.Context(), o, args)
		},
	}
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results, for ids of executions, and for what --as-backend makes")
	c.Flags().StringVar(&o.evaluator, "evaluator", "current", "current: this program; bundled: refuse a bundle that was decided by other `rules`")
	c.Flags().StringVar(&o.ruleset, "ruleset", "", "decide by the rules that a `file` lists, and its alpha")
	c.Flags().BoolVar(&o.write, "write", false, "write the evaluation that follows beside each bundle, to <case>"+replayed)
	c.Flags().StringVar(&o.out, "out", "", "write it into this `folder` instead")
	c.Flags().BoolVar(&o.asBackend, "as-backend", false, "run each case again, with its bundle in place of every backend")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+replaySchema+")")
	return c
}

// atLeastOne refuses a command line without arguments.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("%s takes at least one %s\nUsage: %s", c.CommandPath(), what, c.UseLine())
		}
		return nil
	}
}

func (a *app) replay(ctx context.Context, o replayOptions, args []string) error {
	if o.evaluator != "current" && o.evaluator != "bundled" {
		return usage("--evaluator is %q, and takes current or bundled", o.evaluator)
	}
	if o.asBackend && (o.write || o.out != "" || o.evaluator != "current" || o.ruleset != "") {
		return usage("--as-backend seals bundles of their own into --results, by this program: leave out --write, --out, --evaluator and --ruleset")
	}
	if o.ruleset != "" && o.evaluator == "bundled" {
		return usage("--evaluator bundled takes the rules that sealed a bundle alone: leave it or --ruleset out")
	}
	ruleset, err := o.selects()
	if err != nil {
		return err
	}
	paths, err := findBundles(o.results, args)
	if err != nil {
		return err
	}
	if o.write || o.out != "" {
		if err := o.checkPlaces(paths); err != nil {
			return err
		}
	}
	// A bundle takes little memory, and not for long. What is never touched takes none, and lets the collector wait until this much is
	// there to collect.
	const collected = 32 << 20
	untouched := make([]byte, collected)
	defer runtime.KeepAlive(untouched)
	all := make([]*results.Replay, len(paths))
	failed := make([]error, len(paths))
	if o.asBackend {
		for i := range paths { // an execution after the other, as their ids are
			all[i], failed[i] = reenact(ctx, paths[i], o.results)
		}
	} else if err := eachBundle(paths, func(i int) error {
		all[i], failed[i] = replayOne(paths[i], o)
		return nil
	}); err != nil {
		return err
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	code := exitOK
	for _, r := range all {
		if !r.Same && code != exitInternal {
			code = verifyCodes[r.State()]
		}
	}
	if a.json {
		err = a.writeJSON(replayRecord{Schema: replaySchema, Exit: code, Ruleset: ruleset, Bundles: all})
	} else {
		err = report.Replayed(a.out, all, a.drawing(o.results))
	}
	if err != nil {
		return err
	}
	return finished(code)
}

// selects reads the rules that --ruleset lists, and returns the digest of those that decide.
func (o *replayOptions) selects() (digest string, err error) {
	if o.ruleset == "" {
		return verdict.Ruleset(), nil
	}
	read, err := experiments.ReadRuleset(o.ruleset, verdict.RuleIDs())
	var problems experiments.Problems
	if errors.As(err, &problems) {
		return "", &brokenError{problems: problems, files: 1}
	}
	if err != nil {
		return "", err
	}
	if o.by, err = verdict.Select(read.Rules, read.Alpha); err != nil {
		return "", fmt.Errorf("ruleset %q: %w", o.ruleset, err)
	}
	return o.by.Digest(), nil
}

// replayOne replays a bundle, and keeps what is shown of it.
func replayOne(path string, o replayOptions) (*results.Replay, error) {
	r, err := results.ReplayBy(path, o.by)
	if err != nil {
		return nil, err
	}
	if o.evaluator == "bundled" && r.Sealed.Ruleset != r.Now.Ruleset {
		return nil, fmt.Errorf("bundle %q was decided by the rules %s, which this program does not have: replay it with %s, or without --evaluator bundled",
			path, r.Sealed.Ruleset, r.Bundle.Manifest.Tool)
	}
	if o.write || o.out != "" {
		var evaluation []byte
		if _, evaluation, err = r.Derived(); err == nil {
			err = replaceFile(o.target(path), evaluation)
		}
	}
	r.Slim()
	return r, err
}

// replaceFile writes a file of mode 0600 in place of what has its name, and never through it: beside a bundle of somebody else a link may
// stand that leads anywhere.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// reenact runs the case of a bundle again, with the bundle in place of every backend.
func reenact(ctx context.Context, path, folder string) (*results.Replay, error) {
	recording, err := results.OpenRecording(path)
	if errors.Is(err, results.ErrRestricted) {
		return nil, &usageError{err}
	}
	if err != nil {
		return nil, err
	}
	summary, err := runner.Reenact(ctx, recording, runner.Options{Out: folder, ExitCode: exitCode})
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", path, err)
	}
	now, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		return nil, err
	}
	return recording.Reenacted(now)
}

// target is where the evaluation of a bundle is written to.
func (o *replayOptions) target(path string) string {
	path = filepath.Clean(path)
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".zip"), ".bundle") + replayed
	if o.out != "" {
		return filepath.Join(o.out, name)
	}
	return filepath.Join(filepath.Dir(path), name)
}

// checkPlaces refuses a place inside of a bundle, and one for two of them.
func (o *replayOptions) checkPlaces(paths []string) error {
	taken := map[string]string{}
	for _, path := range paths {
		target := o.target(path)
		if first, twice := taken[target]; twice {
			return usage("%q and %q would both be written to %q: replay them into folders of their own", first, path, target)
		}
		taken[target] = path
		if err := results.OutsideBundles(filepath.Dir(target)); err != nil {
			return &usageError{err}
		}
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return usage("--out: %w", err)
		}
	}
	return nil
}
