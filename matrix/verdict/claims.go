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
// Literals are compared token by token on normalised text: case, white space, kinds of quotation marks and dashes, emphasis marks and
// "n't" for "not" do not matter; words and numbers are compared whole, so that "30 days" is not found in "130 days", nor "4.2" in "4.25".
// Numbers are compared by value, dates by date, and the common units behind a number by what they stand for. Nothing is approximate.
// A quantity under a bound or with a rate that the case does not speak of is another quantity: "60 crowns" is not stated by "less than
// 60 crowns", nor by "60 crowns per hour"; see [NearBounded] and [NearRate]. A literal with a hyphen, or with a digit in a word, is not
// found inside a longer hyphenated word.
// An expression between slashes sees the same normalised text with its case kept and white space made single spaces.
type Checker struct {
	expect  matrix.Expect
	claims  []claimPatterns
	refusal []*pattern
	sources []string // of the evidence
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
	said, sources := readCase(c)
	k.sources = sources
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
	text := readProse(withoutPositions(said.Text))
	var c AnswerCheck
	c.Empty = !said.Refused && text.text == "" && foldString(said.Text) == ""
	c.Citations, c.Fabricated = said.citations(packed)
	gold := sync.OnceValue(func() []*prose { return k.packedGold(packed) })
	stated, violated, missing := false, false, false
	for i := range k.claims {
		result, says := k.claims[i].check(text, gold, c.Citations, packed)
		c.Claims = append(c.Claims, result)
		stated = stated || says
		violated = violated || result.State == ClaimViolated
		missing = missing || result.State == ClaimMissing
	}
	c.Refused = !c.Empty && !stated && (said.Refused || k.refuses(text))
	switch k.expect {
	case matrix.ExpectAbstain, matrix.ExpectClarify:
		c.Meets = c.Refused && !violated
	default:
		c.Meets = !c.Empty && !c.Refused && !violated && !missing
	}
	return c
}

// check judges one claim. says reports whether the answer states one of its alternates.
func (c *claimPatterns) check(text *prose, gold func() []*prose, cited []string, packed []matrix.Packed) (result ClaimResult, says bool) {
	result = ClaimResult{ID: c.id, State: ClaimMet}
	near := ""
	known := &known{said: c.said, gold: gold}
	for _, p := range c.any {
		_, found, miss := p.findQuantity(text, known)
		if found {
			says, near = true, ""
			break
		}
		near = nearer(near, miss)
	}
	if len(c.any) > 0 && !says || len(c.cites) > 0 && !citesOne(c.cites, cited, packed) {
		result.State, result.Near = ClaimMissing, near
	}
	for _, p := range c.never {
		if _, found, _ := p.find(text); found {
			result.State, result.Near = ClaimViolated, ""
		}
	}
	return result, says
}

// packedGold returns the texts of the items that come from a source of the evidence.
func (k *Checker) packedGold(packed []matrix.Packed) []*prose {
	var texts []string
	for _, p := range packed {
		if p.Gold || slices.Contains(k.sources, p.Source) || slices.Contains(k.sources, p.ID) {
			texts = append(texts, p.Text.Value)
		}
	}
	return readAll(texts)
}

// citesOne reports whether one of the wanted ids or sources belongs to a packed item that is cited.
func citesOne(wanted, cited []string, packed []matrix.Packed) bool {
	return slices.ContainsFunc(packed, func(p matrix.Packed) bool {
		return slices.Contains(cited, p.ID) && (slices.Contains(wanted, p.ID) || p.Source != "" && slices.Contains(wanted, p.Source))
	})
}

// refuses reports whether the text holds a declared refusal phrase.
func (k *Checker) refuses(text *prose) bool {
	return slices.ContainsFunc(k.refusal, func(p *pattern) bool { return p.holds(text) })
}
