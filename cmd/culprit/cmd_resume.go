package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

type resumeOptions struct {
	execution string
	results   string
	path      string // of the experiment; "": where it was
	inDoubt   string
	set       []string
	retry     bool
	seal      bool
	drop      bool
	list      bool
	all       bool
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:     "resume [execution]",
		GroupID: groupRun,
		Short:   "Go on with a run that was killed, interrupted or stopped",
		Long: `Go on with a run that was killed, interrupted, or stopped by an error or limits.budget: the one with
that id, or the newest of the results folder that was not finished. It is the same execution:
cases that have their bundle keep it, and no call whose answer is in a journal is made again.

It refuses to go on where a case, or anything that can change a result, is no longer what it was.

A call that was announced and has no outcome may have been made, and may have to be paid for:
nobody knows. Such calls are listed, and nothing is called, until --in-doubt says what to do:

  retry  make them again: each may have to be paid for twice
  skip   leave them out: what they were to observe is not run, and the bundle is partial

A call that failed in a way that another try may mend is made again; one that failed for good is
kept as it is, unless --retry-failed is given. What was spent before counts towards limits.budget.`,
		Example: `  culprit resume
  culprit resume --list
  culprit resume 20261129T200000Z-k3f9qa --in-doubt retry
  culprit resume --set limits.budget.calls=2000
  culprit resume --seal`,
		Args: between(0, 1, "at most one execution"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.execution = args[0]
			}
			return a.resume(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.results, "results", defaultResults, "`folder` of the results")
	f.StringVar(&o.path, "experiment", "", "`path` of the experiment, where it is no longer the one that the run was begun with")
	f.StringVar(&o.inDoubt, "in-doubt", "", "what to do about calls that may have been made: `retry|skip`")
	f.BoolVar(&o.retry, "retry-failed", false, "make calls that failed for good again")
	f.StringArrayVar(&o.set, "set", nil, "override one of limits, as `path=value`; may be given several times")
	f.BoolVar(&o.seal, "seal", false, "call nothing more that leaves the machine: what was not observed is not run, and every case gets its bundle, partial or aborted")
	f.BoolVar(&o.drop, "drop", false, "remove what is left of the unfinished cases instead; bundles stay")
	f.BoolVar(&o.list, "list", false, "list what was not finished instead")
	f.BoolVar(&o.all, "all", false, allUsage)
	f.BoolVar(&a.json, "json", false, "print one JSON object (culprit.execution/v1; with --list "+unfinishedSchema+", with --drop "+results.DroppedSchema+")")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ids, _ := results.Resumable(o.results) // a completion that fails offers nothing
		var names []string
		for _, id := range ids {
			names = append(names, id.String())
		}
		return completions(names, nil), cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

func (a *app) resume(ctx context.Context, o resumeOptions) error {
	if o.inDoubt != "" && o.inDoubt != results.InDoubtRetry && o.inDoubt != results.InDoubtSkip {
		return usage("--in-doubt is retry or skip, not %q", o.inDoubt)
	}
	if o.seal && o.drop || o.seal && o.list || o.drop && o.list {
		return usage("--seal, --drop and --list exclude each other")
	}
	for _, set := range o.set {
		if !strings.HasPrefix(set, "limits.") {
			return usage("--set %s: a run that goes on can change its limits alone: begin another with culprit run", set)
		}
	}
	if o.list {
		return a.listUnfinished(o)
	}
	id, err := o.id()
	if err != nil {
		return err
	}
	if o.drop {
		dropped, err := results.Drop(o.results, id)
		if err != nil {
			return refused(err)
		}
		return a.showDropped(dropped)
	}
	invocation, err := results.ReadInvocation(o.results, id)
	if errors.Is(err, results.ErrNotFound) {
		if s, ended := results.ReadSummary(o.results, id); ended == nil && s.Stopped == "" && !s.Rebuilt {
			return usage("execution %s is finished, and there is nothing to go on with: culprit report%s --execution %s shows it", id, resultsFlag(o.results), id)
		}
	}
	if err != nil {
		return refused(err)
	}
	if o.path != "" {
		invocation.Path = o.path
	} else if _, err := os.Stat(invocation.Path); errors.Is(err, fs.ErrNotExist) {
		return usage("execution %s was begun with the experiment %s, which is not there: name where it is now with --experiment; it must be the same", id, quote(invocation.Path))
	}
	return a.execute(ctx, runOptions{results: o.results, all: o.all, loading: loading{
		path: invocation.Path, profile: invocation.Profile, set: slices.Concat(invocation.Set, o.set), outside: invocation.Outside, repeats: invocation.Repeats, noRepairs: invocation.NoRepairs,
	}}, runner.Resuming{Execution: id, InDoubt: o.inDoubt, RetryFailed: o.retry, Seal: o.seal})
}

// id is the execution to go on with.
func (o *resumeOptions) id() (results.ExecutionID, error) {
	if o.execution != "" {
		id, err := results.ParseExecutionID(o.execution)
		if err != nil {
			return "", &usageError{err}
		}
		return id, nil
	}
	ids, err := results.Resumable(o.results)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(o.results); errors.Is(err, fs.ErrNotExist) {
		return "", noResults(o.results)
	}
	if len(ids) == 0 {
		return "", usage("nothing in %q was left unfinished: run the experiment", o.results)
	}
	return ids[0], nil
}

func (a *app) showDropped(d *results.Dropped) error {
	if a.json {
		return a.writeJSON(d)
	}
	linef(a.out, "%s is not gone on with any more; its bundles, if it has any, are kept", d.Execution)
	linef(a.out, "dropped: %s without a bundle, which had announced %s; %s lost, and of %s it is not known whether they were made",
		counted(d.Cases, "case", "cases"), counted(d.Calls, "call", "calls"), counted(d.Answers, "answer is", "answers are"), strconv.Itoa(d.InDoubt))
	if d.Unread > 0 {
		linef(a.out, "of %s the journal is damaged: what calls they made is not known", counted(d.Unread, "case", "cases"))
	}
	return nil
}

const unfinishedSchema = "culprit.unfinished/v1"

// unfinished lists the executions of a results folder that can be gone on with, newest first.
type unfinished struct {
	Schema     string          `json:"schema"`
	Executions []unfinishedRun `json:"executions"`
}

type unfinishedRun struct {
	Execution  results.ExecutionID `json:"execution"`
	Experiment string              `json:"experiment"` // its path
	Cases      int                 `json:"cases"`      // that were to be run
	Finished   int                 `json:"finished"`   // of these, those with a bundle
	Left       *results.Left       `json:"left"`       // of the others
}

func (a *app) listUnfinished(o resumeOptions) error {
	ids, err := results.Resumable(o.results)
	if err != nil {
		return err
	}
	list := unfinished{Schema: unfinishedSchema, Executions: []unfinishedRun{}}
	if len(ids) == 0 && !a.json {
		linef(a.out, "nothing in %s was left unfinished", quote(o.results))
	}
	for _, id := range ids {
		i, err := results.ReadInvocation(o.results, id)
		if err != nil {
			a.warnf("%v", err)
			continue
		}
		done, err := results.Bundles(o.results, id)
		if err != nil && !errors.Is(err, results.ErrNotFound) {
			return err
		}
		left, err := results.ReadLeft(o.results, id)
		if err != nil {
			return err
		}
		list.Executions = append(list.Executions, unfinishedRun{id, i.Path, len(i.Cases), len(done), left})
		if !a.json {
			linef(a.out, "%s  %d of %s finished  %s", id, len(done), counted(len(i.Cases), "case", "cases"), quote(i.Path))
			a.listLeft(left)
		}
	}
	if a.json {
		return a.writeJSON(list)
	}
	return nil
}

// listLeft says what calls the unfinished cases have made, and names each that is in doubt by what its provider was told.
func (a *app) listLeft(l *results.Left) {
	made, unpaid := l.Calls()
	line := fmt.Sprintf("  of the others: %s made", counted(made, "call", "calls"))
	if unpaid > 0 {
		line += fmt.Sprintf(" (%d of them unpaid)", unpaid)
	}
	line += fmt.Sprintf(", and %d in doubt", l.InDoubt)
	if again := l.InDoubt - len(l.Undecided); again > 0 && l.Unread == 0 && !l.Busy {
		line += fmt.Sprintf(" (%d of them made again or left out, and not listed)", again)
	}
	if l.Unread > 0 {
		line += fmt.Sprintf("; the journal of %s is damaged", counted(l.Unread, "case", "cases"))
	}
	if l.Busy {
		line += "; a process is at it, and what it does now is not counted"
	}
	linef(a.out, "%s", line)
	if l.Shared > 0 {
		linef(a.out, "  in doubt: %s", sharedDoubts(l.Shared))
	}
	for _, u := range l.Undecided {
		linef(a.out, "  in doubt: %s  Idempotency-Key %s", asDoubted(u.Case, &u.Call, u.At), u.ID)
	}
}

// sharedDoubts tells of calls in doubt that serve all cases.
func sharedDoubts(n int) string {
	return counted(n, "call", "calls") + " for all cases together, to embed what is stored: whoever goes on makes them again, whatever --in-doubt says"
}

// asDoubted tells of a call in doubt in one line.
func asDoubted(id string, call *matrix.Call, at string) string {
	return fmt.Sprintf("%s  %s, repetition %d: %s by %s at %s", id, call.Cell, max(call.Rep, 1), call.Step, strings.TrimSpace(call.Provider+" "+call.Model), at)
}

// resumeLine is the command that goes on with an execution; "" where it cannot be gone on with.
func (o *runOptions) resumeLine(id results.ExecutionID) string {
	if ids, err := results.Resumable(o.results); err != nil || !slices.Contains(ids, id) {
		return ""
	}
	return "culprit resume " + id.String() + resultsFlag(o.results)
}

// resultsFlag names a results folder in a command line, "" for the default.
func resultsFlag(folder string) string {
	if folder == defaultResults {
		return ""
	}
	return " --results " + quote(folder)
}

// refused makes what keeps a run from going on a mistake of the command line, where nothing was run.
func refused(err error) error {
	if errors.Is(err, results.ErrNotFound) || errors.Is(err, results.ErrLocked) || errors.Is(err, results.ErrChanged) {
		return &usageError{err}
	}
	return err
}

// stuck says of a run that could not go on what can be done.
func (o *runOptions) stuck(err error) error {
	var doubts *runner.InDoubtError
	var changed *runner.ChangedError
	switch {
	case errors.As(err, &doubts):
		line := o.resumeLine(doubts.Execution)
		says := fmt.Sprintf("%s may have been made before the run was ended, and nobody knows. Nothing was called now.", counted(len(doubts.Calls)+doubts.Shared, "call", "calls"))
		if doubts.Shared > 0 {
			says += "\n  " + sharedDoubts(doubts.Shared)
		}
		const most = 20
		for _, c := range doubts.Calls[:min(most, len(doubts.Calls))] {
			says += "\n  " + asDoubted(c.Case, &c.Call, c.At)
		}
		if more := len(doubts.Calls) - most; more > 0 {
			says += fmt.Sprintf("\n  and %d more, which culprit resume --list%s names", more, resultsFlag(o.results))
		}
		return &inDoubtError{fmt.Errorf("%s\nmake them again, and maybe pay twice: %s --in-doubt retry\nleave them out: %s --in-doubt skip", says, line, line), err}
	case errors.As(err, &changed):
		line := o.resumeLine(changed.Execution)
		return &usageError{fmt.Errorf("execution %s cannot go on, for it would be another:\n  %s\nput that back, or drop it: %s --drop", changed.Execution, strings.Join(changed.Differs, "\n  "), line)}
	}
	return refused(damaged(err))
}

// inDoubtError holds a run until somebody has said what to do.
type inDoubtError struct {
	error
	cause error
}

func (e *inDoubtError) Unwrap() error { return e.cause }

// invocation is what another process needs to go on with a run.
func (o *runOptions) invocation() (*results.Invocation, error) {
	path, err := filepath.Abs(o.path)
	if err != nil {
		return nil, err
	}
	return &results.Invocation{
		Path: path, Profile: o.profile, Set: o.set, Outside: o.outside, Repeats: o.repeats, NoRepairs: o.noRepairs, Fresh: o.fresh,
	}, nil
}

// warnTaken says which calls were not made because they were before, and which may have been made twice.
func (a *app) warnTaken(s *results.Summary) {
	for _, t := range s.Taken {
		switch {
		case t.Calls == 0:
		case t.Execution == s.Execution:
			a.warnf("%s of before were not made again: their answers are of the journal", counted(t.Calls, "finished call", "finished calls"))
		default:
			a.warnf("%s were not made again: their answers are of the journal of %s, which did not finish these cases (--fresh makes all calls)", counted(t.Calls, "finished call", "finished calls"), t.Execution)
		}
		if t.InDoubt > 0 {
			a.warnf("%s of %s may have been made and have no answer: they were made again", counted(t.InDoubt, "call", "calls"), t.Execution)
		}
	}
}
