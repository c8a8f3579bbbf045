package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/index"
	"github.com/culprit-rag/culprit/results/report"
)

type historyOptions struct {
	results string
	caseID  string
	limit   int
}

func (a *app) historyCommand() *cobra.Command {
	var o historyOptions
	c := &cobra.Command{
		Use:     "history [case]",
		GroupID: groupLook,
		Short:   "Show what was run, or what one case was found to be in each execution",
		Long: `Show the executions of a results folder, newest first, as its ledger has them: also those that were
stopped or killed, and what all of them together have paid, each call counted once. With a case,
show its verdict in each of them, how often production passed, and what had changed: the case
itself, the pins, or the rules of this program.

Bundles are looked up in an index (index.sqlite in the results folder), which follows them by
itself.`,
		Example: `  culprit history
  culprit history leave-policy-014 --limit 5
  culprit history leave-policy-014 --json`,
		Args: between(0, 1, "at most one case"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.caseID = args[0]
			}
			return a.history(c.Context(), o)
		},
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completeCases(&looking{results: o.results})(c, args, prefix)
	}
	c.Flags().StringVar(&o.results, "results", defaultResults, "`folder` of the results")
	c.Flags().IntVar(&o.limit, "limit", 20, "show the newest `n`; 0 shows all")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+results.HistorySchema+")")
	return c
}

func (a *app) history(ctx context.Context, o historyOptions) (err error) {
	if o.limit < 0 {
		return usage("--limit is %d: it is the number of lines, or 0 for all", o.limit)
	}
	there, err := results.Executions(o.results)
	if err != nil {
		return err
	}
	ledger, err := results.ReadLedger(o.results)
	if err != nil {
		return err
	}
	if len(there) == 0 && len(ledger.Records) == 0 {
		return noResults(o.results)
	}
	x, err := index.Open(ctx, o.results, a.counting("reading bundles"))
	a.clearLine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	h := results.History{Schema: results.HistorySchema, Case: o.caseID, LedgerHead: ledger.Head}
	if h.Unread, err = x.Unread(ctx); err != nil {
		return err
	}
	if o.caseID != "" {
		if err = o.past(ctx, x, &h); err == nil {
			h.Reenacted(ledger.Executed(there))
		}
	} else {
		all := ledger.Executed(there)
		bill := results.SumUp(o.results, all)
		h.Bill = &bill
		if err = o.executions(ctx, x, &h, all); err == nil {
			h.Problems, err = ledger.Check(o.results, func(id results.ExecutionID) bool {
				return slices.ContainsFunc(h.Executions, func(e results.Executed) bool { return e.Execution == id })
			})
		}
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(h)
	}
	return report.History(a.out, &h, a.drawing(o.results))
}

func (o *historyOptions) past(ctx context.Context, x *index.Index, h *results.History) error {
	entries, err := x.Case(ctx, o.caseID, 0)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		known, err := x.Cases(ctx)
		if err != nil {
			return err
		}
		return usage("no case %q in %q%s", o.caseID, o.results, didYouMean(o.caseID, known))
	}
	h.Entries, h.More = newest(entries, o.limit)
	return nil
}

func (o *historyOptions) executions(ctx context.Context, x *index.Index, h *results.History, all []results.Executed) error {
	h.Executions, h.More = newest(all, o.limit)
	for i := range h.Executions {
		e := &h.Executions[i]
		entries, err := x.Execution(ctx, e.Execution)
		if err != nil {
			return err
		}
		e.Outcomes = map[verdict.Outcome]int{}
		for j := range entries {
			e.Outcomes[entries[j].Outcome]++
		}
	}
	return nil
}

// newest returns the first of all that are to be shown, and how many are not; 0 shows all.
func newest[T any](all []T, limit int) (shown []T, more int) {
	if limit == 0 || limit > len(all) {
		limit = len(all)
	}
	return all[:limit], len(all) - limit
}

func (a *app) indexCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "index",
		GroupID: groupLook,
		Short:   "Make the index of a results folder again",
		Long: `The index of a results folder (index.sqlite) says which bundles there are of a case. It holds
nothing that the bundles do not, follows them by itself, and may be deleted at any time.`,
		Example: `  culprit index rebuild --results nightly`,
		Args:    knownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var folder string
	rebuild := &cobra.Command{
		Use:     "rebuild",
		Short:   "Make the index of a results folder again, of its bundles alone",
		Long:    `Make the index of a results folder again, of its bundles alone, and tell what could not be read.`,
		Example: `  culprit index rebuild --results nightly`,
		Args:    between(0, 0, "no argument"),
		RunE:    func(c *cobra.Command, _ []string) error { return a.rebuildIndex(c.Context(), folder) },
	}
	rebuild.Flags().StringVar(&folder, "results", defaultResults, "`folder` of the results")
	c.AddCommand(rebuild)
	return c
}

func (a *app) rebuildIndex(ctx context.Context, folder string) (err error) {
	began := time.Now()
	x, err := index.Rebuild(ctx, folder, a.counting("reading bundles"))
	a.clearLine()
	if errors.Is(err, fs.ErrNotExist) {
		return noResults(folder)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	unread, err := x.Unread(ctx)
	if err != nil {
		return err
	}
	for _, u := range unread {
		a.warnf("%s/%s: %s", u.Execution, u.File, u.Why)
	}
	bundles, executions, err := x.Size(ctx)
	if err != nil {
		return err
	}
	if !x.Kept() {
		return fmt.Errorf("index of %q: nothing was written: the folder cannot be written to; %s of %s can be read: run it as the owner of the folder",
			folder, counted(bundles, "bundle", "bundles"), counted(executions, "execution", "executions"))
	}
	_, err = fmt.Fprintf(a.out, "%s of %s in %s\n", counted(bundles, "bundle", "bundles"), counted(executions, "execution", "executions"), time.Since(began).Round(time.Millisecond))
	return err
}

// counting shows on a terminal how far long work is, nil where it is none; clearLine takes the line away.
func (a *app) counting(what string) func(done, of int) {
	if !a.err.terminal || a.json {
		return nil
	}
	last := time.Now()
	return func(done, of int) {
		if now := time.Now(); now.Sub(last) >= redraw {
			last = now
			fmt.Fprintf(a.err, "\r\x1b[K%s %d/%d", what, done, of)
		}
	}
}

func (a *app) clearLine() {
	if a.err.terminal && !a.json {
		fmt.Fprint(a.err, "\r\x1b[K")
	}
}
