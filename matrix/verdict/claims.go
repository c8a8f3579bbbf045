package verdict

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
)

// Checker judges the answers to one case: which claims they meet, whether they refuse, what they cite. It is deterministic, and safe for
// concurrent use.
//
// Literals are compared token by token on normalised text: case, white space, kinds of quotation marks and dashes, marks of Markdown, tags
// of HTML and "n't" for "not" do not matter; words and numbers are compared whole, so that "30 days" is not found in "130 days", nor "4.2"
// in "4.25". Numbers are compared by value, also spelled ones; dates by date; quantities with a unit by what they come to, so that "90
// minutes" is stated by "1.5 hours" and "€60" by "60 euros" (see [quantity]). Nothing is approximate.
// A quantity under a bound or with a rate that the case does not speak of is another quantity: "60 crowns" is not stated by "less than
// 60 crowns", nor by "60 crowns an hour"; see [NearBounded], [NearRate], [NearRange], [NearUndecided] and [NearFormer]. A literal with a hyphen, or with a digit in a word, is not
// found inside a longer hyphenated word.
// An expression between slashes sees the same normalised text with its case kept and white space made single spaces.
type Checker struct {
	expect  matrix.Expect
	claims  []claimPatterns
	refusal []*pattern
	asked   []*prose
	sources []string // of the evidence
	texts   sync.Map // by text reference: what was packed, read
	answers sync.Map // by text: what was answered, read
}

type claimPatterns struct {
	id         string
	said       []*prose // by the case, of this claim
	any, never []*pattern
	cites      []string
}

// AnswerCheck is what an answer says.
type AnswerCheck struct {
	Claims     []ClaimResult // one for each claim of the case, in its order
	Refused    bool          // it holds a refusal phrase, or is declared a refusal, and meets no claim
	Declines   bool          // it reads like a refusal and states no fact, but holds no phrase that is declared
	Empty      bool          // there is no text; that is never a refusal
	Meets      bool          // what the case expects
	Citations  []string      // ids of packed items that it cites, in the order of their first mention
	Fabricated []string      // what it cites and was not packed, as it is written there
}

// NewChecker compiles a case's claims and the declared refusal phrases. Its error names every alternate that cannot be compiled.
func NewChecker(c *matrix.Case, refusal []string) (*Checker, error) {
	k := &Checker{expect: c.Expect}
	var problems []error
	compile := func(where string, sources []string) []*pattern {
		var out []*pattern
		for _, s := range sources {
			p, err := newPattern(s)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", where, err))
				continue
			}
			out = append(out, p)
		}
		return out
	}
	asked, said, sources := readCase(c)
	k.asked, k.sources = asked, sources
	for _, claim := range c.Claims {
		k.claims = append(k.claims, claimPatterns{
			id:    claim.ID,
			said:  slices.Concat(said, readAll(append([]string{claim.Says}, claim.Any...))),
			any:   compile(fmt.Sprintf("claim %q, any", claim.ID), claim.Any),
			never: compile(fmt.Sprintf("claim %q, never", claim.ID), claim.Never),
			cites: claim.Cites,
		})
	}
	k.refusal = compile("refusal phrase", refusal)
	return k, errors.Join(problems...)
}

// Check judges an answer that was given with packed as its context.
func (k *Checker) Check(answer string, packed []matrix.Packed) AnswerCheck {
	return k.CheckSaid(Said{Text: answer}, packed)
}

// CheckSaid judges what an answer says, its form read.
func (k *Checker) CheckSaid(said Said, packed []matrix.Packed) AnswerCheck {
	text := k.answer(withoutPositions(said.Text))
	c := AnswerCheck{Claims: make([]ClaimResult, 0, len(k.claims))}
	c.Empty = !said.Refused && text.text == "" && foldString(said.Text) == ""
	c.Citations, c.Fabricated = said.citations(packed)
	context := sync.OnceValue(func() []read { return k.context(packed) })
	stated, violated, missing := false, false, false
	knows := &known{context: context}
	for i := range k.claims {
		*knows = known{said: k.claims[i].said, context: context}
		result, says := k.claims[i].check(text, context, c.Citations, knows, packed)
		c.Claims = append(c.Claims, result)
		stated = stated || says
		violated = violated || result.State == ClaimViolated
		missing = missing || result.State == ClaimMissing
	}
	c.Refused = !c.Empty && !stated && (said.Refused || k.refuses(text))
	c.Declines = !c.Empty && !c.Refused && !stated && !violated && len(c.Citations)+len(c.Fabricated) == 0 && declines(text)
	switch k.expect {
	case matrix.ExpectAbstain, matrix.ExpectClarify:
		c.Meets = c.Refused && !violated
	default:
		c.Meets = !c.Empty && !c.Refused && !violated && !missing
	}
	return c
}

