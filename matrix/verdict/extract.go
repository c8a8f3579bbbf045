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
	checker, err := NewChecker(c, e.Pipeline.Refusal)
	if err != nil {
		return Features{}, fmt.Errorf("case %q: %w", c.ID, err)
	}
	x := &extractor{e: e, c: c, o: o, checker: checker, spans: map[string]Span{}, folded: map[string]Folded{}, words: map[string][]string{}}
	f := Features{Schema: FeaturesSchema}
	if texts, all := x.goldTexts(); all {
		f.Fixture = SelfTest(c, texts, e.Pipeline.Refusal)
	}
	for i := range o.Store.Gold {
		f.Gold = append(f.Gold, x.gold(&o.Store.Gold[i]))
	}
	for i := range o.Retrievals {
		f.Retrievals = append(f.Retrievals, x.retrieval(&o.Retrievals[i]))
	}
	for i := range o.Trials {
		f.Trials = append(f.Trials, x.trial(&o.Trials[i]))
	}
	return f, nil
}

type extractor struct {
	e       *matrix.Experiment
	c       *matrix.Case
	o       *matrix.Observations
	checker *Checker
	spans   map[string]Span
	folded  map[string]Folded   // by text reference: a chunk is folded once however often it was returned
	words   map[string][]string // by text reference
}

func (x *extractor) fold(t matrix.Text) Folded {
	f, ok := x.folded[t.Ref]
	if !ok {
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
		g := goldFor(&x.o.Store, i)
		if g == nil || g.Text.Value == "" || g.TextOrigin == "span" {
			return nil, false
		}
		texts = append(texts, g.Text.Value)
	}
	return texts, true
}

// goldFor returns the first alternative of a requirement whose text is known best.
func goldFor(s *matrix.StoreFacts, requirement int) *matrix.GoldFacts {
	var best *matrix.GoldFacts
	for i := range s.Gold {
		g := &s.Gold[i]
		if g.Requirement != requirement || g.Text.Ref == "" {
			continue
		}
		if best == nil || best.TextOrigin == "span" && g.TextOrigin != "span" {
			best = g
		}
	}
	return best
}

func (x *extractor) gold(g *matrix.GoldFacts) GoldFeatures {
	out := GoldFeatures{Requirement: g.Requirement, Alternative: g.Alternative}
	want := x.c.Evidence.Required[g.Requirement].AnyOf[g.Alternative]
	for _, item := range g.Items {
		r := StoredRelation{ID: item.ID, Revision: item.Revision, Relation: "other"}
		r.Stale = want.Revision != "" && item.Revision != "" && want.Revision != item.Revision
		switch text := strings.TrimSpace(item.Text.Value); {
		case text == "":
			r.Relation = "empty"
		case x.holds(item.Text, want.Span):
			r.Relation = "holds-span"
		case x.isPart(item.Text, want):
			r.Relation = "part"
		}
		out.Items = append(out.Items, r)
	}
	return out
}

// isPart reports whether the stored text is a part of the gold text, or ends in the middle of the span.
func (x *extractor) isPart(stored matrix.Text, want matrix.Gold) bool {
	text := x.fold(stored).String()
	if want.Text != "" && strings.Contains(FoldText(want.Text).String(), text) {
		return true
	}
	span := strings.Fields(FoldText(want.Span).String())
	for n := len(span) - 1; n > 0; n-- {
		if strings.HasSuffix(text, strings.Join(span[:n], " ")) {
			return true
		}
	}
	return false
}

// names reports whether an item is stored under the gold's source: by source, or by id.
func names(want matrix.Gold, id, source string) bool {
	return want.Source == source || want.Source == id
}

