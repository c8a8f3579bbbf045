package experiments

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// checkDocuments reads every document once: it reports each that cannot be used, warns of evidence that is in none of them
// or that the asker of its case may not see, and keeps the digest, which a store asks for next. It returns how many there are, 0 where
// one cannot be used.
func (l *loader) checkDocuments(ctx context.Context, set *DocumentSet, cases []placedCase) (n int) {
	watch := watchEvidence(cases)
	sum := newDocumentHash()
	whole := true
	err := set.read(ctx, visitor{
		document: func(d Document) bool {
			sum.add(&d)
			watch.see(&d)
			n++
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
		return 0
	}
	read := map[string]bool{}
	for _, in := range set.inputs {
		if in.inline == nil && !read[in.name] {
			read[in.name] = true
			l.files = append(l.files, l.folder.shown(in.name))
		}
	}
	if !whole {
		return 0
	}
	set.digest = sum.String()
	defer func() { l.about = "" }()
	for _, w := range watch.all {
		l.about = w.id
		switch {
		case w.found > 0 && w.visible == 0:
			l.warn(w.node.place("source"), "%s: the asker may not see %s, which it requires: correct as, or the evidence", w.name, show(w.gold.Source))
		case (w.gold.Text != "" || w.optional) && !w.held: // the case knows what it asks for, or another item may serve
		case !w.named:
			l.warn(w.node.place("source"), "%s: no document has the source or id %s%s: copy it from the documents, or give the item its text", w.name, show(w.gold.Source), watch.meant(w.gold.Source))
		case !w.held:
			l.warn(w.node.place("span"), "%s: the span %s stands in no document of %s: copy it from there, or give the item its text", w.name, show(w.gold.Span), show(w.gold.Source))
		case len(w.places) > 1:
			l.warn(w.node.place("span"), "%s: the span %s stands in %s chunks of %s that differ, and each counts as the evidence: copy more words", w.name, show(w.gold.Span), upTo(len(w.places)), show(w.gold.Source))
		case w.found > 0 && w.elsewhere > few:
			l.warn(w.node.place("span"), "%s: the span %s stands in %d chunks of other documents, too: copy more words", w.name, show(w.gold.Span), w.elsewhere)
		}
	}
	return n
}

// said reports whether an error is known for the line of p, in a YAML file.
func (l *loader) said(p Problem) bool {
	return isYAML(p.File) && slices.ContainsFunc(l.problems, func(q Problem) bool { return q.File == p.File && q.Line == p.Line && !q.Warning })
}

// watched is one piece of evidence on its way through the documents.
type watched struct {
	id, name       string
	as             matrix.Principal
	gold           matrix.Gold
	span           string // letters of gold.Span
	node           *node
	optional       bool           // one of several alternatives
	named          bool           // a document has its source or id
	held           bool           // such a document holds the span, in whatever revision
	found, visible int            // those of its revision that hold the span, and those among them that the asker may see
	places         []surroundings // different ones among those found
	elsewhere      int            // documents under other names that hold the span as it is written
}

// distinctive is the number of letters from which a span does not stand in a text by chance.
const distinctive = 12

// few is in how many chunks of other documents a short span may stand before it is told.
const few = 3

// most is how many places are told apart.
const most = 50

// upTo writes a number of places.
func upTo(n int) string {
	if n > most {
		return fmt.Sprintf("more than %d", most)
	}
	return strconv.Itoa(n)
}

// scanned is how many bytes are searched for spans in documents under other names, after which the rest is not looked at.
// That is for short spans, which stand in them by chance, and takes about a second at most.
const scanned = 1 << 30

type evidenceWatch struct {
	all      []*watched
	short    []*watched
	left     int // of scanned
	bySource map[string][]*watched
	byBase   map[string]string // last part of a source that a case names → the first source or id that ends so
}

func watchEvidence(cases []placedCase) *evidenceWatch {
	w := &evidenceWatch{left: scanned, bySource: map[string][]*watched{}, byBase: map[string]string{}}
	for _, c := range cases {
		required := c.node.get("evidence").get("required")
		for i, requirement := range c.Case.Evidence.Required {
			for j, gold := range requirement.AnyOf {
				if gold.Source == "" || strings.TrimSpace(gold.Span) == "" {
					continue // that was reported
				}
				one := &watched{id: c.id, name: c.name(), as: c.Case.As, gold: gold, span: letters(gold.Span), node: goldNode(required, i, j), optional: len(requirement.AnyOf) > 1}
				w.all = append(w.all, one)
				if len([]rune(one.span)) < distinctive {
					w.short = append(w.short, one)
				}
				w.bySource[gold.Source] = append(w.bySource[gold.Source], one)
				w.byBase[base(gold.Source)] = ""
			}
		}
	}
	return w
}

func (w *evidenceWatch) see(d *Document) {
	w.seeElsewhere(d)
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
				if one.span == "" || !strings.Contains(text, one.span) {
					continue
				}
			}
			one.held = true
			if one.gold.Revision != "" && one.gold.Revision != d.Revision {
				continue
			}
			one.found++
			one.note(d.Text)
			if one.as.Authorised(d.Access, d.Metadata) {
				one.visible++
			}
		}
	}
}

// around is how many letters on either side tell one place from another.
const around = 16

// surroundings are the letters before and after a span.
type surroundings struct{ before, after string }

// note keeps the places at which the span was found. What overlapping chunks and copies hold is one place.
func (one *watched) note(text string) {
	text = letters(text)
	at := strings.Index(text, one.span)
	if at < 0 || len(one.places) > most {
		return
	}
	before, after := text[:at], text[at+len(one.span):]
	here := surroundings{before[max(0, len(before)-around):], after[:min(around, len(after))]}
	if !slices.ContainsFunc(one.places, here.agrees) {
		one.places = append(one.places, here)
	}
}

// agrees reports whether two places may be one, as far as both go.
func (s surroundings) agrees(t surroundings) bool {
	return (strings.HasSuffix(s.before, t.before) || strings.HasSuffix(t.before, s.before)) &&
		(strings.HasPrefix(s.after, t.after) || strings.HasPrefix(t.after, s.after))
}

// seeElsewhere counts the short spans that a document under another name holds.
func (w *evidenceWatch) seeElsewhere(d *Document) {
	if w.left -= len(w.short) * len(d.Text); w.left < 0 {
		return
	}
	for _, one := range w.short {
		if one.gold.Source != d.Source && one.gold.Source != d.ID && strings.Contains(d.Text, one.gold.Span) {
			one.elsewhere++
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
