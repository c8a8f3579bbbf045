package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema experiment|case",
		GroupID: groupSelf,
		Short:   "Print the JSON Schema of an experiment or a case file",
		Long: `Print the JSON Schema (2020-12) of an experiment or a case file, with the settings of every
adapter that is built in. An editor that is given it completes and explains every key; the
examples carry the line that tells it so.`,
		Example: `  culprit schema experiment > experiment.schema.json
  # first line of experiment.yaml:
  # yaml-language-server: $schema=experiment.schema.json`,
		Args:      arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		ValidArgs: []string{"experiment", "case"},
		RunE: func(_ *cobra.Command, args []string) error {
			schema, err := experiments.Schema(args[0], a.registry.Schemas())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s\n", schema)
			return err
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use:     "version",
		GroupID: groupSelf,
		Short:   "Print the version",
		Example: `  culprit version --json`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			tool := results.BuildTool()
			if json {
				return a.writeJSON(tool)
			}
			_, err := fmt.Fprintf(a.out, "%s %s %s %s/%s\n", tool.Name, tool.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print JSON")
	return c
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes:

  0    every case that blocks passes (cases with risk: investigate may fail)
  1    internal error
  2    usage, or an experiment with mistakes; nothing was run
  3    finished, blocked: a case with risk: blocking fails
  4    finished, held: a case with risk: blocking is inconclusive
  5    environment: a backend could not be reached, or its errors kept a case from being judged
  130  interrupted; finished cases are kept

Any other code means failure, too.`,
	}
}

func environmentTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "The environment variables that are read",
		Long: `Environment variables:

  CULPRIT_CACHE  folder for stores that are built from documents (default: the user's cache
                 folder); what is in it can be made again at any time
  NO_COLOR       any value: no colour
  TERM           dumb: no colour`,
	}
}