// serves reports whether an item may stand for the requirement: it holds the span of an alternative, and it is that
// alternative's item, or has the same body as the gold text, or no stored item has the gold's source at all (a stale id).
func (x *extractor) serves(requirement int, id, source string, text matrix.Text) bool {
	for i := range x.o.Store.Gold {
		g := &x.o.Store.Gold[i]
		if g.Requirement != requirement {
			continue
		}
		want := x.c.Evidence.Required[requirement].AnyOf[g.Alternative]
		// Texts are recorded near the cutoff only; below it the scan of the store says which ids hold the span.
		if !x.holds(text, want.Span) && (text.Ref != "" || !slices.Contains(g.Exact, id) && !slices.Contains(g.Folded, id)) {
			continue
		}
		known := len(g.Items) > 0 && slices.ContainsFunc(g.Items, func(i matrix.GoldItem) bool { return i.Text.Value != "" })
		if names(want, id, source) || !known && x.o.Store.Scan.Complete && len(g.Exact)+len(g.Folded) > 0 || text.Ref != "" && text.Ref == g.Text.Ref {
			return true
		}
	}
	return false
}

func (x *extractor) named(requirement int, id, source string) bool {
	return slices.ContainsFunc(x.c.Evidence.Required[requirement].AnyOf, func(g matrix.Gold) bool { return names(g, id, source) })
}

const (
	nearDuplicate  = 3 // of 4: share of common words that makes two texts near duplicates
	duplicateReach = 50
)

func (x *extractor) retrieval(r *matrix.Retrieval) RetrievalFeatures {
	out := RetrievalFeatures{Cell: r.Cell}
	for i := range x.c.Evidence.Required {
		var p Place
		for _, h := range r.Candidates {
			if p.BySpan == 0 && x.serves(i, h.ID, h.Source, h.Text) {
				p.BySpan, p.ID = h.Rank, h.ID
			}
			if p.BySource == 0 && x.named(i, h.ID, h.Source) {
				p.BySource = h.Rank
			}
		}
		for _, h := range r.Reranked {
			if p.Reranked == 0 && x.serves(i, h.ID, h.Source, h.Text) {
				p.Reranked = h.Rank
			}
		}
		if p.ID == "" && p.BySource > 0 {
			p.ID = r.Candidates[p.BySource-1].ID
		}
		out.Gold = append(out.Gold, p)
	}
	if r.Cell == matrix.CellC && x.c.HasGold() {
		out.Duplicate = x.duplicates(r.Candidates[:min(len(r.Candidates), max(r.K, duplicateReach))])
	}
	for _, h := range r.PassedOn() {
		if !x.c.As.Authorised(h.Access, h.Metadata) {
			out.Forbidden = append(out.Forbidden, h.Rank)
		}
		if !admits(r.Filter, h) {
			out.Filtered = append(out.Filtered, h.Rank)
		}
	}
	return out
}

// admits evaluates the filter on the returned item itself, so that a store that filters otherwise is seen.
func admits(filter matrix.Filter, h matrix.Hit) bool {
	for _, c := range filter {
		var have []string
		switch c.Field {
		case "id":
			have = []string{h.ID}
		case "source":
			have = []string{h.Source}
		case "revision":
			have = []string{h.Revision}
		case "access":
			have = h.Access
		default:
			have = h.Metadata[c.Field]
		}
		shared := slices.ContainsFunc(have, func(v string) bool { return slices.Contains(c.AnyOf, v) })
		if shared == c.Not {
			return false
		}
	}
	return true
}

func (x *extractor) duplicates(hits []matrix.Hit) []int {
	var out []int
	for i := range hits {
		mine := x.wordsOf(hits[i].Text)
		if len(mine) == 0 {
			continue
		}
		for j := range i {
			if hits[i].Text.Ref == hits[j].Text.Ref || similar(mine, x.wordsOf(hits[j].Text)) {
				out = append(out, hits[i].Rank)
				break
			}
		}
	}
	return out
}

// wordsOf returns the distinct words of a text, sorted.
func (x *extractor) wordsOf(t matrix.Text) []string {
	w, ok := x.words[t.Ref]
	if !ok {
		w = distinctWords(x.fold(t).String())
		x.words[t.Ref] = w
	}
	return w
}

func distinctWords(s string) []string {
	w := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(w)
	return slices.Compact(w)
}

// similar reports whether two sorted word lists share at least three quarters of all their words.
func similar(a, b []string) bool {
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			shared, i, j = shared+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return 4*shared >= nearDuplicate*(len(a)+len(b)-shared)
}

