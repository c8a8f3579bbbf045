package runner

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/tiktoken-go/tokenizer"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// counter counts a text in the unit of the budget.
type counter func(string) int

// newCounter returns the counter for a tokenizer's name: "words", or an encoding of tiktoken.
func newCounter(name string) (counter, error) {
	switch name {
	case "", "words":
		return countWords, nil
	}
	codec, err := tokenizer.Get(tokenizer.Encoding(name))
	if err != nil {
		return nil, fmt.Errorf("tokenizer %q: %w", name, err)
	}
	return func(s string) int {
		n, err := codec.Count(s)
		if err != nil {
			return countWords(s) // a text that the encoding cannot read still takes room
		}
		return n
	}, nil
}

func countWords(s string) (n int) {
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}

// assemble packs what a retrieval kept by these settings, with the configured defects of production.
func (r *caseRun) assemble(c *matrix.Retrieval, settings matrix.Assemble) ([]matrix.Packed, []matrix.Dropped) {
	faults := r.faults()
	var packed []matrix.Packed
	var dropped []matrix.Dropped
	seen := map[string]string{}
	used := 0
	full := false
	for i, h := range c.Kept() {
		if slices.Contains(faults.Drop, h.ID) {
			continue
		}
		if of, again := seen[duplicateKey(settings.Dedupe, h)]; again {
			dropped = append(dropped, matrix.Dropped{ID: h.ID, Rank: i + 1, Reason: matrix.DroppedDuplicate, Of: of})
			continue
		}
		if settings.Dedupe != "none" {
			seen[duplicateKey(settings.Dedupe, h)] = h.ID
		}
		item := matrix.Packed{ID: h.ID, Source: h.Source, Revision: h.Revision, Rank: i + 1, Score: h.Score, Text: h.Text, Access: h.Access, Sensitivity: h.Sensitivity}
		if faults.Cut > 0 && len([]rune(h.Text.Value)) > faults.Cut {
			item.Text, item.Cut = matrix.NewText(string([]rune(h.Text.Value)[:faults.Cut])), true
		}
		item.Units = r.count(item.Text.Value)
		if settings.Budget.N > 0 && (full || used+item.Units > settings.Budget.N) {
			if !full && settings.Overflow == matrix.OverflowTruncate && used < settings.Budget.N {
				item.Text, item.Cut = matrix.NewText(r.truncate(item.Text.Value, settings.Budget.N-used)), true
				item.Units = r.count(item.Text.Value)
				used += item.Units
				packed, full = append(packed, item), true
				continue
			}
			dropped = append(dropped, matrix.Dropped{ID: h.ID, Rank: i + 1, Reason: matrix.DroppedBudget, Units: used + item.Units})
			full = full || settings.Overflow != matrix.OverflowSkip
			continue
		}
		used += item.Units
		packed = append(packed, item)
	}
	r.relabel(packed)
	if settings.Order == "reverse" {
		slices.Reverse(packed)
	}
	return numbered(packed), dropped
}

func duplicateKey(by string, h matrix.Hit) string {
	if by == "text" {
		return h.Text.Ref
	}
	return h.ID
}

// relabel shows the body of one item under the id of another.
func (r *caseRun) relabel(packed []matrix.Packed) {
	for i := range packed {
		if shown, ok := r.faults().Relabel[packed[i].ID]; ok {
			packed[i].ID, packed[i].Source = shown, shown
		}
	}
}

func (r *caseRun) faults() matrix.Faults {
	if f := r.experiment.Pipeline.Faults; f != nil {
		return *f
	}
	return matrix.Faults{}
}

// truncate keeps the start of a text, whole words, up to n units. More words never take fewer units, so the place is searched
// for by halving.
func (r *caseRun) truncate(text string, n int) string {
	ends := []int{0}
	inWord := false
	for i, c := range text {
		if unicode.IsSpace(c) && inWord {
			ends = append(ends, i)
		}
		inWord = !unicode.IsSpace(c)
	}
	if inWord {
		ends = append(ends, len(text))
	}
	tooMany := sort.Search(len(ends), func(i int) bool { return r.count(text[:ends[i]]) > n })
	return text[:ends[max(tooMany-1, 0)]]
}

// numbered sets the positions.
func numbered(packed []matrix.Packed) []matrix.Packed {
	for i := range packed {
		packed[i].Position = i + 1
	}
	if packed == nil {
		packed = []matrix.Packed{}
	}
	return packed
}

// goldContext is the final payload of B: the gold text of every requirement, in the order of the contract.
func (r *caseRun) goldContext() []matrix.Packed {
	var packed []matrix.Packed
	for i := range r.c.Evidence.Required {
		g := verdict.GoldText(&r.obs.Store, i)
		if g == nil {
			return nil
		}
		want := r.c.Evidence.Required[i].AnyOf[g.Alternative]
		item := matrix.Packed{ID: g.TextID, Source: want.Source, Revision: want.Revision, Text: g.Text, Units: r.count(g.Text.Value), Gold: true, Sensitivity: g.Sensitivity}
		if i := slices.IndexFunc(g.Items, func(i matrix.GoldItem) bool { return i.ID == g.TextID }); i >= 0 {
			item.Source, item.Revision = g.Items[i].Source, g.Items[i].Revision // shown as production would show it
		}
		packed = append(packed, item)
	}
	return numbered(packed)
}

// made is the context of a cell: what it holds, and where it came from. Reason is why the cell cannot be run.
type made struct {
	packed             []matrix.Packed
	dropped            []matrix.Dropped
	retrieval          string // call key
	irrelevant, reason string
	seeded             []string
	swapped            *matrix.Swap
}

