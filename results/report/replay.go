package report

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/results"
)

// reenactedOf says that no call of an execution was made, by the digest of the manifest of the bundle that answered.
func reenactedOf(manifest string) string {
	return "re-enacted of " + digestStart(manifest)
}

// digestStart is as much of a digest as tells it from others; --json has the whole.
func digestStart(digest string) string { return fit(digest, len("sha256:")+12) }

// migratedFrom says which bundle one was migrated from, by the digest of its manifest.
func migratedFrom(manifest string) string {
	return "migrated from " + digestStart(manifest)
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
		parts := append([]string{p.mark(mark) + " " + p.bold(pad(fitID(nameOf(r.Path), maxName), widest)), says}, otherCase(r.Path, r.Case)...)
		p.flow("", "   ", append(parts, verdict))
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
		p.labelled("rules", "sealed by "+digestStart(r.Sealed.Ruleset)+", now "+digestStart(r.Now.Ruleset))
	}
	for i, c := range r.Changes {
		label := ""
		if i == 0 {
			label = "differs"
		}
		p.unwrapped(label, Safe(c.What))
		sealed, now := fromDifference(c.Sealed, c.Now)
		p.unwrapped("", "  sealed "+fit(sealed, maxChange))
		p.unwrapped("", "  now    "+fit(now, maxChange))
	}
}

// fromDifference leaves out what two long texts begin with alike, but for a little before where they part: else both would be cut before it.
func fromDifference(a, b string) (string, string) {
	const before = 40 // bytes
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := same - before
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	if from <= 0 || max(len(a), len(b)) <= maxChange {
		return a, b
	}
	return "…" + a[from:], "…" + b[from:]
}