// check judges one claim. says reports whether the answer states one of its alternates.
func (c *claimPatterns) check(text *prose, context func() []read, cited []string, k *known, packed []matrix.Packed) (result ClaimResult, says bool) {
	result = ClaimResult{ID: c.id, State: ClaimMet}
	place := func(at stated) *Extent {
		e := text.origin(at)
		return &e
	}
	for _, p := range c.any {
		at, found, miss := p.findQuantity(text, k)
		if found {
			says = true
			result.Near, result.At = "", place(at)
			break
		}
		if nearer(result.Near, miss) != result.Near {
			result.Near, result.At = miss, place(at)
		}
	}
	if len(c.any) > 0 && !says || len(c.cites) > 0 && len(citing(c.cites, cited, packed)) == 0 {
		result.State = ClaimMissing
	}
	supported := c.any
	for _, p := range c.never {
		at, found, miss := p.find(text)
		switch {
		case found && result.State != ClaimViolated:
			result.State, result.Near, result.At, supported = ClaimViolated, "", place(at), c.never
		case !found && result.At == nil && (miss == NearAmbiguousDate || miss == NearAmbiguousNumber):
			result.Near, result.At = miss, place(at) // it may be what must not be stated
		}
	}
	switch {
	case result.At != nil && result.Near == "":
		result.Support = supporters(supported, context())
	case len(c.any) == 0 && len(c.cites) > 0:
		result.Support = citing(c.cites, cited, packed)
	}
	return result, says
}

// supporters returns the ids of the items whose text states one of the patterns.
func supporters(patterns []*pattern, items []read) (ids []string) {
	for _, item := range items {
		if slices.ContainsFunc(patterns, func(p *pattern) bool {
			_, found, _ := p.find(item.prose)
			return found
		}) {
			ids = append(ids, item.id)
		}
	}
	return ids
}

// read is a packed item, its text read.
type read struct {
	id    string
	gold  bool // it comes from a source of the evidence
	prose *prose
}

// context reads the packed items whose texts are told.
func (k *Checker) context(packed []matrix.Packed) []read {
	var out []read
	for _, p := range packed {
		if p.Text.Value == "" {
			continue
		}
		out = append(out, read{p.ID, p.Gold || slices.Contains(k.sources, p.Source) || slices.Contains(k.sources, p.ID), k.prose(p.Text)})
	}
	return out
}

// prose reads a text once, however often it is packed.
func (k *Checker) prose(t matrix.Text) *prose {
	if t.Ref == "" {
		return readProse(t.Value)
	}
	if known, ok := k.texts.Load(t.Ref); ok {
		return known.(*prose)
	}
	p := readProse(t.Value)
	k.texts.Store(t.Ref, p)
	return p
}

// answer reads an answer once, however often it was given.
func (k *Checker) answer(text string) *prose {
	if known, ok := k.answers.Load(text); ok {
		return known.(*prose)
	}
	p := readProse(text)
	k.answers.Store(text, p)
	return p
}

// citing returns the cited packed items that have one of the wanted ids or sources.
func citing(wanted, cited []string, packed []matrix.Packed) (ids []string) {
	for _, p := range packed {
		if slices.Contains(cited, p.ID) && (slices.Contains(wanted, p.ID) || p.Source != "" && slices.Contains(wanted, p.Source)) {
			ids = withName(ids, p.ID)
		}
	}
	return ids
}

// refuses reports whether the text holds a declared refusal phrase.
func (k *Checker) refuses(text *prose) bool {
	return slices.ContainsFunc(k.refusal, func(p *pattern) bool { return p.holds(text) })
}
