package verdict

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/culprit-rag/culprit/matrix"
)

// Extract reads every fact that needs a text: spans, claims, refusals, citations, copies. It is the only step that does.
// An error means that the case itself cannot be compiled into a checker.
func Extract(e *matrix.Experiment, c *matrix.Case, o *matrix.Observations) (Features, error) {
	return ExtractMore(e, c, o, nil, AnswerKeys{})
}

// ExtractMore is [Extract] where the features of fewer retrievals and trials of the same case are known; nil: none are. What is known
// is not read again. The keys are those of this case's answers, which it adds to.
func ExtractMore(e *matrix.Experiment, c *matrix.Case, o *matrix.Observations, known *Features, keys AnswerKeys) (Features, error) {
	checker, err := NewChecker(c, e.Pipeline.Refusal)
	if err != nil {
		return Features{}, fmt.Errorf("case %q: %w", c.ID, err)
	}
	answers, err := newAnswerReader(e.Pipeline.Answer)
	if err != nil {
		return Features{}, fmt.Errorf("pipeline.answer.citations: %w", err)
	}
	x := &extractor{e: e, c: c, o: o, checker: checker, answers: answers, keys: keys, spans: map[string]Span{}, folded: map[string]Folded{}, words: map[string][]string{}, hits: map[string]map[string]*matrix.Hit{}, contexts: map[string]*context{}, read: map[string][]readTrial{}, bares: map[string]bareText{}}
	x.readBase()
	if known != nil {
		return x.more(known), nil
	}
	f := Features{Schema: FeaturesSchema}
	if texts, all := x.goldTexts(); all {
		f.Fixture = checker.selfTest(texts)
	}
	for i := range o.Store.Gold {
		f.Gold = append(f.Gold, x.gold(&o.Store.Gold[i]))
	}
	for i := range o.Retrievals {
		f.Retrievals = append(f.Retrievals, x.retrieval(&o.Retrievals[i]))
	}
	if len(o.Trials) > 0 {
		f.Trials = make([]TrialFeatures, len(o.Trials))
	}
	for i := range o.Trials {
		x.trial(&f.Trials[i], &o.Trials[i])
	}
	x.number(f.Trials)
	return f, nil
}

// more reads what is not known yet.
func (x *extractor) more(known *Features) Features {
	f := *known
	f.Trials = make([]TrialFeatures, len(x.o.Trials))
	f.Retrievals = slices.Clip(f.Retrievals)
	for i := len(f.Retrievals); i < len(x.o.Retrievals); i++ {
		f.Retrievals = append(f.Retrievals, x.retrieval(&x.o.Retrievals[i]))
	}
	type place struct {
		cell matrix.CellID
		rep  int
	}
	read := make(map[place]int, len(known.Trials))
	for i := range known.Trials {
		read[place{known.Trials[i].Cell, known.Trials[i].Rep}] = i
	}
	for i := range x.o.Trials {
		if at, ok := read[place{x.o.Trials[i].Cell, x.o.Trials[i].Rep}]; ok {
			f.Trials[i] = known.Trials[at]
		} else {
			x.trial(&f.Trials[i], &x.o.Trials[i])
		}
	}
	x.number(f.Trials)
	return f
}

type extractor struct {
	e        *matrix.Experiment
	c        *matrix.Case
	o        *matrix.Observations
	checker  *Checker
	answers  answerReader
	spans    map[string]Span
	folded   map[string]Folded                 // by text reference: a chunk is folded once however often it was returned
	words    map[string][]string               // by text reference
	hits     map[string]map[string]*matrix.Hit // by call key of the retrieval, then by id
	base     basePrompt
	contexts map[string]*context    // by the references of their texts
	last     foldedPrompt           // of the trial before: repetitions share their prompt
	read     map[string][]readTrial // by the reference of the answer
	bares    map[string]bareText    // by the text of the answer
	keys     AnswerKeys
}

// readTrial is a trial that was read.
type readTrial struct {
	trial    *matrix.Trial
	features *TrialFeatures
}

// foldedPrompt is a prompt, read once.
type foldedPrompt struct {
	of       []matrix.PromptMessage
	text     matrix.Text
	folded   Folded
	messages []string       // folded
	counts   map[string]int // of its words; nil where nobody asked
	shown    *readTrial     // the last one with this prompt and a context; nil: none
}

// words returns how often each word stands in the prompt.
func (p *foldedPrompt) words() map[string]int {
	if p.counts == nil {
		p.counts = countWords(p.folded.String())
	}
	return p.counts
}

func (x *extractor) readPrompt(messages []matrix.PromptMessage) *foldedPrompt {
	same := func(a, b matrix.PromptMessage) bool { return a.Text.Ref == b.Text.Ref }
	if len(messages) == 0 || !slices.EqualFunc(messages, x.last.of, same) {
		text := joinPrompt(messages)
		x.last = foldedPrompt{of: messages, text: text, folded: FoldText(text.Value)}
		for _, m := range messages {
			x.last.messages = append(x.last.messages, x.fold(m.Text).String())
		}
	}
	return &x.last
}

