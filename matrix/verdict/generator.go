package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// answered is who gave the scored answers of a cell, as the generator reports it: each name once, sorted.
type answered struct{ models, fingerprints []string }

func (c *cellFacts) answered() answered {
	var a answered
	for _, t := range c.trials {
		if !t.Cached {
			a.models, a.fingerprints = withName(a.models, t.ModelReported), withName(a.fingerprints, t.SystemFingerprint)
		}
	}
	slices.Sort(a.models)
	slices.Sort(a.fingerprints)
	return a
}

// withName adds a name that is not there yet; what was not reported has none.
func withName(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// differs says in what another cell was answered by someone else, "" where nothing shows it. What one of them does not report shows
// nothing.
func (a answered) differs(b answered, here, there matrix.CellID) string {
	for _, what := range []struct {
		name string
		a, b []string
	}{{"model", a.models, b.models}, {"system fingerprint", a.fingerprints, b.fingerprints}} {
		if len(what.a) > 0 && len(what.b) > 0 && !slices.Equal(what.a, what.b) {
			return fmt.Sprintf("the generator's %s differs between %s (%s) and %s (%s), so that they cannot be compared: run again", what.name, here, quoted(what.a), there, quoted(what.b))
		}
	}
	return ""
}

// compareGenerators finds the cells that another generator has answered than A.
func (x *facts) compareGenerators() {
	a := x.cells[matrix.CellA]
	if a == nil || x.standIn { // what stands in for a service's generator is held against nothing of A's
		return
	}
	who := a.answered()
	for _, planned := range x.p.Cells {
		if c := x.cells[planned.Cell]; c != a {
			c.other = who.differs(c.answered(), matrix.CellA, planned.Cell)
		}
	}
}

// generatorFindings say by whom the answers were given, and what of the settings was not.
func (x *facts) generatorFindings() []string {
	asked := make([]*matrix.Trial, 0, len(x.o.Trials))
	for i := range x.o.Trials {
		if t := &x.o.Trials[i]; t.Status != matrix.StatusNotRun && t.Status != matrix.StatusError && !t.Cached && t.SameAs == "" {
			asked = append(asked, t)
		}
	}
	n := len(asked)
	var out []string
	say := func(format string, args ...any) { out = append(out, "generator: "+fmt.Sprintf(format, args...)) }
	for _, pair := range tally(asked, func(t *matrix.Trial) string {
		if t.ModelRequested == "" || t.ModelReported == "" || t.ModelRequested == t.ModelReported {
			return ""
		}
		return fmt.Sprintf("%q was asked, %q answered", t.ModelRequested, t.ModelReported)
	}) {
		say("%s in %d of %s", pair.name, pair.n, counted(n, "generation", "generations"))
	}
	for _, alias := range tally(asked, func(t *matrix.Trial) string {
		if !t.Outside {
			return ""
		}
		return t.ModelRequested
	}) {
		if Dated(alias.name) {
			continue
		}
		say("the model name %q holds no date or revision, so that another model may answer under it (%s): name a dated one, or pin what answers in pins.generator.model_reported",
			alias.name, counted(alias.n, "generation", "generations"))
	}
	for _, what := range []struct {
		several string
		of      func(*matrix.Trial) string
	}{
		{"models", func(t *matrix.Trial) string { return t.ModelReported }},
		{"system fingerprints", func(t *matrix.Trial) string { return t.SystemFingerprint }},
	} {
		if who := tally(asked, what.of); len(who) > 1 {
			say("%d %s answered %s: %s", len(who), what.several, counted(n, "generation", "generations"), shares(who))
		}
	}
	var noted []times
	for _, t := range asked {
		var notes []string
		for _, note := range t.Notes { // the seed differs from one repetition to the next
			notes = withName(notes, strings.ReplaceAll(note, fmt.Sprintf("seed %d ", t.Seed), "seed "))
		}
		for _, note := range notes {
			noted = met(noted, note)
		}
	}
	for _, note := range noted {
		say("%s (in %d of %s)", note.name, note.n, counted(n, "generation", "generations"))
	}
	for _, cache := range tally(asked, func(t *matrix.Trial) string { return t.Metadata[matrix.MetadataCache] }) {
		say("a cache served %d of %s, by the header %s: switch it off for a test", cache.n, counted(n, "generation", "generations"), cache.name)
	}
	cached := 0
	for _, t := range asked {
		cached += one(promptCached(t))
	}
	if cached > 0 {
		say("the provider's prompt cache held half of the prompt or more in %d of %s: that makes reading it cheaper, and no answer a copy", cached, counted(n, "generation", "generations"))
	}
	return append(out, x.repeatFindings()...)
}

// times is how often something was met.
type times struct {
	name string
	n    int
}

// tally counts what trials have, where they have it, in the order in which it is met first.
func tally(trials []*matrix.Trial, of func(*matrix.Trial) string) []times {
	var out []times
	for _, t := range trials {
		if name := of(t); name != "" {
			out = met(out, name)
		}
	}
	return out
}

// met counts one more of a name.
func met(counts []times, name string) []times {
	i := slices.IndexFunc(counts, func(c times) bool { return c.name == name })
	if i < 0 {
		i, counts = len(counts), append(counts, times{name: name})
	}
	counts[i].n++
	return counts
}

// shares writes "a (3), b (2)".
func shares(list []times) string {
	const most = 5
	var out []string
	for _, c := range list[:min(most, len(list))] {
		out = append(out, fmt.Sprintf("%s (%d)", c.name, c.n))
	}
	if len(list) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// embedderFindings say where another model than the one that was asked embedded the queries. A service's own embedder was asked by nobody
// here.
func (x *facts) embedderFindings() []string {
	asked := x.o.Store.Embed
	if asked == nil || x.search == nil || x.e.Backends.Pipeline != nil || asked.QueryModel == "" || x.search.EmbedModel == "" || x.search.EmbedModel == asked.QueryModel {
		return nil
	}
	return []string{fmt.Sprintf("embedder: %q was asked, %q answered: some servers answer every name with the model that they have", asked.QueryModel, x.search.EmbedModel)}
}
