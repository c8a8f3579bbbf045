package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema experiment|case|" + strings.Join(results.SchemaKinds, "|"),
		GroupID: groupSelf,
		Short:   "Print the JSON Schema of an experiment, a case file or a bundle",
		Long: `Print a JSON Schema (2020-12). That of an experiment or a case file has the settings of every
adapter that is built in; an editor that is given it completes and explains every key. That of a
bundle lists its files and the schema of each; manifest, journal (a line of it) and evaluation are
the parts of it that others most often read.`,
		Example: `  culprit schema experiment > experiment.schema.json
  # first line of experiment.yaml:
  # yaml-language-server: $schema=experiment.schema.json
  culprit schema evaluation`,
		Args:      oneOf,
		ValidArgs: append([]string{"experiment", "case"}, results.SchemaKinds...),
		RunE: func(_ *cobra.Command, args []string) error {
			schema, err := a.schema(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s\n", bytes.TrimSpace(schema))
			return err
		},
	}
}

func (a *app) schema(kind string) ([]byte, error) {
	if slices.Contains(results.SchemaKinds, kind) {
		return results.Schema(kind)
	}
	return experiments.Schema(kind, a.registry.Schemas())
}

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		GroupID: groupSelf,
		Short:   "Print the version",
		Example: `  culprit version
  culprit version --json`,
		Args: between(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.writeJSON(results.BuildTool())
			}
			_, err := fmt.Fprintln(a.out, versionLine())
			return err
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object")
	return c
}

func versionLine() string {
	tool := results.BuildTool()
	return fmt.Sprintf("%s %s %s %s/%s", tool.Name, tool.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "completion bash|zsh|fish|powershell",
		GroupID: groupSelf,
		Short:   "Print a shell's completion script",
		Long: `Print the script that lets a shell complete commands, flags and the ids of cases. For bash, the
package bash-completion must be installed.`,
		Example: `  source <(culprit completion bash)
  culprit completion zsh > "${fpath[1]}/_culprit"
  culprit completion fish > ~/.config/fish/completions/culprit.fish`,
		Args:      oneOf,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(c *cobra.Command, args []string) error {
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
		},
	}
}
