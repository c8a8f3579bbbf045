package experiments

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// checkDocuments reads every document once: it reports each that cannot be used, warns of evidence that is in none of them
// or that the asker of its case may not see, and keeps the digest, which a store asks for next.
func (l *loader) checkDocuments(ctx context.Context, set *DocumentSet, cases []placedCase) {
	watch := watchEvidence(cases)
	sum := newDocumentHash()
	whole := true
	err := set.read(ctx, visitor{
		document: func(d Document) bool {
			sum.add(&d)
			watch.see(&d)
			return true
		},
		problem: func(p Problem) bool {
			if !p.Warning && l.said(p) {
				return true // by the schema, which sees the documents that stand in the experiment
			}
			l.add(p)
			whole = whole && p.Warning
			return l.perFile[p.File] <= maxProblems
		},
	})
	if err != nil {
		l.add(Problem{Message: err.Error()})
		return
	}
	read := map[string]bool{}
	for _, in := range set.inputs {
		if in.inline == nil && !read[in.name] {
			read[in.name] = true
			l.files = append(l.files, l.folder.shown(in.name))
		}
	}
	if !whole {
		return
	}
	set.digest = sum.String()
	for _, w := range watch.all {
		switch {
		case w.found > 0 && w.visible == 0:
			l.warn(w.node.place("source"), "case %s: the asker may not see %s, which it requires: correct as, or the evidence", show(w.id), show(w.gold.Source))
		case w.gold.Text != "" || w.optional: // the case knows what it asks for, or another item may serve
		case !w.named:
			l.warn(w.node.place("source"), "case %s: no document has the source or id %s%s: copy it from the documents, or give the item its text", show(w.id), show(w.gold.Source), watch.meant(w.gold.Source))
		case !w.held:
			l.warn(w.node.place("span"), "case %s: the span %s stands in no document of %s: copy it from there, or give the item its text", show(w.id), show(w.gold.Span), show(w.gold.Source))
		}
	}
}

// said reports whether an error is known for the line of p, in a YAML file.
func (l *loader) said(p Problem) bool {
	return isYAML(p.File) && slices.ContainsFunc(l.problems, func(q Problem) bool { return q.File == p.File && q.Line == p.Line && !q.Warning })
}

// watched is one piece of evidence on its way through the documents.
type watched struct {
	id             string
	as             matrix.Principal
	gold           matrix.Gold
	span           string // letters of gold.Span
	node           *node
	optional       bool // one of several alternatives
	named          bool // a document has its source or id
	held           bool // such a document holds the span, in whatever revision
	found, visible int  // those of its revision that hold the span, and those among them that the asker may see
}

type evidenceWatch struct {
	all      []*watched
	bySource map[string][]*watched
	byBase   map[string]string // last part of a source that a case names → the first source or id that ends so
}

func watchEvidence(cases []placedCase) *evidenceWatch {
	w := &evidenceWatch{bySource: map[string][]*watched{}, byBase: map[string]string{}}
	for _, c := range cases {
		required := c.node.get("evidence").get("required")
		for i, requirement := range c.Case.Evidence.Required {
			for j, gold := range requirement.AnyOf {
				one := &watched{id: c.Case.ID, as: c.Case.As, gold: gold, span: letters(gold.Span), node: goldNode(required, i, j), optional: len(requirement.AnyOf) > 1}
				w.all = append(w.all, one)
				w.bySource[gold.Source] = append(w.bySource[gold.Source], one)
				w.byBase[base(gold.Source)] = ""
			}
		}
	}
	return w
}

func (w *evidenceWatch) see(d *Document) {
	text := "" // of letters alone, made when it is needed
	for _, name := range slices.Compact([]string{d.Source, d.ID}) {
		if known, wanted := w.byBase[base(name)]; wanted && known == "" {
			w.byBase[base(name)] = name
		}
		for _, one := range w.bySource[name] {
			one.named = true
			if !strings.Contains(d.Text, one.gold.Span) { // as it is, the usual case
				if text == "" {
					text = letters(d.Text)
				}
				if !strings.Contains(text, one.span) {
					continue
				}
			}
			one.held = true
			if one.gold.Revision != "" && one.gold.Revision != d.Revision {
				continue
			}
			one.found++
			if one.as.Authorised(d.Access, d.Metadata) {
				one.visible++
			}
		}
	}
}

// meant suggests a source that ends as name does: folders are what people get wrong.
func (w *evidenceWatch) meant(name string) string {
	if other := w.byBase[base(name)]; other != "" {
		return " (did you mean " + show(other) + "?)"
	}
	return ""
}

// base returns the last part of a source, in small letters and without the number of a piece.
func base(source string) string {
	file, _, _ := strings.Cut(path.Base(source), "#")
	return strings.ToLower(file)
}
