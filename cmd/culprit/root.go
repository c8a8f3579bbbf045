package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/culprit-rag/culprit/experiments"
)

const (
	groupRun   = "run"
	groupLook  = "look"
	groupStudy = "study"
	groupSelf  = "self"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "culprit",
		Short: "Name the stage of a retrieval-augmented generation pipeline that broke",
		Long: `Culprit runs labelled queries through a retrieval-augmented generation pipeline in four ways:
A production, B gold context, C retrieval only, D one controlled change. It names the stage
that broke, with the evidence, and leaves one bundle per case.`,
		Example: `  culprit run experiments/examples/travel-policy
  culprit explain long-haul-cabin
  culprit init --documents docs/`,
		SilenceErrors: true, SilenceUsage: true,
		Version:               versionLine(),
		DisableFlagsInUseLine: true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:                  knownCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run:"}, &cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupStudy, Title: "Study:"}, &cobra.Group{ID: groupSelf, Title: "Culprit itself:"},
	)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.initCommand(), a.checkCommand(), a.loadCommand(), a.probeCommand(), a.planCommand(), a.runCommand(), a.resumeCommand(), a.journalCommand(), a.tapCommand(), a.explainCommand(),
		a.reportCommand(), a.verifyCommand(), a.signCommand(), a.redactCommand(), a.revealCommand(), a.replayCommand(), a.migrateCommand(), a.diffCommand(), a.reexecCommand(), a.historyCommand(), a.indexCommand(), a.labelsCommand(), a.sweepCommand(), a.calibrateCommand(), a.pluginCommand(), a.schemaCommand(), a.selftestCommand(), a.versionCommand(), a.completionCommand(), exitCodesTopic(), environmentTopic())
	root.SetHelpCommand(helpCommand())
	whole := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		var page strings.Builder
		out := c.OutOrStdout()
		c.SetOut(&page)
		whole(c, args)
		c.SetOut(out)
		fmt.Fprint(out, a.folded(page.String()))
	})
	return root
}

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// knownCommand refuses what is no command, and says which one is near.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Root().Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return usage("unknown command %q%s\nSee: %s --help", args[0], didYouMean(args[0], names), c.Root().Name())
}

// flagError says which flag is near, and where all of them are listed.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	suggestion := ""
	if errors.As(err, &unknown) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		suggestion = didYouMean("--"+unknown.GetSpecifiedName(), names)
	}
	return usage("%w%s\nSee: %s --help", err, suggestion, c.CommandPath())
}

// didYouMean returns `: did you mean "x" or "y"?` for a name that begins names that are known, stands in them or is near to one, in
// this order; else "".
func didYouMean(name string, known []string) string {
	const short, most = 3, 4 // so short a name stands in too many others, and so many are no hint
	var begun, held, meant []string
	part := strings.ToLower(name)
	for _, k := range known {
		switch at := strings.Index(strings.ToLower(k), part); {
		case part == "" || at < 0 || k == name:
		case at == 0:
			begun = append(begun, k)
		case len(part) >= short:
			held = append(held, k)
		}
	}
	for _, k := range append(append(begun, held...), experiments.Near(name, known)) {
		if k != "" && !slices.Contains(meant, k) {
			meant = append(meant, k)
		}
	}
	if len(meant) == 0 {
		return ""
	}
	more := len(meant) - most
	meant = meant[:min(len(meant), most)]
	for i := range meant {
		meant[i] = strconv.Quote(meant[i])
	}
	if more > 0 {
		meant = append(meant, counted(more, "other", "others"))
	}
	says := meant[len(meant)-1]
	if first := meant[:len(meant)-1]; len(first) > 0 {
		says = strings.Join(first, ", ") + " or " + says
	}
	return ": did you mean " + says + "?"
}

// between bounds the number of arguments; what says what they are.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usage("%s takes %s, and got %s\nUsage: %s", c.CommandPath(), what, counted(n, "argument", "arguments"), c.UseLine())
		}
		return nil
	}
}

// oneOf takes one argument, which is one of the command's ValidArgs.
func oneOf(c *cobra.Command, args []string) error {
	what := "one of " + strings.Join(c.ValidArgs, ", ")
	if err := between(1, 1, what)(c, args); err != nil {
		return err
	}
	for _, valid := range c.ValidArgs {
		if args[0] == valid {
			return nil
		}
	}
	if suggestion := didYouMean(args[0], c.ValidArgs); suggestion != "" {
		what += suggestion
	}
	return usage("%s does not know %q: it takes %s", c.CommandPath(), args[0], what)
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command or topic]",
		GroupID: groupSelf,
		Short:   "Help about a command or a topic",
		Example: `  culprit help run
  culprit help exit-codes`,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, sub := range c.Root().Commands() {
				if len(args) == 0 && !sub.Hidden {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return knownCommand(c, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes:

  0    finished, and nothing blocks: every case with risk: blocking passes
  1    internal error, such as a disk that is full
  2    usage, or an experiment with mistakes: nothing was run
  3    finished, blocked: a case with risk: blocking fails, or its fixture is invalid
  4    finished, held: a case with risk: blocking is inconclusive, limits.budget was used up, or
       culprit resume does not know what to do about calls in doubt
  5    finished, environment: a backend could not be reached, or its errors kept a case of any
       risk from being judged, or culprit resume --seal has sealed one that was not run
  130  interrupted: finished cases are kept

A case with risk: investigate that fails or is inconclusive changes nothing.
verify, replay, diff, reexec, probe, calibrate, selftest and plugin test have codes of
their own: see their --help.
Any other code means failure, too:  culprit run staging.yaml || echo "exit $?"`,
	}
}

func environmentTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "The environment variables that are read",
		Long: `Environment variables:

  CULPRIT_CACHE  folder for stores that are built from documents (default: culprit in
                 XDG_CACHE_HOME, else in the user's cache folder, else culprit-cache-<uid>
                 in the folder for temporary files). It keeps the 8 stores that were used
                 last, and the vectors that were paid for of one that is not whole yet;
                 what is in it can be made again at any time, and is then paid for again
  COLUMNS        width of what is printed, 50 at the least (default: that of the terminal, 140 at
                 the most). Where it is not set and the output is a pipe or a file, no text of
                 the table of cases is cut: each case has one line, as long as it takes
  NO_COLOR       any value: no colour
  TERM           dumb: no colour

Example:  CULPRIT_CACHE=/tmp/culprit culprit run staging.yaml`,
	}
}
