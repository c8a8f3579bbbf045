package report

import (
	"fmt"
	"io"

	"github.com/culprit-rag/culprit/results"
)

// reenactedOf says that no call of an execution was made, by the digest of the manifest of the bundle that answered.
func reenactedOf(manifest string) string {
	return "re-enacted of " + fit(manifest, len("sha256:")+12)
}

// migratedFrom says which bundle one was migrated from, by the digest of its manifest.
func migratedFrom(manifest string) string {
	return "migrated from " + fit(manifest, len("sha256:")+12)
}

const maxChange = 160 // columns of one side of a change

// Replayed draws a line for each bundle, with what is said otherwise now below it.
func Replayed(w io.Writer, all []*results.Replay, o Options) error {
	p := newPage(o, runLabels)
	widest, same, changed := 0, 0, 0
	paths := make([]string, len(all))
	for i, r := range all {
		paths[i] = r.Path
		widest = max(widest, columns(fitID(nameOf(r.Path), maxName)))
		if r.Same {
			same++
		}
		if r.Changed() {
			changed++
		}
	}
	for i, r := range all {
		p.folderOf(paths, i)
		p.replayed(r, widest)
	}
	p.blank()
	text := fmt.Sprintf("%s: %d with the bytes that were sealed, %s", counted(len(all), "bundle", "bundles"), same, counted(changed, "label changes", "labels change"))
	p.labelled("replayed", text)
	return p.flush(w)
}

func (p *page) replayed(r *results.Replay, widest int) {
	head := func(mark, says, verdict string) {
		p.flow("", "   ", []string{p.mark(mark) + " " + p.bold(pad(fitID(nameOf(r.Path), maxName), widest)), says, verdict})
	}
	switch {
	case r.Changed():
		head(markBetween, "label changes", fit(r.Sealed.Verdict, maxName)+" → "+fit(r.Now.Verdict, maxName))
	case r.Same:
		head(markPass, "the same bytes", fit(r.Now.Verdict, maxName))
	default:
		head(markBetween, "the same label", fit(r.Now.Verdict, maxName))
	}
	if r.Reenacted != "" {
		p.unwrapped("re-enacted", "in "+Safe(r.Reenacted))
	}
	if r.Sealed.Ruleset != r.Now.Ruleset {
		p.labelled("rules", "sealed by "+r.Sealed.Ruleset+", now "+r.Now.Ruleset)
	}
	for i, c := range r.Changes {
		label := ""
		if i == 0 {
			label = "differs"
		}
		p.unwrapped(label, Safe(c.What))
		p.unwrapped("", "  sealed "+fit(c.Sealed, maxChange))
		p.unwrapped("", "  now    "+fit(c.Now, maxChange))
	}
}
