package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results/report"
)

func (a *app) initCommand() *cobra.Command {
	var o experiments.InitOptions
	c := &cobra.Command{
		Use:     "init [folder]",
		GroupID: groupRun,
		Short:   "Write an experiment that runs",
		Long: `Write an experiment with a first case into the folder (default: the current one). With
--documents it is about your own documents: Markdown, text or JSONL, read in place. It runs on
backends that are built in: no server, no key. Nothing is ever overwritten.`,
		Example: `  culprit init
  culprit init --documents docs/
  culprit run .`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			files, err := experiments.Init(dir, o)
			if err != nil {
				return &exitError{code: exitUsage, err: err}
			}
			for _, f := range files {
				fmt.Fprintln(a.out, "wrote", report.Safe(f))
			}
			fmt.Fprintf(a.out, "next: culprit run %s\n", report.Safe(dir))
			return nil
		},
	}
	c.Flags().StringVar(&o.Documents, "documents", "", "`folder` or file with your own documents")
	c.Flags().StringVar(&o.Name, "name", "", "`name` of the experiment (default: that of the folder)")
	return c
}
