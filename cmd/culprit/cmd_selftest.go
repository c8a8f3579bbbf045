package main

import (
	"context"
	"fmt"
	"math"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/runner"
	"github.com/culprit-rag/culprit/selftest"
)

type selftestOptions struct {
	selftest.Options
	noise    []string // pass rates; "none": no noise
	only     []string // of labels, stages or names of faults, a part
	markdown bool
}

func (a *app) selftestCommand() *cobra.Command {
	o := selftestOptions{Options: selftest.Defaults()}
	for _, rate := range o.Rates {
		o.noise = append(o.noise, strconv.FormatFloat(rate, 'g', -1, 64))
	}
	c := &cobra.Command{
		Use:     "selftest",
		GroupID: groupSelf,
		Short:   "Inject known faults and count how often the verdict is right",
		Long: `Invent small healthy experiments, break each in one known way, run them over the embedded
backends, and count how often the verdict names what was broken: without noise, with a generator
that is wrong now and then, with two faults at once, and with none. Nothing outside of this process
is asked, and nothing is kept. The exit code is 3 where a figure is not what is promised.`,
		Example: `  culprit selftest
  culprit selftest --faults retrieve --noise none --seeds 10
  culprit selftest --markdown > docs/accuracy.md`,
		Args: between(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error { return a.selftest(c.Context(), o) },
	}
	c.Flags().IntVar(&o.Seeds, "seeds", o.Seeds, "invented corpora for each fault and kind of experiment")
	c.Flags().StringSliceVar(&o.noise, "noise", o.noise, "pass rates of the noisy generators, as a `list`, or none")
	c.Flags().IntVar(&o.Healthy, "cases", o.Healthy, "healthy noisy cases; false blame is decided from 2000 on")
	c.Flags().IntVar(&o.Pairs, "pairs", o.Pairs, "cases with two faults")
	c.Flags().StringSliceVar(&o.only, "faults", nil, "only faults whose label or description holds one of these, as a `list`; no healthy cases then")
	c.Flags().BoolVar(&o.markdown, "markdown", false, "print the whole report as Markdown")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.selftest/v1)")
	return c
}

// mostSelftest bounds each number of cases.
const mostSelftest = 100_000

// chosen turns the flags into options of the self-test.
func (o *selftestOptions) chosen() (selftest.Options, error) {
	for _, n := range []struct {
		flag string
		n    int
	}{{"seeds", o.Seeds}, {"cases", o.Healthy}, {"pairs", o.Pairs}} {
		if n.n < 0 || n.n > mostSelftest { // every case is listed before the first is run
			return o.Options, usage("--%s is %d, and must be 0 to %d", n.flag, n.n, mostSelftest)
		}
	}
	o.Rates = nil
	for _, text := range o.noise {
		if text == "none" && len(o.noise) == 1 {
			break
		}
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || !(rate > 0 && rate < 1) {
			return o.Options, usage("--noise has %q: a pass rate is more than 0 and less than 1, such as 0.9; none is no noise", text)
		}
		o.Rates = append(o.Rates, rate)
	}
	if len(o.only) > 0 {
		o.Only = func(name, label string) bool {
			return slices.ContainsFunc(o.only, func(part string) bool { return strings.Contains(name, part) || strings.Contains(label, part) })
		}
		if !selftest.Knows(o.Only) {
			return o.Options, usage("--faults: no fault has %s in its label or description; culprit help selftest, and docs/accuracy.md lists them", strings.Join(o.only, " or "))
		}
	}
	return o.Options, nil
}

func (a *app) selftest(ctx context.Context, o selftestOptions) error {
	options, err := o.chosen()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, interruptSignals()...) // there is nothing to keep, so the first one cancels
	defer stop()
	progress := a.progress()
	if shown := progress.runner(); shown != nil {
		options.Show = func(phase string, done, total int) { shown.Show(runner.Step{Phase: phase, Done: done, Total: total}) }
	}
	report, err := selftest.Run(ctx, options)
	progress.clear()
	if ctx.Err() != nil {
		return stopped{"cancelled; a self-test keeps nothing", context.Canceled}
	}
	if err != nil {
		return err
	}
	switch {
	case a.json:
		if err := a.writeJSON(report); err != nil {
			return err
		}
	case o.markdown:
		report.Markdown(a.out, o.command())
	default:
		width := a.width()
		if a.whole() {
			width = math.MaxInt
		}
		report.Text(a.out, width)
	}
	if missing := report.Missing(); len(missing) > 0 && !a.json {
		for _, m := range missing {
			fmt.Fprintf(a.err, "not met: %s\n", m)
		}
	}
	return finished(report.Exit)
}

// command is the command line that gives the same report.
func (o *selftestOptions) command() string {
	own := selftest.Defaults()
	parts := []string{"culprit selftest --markdown"}
	add := func(differs bool, flag string, value any) {
		if differs {
			parts = append(parts, fmt.Sprintf("--%s %v", flag, value))
		}
	}
	add(o.Seeds != own.Seeds, "seeds", o.Seeds)
	add(!slices.Equal(o.Rates, own.Rates), "noise", strings.Join(o.noise, ","))
	add(o.Healthy != own.Healthy, "cases", o.Healthy)
	add(o.Pairs != own.Pairs, "pairs", o.Pairs)
	add(len(o.only) > 0, "faults", strconv.Quote(strings.Join(o.only, ",")))
	return strings.Join(parts, " ")
}