func (x *extractor) fold(t matrix.Text) Folded {
	f, ok := x.folded[t.Ref]
	if !ok || t.Ref == "" {
		f = FoldText(t.Value)
		x.folded[t.Ref] = f
	}
	return f
}

func (x *extractor) holds(t matrix.Text, span string) bool {
	if t.Value == "" || span == "" {
		return false
	}
	s, ok := x.spans[span]
	if !ok {
		s = NewSpan(span)
		x.spans[span] = s
	}
	if strings.Contains(t.Value, span) {
		return true
	}
	m := s.MatchFolded(x.fold(t))
	return m.Exact || m.Folded
}

// goldTexts returns the gold text of each requirement; all is false where the text of one is not known beyond its span,
// so that claims cannot be held against it.
func (x *extractor) goldTexts() (texts []string, all bool) {
	if !x.c.HasGold() {
		return nil, true
	}
	for i := range x.c.Evidence.Required {
		g := GoldText(&x.o.Store, i)
		if g == nil || g.Text.Value == "" || g.TextOrigin == "span" {
			return nil, false
		}
		texts = append(texts, g.Text.Value)
	}
	return texts, true
}

// GoldText returns the alternative of a requirement whose text B uses: one that is known beyond its span before one that is
// not, and among those one that the asker may see.
func GoldText(s *matrix.StoreFacts, requirement int) *matrix.GoldFacts {
	var best *matrix.GoldFacts
	for i := range s.Gold {
		g := &s.Gold[i]
		if g.Requirement == requirement && g.Text.Ref != "" && (best == nil || rankText(g) > rankText(best)) {
			best = g
		}
	}
	return best
}

func rankText(g *matrix.GoldFacts) int {
	rank := 0
	if g.TextOrigin != "span" {
		rank += 2
	}
	holds := func(i matrix.GoldItem) bool { return slices.Contains(g.Exact, i.ID) || slices.Contains(g.Folded, i.ID) }
	if !slices.ContainsFunc(g.Items, holds) || slices.ContainsFunc(g.Items, func(i matrix.GoldItem) bool { return holds(i) && i.Allowed }) {
		rank++
	}
	return rank
}

func (x *extractor) gold(g *matrix.GoldFacts) GoldFeatures {
	out := GoldFeatures{Requirement: g.Requirement, Alternative: g.Alternative}
	want := x.c.Evidence.Required[g.Requirement].AnyOf[g.Alternative]
	for _, item := range g.Items {
		r := StoredRelation{ID: item.ID, Revision: item.Revision, Relation: "other"}
		r.Stale = Stale(want, item.Revision)
		switch {
		case strings.TrimSpace(x.fold(item.Text).String()) == "":
			r.Relation = "empty"
		case x.holds(item.Text, want.Span):
			r.Relation = "holds-span"
			folded, span := x.fold(item.Text).String(), FoldText(want.Span).String()
			if before, _, ok := strings.Cut(folded, span); ok {
				r.SpanEnd = len(strings.Fields(before + span))
			}
			r.Body = x.bodyOf(item.Text, want)
		case x.isPart(item.Text, want):
			r.Relation = "part"
		}
		r.Like = want.Text != "" && alike(x.wordsOf(item.Text), distinctWords(FoldText(want.Text).String()))
		out.Items = append(out.Items, r)
	}
	if slices.ContainsFunc(out.Items, func(r StoredRelation) bool { return r.Body != "" }) {
		out.Lacks = x.lacks(want)
	}
	return out
}

// lacks lists the claims that the gold text states, as the case gives it, and that no item stored under any gold source does. It is nil
// where not all of these items were read.
func (x *extractor) lacks(want matrix.Gold) []string {
	var stored []*prose
	for i := range x.o.Store.Gold {
		all := &x.o.Store.Gold[i]
		if all.Stored > len(all.Items) {
			return nil
		}
		for j := range all.Items {
			stored = append(stored, x.checker.prose(all.Items[j].Text.Value))
		}
	}
	var out []string
	gold := x.checker.prose(want.Text)
	for i := range x.checker.claims {
		states := func(text *prose) bool {
			return slices.ContainsFunc(x.checker.claims[i].any, func(p *pattern) bool { _, found, _ := p.find(text); return found })
		}
		if states(gold) && !slices.ContainsFunc(stored, states) {
			out = append(out, x.checker.claims[i].id)
		}
	}
	return out
}

// alike reports whether half of the words of one text stand in the other.
func alike(words, sorted []string) bool {
	found := 0
	for _, w := range words {
		if _, ok := slices.BinarySearch(sorted, w); ok {
			found++
		}
	}
	return len(words) > 0 && 2*found >= len(words)
}

// bodyOf compares a stored text with the gold text that the case gives.
func (x *extractor) bodyOf(stored matrix.Text, want matrix.Gold) string {
	if want.Text == "" {
		return ""
	}
	mine, theirs := strings.TrimSpace(x.fold(stored).String()), strings.TrimSpace(FoldText(want.Text).String())
	switch {
	case strings.Contains(mine, theirs):
		return "same"
	case strings.Contains(theirs, strings.TrimRight(mine, " .,;:!?")):
		return "part"
	}
	return "other"
}

