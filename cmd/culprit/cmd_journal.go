package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
)

func (a *app) journalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "journal",
		GroupID: groupRun,
		Short:   "Save what is whole of a damaged journal",
		Long: `Every case that is under way has a journal, of which every line is chained to the one before it.
A line that was changed is refused, with all that follows: nobody knows what it said.`,
		Example: `  culprit journal repair culprit-results/.work/20261129T200000Z-k3f9qa/lunch/journal.jsonl`,
		Args:    knownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var to string
	repair := &cobra.Command{
		Use:   "repair <journal>",
		Short: "Copy what is whole of a damaged journal to a new file",
		Long: `Copy what is whole of a damaged journal, up to the first line that is not, to a new file. The journal
itself is never changed. What the lines behind it say is lost: calls that they announce are in no
list and no total any more, and are made again by whoever goes on with the copy.`,
		Example: `  culprit journal repair culprit-results/.work/20261129T200000Z-k3f9qa/lunch/journal.jsonl`,
		Args:    between(1, 1, "one journal"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.repairJournal(args[0], to) },
	}
	repair.Flags().StringVar(&to, "to", "", "the new `file` (default: beside the journal, as <name>.repaired)")
	repair.Flags().BoolVar(&a.json, "json", false, "print one JSON object ("+results.RepairedSchema+")")
	c.AddCommand(repair)
	return c
}

func (a *app) repairJournal(path, to string) error {
	if to == "" {
		to = path + ".repaired"
	}
	r, err := results.RepairJournal(path, to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("journal %s: not found: name its file; culprit resume names one that is damaged", quote(path))
	case errors.Is(err, fs.ErrExist) || errors.Is(err, results.ErrJournal):
		return &usageError{err}
	case err != nil:
		return err
	case a.json:
		return a.writeJSON(r)
	case r.Copy == "":
		linef(a.out, "%s is whole: %s", quote(path), counted(r.Records, "record", "records"))
		return nil
	}
	linef(a.out, "%s of %s, %s, were copied to %s", counted(r.Records, "record", "records"), quote(path), "all before its first damage", quote(to))
	linef(a.out, "damaged: %s; %s left out, which %s", r.Why, counted(r.Lost, "line is", "lines are"), announces(r.Calls))
	linef(a.out, "to go on with the copy, put it in the place of the journal: mv %s %s", quote(to), quote(path))
	return nil
}

func announces(calls int) string {
	if calls == 0 {
		return "announce no call"
	}
	return fmt.Sprintf("announce %s: they may have to be paid for, and are made again without being listed", counted(calls, "call", "calls"))
}

// damaged names what can be done about a damaged journal.
func damaged(err error) error {
	var journal *results.JournalError
	if !errors.As(err, &journal) || !errors.Is(err, results.ErrJournal) {
		return err
	}
	folder := filepath.Dir(filepath.Dir(journal.Path)) // of the execution
	return fmt.Errorf("%w\nnothing was called. Copy what is whole of it: culprit journal repair %s\nor give up what is left of the run: culprit resume %s%s --drop",
		err, quote(journal.Path), filepath.Base(folder), resultsFlag(strings.TrimSuffix(filepath.Dir(filepath.Dir(folder)), "/")))
}
