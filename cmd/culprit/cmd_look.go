package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
)

// looking are the flags of every command that reads results.
type looking struct {
	out       string
	execution string
	json      bool
}

func (l *looking) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.out, "results", defaultResults, "`folder` of the results")
	c.Flags().StringVar(&l.execution, "execution", "", "the execution with this `id` (default: the newest)")
	c.Flags().BoolVar(&l.json, "json", false, "print JSON")
}

func (l *looking) id() (results.ExecutionID, error) {
	if l.execution == "" {
		return "", nil
	}
	id, err := results.ParseExecutionID(l.execution)
	if err != nil {
		return "", usage("--execution: %w", err)
	}
	return id, nil
}

func (a *app) explainCommand() *cobra.Command {
	var o looking
	c := &cobra.Command{
		Use:     "explain <case>",
		GroupID: groupLook,
		Short:   "Show where one case broke, with the evidence",
		Long: `Show one case of the newest execution that has it: the pipeline stage by stage with the break
marked, the ranking, what was packed, what the prompt held, the answers of A, B and D side by
side, what decided the label, what to try first and what would be wasted effort.`,
		Example: `  culprit explain long-haul-cabin
  culprit explain long-haul-cabin --json`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeCases(&o),
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := o.id()
			if err != nil {
				return err
			}
			dir, err := results.FindCase(o.out, args[0], id)
			if err != nil {
				return notFound(err, "no bundle of case %q in %q: run it first with culprit run", args[0], o.out)
			}
			bundle, err := results.Open(dir)
			if err != nil {
				return err
			}
			if o.json {
				return a.writeJSON(bundle.Evaluation)
			}
			return report.Explain(a.out, bundle, report.Options{Color: a.colour(), Width: a.width})
		},
	}
	o.flags(c)
	return c
}

func (a *app) reportCommand() *cobra.Command {
	var o looking
	c := &cobra.Command{
		Use:     "report",
		GroupID: groupLook,
		Short:   "Show the table of all cases of an execution again",
		Example: `  culprit report
  culprit report --execution 20261129T200000Z-k3f9qa --json`,
		Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			summary, err := o.summary()
			if err != nil {
				return err
			}
			if o.json {
				return a.writeJSON(summary)
			}
			return report.Run(a.out, summary, report.Options{Color: a.colour(), Width: a.width})
		},
	}
	o.flags(c)
	return c
}

// summary reads the summary of the execution that was asked for, or of the newest.
func (l *looking) summary() (*results.Summary, error) {
	id, err := l.id()
	if err != nil {
		return nil, err
	}
	if id == "" {
		ids, err := results.Executions(l.out)
		if err != nil {
			return nil, notFound(err, "no results in %q: run an experiment first with culprit run", l.out)
		}
		if len(ids) == 0 {
			return nil, usage("no results in %q: run an experiment first with culprit run", l.out)
		}
		id = ids[0]
	}
	summary, err := results.ReadSummary(l.out, id)
	if err != nil {
		return nil, notFound(err, "no execution %q in %q", id, l.out)
	}
	return summary, nil
}

// notFound makes a usage error of a missing file; other errors are kept.
func notFound(err error, format string, args ...any) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage("%s", fmt.Sprintf(format, args...))
	}
	return err
}

// completeCases offers the case ids of the newest execution.
func (a *app) completeCases(o *looking) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		summary, err := o.summary()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []string
		for _, c := range summary.Cases {
			ids = append(ids, c.ID+"\t"+report.Safe(c.Summary))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