// isPart reports whether the stored text is a part of the gold text, or ends with the first half of the span or more.
func (x *extractor) isPart(stored matrix.Text, want matrix.Gold) bool {
	text := x.fold(stored).String()
	if want.Text != "" && strings.Contains(FoldText(want.Text).String(), text) {
		return true
	}
	span := strings.Fields(FoldText(want.Span).String())
	for n := len(span) - 1; 2*n >= len(span) && n > 1; n-- { // one word may end any text
		if head, ok := strings.CutSuffix(text, strings.Join(span[:n], " ")); ok && (head == "" || strings.HasSuffix(head, " ")) {
			return true
		}
	}
	return false
}

// names reports whether an item is stored under the gold's source: by source, or by id.
func names(want matrix.Gold, id, source string) bool {
	return want.Source == source || want.Source == id
}

// serves is Serves with the spans and texts that were read before.
func (x *extractor) serves(requirement int, id, source, revision string, text matrix.Text) bool {
	return serves(x.c, &x.o.Store, requirement, id, source, revision, text, x.holds)
}

// Serves reports whether an item may stand for the requirement: it holds the span of an alternative, in no other revision, and
// it is that alternative's item, or has the same body as the gold, or is where the gold of a stale id has gone, or nobody tells its name.
func Serves(c *matrix.Case, s *matrix.StoreFacts, requirement int, id, source, revision string, text matrix.Text) bool {
	return serves(c, s, requirement, id, source, revision, text, func(t matrix.Text, span string) bool {
		m := NewSpan(span).Match(t.Value)
		return m.Exact || m.Folded
	})
}

func serves(c *matrix.Case, s *matrix.StoreFacts, requirement int, id, source, revision string, text matrix.Text, holds func(matrix.Text, string) bool) bool {
	for i := range s.Gold {
		g := &s.Gold[i]
		if g.Requirement != requirement {
			continue
		}
		want := c.Evidence.Required[requirement].AnyOf[g.Alternative]
		if Stale(want, revision) {
			continue
		}
		// Texts are recorded near the cutoff only; below it the scan of the store says which ids hold the span.
		if !holds(text, want.Span) && (text.Ref != "" || !slices.Contains(g.Exact, id) && !slices.Contains(g.Folded, id)) {
			continue
		}
		if otherSection(g, want, id, text) {
			continue
		}
		if names(want, id, source) || matrix.Nameless(id, source) || s.Scan.Complete && slices.Contains(Moved(g, want), id) || sameBody(g, text) {
			return true
		}
	}
	return false
}

// otherSection reports whether an item holds the span without the gold text that the case gives, while another item of the
// source has all of it: then the case means the other one.
func otherSection(g *matrix.GoldFacts, want matrix.Gold, id string, text matrix.Text) bool {
	gold := strings.TrimSpace(want.Text)
	if gold == "" {
		return false
	}
	whole := func(t string) bool { return strings.Contains(t, gold) }
	for _, i := range g.Items {
		if i.ID == id && text.Ref == "" {
			text = i.Text
		}
	}
	return !whole(text.Value) && slices.ContainsFunc(g.Items, func(i matrix.GoldItem) bool { return whole(i.Text.Value) })
}

// Stale reports whether an item's revision is another than the gold's. Where one of them is not known, nothing is.
func Stale(want matrix.Gold, revision string) bool {
	return want.Revision != "" && revision != "" && want.Revision != revision
}

// Moved lists the items that hold a piece of gold whose source no stored item has, so that the case names a stale id: those
// with the whole text that the case gives, else those with its span. A short span stands in other items by chance, and then
// it moves nothing: the gold is missing.
func Moved(g *matrix.GoldFacts, want matrix.Gold) []string {
	switch {
	case len(g.Items) > 0:
		return nil
	case want.Text != "":
		return g.Copies
	case !Distinctive(want.Span):
		return nil
	}
	return slices.Concat(g.Exact, g.Folded)
}

// sameBody reports whether a text is the gold text, or the text of a stored item of the gold's source that holds the span:
// then it is as good as the gold, whatever id it is shown under.
func sameBody(g *matrix.GoldFacts, text matrix.Text) bool {
	return text.Ref != "" && (text.Ref == g.Text.Ref || slices.ContainsFunc(g.Items, func(i matrix.GoldItem) bool {
		return i.Text.Ref == text.Ref && !i.Stale && (slices.Contains(g.Exact, i.ID) || slices.Contains(g.Folded, i.ID))
	}))
}

// Distinctive reports whether a span is too long to stand in two texts by chance.
func Distinctive(span string) bool {
	const words, letters = 3, 12
	n := 0
	for _, r := range span {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return len(strings.Fields(span)) >= words || n >= letters
}

func (x *extractor) named(requirement int, id, source string) bool {
	return slices.ContainsFunc(x.c.Evidence.Required[requirement].AnyOf, func(g matrix.Gold) bool { return names(g, id, source) })
}
