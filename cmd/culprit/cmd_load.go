package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/loader"
	"github.com/culprit-rag/culprit/runner"
)

type loadOptions struct {
	loading
	recreate bool
}

func (a *app) loadCommand() *cobra.Command {
	var o loadOptions
	c := &cobra.Command{
		Use:     "load [experiment]",
		GroupID: groupRun,
		Short:   "Fill the store of an experiment from its documents",
		Long: `Fill the collection that backends.store names from backends.store.documents, with vectors of the
experiment's embedder and under the names of backends.store.fields. It is the only command that
writes a store, and it is for trying things out: an index in use is filled by its own pipeline.

The collection is made by the command and marked as its own. One that it did not make is neither
written nor deleted. Loading the same again does nothing; other documents or another embedder
need --recreate. A load that was interrupted is taken up by the next one. The embedded store
fills itself.`,
		Example: `  culprit load experiments/examples/stores --profile qdrant
  culprit run experiments/examples/stores --profile qdrant`,
	}
	o.reads(c, func(ctx context.Context) error { return a.fill(ctx, o) })
	c.Flags().BoolVar(&o.recreate, "recreate", false, "delete the collection of an earlier load, and load anew")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.load/v1)")
	return c
}

// fill loads the documents. Its first interrupt cancels: what is written stays, marked as unfinished.
func (a *app) fill(ctx context.Context, o loadOptions) (err error) {
	loaded, options, err := a.prepare(o.loading) //nolint:contextcheck // local files are read without one
	if err != nil {
		return err
	}
	store := loaded.Experiment.Backends.Store
	if store == nil {
		return usage("%s declares no store, so that there is nothing to fill: add backends.store", quote(loaded.Path))
	}
	if store.Adapter == "embedded" { // before its documents are read: it is no mistake to ask
		return a.showLoad(loaded.Experiment.Name, &loader.Report{Adapter: store.Adapter, Action: loader.Unneeded})
	}
	ctx, stop := signal.NotifyContext(ctx, interruptSignals()...)
	defer stop()
	progress := a.progress()
	show := progress.runner()
	defer progress.clear()
	embedder, err := runner.OpenEmbedder(ctx, loaded, options)
	if err != nil {
		return options.Secrets.Redactor().Error(err)
	}
	if embedder != nil {
		defer func() { err = errors.Join(err, embedder.Close()) }()
	}
	job := loader.Job{
		Adapter: store.Adapter, Settings: store.Settings, Dir: loaded.Dir, Secrets: options.Secrets, Documents: runner.Documents(loaded), Embedder: embedder,
		Timeout: time.Duration(loaded.Experiment.Limits.Timeout), Recreate: o.recreate,
	}
	if embedder != nil {
		job.Texts = runner.TextsPerCall(loaded.Experiment.Backends.Embedder)
	}
	if show != nil {
		job.Progress = func(done, total int) {
			show.Show(runner.Step{Phase: "loading", Done: done, Total: total, Unit: "documents"})
		}
	}
	report, err := loader.Load(ctx, job)
	progress.clear()
	if err == nil {
		if report.Truncated > 0 {
			a.warnf("%s longer than the embedder reads: what it did not read cannot be found by it", counted(report.Truncated, "document is", "documents are"))
		}
		return a.showLoad(loaded.Experiment.Name, &report)
	}
	return o.failed(ctx, &report, options.Secrets.Redactor().Error(err))
}

// failed turns the error of a load into the one that ends the program.
func (o *loadOptions) failed(ctx context.Context, r *loader.Report, err error) error {
	var refused *loader.Refusal
	var problem experiments.Problem
	switch {
	case errors.As(err, &refused):
		return &usageError{err}
	case errors.As(err, &problem):
		return &brokenError{problems: experiments.Problems{problem}, files: 1}
	case ctx.Err() != nil && r.Action != "":
		return stopped{fmt.Sprintf("interrupted: at least %d of %d documents are written, and collection %q is marked as unfinished\ngo on with: %s",
			r.Written, r.Items, r.Collection, o.commandLine()), context.Canceled}
	case ctx.Err() != nil:
		return stopped{"interrupted before anything was written", context.Canceled}
	}
	return err
}

func (o *loadOptions) commandLine() string { return strings.Join(o.words("load"), " ") }

// showLoad says in one line what a load did.
func (a *app) showLoad(name string, r *loader.Report) error {
	if a.json {
		return a.writeJSON(struct {
			Schema string `json:"schema"`
			*loader.Report
		}{"culprit.load/v1", r})
	}
	if r.Action == loader.Unneeded {
		linef(a.out, "%s: the embedded store fills itself from its documents at the first run; nothing to load", name)
		return nil
	}
	what := "by keyword alone"
	if r.Dimensions > 0 {
		what = counted(r.Dimensions, "dimension", "dimensions")
		if r.EmbedModel != "" {
			what = r.EmbedModel + ", " + what
		}
	}
	holds := fmt.Sprintf("%s collection %q at %s: %s (%s)", r.Adapter, r.Collection, r.Address, counted(r.Items, "document", "documents"), what)
	switch r.Action {
	case loader.Unchanged:
		linef(a.out, "%s; nothing to do", holds)
	case loader.Continued:
		linef(a.out, "%s; continued, %d written", holds, r.Written)
	default:
		linef(a.out, "%s; %s", holds, r.Action)
	}
	return nil
}
