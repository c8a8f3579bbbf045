package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// presence is what one pass over the store says of every case's evidence.
type presence struct {
	scan     matrix.ScanFacts
	fresh    *matrix.FreshFacts
	unmapped []string                      // meanings of fields that no item has
	content  string                        // digest of every item, where the complete fingerprint is asked for
	gold     map[string][]matrix.GoldFacts // by case id
	sample   []sampled                     // seeded, in the order of the seed
	size     int                           // of the sample
	seed     uint64                        // of another sample; 0: the one of every run
	others   map[string]adapters.Item      // items of declared distractors, by source and by id
	err      error
}

// sampled is one item of the seeded sample of the store.
type sampled struct {
	seed uint64
	item adapters.Item
}

// spareItems is how many items are sampled beside those that are asked for: some are related to the case, or not the asker's to see.
const spareItems = 32

// prove scans the store once for the evidence of all cases: one pass proves any number of spans. Absence is only claimed
// when the scan read as many items as the store counts.
func (s *session) prove(ctx context.Context, cases []*matrix.Case) (*presence, error) {
	p := &presence{
		gold: map[string][]matrix.GoldFacts{}, others: map[string]adapters.Item{}, fresh: s.freshness(),
		size: max(s.experiment.Checks.Sample, spareItems+s.experiment.Runs.SeededItems(), s.drawn.size), seed: s.drawn.seed,
	}
	wanted := newSearchParty(s.experiment, cases)
	for _, c := range cases {
		for _, d := range c.Evidence.Distractors {
			p.others[d.Source] = adapters.Item{}
		}
	}
	if s.experiment.Backends.Store == nil {
		p.scan.Reason, p.fresh = verdict.NoStore, nil
		wanted.collect(p)
		return p, nil
	}
	var sum *contentSum
	if s.experiment.Checks.Fingerprint == matrix.FingerprintComplete {
		sum = &contentSum{}
	}
	fields := newMeanings(s.experiment.Backends.Store)
	scanned := 0
	report, err := s.store.Scan(ctx, s.fullScan(), func(item adapters.Item) error {
		sum.add(&item)
		item.Vector = nil // a sampled item is fetched with its vector when it is compared
		p.see(item)
		fields.see(&item)
		outdated := s.age(p.fresh, &item)
		wanted.see(&item, outdated)
		scanned++
		s.progress.scanned(scanned)
		return nil
	})
	p.scan = matrix.ScanFacts{Scanned: report.Scanned, Counted: report.Counted, Complete: err == nil && report.Scanned == report.Counted && report.Unread == "", LeftOut: report.LeftOut}
	if err == nil {
		p.unmapped = fields.unmapped()
	}
	for _, meaning := range p.unmapped {
		s.warn(fmt.Sprintf("no item has a value in the field %q, which backends.store.fields.%s names", fields.mapped[meaning], meaning))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		p.scan.Reason, p.err = "the scan stopped: "+err.Error(), err
	case report.Unread != "":
		p.scan.Reason = report.Unread
	case !p.scan.Complete:
		p.scan.Reason = fmt.Sprintf("%d items were read, the store counts %d", report.Scanned, report.Counted)
	default:
		p.content = sum.String()
		s.unstored(p.fresh)
		if err := s.lookElsewhere(ctx, wanted); err != nil {
			return nil, err
		}
	}
	if p.fresh != nil {
		p.fresh.Items = scanned
	}
	slices.SortFunc(p.sample, func(a, b sampled) int { return cmp.Compare(a.seed, b.seed) })
	wanted.collect(p)
	return p, nil
}

// fullScan reads vectors only where the complete fingerprint asks for them: they are most of what is stored.
func (s *session) fullScan() adapters.ScanRequest {
	return adapters.ScanRequest{
		Vectors: s.experiment.Checks.Fingerprint == matrix.FingerprintComplete && s.embedder != nil &&
			s.experiment.Pipeline.Search.Mode != matrix.ModeKeyword && s.store.Capabilities().Vectors,
	}
}

func (p *presence) see(item adapters.Item) {
	for _, name := range []string{item.ID, item.Source} {
		if known, ok := p.others[name]; ok && known.Text == "" {
			p.others[name] = item
		}
	}
	h := fnv.New64a()
	h.Write([]byte(item.ID))
	seed := spread(h.Sum64() ^ spread(p.seed))
	at, _ := slices.BinarySearchFunc(p.sample, seed, func(v sampled, seed uint64) int { return cmp.Compare(v.seed, seed) })
	if at < p.size {
		p.sample = slices.Insert(p.sample, at, sampled{seed, item})
		p.sample = p.sample[:min(len(p.sample), p.size)]
	}
}

// errEnough ends a scan that has read what it may.
var errEnough = errors.New("enough was read")

// lookElsewhere scans the store's other collections for spans that the searched one does not hold, up to checks.elsewhere
// items in all.
func (s *session) lookElsewhere(ctx context.Context, wanted *searchParty) error {
	missing, most := wanted.missing(), s.experiment.Checks.Elsewhere
	if len(missing.wanted) == 0 || !s.store.Capabilities().Collections || most == 0 {
		return nil
	}
	left := most
	var unread []string // why, for each collection that was not read whole
	for _, collection := range s.storeInfo.Collections {
		if collection == s.storeInfo.Collection {
			continue
		}
		report, err := s.store.Scan(ctx, adapters.ScanRequest{Collection: collection}, func(item adapters.Item) error {
			if left--; left < 0 {
				return errEnough
			}
			missing.seeElsewhere(collection, &item)
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errEnough):
			s.warn(fmt.Sprintf("evidence that is missing was looked for in %d items of other collections, and not further: raise checks.elsewhere", most))
			return nil
		case errors.Is(err, adapters.ErrInvalid): // its items have other fields
			unread = append(unread, err.Error())
		case err == nil && report.Unread != "":
			unread = append(unread, report.Unread)
		case err != nil && !errors.Is(err, adapters.ErrUnsupported) && !errors.Is(err, adapters.ErrNotFound) && !errors.Is(err, adapters.ErrUnauthorised):
			// An unreadable neighbour says nothing about the searched collection; the evidence stays "missing" there.
			s.warn(fmt.Sprintf("collection %q could not be scanned: %v", collection, err))
		}
	}
	if n := len(unread); n > 0 {
		s.warn(fmt.Sprintf("evidence that is missing was not looked for in all items of %d of the other collections; of the first: %s", n, unread[0]))
	}
	return nil
}

// verdictSpans is one pass for many spans.
func verdictSpans(list []*wanted) *verdict.Spans {
	spans := make([]verdict.Span, len(list))
	for i, w := range list {
		spans[i] = w.span
	}
	return verdict.NewSpans(spans)
}
