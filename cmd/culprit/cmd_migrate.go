package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
)

func (a *app) migrateCommand() *cobra.Command {
	var out, folder string
	c := &cobra.Command{
		Use:     "migrate <bundle>...",
		GroupID: groupLook,
		Short:   "Make new bundles of old ones, by the rules of this version",
		Long: `Make a new bundle of each that another version has decided. What was given and what was observed,
the journal among it, and the plan that was carried out stay the same bytes; what was read from
the texts and the verdict are made anew, as culprit replay shows them. The new bundle passes
culprit verify here, or nothing is written and the reason is said: where this version would have
planned the case otherwise, or asked for more, the case has to be run again.

The new bundle says in derived_from which bundle it was made of, by the digest of its manifest. It
is no execution: it keeps the id of the one that observed, stands in a folder of its own, never in
one with a ledger, and the old bundle stays as it is. Signatures are of the old verdict and are not
taken along: culprit sign signs the new one. Of a redacted copy the features that need a withheld
text are taken as they were sealed; where this version cannot read them, it is refused. Where the
same bytes follow, nothing is written.

A <bundle> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution.`,
		Example: `  culprit migrate old-release/ --out migrated
  culprit diff old-release/fee.bundle.zip migrated/20261129T200000Z-k3f9qa/fee.bundle.zip
  culprit migrate 20261129T200000Z-k3f9qa --out migrated --json`,
		Args: atLeastOne("bundle"),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usage("--out is missing: name the folder that the new bundles are written to")
			}
			bundles, err := findBundles(folder, args)
			if err != nil {
				return err
			}
			return a.migrate(bundles, out)
		},
	}
	c.Flags().StringVar(&folder, "results", defaultResults, "`folder` of the results, for ids of executions")
	c.Flags().StringVar(&out, "out", "", "`folder` of the new bundles, laid out as results are")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.migrated/v1)")
	return c
}

func (a *app) migrate(bundles []string, out string) error {
	record := struct {
		Schema  string              `json:"schema"`
		Bundles []*results.Migrated `json:"bundles"`
	}{"culprit.migrated/v1", []*results.Migrated{}}
	var failed error
	for _, bundle := range bundles {
		done, err := results.Migrate(bundle, out, time.Now())
		if errors.Is(err, results.ErrNotMigrated) || errors.Is(err, results.ErrInside) || errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
			err = &usageError{err}
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		record.Bundles = append(record.Bundles, done)
	}
	if a.json {
		return errors.Join(failed, a.writeJSON(record))
	}
	for _, done := range record.Bundles {
		says := "the same label: " + done.Now.Verdict
		switch {
		case done.New == "":
			linef(a.out, "%s  nothing was written: the same bytes follow by the rules of this version", done.Bundle)
			continue
		case done.Sealed.Verdict != done.Now.Verdict:
			says = done.Sealed.Verdict + " → " + done.Now.Verdict
		}
		linef(a.out, "%s  %s", done.New, says)
	}
	return failed
}
