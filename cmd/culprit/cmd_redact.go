package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

func (a *app) redactCommand() *cobra.Command {
	var out, folder string
	most := string(matrix.Internal)
	c := &cobra.Command{
		Use:     "redact <bundle>...",
		GroupID: groupLook,
		Short:   "Copy bundles without their restricted texts",
		Long: `Copy bundles to another folder without the texts that the experiment's sensitivity makes
restricted, and without what was made of them: prompts, answers and judgements. Manifest and
sums stay the same bytes, so that seal and signatures hold for the copy, and the verdict can be
made again from what is left. Nothing is changed in place. A case is copied as it was written.

With --max-sensitivity restricted all that is there is copied: of a bundle that was unpacked, or
that a mail gateway has packed again, the copy is the file that was sealed, byte for byte.

A <bundle> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution.`,
		Example: `  culprit redact 20261129T200000Z-k3f9qa --out redacted
  culprit explain long-haul-cabin --results redacted
  culprit redact from-the-mail.bundle.zip --max-sensitivity restricted --out as-sealed`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			level, err := matrix.ParseLevel(most)
			switch {
			case err != nil:
				return usage("--max-sensitivity: %w", err)
			case level == matrix.Public:
				return usage("--max-sensitivity %s: only restricted texts stand in files of their own, so that it can be internal or restricted", level)
			case out == "":
				return usage("--out is missing: name the folder that the copies are written to")
			case len(args) == 0:
				return usage("culprit redact takes bundles, and got none")
			}
			bundles, err := findBundles(folder, args)
			if err != nil {
				return err
			}
			copies := results.Redact
			if level == matrix.Restricted {
				copies = results.Copy
			}
			return a.copyBundles("culprit.redacted/v1", bundles, func(bundle string) (results.Redacted, error) { return copies(bundle, out) })
		},
	}
	c.Flags().StringVar(&folder, "results", defaultResults, "`folder` of the results, for ids of executions")
	c.Flags().StringVar(&out, "out", "", "`folder` of the copies, laid out as results are")
	c.Flags().StringVar(&most, "max-sensitivity", most, "the highest `level` that is copied")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.redacted/v1)")
	return c
}

// copyBundles copies bundles that are intact, and says what became of each in a report of that schema.
func (a *app) copyBundles(schema string, bundles []string, copies func(bundle string) (results.Redacted, error)) error {
	report := struct {
		Schema  string             `json:"schema"`
		Bundles []results.Redacted `json:"bundles"`
	}{schema, []results.Redacted{}}
	var failed error
	for _, bundle := range bundles {
		done, err := results.Redacted{}, intact(bundle)
		if err == nil {
			done, err = copies(bundle)
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) || errors.Is(err, results.ErrNotRevealed) || errors.Is(err, results.ErrInside) {
			err = &usageError{err}
		}
		if err != nil {
			failed = errors.Join(failed, err)
			if errors.Is(err, fs.ErrPermission) {
				break // the same would be said of each
			}
			continue
		}
		report.Bundles = append(report.Bundles, done)
		if !a.json {
			says := "withheld: " + counted(done.Withheld, "file", "files")
			if done.Revealed > 0 {
				says = "revealed: " + counted(done.Revealed, "file", "files")
			}
			linef(a.out, "%s  %s", done.Copy, says)
		}
	}
	if a.json {
		failed = errors.Join(failed, a.writeJSON(report))
	}
	return failed
}

// intact refuses a bundle that is not: in a copy nobody could tell what was changed.
func intact(bundle string) error {
	if v := results.Verify(bundle, results.Policy{Partial: true}); v.State == results.StateBroken {
		return fmt.Errorf("bundle %s is not intact, so that nobody could tell what was changed in the copy: %s\nSee: culprit verify %s", quote(bundle), v.Problems[0], quote(bundle))
	}
	return nil
}
