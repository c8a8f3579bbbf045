package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// answer says whether the embedder of the queries made the stored vectors of their texts. It is unknown where the index embeds
// more than the text, so that vectors which do not match say nothing, and where all are near and few match.
func (s sample) answer() matrix.Answer {
	switch {
	case s.drawn == 0:
		return matrix.Unknown
	case s.matching+s.near == s.drawn && 2*s.matching >= s.drawn:
		return matrix.Yes
	case s.matching+s.near == s.drawn, s.more != "" && s.matching+s.near < s.compared && s.compared == s.drawn:
		return matrix.Unknown
	}
	return matrix.No
}

// says is the evidence: how many of how many match, what that says of the index, and what the others are.
func (s sample) says() string {
	which := "sampled"
	if s.whole {
		which = "stored"
	}
	leading := ""
	if s.shortened > 0 {
		leading = fmt.Sprintf(" of the first %d numbers", s.shortened)
	}
	out := fmt.Sprintf("%d of %d %s vectors match a fresh embedding of their text (cosine%s ≥ %g)%s", s.matching, s.drawn, which, leading, sameVector, s.share())
	if others := s.others(); len(others) > 0 {
		out += ": " + strings.Join(others, "; ")
	}
	if s.more != "" && s.matching < s.compared {
		out += fmt.Sprintf("; the index embeds more than the text (%s), so vectors that do not match say little", s.more)
	}
	return out
}

// share says what the sample says of all items. The bounds are those of Clopper and Pearson; a sample that is a good part of
// the index knows it better than they say.
func (s sample) share() string {
	off := s.drawn - s.matching - s.near
	switch {
	case s.whole || s.drawn == 0:
		return ""
	case off == 0:
		return fmt.Sprintf(", so at most %s of the index is otherwise (95 %%)", percent(measure.ClopperPearsonUpper(0, s.drawn, 0.05)))
	case off == s.drawn:
		return fmt.Sprintf(", so at least %s of the index does not (95 %%)", percent(measure.ClopperPearsonLower(off, s.drawn, 0.05)))
	}
	return fmt.Sprintf(", so %s to %s of the index does not (95 %%)",
		percent(measure.ClopperPearsonLower(off, s.drawn, 0.025)), percent(measure.ClopperPearsonUpper(off, s.drawn, 0.025)))
}

// others says what the vectors are that do not match.
func (s sample) others() []string {
	var out []string
	for _, way := range slices.Sorted(maps.Keys(s.explained)) {
		out = append(out, fmt.Sprintf("%d match when embedded %s", s.explained[way], way))
	}
	if s.near > 0 {
		out = append(out, fmt.Sprintf("%d %s near (cosine ≥ %g, nearest to its own text), as another precision of the same model gives", s.near, map[bool]string{true: "is", false: "are"}[s.near == 1], nearVector))
	}
	if s.moved > 0 {
		out = append(out, fmt.Sprintf("%d of the %d that were looked up belong to other texts", s.moved, max(s.searched, s.moved)))
	}
	if without := s.drawn - s.compared; without > 0 {
		out = append(out, fmt.Sprintf("%d stored without a vector, or with zeros", without))
	}
	if s.open > 0 {
		out = append(out, fmt.Sprintf("%d with a median cosine of %.3f, and %d of %s nearest to their own among %d texts, %s", s.open, s.median(), s.own, isAre(s.differ), s.among, s.kinship()))
	}
	return out
}

func (s sample) kinship() string {
	switch s.kin {
	case kinRelative:
		return fmt.Sprintf("by chance in at most 1 of %d samples: the same model or a close relative, and a difference that is not explained (precision, revision, pooling, input, or an edited text)", int(1/chance))
	case kinStranger:
		return "no more than chance gives: another model"
	}
	return "too few to tell another model from another difference"
}

// median returns the median cosine of the vectors that nothing explains, or the lower of the two in the middle.
func (s sample) median() float64 {
	return slices.Sorted(slices.Values(s.cosines))[(len(s.cosines)-1)/2]
}

func isAre(n int) string {
	if n == 1 {
		return "1 is"
	}
	return strconv.Itoa(n) + " are"
}

func percent(v measure.Value) string {
	return strconv.FormatFloat(100*v.Float(), 'f', 1, 64) + " %"
}

