package main

import (
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/crash"
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
	Ledger       []string                `json:"ledger,omitempty"` // where the ledger and the executions do not fit
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
	trust   string
}

// trusted reads the keys that are to have signed.
func (o *verifyOptions) trusted(c *cobra.Command) (err error) {
	switch {
	case o.trust == "" && c.Flags().Changed("threshold"):
		return usage("--threshold counts the keys of --trust, which is not given")
	case o.trust == "":
		return nil
	}
	if o.policy.Trust, err = readTrusted(o.trust); err != nil {
		return usage("--trust: %w", err)
	}
	if n := len(o.policy.Trust); o.policy.Threshold < 1 || o.policy.Threshold > n {
		return usage("--threshold %d: it is one to the number of keys in %q, which is %d", o.policy.Threshold, o.trust, n)
	}
	return nil
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

With --trust, its signatures are read, which stand beside it in <bundle>.dsse.json: --threshold of
the keys of that file must have signed exactly what the bundle is. The file has lines as of
authorized_keys or allowed_signers of OpenSSH, or public keys in PEM; only Ed25519 keys count.

A <bundle> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution.

Exit codes, which are not those of culprit run; of several bundles the first of 1, 2, 3, 4 that
one of them has:

  0  intact, and as asked for
  1  not intact: something was changed, is missing, or does not belong together; or an execution
     is not what the ledger of its folder says that it left
  2  cannot be read as a bundle; or usage
  3  intact, and not what was asked for: partial, without --partial; or not signed with the keys
     of --trust
  4  intact, and sealed by another evaluator: what is derived differs, or was not compared`,
		Example: `  culprit verify culprit-results/20261129T200000Z-k3f9qa/long-haul-cabin.bundle.zip
  culprit verify 20261129T200000Z-k3f9qa
  culprit verify release-bundles/ --trust release-keys.pub --threshold 2 --json`,
		Args: atLeastOne("bundle"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.trusted(c); err != nil {
				return err
			}
			return a.verify(o, args)
		},
	}
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results, for ids of executions")
	c.Flags().BoolVar(&o.policy.Partial, "partial", false, "accept bundles of cases that were not run to their end")
	c.Flags().StringVar(&o.trust, "trust", "", "`file` of public keys that are to have signed every bundle")
	c.Flags().IntVar(&o.policy.Threshold, "threshold", 1, "how many `keys` of --trust have to have signed")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+verifySchema+")")
	return c
}

// errNoBundle means that an execution left none: of nothing it is not to be said that all is fine.
var errNoBundle = errors.New("no bundle")

// findBundles lists the bundles that the arguments name, each once and in their order. The error wraps errNoBundle where one names none.
func findBundles(folder string, args []string) ([]string, error) {
	var paths, none []string
	for _, arg := range args {
		found, err := results.FindBundles(folder, arg)
		if errors.Is(err, results.ErrNotFound) {
			return nil, usage("%w: name a bundle, a folder of bundles, or the id of an execution", err)
		}
		if err != nil {
			return nil, &usageError{err}
		}
		if len(found) == 0 {
			none = append(none, arg)
		}
		for _, path := range found {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	if len(none) > 0 {
		return paths, usage("%s: %w; culprit history lists executions", strings.Join(none, ", "), errNoBundle)
	}
	return paths, nil
}

// eachBundle works on bundles side by side.
func eachBundle(paths []string, work func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range paths {
		group.Go(crash.Guard(func() error { return work(i) }))
	}
	return group.Wait()
}

// verifyAll verifies bundles side by side, and returns the exit code of the worst.
func verifyAll(paths []string, policy results.Policy) ([]*results.Verification, int, error) {
	verified := make([]*results.Verification, len(paths))
	err := eachBundle(paths, func(i int) error {
		verified[i] = results.Verify(paths[i], policy)
		return nil
	})
	worst := results.StateIntact
	if err == nil {
		for _, v := range verified {
			worst = worst.Worse(v.State)
		}
	}
	return verified, verifyCodes[worst], err
}

func (a *app) verify(o verifyOptions, args []string) error {
	problems, err := o.ledger(args)
	if err != nil {
		return err
	}
	paths, err := findBundles(o.results, args)
	if err != nil && (len(problems) == 0 || !errors.Is(err, errNoBundle)) {
		return err
	}
	verified, code, err := verifyAll(paths, o.policy)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		code = verifyCodes[results.StateBroken]
	}
	proves, not := report.Proves(verified)
	if a.json {
		err = a.writeJSON(verifyRecord{Schema: verifySchema, Exit: code, Bundles: verified, Ledger: problems, Proves: proves, DoesNotProve: not})
	} else {
		err = report.Verified(a.out, verified, a.drawing(o.results))
		for _, says := range problems {
			a.warnf("ledger: %s", says)
		}
	}
	if err != nil {
		return err
	}
	return finished(code)
}

// ledger holds the executions among the arguments to the ledger of their folder: what it says that they left is there, and nothing else.
func (o *verifyOptions) ledger(args []string) ([]string, error) {
	asked := map[results.ExecutionID]bool{}
	for _, arg := range args {
		if id, err := results.ParseExecutionID(arg); err == nil {
			asked[id] = true
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	l, err := results.ReadLedger(o.results)
	if errors.Is(err, results.ErrLedger) {
		return []string{err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	return l.Check(o.results, func(id results.ExecutionID) bool { return asked[id] })
}
