package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

func (a *app) labelsCommand() *cobra.Command {
	ruleset := false
	c := &cobra.Command{
		Use:     "labels [label]",
		GroupID: groupLook,
		Short:   "List the labels that a verdict may give, or explain one",
		Long: `List the labels that a verdict may give, in the order in which they are asked; or print the page of
one: what it means, how it is decided, what to try first, what it is taken for, and an example.

With --ruleset every rule is listed in its order, as a file for culprit replay --ruleset, which
decides bundles by the rules that are left in it. A label that several rules give stands there for
each of them, as index/missing and index/missing#2.`,
		Example: `  culprit labels
  culprit labels retrieve/below-cutoff
  culprit labels --ruleset > rules.yaml`,
		Args:      between(0, 1, "one label"),
		ValidArgs: verdict.Labels(),
		RunE: func(_ *cobra.Command, args []string) error {
			text := strings.Join(verdict.Labels(), "\n") + "\n"
			switch {
			case ruleset && len(args) == 1:
				return usage("--ruleset lists every rule: leave %q out", args[0])
			case ruleset:
				text = rulesetFile()
			case len(args) == 1:
				if text = verdict.LabelPage(args[0], func(label string) string { return label }); text == "" {
					return usage("unknown label %q%s\nSee: culprit labels", args[0], didYouMean(args[0], verdict.Labels()))
				}
			}
			_, err := fmt.Fprint(a.out, a.folded(text))
			return err
		},
	}
	c.Flags().BoolVar(&ruleset, "ruleset", false, "list the rules as a file for culprit replay --ruleset")
	return c
}

// rulesetFile is the file that selects all rules.
func rulesetFile() string {
	return "# The rules by which this version decides a verdict, in the order in which they are asked: " + verdict.Ruleset() + "\n" +
		"# The first that fires explains the loss. Leave lines out, and see with culprit replay --ruleset which label follows.\n" +
		"# A further key, alpha, takes the place of runs.alpha of every experiment.\n" +
		"ruleset: v1\nrules:\n- " + strings.Join(verdict.RuleIDs(), "\n- ") + "\n"
}
