package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

func (a *app) labelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "labels [label]",
		GroupID: groupLook,
		Short:   "List the labels that a verdict may give, or explain one",
		Long: `List the labels that a verdict may give, in the order in which they are asked; or print the page of
one: what it means, how it is decided, what to try first, what it is taken for, and an example.`,
		Example: `  culprit labels
  culprit labels retrieve/below-cutoff`,
		Args:      between(0, 1, "one label"),
		ValidArgs: verdict.Labels(),
		RunE: func(_ *cobra.Command, args []string) error {
			text := strings.Join(verdict.Labels(), "\n") + "\n"
			if len(args) == 1 {
				if text = verdict.LabelPage(args[0], func(label string) string { return label }); text == "" {
					return usage("unknown label %q%s\nSee: culprit labels", args[0], didYouMean(args[0], verdict.Labels()))
				}
			}
			_, err := fmt.Fprint(a.out, a.folded(text))
			return err
		},
	}
}
