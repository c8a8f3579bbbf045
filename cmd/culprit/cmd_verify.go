package main

import (
	"errors"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
)

// verifySchema is the schema of [verifyRecord].
const verifySchema = "culprit.verify/v1"

// verifyRecord is what culprit verify --json prints.
type verifyRecord struct {
	Schema       string                  `json:"schema"`
	Exit         int                     `json:"exit"`
	Bundles      []*results.Verification `json:"bundles"`
	Proves       []string                `json:"proves"`
	DoesNotProve []string                `json:"does_not_prove"`
}

// verifyCodes are the exit codes of culprit verify.
var verifyCodes = map[results.State]int{
	results.StateIntact: 0, results.StateBroken: 1, results.StateMalformed: 2, results.StatePolicy: 3, results.StateEvaluator: 4,
}

type verifyOptions struct {
	results string
	policy  results.Policy
}

func (a *app) verifyCommand() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:     "verify <bundle>...",
		GroupID: groupLook,
		Short:   "Hold bundles to their seal and to themselves",
		Long: `Hold bundles to their seal and to themselves: every file is there, none besides, each has the size
and the sum that the manifest lists; the journal is whole; the digests are made again; every name
leads to something and nothing is left over; plan, features and evaluation are made again from what
was observed and have the same bytes. A bundle is read where it stands and never unpacked.
Everything that is wrong is listed, not the first alone.

A <bundle> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution.

Exit codes, which are not those of culprit run; of several bundles the first of 1, 2, 3, 4 that
one of them has:

  0  intact, and as asked for
  1  not intact: something was changed, is missing, or does not belong together
  2  cannot be read as a bundle; or usage
  3  intact, and not what was asked for: partial, without --partial
  4  intact, and sealed by another evaluator: what is derived differs, or was not compared`,
		Example: `  culprit verify culprit-results/20261129T200000Z-k3f9qa/long-haul-cabin.bundle.zip
  culprit verify 20261129T200000Z-k3f9qa
  culprit verify release-bundles/ --json`,
		Args: atLeastOne("bundle"),
		RunE: func(_ *cobra.Command, args []string) error { return a.verify(o, args) },
	}
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results, for ids of executions")
	c.Flags().BoolVar(&o.policy.Partial, "partial", false, "accept bundles of cases that were not run to their end")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+verifySchema+")")
	return c
}

// findBundles lists the bundles that the arguments name, each once and in their order.
func findBundles(folder string, args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		found, err := results.FindBundles(folder, arg)
		if errors.Is(err, results.ErrNotFound) {
			return nil, usage("%w: name a bundle, a folder of bundles, or the id of an execution", err)
		}
		if err != nil {
			return nil, &usageError{err}
		}
		for _, path := range found {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}

// eachBundle works on bundles side by side.
func eachBundle(paths []string, work func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range paths {
		group.Go(func() error { return work(i) })
	}
	return group.Wait()
}

func (a *app) verify(o verifyOptions, args []string) error {
	paths, err := findBundles(o.results, args)
	if err != nil {
		return err
	}
	verified := make([]*results.Verification, len(paths))
	if err := eachBundle(paths, func(i int) error { verified[i] = results.Verify(paths[i], o.policy); return nil }); err != nil {
		return err
	}
	worst := results.StateIntact
	for _, v := range verified {
		worst = worst.Worse(v.State)
	}
	code := verifyCodes[worst]
	proves, not := report.Proves(verified)
	if a.json {
		err = a.writeJSON(verifyRecord{Schema: verifySchema, Exit: code, Bundles: verified, Proves: proves, DoesNotProve: not})
	} else {
		err = report.Verified(a.out, verified, a.drawing(o.results))
	}
	if err != nil {
		return err
	}
	return finished(code)
}
