package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// presence is what one pass over the store says of every case's evidence.
type presence struct {
	scan   matrix.ScanFacts
	gold   map[string][]matrix.GoldFacts // by case id
	sample []sampled                     // seeded, in the order of the seed
	others map[string]adapters.Item      // items of declared distractors, by source and by id
	err    error
}

// sampled is one item of the seeded sample of the store.
type sampled struct {
	seed uint64
	item adapters.Item
}

const (
	sampleSize  = 32  // items of the seeded sample
	keepItems   = 8   // items kept under one gold source, those that hold the span aside
	keepHolders = 200 // items kept that hold one span; a span of a few letters may stand everywhere
)

// wanted is one span that the scan looks for.
type wanted struct {
	gold  matrix.Gold
	span  verdict.Span
	facts *matrix.GoldFacts
	as    matrix.Principal
	last  tail // of the previous item of the source, to see a span that is split over two
	text  verdict.Span
	seen  bool          // the gold text comes from an item that the asker may see
	other adapters.Item // the first item of another source that may be the gold under a new id
}

// tail is the end of one chunk, folded.
type tail struct{ id, source, text string }

// prove scans the store once for the evidence of all cases: one pass proves any number of spans. Absence is only claimed
// when the scan read as many items as the store counts.
func (s *session) prove(ctx context.Context, cases []*matrix.Case) (*presence, error) {
	p := &presence{gold: map[string][]matrix.GoldFacts{}, others: map[string]adapters.Item{}}
	var spans []*wanted
	for _, c := range cases {
		for i, r := range c.Evidence.Required {
			for j, g := range r.AnyOf {
				spans = append(spans, &wanted{gold: g, span: verdict.NewSpan(g.Span), text: verdict.NewSpan(g.Text), as: c.As, facts: &matrix.GoldFacts{Requirement: i, Alternative: j}})
			}
		}
		for _, d := range c.Evidence.Distractors {
			p.others[d.Source] = adapters.Item{}
		}
	}
	scanned := 0
	report, err := s.store.Scan(ctx, adapters.ScanRequest{}, func(item adapters.Item) error {
		p.see(item)
		text := verdict.NewHaystack(item.Text)
		for _, w := range spans {
			w.see(item, text)
		}
		scanned++
		s.progress.scanned(scanned)
		return nil
	})
	p.scan = matrix.ScanFacts{Scanned: report.Scanned, Counted: report.Counted, Complete: err == nil && report.Scanned == report.Counted}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		p.scan.Reason, p.err = "the scan stopped: "+err.Error(), err
	case !p.scan.Complete:
		p.scan.Reason = fmt.Sprintf("%d items were read, the store counts %d", report.Scanned, report.Counted)
	default:
		if err := s.lookElsewhere(ctx, spans); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(p.sample, func(a, b sampled) int { return cmp.Compare(a.seed, b.seed) })
	p.collect(cases, spans)
	return p, nil
}

func (p *presence) see(item adapters.Item) {
	for _, name := range []string{item.ID, item.Source} {
		if known, ok := p.others[name]; ok && known.Text == "" {
			p.others[name] = item
		}
	}
	h := fnv.New64a()
	h.Write([]byte(item.ID))
	seed := spread(h.Sum64())
	at, _ := slices.BinarySearchFunc(p.sample, seed, func(v sampled, seed uint64) int { return cmp.Compare(v.seed, seed) })
	if at < sampleSize {
		p.sample = slices.Insert(p.sample, at, sampled{seed, item})
		p.sample = p.sample[:min(len(p.sample), sampleSize)]
	}
}

func (w *wanted) see(item adapters.Item, text *verdict.Haystack) {
	mine := item.Source == w.gold.Source || item.ID == w.gold.Source
	m := w.span.In(text)
	switch {
	case m.Exact && (mine || len(w.facts.Exact) < keepHolders):
		w.facts.Exact = append(w.facts.Exact, item.ID)
	case !m.Exact && m.Folded && (mine || len(w.facts.Folded) < keepHolders):
		w.facts.Folded = append(w.facts.Folded, item.ID)
	}
	holds := m.Exact || m.Folded
	if !mine {
		w.seeOther(item, holds)
		return
	}
	w.facts.Stored++
	if !holds && len(w.facts.Exact)+len(w.facts.Folded) == 0 {
		w.seeSplit(item)
	}
	if len(w.facts.Items) >= keepItems && (!holds || len(w.facts.Items) >= keepHolders) {
		return
	}
	stale, allowed := verdict.Stale(w.gold, item.Revision), w.as.Authorised(item.Access, item.Metadata)
	w.facts.Items = append(w.facts.Items, matrix.GoldItem{
		ID: item.ID, Source: item.Source, Revision: item.Revision, Text: matrix.NewText(item.Text),
		Access: item.Access, Allowed: allowed, Metadata: w.rights(item), Stale: stale,
	})
	// The first item that holds the span is the gold text; one that the asker may see is better.
	if holds && !stale && w.gold.Text == "" && (w.facts.Text.Ref == "" || allowed && !w.seen) {
		w.seen = allowed
		w.facts.Text, w.facts.TextID, w.facts.TextOrigin = matrix.NewText(item.Text), item.ID, "store"
	}
}