// way says how a text was embedded.
func (x *facts) way(t *matrix.EmbedTried) string {
	e := x.o.Store.Embed
	told := func(p *string) bool { return p != nil && *p == t.Prefix }
	switch {
	case t.Words > 0:
		return "by the start of their text alone"
	case told(x.e.Pins.Index.PassagePrefix), told(e.IndexPassage):
		return fmt.Sprintf("with the passage prefix that is pinned or declared for the index (%q)", t.Prefix)
	case t.Prefix == "":
		return "with no prefix"
	case t.Prefix == e.QueryPrefix:
		return fmt.Sprintf("with the query prefix (%q)", t.Prefix)
	}
	return fmt.Sprintf("with the prefix %q", t.Prefix)
}

// declared says which models the index declares, and which embeds the queries.
func (x *facts) declared() string {
	e := x.o.Store.Embed
	var told []string
	if e.IndexModel != "" {
		told = append(told, e.IndexModel)
	} else if pinned := x.e.Pins.Index.EmbedModel; pinned != "" {
		told = append(told, pinned+" (pinned)")
	}
	if len(e.DeclaredPerItem) > 0 {
		told = append(told, perItem(e))
	}
	return fmt.Sprintf("the index declares %s, queries are embedded by %s", orElse(strings.Join(told, "; "), "nothing"), e.QueryModel)
}

// perItem counts the items by the model that they declare, the most frequent first.
func perItem(e *matrix.EmbedFacts) string {
	names := slices.SortedFunc(maps.Keys(e.DeclaredPerItem), func(a, b string) int {
		if d := e.DeclaredPerItem[b] - e.DeclaredPerItem[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s of %s", orElse(name, "no model"), counted(e.DeclaredPerItem[name], "item", "items")))
	}
	return strings.Join(parts, ", ")
}

// declaredNames lists the different models that the collection and its items declare; all is false where items declare none and
// the collection does not speak for them.
func declaredNames(e *matrix.EmbedFacts) (names []string, all bool) {
	all = e.IndexModel != "" || len(e.DeclaredPerItem) > 0
	if e.IndexModel != "" {
		names = append(names, e.IndexModel)
	}
	for _, name := range slices.Sorted(maps.Keys(e.DeclaredPerItem)) {
		switch {
		case e.DeclaredPerItem[name] == 0:
		case name == "":
			all = all && e.IndexModel != ""
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names, all
}

// lengths says how long the stored vectors are, where length decides the rank.
func lengths(e *matrix.EmbedFacts) string {
	if e.IndexDistance != "dot" {
		return ""
	}
	var low, high *matrix.Decimal
	for i := range e.Sample {
		n := &e.Sample[i].Norm
		if *n == "" {
			continue
		}
		if low == nil || n.Float() < low.Float() {
			low = n
		}
		if high == nil || n.Float() > high.Float() {
			high = n
		}
	}
	if low == nil || high.Float() <= 1.01*low.Float() {
		return ""
	}
	return fmt.Sprintf("; the distance is a dot product and the vectors are %s to %s long, so length weighs", *low, *high)
}

func prefixed(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// embedFindings reports what is odd about the vectors or their names and is not the cause. Names that differ over vectors that
// match are no defect. A part of the index that does not match is told by the check, and not again with every case; nor is
// anything of the index as a whole told of a case that passes.
func (w *walker) embedFindings() []string {
	e := w.o.Store.Embed
	if e == nil || w.keyword() || w.outcome == Pass {
		return nil
	}
	var out []string
	behaviour, says := w.behaviour(e)
	names, _ := declaredNames(e)
	match := map[bool]string{true: ": the names differ, the vectors do not; " + says}[behaviour == matrix.Yes]
	switch {
	case len(names) > 1:
		out = append(out, "embed: several models are declared: "+w.declared()+match)
	case len(names) == 1 && names[0] != e.QueryModel && behaviour == matrix.Yes:
		out = append(out, "embed: "+w.declared()+match)
	}
	blamed := slices.ContainsFunc(w.defects, func(d Defect) bool { return d.Stage == StageEmbed })
	if behaviour == matrix.No && !blamed && !w.otherLength() && w.sample(&goldState{}).matching == 0 {
		out = append(out, "embed: "+says+"; "+w.declared())
	}
	return out
}
