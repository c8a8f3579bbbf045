package runner

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

const (
	keepItems   = 8   // items kept under one gold source, those that hold the span aside
	keepHolders = 200 // items kept that hold one span; a span of a few letters may stand everywhere
)

// searchParty looks for the evidence of many cases in one pass over the items.
type searchParty struct {
	wanted   []*wanted // in the order of the cases, their requirements and alternatives
	spans    *verdict.Spans
	bySource map[string][]*wanted
	cases    []*matrix.Case
}

// wanted is one span that the scan looks for.
type wanted struct {
	number int // among all that are wanted
	gold   matrix.Gold
	span   verdict.Span
	facts  *matrix.GoldFacts
	as     matrix.Principal
	fields []string // that the filter and the asker's attributes are held against
	rules  *matrix.Sensitivity
	split  *verdict.Split
	text   verdict.Span
	seen   bool          // the gold text comes from an item that the asker may see
	other  adapters.Item // the first item of another source that may be the gold under a new id
}

func newSearchParty(e *matrix.Experiment, cases []*matrix.Case) *searchParty {
	p := &searchParty{bySource: map[string][]*wanted{}, cases: cases}
	filter := e.Pipeline.Search.Filter.Fields()
	for _, c := range cases {
		fields := append(slices.Collect(maps.Keys(c.As)), filter...)
		for i, r := range c.Evidence.Required {
			for j, g := range r.AnyOf {
				span := verdict.NewSpan(g.Span)
				w := &wanted{
					number: len(p.wanted), gold: g, span: span, text: verdict.NewSpan(g.Text), as: c.As, fields: fields, rules: e.Sensitivity, split: span.NewSplit(),
					facts: &matrix.GoldFacts{Requirement: i, Alternative: j},
				}
				p.wanted = append(p.wanted, w)
				p.bySource[g.Source] = append(p.bySource[g.Source], w)
			}
		}
	}
	p.spans = verdictSpans(p.wanted)
	return p
}

// see looks at one item. Outdated says why the item is not as its source is now.
func (p *searchParty) see(item *adapters.Item, outdated []string) {
	held := p.spans.In(item.Text)
	for _, f := range held {
		if w := p.wanted[f.Span]; !w.names(item) {
			w.hold(item, f.SpanMatch, false)
			w.seeOther(item)
		}
	}
	for _, name := range []string{item.Source, item.ID} {
		for _, w := range p.bySource[name] {
			at, holds := slices.BinarySearchFunc(held, w.number, func(f verdict.Found, number int) int { return f.Span - number })
			if holds {
				w.hold(item, held[at].SpanMatch, true)
			}
			w.seeOwn(item, holds, outdated)
		}
		if item.ID == item.Source {
			break
		}
	}
	p.seeFields(item)
}

func (w *wanted) names(item *adapters.Item) bool {
	return item.Source == w.gold.Source || item.ID == w.gold.Source
}

// hold notes an item whose text holds the span.
func (w *wanted) hold(item *adapters.Item, m verdict.SpanMatch, mine bool) {
	switch {
	case m.Exact && (mine || len(w.facts.Exact) < keepHolders):
		w.facts.Exact = append(w.facts.Exact, item.ID)
	case !m.Exact && (mine || len(w.facts.Folded) < keepHolders):
		w.facts.Folded = append(w.facts.Folded, item.ID)
		w.facts.FoldedBy = append(w.facts.FoldedBy, w.span.Folding(item.Text))
	}
}

// seeOwn notes an item of the gold's source.
func (w *wanted) seeOwn(item *adapters.Item, holds bool, outdated []string) {
	w.facts.Stored++
	if !holds && w.absent() {
		w.split.Add(item.ID, item.Text)
	}
	if len(w.facts.Items) >= keepItems && (!holds || len(w.facts.Items) >= keepHolders) {
		return
	}
	stale, allowed := verdict.Stale(w.gold, item.Revision), w.as.Authorised(item.Access, item.Metadata)
	w.facts.Items = append(w.facts.Items, matrix.GoldItem{
		ID: item.ID, Source: item.Source, Revision: item.Revision, Text: matrix.NewText(item.Text),
		Access: item.Access, Allowed: allowed, Metadata: w.rights(item), Stale: stale, Sensitivity: w.rules.Of(item.Access, item.Metadata),
		IndexedAt: stampOf(item.IndexedAt), UpdatedAt: stampOf(item.UpdatedAt), Outdated: outdated,
	})
	// The first item that holds the span is the gold text; one that the asker may see is better.
	if holds && !stale && w.gold.Text == "" && (w.facts.Text.Ref == "" || allowed && !w.seen) {
		w.seen = allowed
		w.facts.Text, w.facts.TextID, w.facts.TextOrigin = matrix.NewText(item.Text), item.ID, "store"
	}
}

func stampOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// absent reports whether no text holds the span so far.
func (w *wanted) absent() bool { return len(w.facts.Exact)+len(w.facts.Folded) == 0 }