// mayBe reports whether an item of another collection that holds the span may be the gold: it has its source, or the gold's
// whole text, or the span is too long to stand there by chance.
func (w *wanted) mayBe(item adapters.Item) bool {
	if item.Source == w.gold.Source || item.ID == w.gold.Source {
		return true
	}
	if w.gold.Text != "" {
		m := w.text.Match(item.Text)
		return m.Exact || m.Folded
	}
	return verdict.Distinctive(w.gold.Span)
}

// holder returns the first item of the gold's source that holds the span, of the right revision if there is one, "" for none.
func (w *wanted) holder() string {
	id := ""
	for _, i := range w.facts.Items {
		if slices.Contains(w.facts.Exact, i.ID) || slices.Contains(w.facts.Folded, i.ID) {
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

// rights keeps the fields of an item that the asker's attributes are held against.
func (w *wanted) rights(item adapters.Item) map[string][]string {
	var out map[string][]string
	for attribute := range w.as {
		if values, ok := item.Metadata[attribute]; ok {
			if out == nil {
				out = map[string][]string{}
			}
			out[attribute] = values
		}
	}
	return out
}

// seeOther notices an item that may be the gold although it has another source.
func (w *wanted) seeOther(item adapters.Item, holds bool) {
	if !holds || w.gold.Text == "" && w.other.ID != "" {
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
		w.other = item
	}
}

// seeSplit notices a span that stands over the border of two neighbouring items of the source.
func (w *wanted) seeSplit(item adapters.Item) {
	mine := tail{id: item.ID, source: item.Source, text: item.Text}
	if w.last.id != "" && w.last.source == item.Source {
		if m := w.span.Match(strings.TrimSpace(w.last.text) + " " + strings.TrimSpace(item.Text)); m.Exact || m.Folded {
			w.facts.Split = append(w.facts.Split, []string{w.last.id, item.ID})
		}
	}
	w.last = mine
}

// lookElsewhere scans the store's other collections for spans that the searched one does not hold.
func (s *session) lookElsewhere(ctx context.Context, spans []*wanted) error {
	missing := slices.DeleteFunc(slices.Clone(spans), func(w *wanted) bool { return len(w.facts.Exact)+len(w.facts.Folded) > 0 })
	if len(missing) == 0 || !s.store.Capabilities().Collections {
		return nil
	}
	for _, collection := range s.storeInfo.Collections {
		if collection == s.storeInfo.Collection {
			continue
		}
		_, err := s.store.Scan(ctx, adapters.ScanRequest{Collection: collection}, func(item adapters.Item) error {
			text := verdict.NewHaystack(item.Text)
			for _, w := range missing {
				if m := w.span.In(text); (m.Exact || m.Folded) && w.mayBe(item) {
					w.facts.Elsewhere = append(w.facts.Elsewhere, fmt.Sprintf("%s (as %s)", collection, item.ID))
				}
			}
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// An unreadable neighbour says nothing about the searched collection; the evidence stays "missing" there.
		if err != nil && !errors.Is(err, adapters.ErrUnsupported) && !errors.Is(err, adapters.ErrNotFound) && !errors.Is(err, adapters.ErrUnauthorised) {
			s.warn(fmt.Sprintf("collection %q could not be scanned: %v", collection, err))
		}
	}
	return nil
}

// collect gives each case its facts, with the gold text that B will use.
func (p *presence) collect(cases []*matrix.Case, spans []*wanted) {
	next := 0
	for _, c := range cases {
		for _, r := range c.Evidence.Required {
			for range r.AnyOf {
				w := spans[next]
				next++
				switch {
				case w.gold.Text != "":
					w.facts.Text, w.facts.TextOrigin, w.facts.TextID = matrix.NewText(w.gold.Text), "case", w.gold.Source
					if id := w.holder(); id != "" {
						w.facts.TextID = id
					} else if len(w.facts.Items) == 0 && len(w.facts.Copies) > 0 {
						w.facts.TextID = w.facts.Copies[0]
					}
				case w.facts.Text.Ref == "" && p.scan.Complete && len(verdict.Moved(w.facts, w.gold)) > 0:
					w.facts.Text, w.facts.TextOrigin, w.facts.TextID = matrix.NewText(w.other.Text), "store", w.other.ID
				case w.facts.Text.Ref == "":
					w.facts.Text, w.facts.TextOrigin, w.facts.TextID = matrix.NewText(w.gold.Span), "span", w.gold.Source
				}
				p.gold[c.ID] = append(p.gold[c.ID], *w.facts)
			}
		}
	}
}
