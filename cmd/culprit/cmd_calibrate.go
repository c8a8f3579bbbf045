package main

import (
	"github.com/spf13/cobra"
)

func (a *app) calibrateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "calibrate <judge or floor>",
		GroupID: groupStudy,
		Short:   "Measure what a judge's word is worth, or which score is none",
		Long: `Measure what cannot be known beforehand: how often a judge agrees with persons, and the score below
which a search cannot tell the evidence from what has nothing to do with the query. Each ends with
what to write into the experiment.`,
		Example: `  culprit calibrate judge culprit-results --labels labels.jsonl
  culprit calibrate floor staging.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage("%s does not know %q%s\nSee: %s --help", c.CommandPath(), args[0], didYouMean(args[0], []string{"judge", "floor"}), c.CommandPath())
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.calibrateJudgeCommand(), a.calibrateFloorCommand())
	return c
}