// seeFields notes spans that stand in a field that is not served as text.
func (p *searchParty) seeFields(item *adapters.Item) {
	for _, field := range slices.Sorted(maps.Keys(item.Metadata)) {
		for _, value := range item.Metadata[field] {
			for _, f := range p.spans.In(value) {
				w := p.wanted[f.Span]
				if w.absent() && len(w.facts.Unserved) < keepItems && (w.names(item) || verdict.Distinctive(w.gold.Span)) {
					w.facts.Unserved = append(w.facts.Unserved, fmt.Sprintf("%s of %s", field, item.ID))
				}
			}
		}
	}
}

// rights keeps the fields of an item that the asker's attributes and the filter are held against.
func (w *wanted) rights(item *adapters.Item) map[string][]string {
	var out map[string][]string
	for _, field := range w.fields {
		if values, ok := item.Metadata[field]; ok {
			if out == nil {
				out = map[string][]string{}
			}
			out[field] = values
		}
	}
	return out
}

// seeOther notices an item that holds the span and may be the gold although it has another source.
func (w *wanted) seeOther(item *adapters.Item) {
	if w.gold.Text == "" && w.other.ID != "" {
		return
	}
	if w.gold.Text != "" {
		if m := w.text.Match(item.Text); !m.Exact && !m.Folded {
			return
		}
		if len(w.facts.Copies) < keepItems {
			w.facts.Copies = append(w.facts.Copies, item.ID)
		}
	}
	if w.other.ID == "" {
		w.other = *item
	}
}

// missing returns the spans that no item of the searched collection holds.
func (p *searchParty) missing() *searchParty {
	out := &searchParty{}
	for _, w := range p.wanted {
		if w.absent() {
			out.wanted = append(out.wanted, w)
		}
	}
	out.spans = verdictSpans(out.wanted)
	return out
}

// seeElsewhere looks at an item of another collection.
func (p *searchParty) seeElsewhere(collection string, item *adapters.Item) {
	for _, f := range p.spans.In(item.Text) {
		if w := p.wanted[f.Span]; w.mayBe(item) && len(w.facts.Elsewhere) < keepItems {
			w.facts.Elsewhere = append(w.facts.Elsewhere, fmt.Sprintf("%s (as %s)", collection, item.ID))
		}
	}
}

// mayBe reports whether an item of another collection that holds the span may be the gold: it has its source, or the gold's
// whole text, or the span is too long to stand there by chance.
func (w *wanted) mayBe(item *adapters.Item) bool {
	if w.names(item) {
		return true
	}
	if w.gold.Text != "" {
		m := w.text.Match(item.Text)
		return m.Exact || m.Folded
	}
	return verdict.Distinctive(w.gold.Span)
}

// holder returns the first item of the gold's source that holds the span, of the right revision if there is one, "" for none.
func holder(g *matrix.GoldFacts) string {
	id := ""
	for _, i := range g.Items {
		if slices.Contains(g.Exact, i.ID) || slices.Contains(g.Folded, i.ID) {
			if !i.Stale {
				return i.ID
			}
			if id == "" {
				id = i.ID
			}
		}
	}
	return id
}

// collect gives each case its facts, with the gold text that B will use.
func (p *searchParty) collect(into *presence) {
	next := 0
	for _, c := range p.cases {
		for _, r := range c.Evidence.Required {
			for range r.AnyOf {
				w := p.wanted[next]
				next++
				w.settle(into.scan.Complete)
				into.gold[c.ID] = append(into.gold[c.ID], *w.facts)
			}
		}
	}
}

// settle says what the scan came to: the gold text, and what stands for a span that no text holds.
func (w *wanted) settle(complete bool) {
	if pair := w.split.Pair(); w.absent() && pair != nil {
		w.facts.Split = [][]string{pair}
	}
	if !w.absent() {
		w.facts.Unserved = nil
	}
	switch {
	case w.gold.Text != "":
		w.facts.Text, w.facts.TextOrigin, w.facts.TextID = matrix.NewText(w.gold.Text), "case", w.gold.Source
		if id := holder(w.facts); id != "" {
			w.facts.TextID = id
		} else if len(w.facts.Items) == 0 && len(w.facts.Copies) > 0 {
			w.facts.TextID = w.facts.Copies[0]
		}
	case w.facts.Text.Ref == "" && complete && len(verdict.Moved(w.facts, w.gold)) > 0:
		w.facts.Text, w.facts.TextOrigin, w.facts.TextID = matrix.NewText(w.other.Text), "store", w.other.ID
	case w.facts.Text.Ref == "":
		w.facts.Text, w.facts.TextOrigin, w.facts.TextID = matrix.NewText(w.gold.Span), "span", w.gold.Source
	}
	w.facts.Sensitivity = w.level()
}

// level is how sensitive the gold text is: as the item that it is of, or that holds it; where there is none, as an item that says nothing.
func (w *wanted) level() matrix.Level {
	level := matrix.Level("")
	for _, i := range w.facts.Items {
		if i.ID == w.facts.TextID || w.facts.TextOrigin != "store" {
			level = level.Max(i.Sensitivity)
		}
	}
	if w.other.ID != "" {
		level = level.Max(w.rules.Of(w.other.Access, w.other.Metadata))
	}
	if level == "" {
		level = w.rules.Of(nil, nil)
	}
	return level
}
