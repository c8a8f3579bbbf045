package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
)

type initOptions struct {
	experiments.InitOptions
	folder string
}

func (a *app) initCommand() *cobra.Command {
	o := initOptions{folder: "."}
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
		Args: between(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.folder = args[0]
			}
			return a.init(o)
		},
	}
	c.Flags().StringVar(&o.Documents, "documents", "", "`folder` or file with your own documents")
	c.Flags().StringVar(&o.Name, "name", "", "`name` of the experiment (default: that of the folder)")
	return c
}

func (a *app) init(o initOptions) error {
	o.Schemas = a.registry.Schemas()
	done, err := experiments.Init(o.folder, o.InitOptions)
	for _, f := range done.Files { // an error may have come after some
		line(a.out, "wrote "+f)
	}
	if err != nil {
		return &usageError{err}
	}
	if done.Survey != nil {
		line(a.out, done.Survey.String())
	}
	command := "culprit run " + quote(o.folder)
	if done.Survey != nil && done.Survey.Broken > 0 {
		command = "culprit check " + quote(o.folder)
	}
	if o.Documents != "" && outside(o.folder, o.Documents) {
		command += " --allow-outside"
	}
	line(a.out, "next  "+command)
	line(a.out, "then  write a question that was answered wrongly into "+quote(filepath.Join(o.folder, "cases", "first.yaml")))
	line(a.out, "      name your own store and models in "+quote(filepath.Join(o.folder, "experiment.yaml")))
	return nil
}

// outside reports whether a path leads out of a folder.
func outside(folder, path string) bool {
	base, err := filepath.Abs(folder)
	if err != nil {
		return true
	}
	if path, err = filepath.Abs(path); err != nil {
		return true
	}
	rel, err := filepath.Rel(base, path)
	return err != nil || !filepath.IsLocal(rel)
}
