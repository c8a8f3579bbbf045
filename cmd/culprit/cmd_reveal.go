package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
)

func (a *app) revealCommand() *cobra.Command {
	var out, folder, from string
	c := &cobra.Command{
		Use:     "reveal <copy>...",
		GroupID: groupLook,
		Short:   "Put restricted texts back into redacted copies",
		Long: `Write each redacted copy again, whole: with the texts that culprit redact withheld, out of the full
bundle that it was made of. That the two are one is proved and not assumed: both are intact, both
have the same manifest, byte for byte, and each text that is put back has the sum that the
manifest lists. Where it is not so, or where the full bundle lacks a text too, nothing is written.
What is written is the file that was sealed, readable by its owner alone; neither the copy nor
the full bundle is changed, and nothing is written over.

A <copy> is a file, a folder that it was unpacked into, a folder of bundles, or the id of an
execution; so is what --from names. Of several full bundles the one under the same seal is taken.`,
		Example: `  culprit reveal redacted/fee.bundle.zip --from vault/fee.bundle.zip --out whole
  culprit reveal redacted --from culprit-results --out whole`,
		Args: atLeastOne("bundle"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case from == "":
				return usage("--from is missing: name the full bundle, or the folder in which it is")
			case out == "":
				return usage("--out is missing: name the folder that the whole bundles are written to")
			}
			copies, err := findBundles(folder, args)
			if err != nil {
				return err
			}
			full, err := findBundles(folder, []string{from})
			if err != nil {
				return err
			}
			return a.copyBundles("culprit.revealed/v1", copies, func(bundle string) (results.Redacted, error) {
				source, err := underSameSeal(bundle, full)
				if err == nil {
					err = intact(source)
				}
				if err != nil {
					return results.Redacted{}, err
				}
				return results.Reveal(bundle, source, out)
			})
		},
	}
	c.Flags().StringVar(&folder, "results", defaultResults, "`folder` of the results, for ids of executions")
	c.Flags().StringVar(&from, "from", "", "the full `bundle` that the copy was made of, or a folder of such")
	c.Flags().StringVar(&out, "out", "", "`folder` of the whole bundles, laid out as results are")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.revealed/v1)")
	return c
}

// underSameSeal returns the bundle that has the manifest of a copy. The only one is returned whatever it is.
func underSameSeal(copied string, full []string) (string, error) {
	if len(full) == 1 {
		return full[0], nil
	}
	want, err := results.ReadBrief(copied)
	if err != nil {
		return "", err
	}
	for _, bundle := range full {
		if is, err := results.ReadBrief(bundle); err == nil && is.ManifestSum == want.ManifestSum {
			return bundle, nil
		}
	}
	return "", fmt.Errorf("none of the %d bundles of --from is under the seal of %s (execution %s, case %s): %w",
		len(full), quote(copied), want.Manifest.ExecID, quote(want.Manifest.CaseID), results.ErrNotRevealed)
}
