package verdict

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// Answers that are wrong for every case, and no refusals.
const (
	wrongAnswer  = "zzz"
	wrongForNone = "The Nile."
)

// SelfTest holds a case's checkers against answers of which it is known what they must make: the gold text must meet every claim
// and violate none, each refusal phrase must be a refusal, and a wrong answer, the gold with its numbers changed, and an empty
// answer must fail. It returns one sentence for each thing that is wrong; checkers may judge only when there is none.
// Without gold texts, what rests on them is not tested.
func SelfTest(c *matrix.Case, goldTexts, refusal []string) []string {
	k, err := NewChecker(c, refusal)
	if err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return k.selfTest(goldTexts)
}

func (k *Checker) selfTest(goldTexts []string) []string {
	t := selfTest{checker: k}
	gold := strings.Join(goldTexts, "\n\n")
	if strings.TrimSpace(gold) != "" {
		t.gold(gold)
		t.changed(gold)
	}
	t.wrong()
	t.refusals()
	return t.problems
}

type selfTest struct {
	checker  *Checker
	problems []string
}

func (t *selfTest) say(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func (t *selfTest) gold(gold string) {
	text := t.checker.prose(gold)
	for i := range t.checker.claims {
		claim := &t.checker.claims[i]
		near, met := "", len(claim.any) == 0
		for _, p := range claim.any {
			_, found, miss := p.find(text)
			met = met || found
			near = nearer(near, miss)
		}
		if !met && near != "" {
			t.say("gold does not support claim %q: the nearest it says is a near miss (%s)", claim.id, near)
		} else if !met {
			t.say("gold does not support claim %q: none of its alternates stands in the gold text", claim.id)
		}
		for _, p := range claim.never {
			if at, found, _ := p.find(text); found {
				t.say("gold states what claim %q says must never be stated: %q", claim.id, text.text[at.start:at.finish])
			}
		}
	}
}

// changed gives the gold with every digit replaced as an answer: an alternate that asks for a number must not accept it.
func (t *selfTest) changed(gold string) {
	digit, ok := t.unusedDigit()
	if !ok {
		return
	}
	text := t.checker.prose(strings.Map(func(r rune) rune {
		if isDigit(r) {
			return digit
		}
		return r
	}, gold))
	for i := range t.checker.claims {
		for _, p := range t.checker.claims[i].any {
			at, found, _ := p.find(text)
			if found && p.numeric() && strings.ContainsRune(text.text[at.start:at.finish], digit) {
				t.say("claim %q accepts the gold with its numbers changed: %q matches %q", t.checker.claims[i].id, p.source, text.text[at.start:at.finish])
				break
			}
		}
	}
}

// unusedDigit finds a digit of which no alternate's number consists alone: with claims that want 8 days, 8 is no change.
func (t *selfTest) unusedDigit() (rune, bool) {
	used := map[rune]bool{}
	for _, claim := range t.checker.claims {
		for _, p := range claim.any {
			for run := range strings.FieldsFuncSeq(p.source, func(r rune) bool { return !isDigit(r) }) {
				if strings.Trim(run, run[:1]) == "" {
					used[rune(run[0])] = true
				}
			}
		}
	}
	for _, r := range "87654321" {
		if !used[r] {
			return r, true
		}
	}
	return 0, false
}

// numeric reports whether the pattern asks for digits: it holds one, quantifiers aside, or a class of them.
func (p *pattern) numeric() bool {
	if p.expr == nil {
		return strings.ContainsAny(p.source, "0123456789")
	}
	source := p.expr.String()
	if strings.Contains(source, `\d`) || strings.Contains(source, "[:digit:]") {
		return true
	}
	depth := 0
	for _, r := range source {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case depth == 0 && isDigit(r):
			return true
		}
	}
	return false
}

func (t *selfTest) wrong() {
	text := t.checker.prose(wrongAnswer)
	for i := range t.checker.claims {
		for _, p := range t.checker.claims[i].any {
			if p.expr != nil && p.expr.MatchString("") {
				t.say("claim %q is broken: expression %q matches the empty text", t.checker.claims[i].id, p.source)
			} else if _, found, _ := p.find(text); found {
				t.say("claim %q is broken: %q matches the wrong answer %q", t.checker.claims[i].id, p.source, wrongAnswer)
			} else if p.expr == nil && !p.holds(p.values) {
				t.say("claim %q is broken: %q does not match itself", t.checker.claims[i].id, p.source)
			}
		}
		for _, p := range t.checker.claims[i].never {
			if p.expr != nil && p.expr.MatchString("") {
				t.say("claim %q is broken: expression %q matches the empty text", t.checker.claims[i].id, p.source)
			}
		}
	}
}

func (t *selfTest) refusals() {
	abstains := t.checker.expect == matrix.ExpectAbstain || t.checker.expect == matrix.ExpectClarify
	if abstains && len(t.checker.refusal) == 0 {
		t.say("the case expects a refusal and no refusal phrase is declared: add one to pipeline.refusal")
	}
	for _, p := range t.checker.refusal {
		if p.expr != nil {
			if p.expr.MatchString("") {
				t.say("refusal phrase %q matches the empty text", p.source)
			}
			continue
		}
		check := t.checker.Check(p.source, nil)
		for _, claim := range check.Claims {
			if claim.State == ClaimViolated {
				t.say("refusal phrase %q states what claim %q says must never be stated", p.source, claim.ID)
			}
		}
		if !check.Refused {
			t.say("refusal phrase %q as an answer does not count as a refusal: it states a claim of the case", p.source)
		}
	}
	for _, answer := range []string{wrongAnswer, wrongForNone, ""} {
		check := t.checker.Check(answer, nil)
		if check.Refused {
			t.say("the refusal phrases take the answer %q for a refusal", answer)
		}
		if check.Meets && (abstains || answer != wrongForNone) && t.judges() {
			t.say("the wrong answer %q meets what the case expects", answer)
		}
	}
}

// judges reports whether anything could fail an answer: a case that expects an answer and has no claim cannot, and the reader warns of it.
func (t *selfTest) judges() bool {
	for _, c := range t.checker.claims {
		if len(c.any) > 0 {
			return true
		}
	}
	return t.checker.expect != matrix.ExpectAnswer && t.checker.expect != ""
}
