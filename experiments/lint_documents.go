package experiments

import (
	"context"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// checkDocuments reads every document once: it reports each that cannot be used, warns of evidence that the asker of its
// case may not see, and keeps the digest, which a store asks for next.
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
			l.files++
		}
	}
	if !whole {
		return
	}
	set.digest = sum.String()
	for _, w := range watch.all {
		if w.found > 0 && w.visible == 0 {
			l.warn(w.node.place("source"), "case %s: the asker may not see %s, which it requires: correct as, or the evidence", show(w.id), show(w.gold.Source))
		}
	}
}

// said reports whether an error is known for the line of p, in a YAML file.
func (l *loader) said(p Problem) bool {
	return isYAML(p.File) && slices.ContainsFunc(l.problems, func(q Problem) bool { return q.File == p.File && q.Line == p.Line && !q.Warning })
}

// watched is one piece of evidence that somebody in particular asks for.
type watched struct {
	id             string
	as             matrix.Principal
	gold           matrix.Gold
	node           *node
	found, visible int
}

type evidenceWatch struct {
	all      []*watched
	bySource map[string][]*watched
}

func watchEvidence(cases []placedCase) *evidenceWatch {
	w := &evidenceWatch{bySource: map[string][]*watched{}}
	for _, c := range cases {
		if len(c.Case.As) == 0 {
			continue
		}
		required := c.node.get("evidence").get("required")
		for i, requirement := range c.Case.Evidence.Required {
			for j, gold := range requirement.AnyOf {
				one := &watched{id: c.Case.ID, as: c.Case.As, gold: gold, node: goldNode(required, i, j)}
				w.all = append(w.all, one)
				w.bySource[gold.Source] = append(w.bySource[gold.Source], one)
			}
		}
	}
	return w
}

func (w *evidenceWatch) see(d *Document) {
	names := []string{d.Source, d.ID}
	for _, name := range slices.Compact(names) {
		for _, one := range w.bySource[name] {
			if one.gold.Revision != "" && one.gold.Revision != d.Revision || !strings.Contains(letters(d.Text), letters(one.gold.Span)) {
				continue
			}
			one.found++
			if one.as.Authorised(d.Access, d.Metadata) {
				one.visible++
			}
		}
	}
}