// contextOf builds the context of one planned cell.
func (r *caseRun) contextOf(ctx context.Context, cell matrix.PlannedCell) (m made, err error) {
	production := r.obs.Retrievals[0].CallKey
	if r.recording != nil {
		if m, recorded := r.recordedContext(cell); recorded {
			return m, nil
		}
	}
	switch {
	case cell.Condition == matrix.IfDecides:
		return r.repair(ctx, cell.Cell)
	case cell.Cell == matrix.CellA:
		return made{packed: r.packed, dropped: r.dropped, retrieval: production}, nil
	case cell.Cell.Run() == matrix.Production:
		return made{packed: r.packed, retrieval: production}, nil
	}
	switch cell.Cell.Variant() {
	case matrix.SwapSpan:
		return r.swap(cell), nil
	case matrix.NoiseCurve, matrix.GoldPositions:
		return r.amongSeeded(cell), nil
	}
	m.packed, m.irrelevant, m.reason = r.context(cell, r.packed)
	if cell.Base == matrix.CellA {
		m.retrieval = production
	}
	return m, nil
}

// context builds the context of B, or of a D. reason is why it cannot be run.
func (r *caseRun) context(cell matrix.PlannedCell, production []matrix.Packed) (packed []matrix.Packed, irrelevant, reason string) {
	gold := r.goldContext()
	isGold := func(p matrix.Packed) bool { return r.isAnyGold(p.ID, p.Source, p.Revision, p.Text) }
	moves := cell.Condition == matrix.IfGoldPacked || cell.Condition == matrix.IfManyPacked
	if moves && r.pipeline != nil && r.service.packed == nil {
		return nil, "", matrix.NotRunUntoldItems
	}
	switch cell.Condition {
	case matrix.IfGoldPacked:
		if !slices.ContainsFunc(production, isGold) {
			return nil, "", matrix.NotRunNoGold
		}
	case matrix.IfManyPacked:
		if len(production) < 2 {
			return nil, "", matrix.NotRunFewItems
		}
	case matrix.IfGoldOffered:
		if len(gold) == 0 {
			return nil, "", matrix.NotRunNoGoldText
		}
	}
	switch cell.Cell.Variant() {
	case "": // B
		return gold, "", ""
	case matrix.DropSpan:
		return numbered(slices.Delete(slices.Clone(gold), cell.Item-1, cell.Item)), "", ""
	case matrix.WithSuperseded, matrix.WithDistractor:
		d, ok := r.distractor(cell.Cell.Subject())
		if !ok {
			return nil, "", matrix.NotRunNoDistractor
		}
		return numbered(append(slices.Clone(gold), d)), "", ""
	case matrix.WithIrrelevant:
		d, ok := r.irrelevant()
		if !ok {
			if r.experiment.Backends.Store == nil {
				return nil, "", verdict.NoStore + matrix.NotRunNoItem
			}
			return nil, "", matrix.NotRunNoUnrelated
		}
		return numbered(append(slices.Clone(gold), d)), d.ID, ""
	case matrix.GoldFirst, matrix.GoldMiddle, matrix.GoldLast:
		moved := slices.DeleteFunc(slices.Clone(production), isGold)
		held := slices.DeleteFunc(slices.Clone(production), func(p matrix.Packed) bool { return !isGold(p) })
		if cell.Cell.Variant() == matrix.GoldMiddle && len(moved) < 2 {
			return nil, "", matrix.NotRunNoMiddle
		}
		place := map[string]int{matrix.GoldMiddle: len(moved) / 2, matrix.GoldLast: len(moved)}[cell.Cell.Variant()]
		return numbered(slices.Insert(moved, place, held...)), "", ""
	case matrix.ContextReversed:
		reversed := slices.Clone(production)
		slices.Reverse(reversed)
		return numbered(reversed), "", ""
	case matrix.ClosedBook:
		return numbered(nil), "", ""
	}
	return nil, "", fmt.Sprintf("variant %q is not known", cell.Cell.Variant())
}

func (r *caseRun) distractor(source string) (matrix.Packed, bool) {
	for _, d := range r.c.Evidence.Distractors {
		if d.Source != source {
			continue
		}
		p := matrix.Packed{ID: d.Source, Source: d.Source, Revision: d.Revision, Text: matrix.NewText(d.Text), Sensitivity: r.level(nil, nil)}
		if d.Text == "" {
			item, ok := r.presence.others[d.Source]
			if !ok || item.Text == "" {
				return p, false
			}
			p.ID, p.Source, p.Revision, p.Text, p.Sensitivity = item.ID, item.Source, item.Revision, matrix.NewText(item.Text), r.level(item.Access, item.Metadata)
		}
		p.Units = r.count(p.Text.Value)
		return p, true
	}
	return matrix.Packed{}, false
}

// irrelevant picks the first item of the seeded sample that has nothing to do with the case and that the asker may see.
func (r *caseRun) irrelevant() (matrix.Packed, bool) {
	for _, v := range r.presence.sample {
		it := v.item
		related := r.isAnyGold(it.ID, it.Source, it.Revision, matrix.NewText(it.Text)) || !r.c.As.Authorised(it.Access, it.Metadata) || it.Text == "" ||
			r.declared(it.ID, it.Source) ||
			slices.ContainsFunc(r.obs.Retrievals[0].PassedOn(), func(h matrix.Hit) bool { return h.ID == it.ID })
		if !related {
			return matrix.Packed{ID: it.ID, Source: it.Source, Revision: it.Revision, Text: matrix.NewText(it.Text), Units: r.count(it.Text), Sensitivity: r.level(it.Access, it.Metadata)}, true
		}
	}
	return matrix.Packed{}, false
}