func (x *extractor) trial(t *matrix.Trial) TrialFeatures {
	out := TrialFeatures{CallKey: t.CallKey, Cell: t.Cell, Rep: t.Rep}
	prompt := joinPrompt(t.Prompt)
	foldedPrompt := FoldText(prompt.Value)
	promptWords := distinctWords(foldedPrompt.String())
	for i := range x.c.Evidence.Required {
		out.Gold = append(out.Gold, x.goldPlace(i, t, prompt, foldedPrompt))
	}
	retrieved := x.retrievedTexts(t.Retrieval)
	for _, p := range t.Packed {
		text := strings.TrimSpace(p.Text.Value)
		if text != "" && strings.Contains(prompt.Value, text) {
			out.Carried++
		}
		if mostlyIn(x.wordsOf(p.Text), promptWords) {
			out.Worded++
		}
		if strings.Contains(prompt.Value, p.ID) || p.Source != "" && strings.Contains(prompt.Value, p.Source) {
			out.Named++
		}
		if ref, ok := retrieved[p.ID]; !p.Gold && t.Retrieval != "" && (!ok || ref != p.Text.Ref) {
			out.Altered = append(out.Altered, p.ID)
		}
		if !x.c.As.Authorised(p.Access, nil) {
			out.Forbidden = append(out.Forbidden, p.ID)
		}
		if slices.ContainsFunc(x.c.Evidence.Distractors, func(d matrix.Distractor) bool {
			return d.Kind == matrix.Superseded && (d.Source == p.ID || d.Source == p.Source) && (d.Revision == "" || p.Revision == "" || d.Revision == p.Revision)
		}) {
			out.Superseded = true
		}
	}
	if t.Status != matrix.StatusOK {
		return out
	}
	check := x.checker.Check(t.Answer.Value, t.Packed)
	out.Claims, out.Refused, out.Empty, out.Meets = check.Claims, check.Refused, check.Empty, check.Meets
	out.Citations, out.Fabricated = check.Citations, check.Fabricated
	if bare := FoldText(StripCitations(t.Answer.Value)).String(); bare != "" && !check.Refused {
		out.Copied = strings.Contains(foldedPrompt.String(), strings.TrimRight(bare, " .!?"))
	}
	return out
}

func (x *extractor) goldPlace(requirement int, t *matrix.Trial, prompt matrix.Text, folded Folded) GoldPlace {
	var g GoldPlace
	for _, p := range t.Packed {
		if g.Packed == 0 && (x.serves(requirement, p.ID, p.Source, p.Text) || p.Gold && x.holdsAny(requirement, p.Text)) {
			g.Packed, g.PackedID = p.Position, p.ID
		}
		if g.ByID == 0 && x.named(requirement, p.ID, p.Source) {
			g.ByID = p.Position
		}
	}
	// The span counts as being in the prompt only if a packed item brings it: a short span may stand elsewhere by chance.
	for _, alternative := range x.c.Evidence.Required[requirement].AnyOf {
		if g.Packed > 0 && (strings.Contains(prompt.Value, alternative.Span) || NewSpan(alternative.Span).MatchFolded(folded).Folded) {
			g.Prompt = true
		}
	}
	return g
}

func (x *extractor) holdsAny(requirement int, t matrix.Text) bool {
	return slices.ContainsFunc(x.c.Evidence.Required[requirement].AnyOf, func(g matrix.Gold) bool { return x.holds(t, g.Span) })
}

// retrievedTexts maps the ids that a retrieval returned to the references of their texts.
func (x *extractor) retrievedTexts(callKey string) map[string]string {
	out := map[string]string{}
	for i := range x.o.Retrievals {
		if r := &x.o.Retrievals[i]; r.CallKey == callKey {
			for _, h := range r.Candidates {
				out[h.ID] = h.Text.Ref
			}
		}
	}
	return out
}

func joinPrompt(messages []matrix.PromptMessage) matrix.Text {
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(m.Text.Value)
	}
	return matrix.Text{Value: b.String()}
}

// mostlyIn reports whether at least three of four of the words stand in the sorted list.
func mostlyIn(words, sorted []string) bool {
	if len(words) == 0 {
		return false
	}
	found := 0
	for _, w := range words {
		if _, ok := slices.BinarySearch(sorted, w); ok {
			found++
		}
	}
	return 4*found >= nearDuplicate*len(words)
}
