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

	mu      sync.Mutex           // for what was read
	read    map[string]*prose    // texts: of the case, what was packed and what was answered
	checked map[string][]checked // by the text of the answer
}

// checked is an answer that was judged, and what with.
type checked struct {
	said   Said
	packed []matrix.Packed
	bare   bool // it cites nothing and rests on nothing that was packed, as a refusal does: it is judged so in every context
	AnswerCheck
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
	compile := func(where func() string, sources []string) []*pattern {
		out := make([]*pattern, 0, len(sources))
		for _, s := range sources {
			p, err := newPattern(s, k.prose)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", where(), err))
				continue
			}
			out = append(out, p)
		}
		return out
	}
	said := k.readCase(c)
	for _, claim := range c.Claims {
		k.claims = append(k.claims, claimPatterns{
			id:    claim.ID,
			said:  slices.Concat(said, k.readAll(append([]string{claim.Says}, claim.Any...))),
			any:   compile(func() string { return fmt.Sprintf("claim %q, any", claim.ID) }, claim.Any),
			never: compile(func() string { return fmt.Sprintf("claim %q, never", claim.ID) }, claim.Never),
			cites: claim.Cites,
		})
	}
	k.refusal = compile(func() string { return "refusal phrase" }, refusal)
	return k, errors.Join(problems...)
}

// Check judges an answer that was given with packed as its context.
func (k *Checker) Check(answer string, packed []matrix.Packed) AnswerCheck {
	return k.CheckSaid(Said{Text: answer}, packed)
}

// CheckSaid judges what an answer says, its form read. An answer is judged once, in each context in which that could come out otherwise.
func (k *Checker) CheckSaid(said Said, packed []matrix.Packed) AnswerCheck {
	k.mu.Lock()
	earlier := k.checked[said.Text]
	k.mu.Unlock()
	if i := slices.IndexFunc(earlier, func(c checked) bool { return k.checksAlike(&c, &said, packed) }); i >= 0 {
		return earlier[i].AnswerCheck
	}
	var items []read
	asked := false
	c := k.check(said, packed, func() []read {
		if !asked {
			items, asked = k.context(packed), true
		}
		return items
	})
	bare := !asked && len(said.Cited) == 0 && (said.Declared || !mayCite(said.Text))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.checked == nil {
		k.checked = map[string][]checked{}
	}
	k.checked[said.Text] = append(k.checked[said.Text], checked{said, packed, bare, c})
	return c
}

// checksAlike reports whether [Checker.check] finds what it found before in an answer of the same text: it reads what is compared here,
// and nothing else.
func (k *Checker) checksAlike(c *checked, said *Said, packed []matrix.Packed) bool {
	return c.said.Refused == said.Refused && c.said.Declared == said.Declared && slices.Equal(c.said.Cited, said.Cited) &&
		(c.bare || slices.EqualFunc(c.packed, packed, func(p, q matrix.Packed) bool {
			return p.ID == q.ID && p.Position == q.Position && p.Source == q.Source && p.Text.Value == q.Text.Value && k.ofEvidence(&p) == k.ofEvidence(&q)
		}))
}

func (k *Checker) check(said Said, packed []matrix.Packed, context func() []read) AnswerCheck {
	text := k.prose(withoutPositions(said.Text))
	c := AnswerCheck{Claims: make([]ClaimResult, 0, len(k.claims))}
	c.Empty = !said.Refused && text.text == "" && foldString(said.Text) == ""
	c.Citations, c.Fabricated = said.citations(packed)
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
	for i := range packed {
		if p := &packed[i]; p.Text.Value != "" {
			out = append(out, read{p.ID, k.ofEvidence(p), k.prose(p.Text.Value)})
		}
	}
	return out
}

// ofEvidence reports whether a packed item comes from a source of the evidence.
func (k *Checker) ofEvidence(p *matrix.Packed) bool {
	return p.Gold || slices.Contains(k.sources, p.Source) || slices.Contains(k.sources, p.ID)
}

// prose reads a text once, however often it is given.
func (k *Checker) prose(text string) *prose {
	k.mu.Lock()
	p := k.read[text]
	k.mu.Unlock()
	if p != nil {
		return p
	}
	p = readProse(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read == nil {
		k.read = map[string]*prose{}
	}
	k.read[text] = p
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
