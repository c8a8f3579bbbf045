package experiments

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// lintCases reports what a schema cannot say of cases.
func (l *loader) lintCases(cases []placedCase) {
	defer func() { l.about = "" }()
	for _, c := range cases {
		l.about = c.id
		l.lintQuestion(c)
		l.lintClaims(c)
		l.lintEvidence(c)
		l.lintNames(c)
	}
	l.about = ""
	if len(cases) == 0 && len(l.problems) == 0 {
		l.add(Problem{Message: "this experiment has no case: write one, such as cases/first.yaml, and name it under cases"})
	}
}

func (l *loader) lintQuestion(c placedCase) {
	query, messages := c.node.get("query"), c.node.get("messages")
	switch {
	case query == nil && messages == nil:
		if !c.node.lost("query") && !c.node.lost("messages") {
			l.fail(c.node.at, "%s asks nothing: write query, or messages for a conversation", c.name())
		}
	case query != nil && messages != nil:
		l.fail(messages.at, "%s has query and messages: keep one of the two", c.name())
	case query != nil && strings.TrimSpace(query.text) == "":
		l.fail(query.at, "query is empty: write the question as the user typed it")
	case messages != nil && len(messages.cut)+len(messages.items[len(messages.items)-1].cut) == 0 && c.Case.Messages[len(c.Case.Messages)-1].Role != "user":
		l.fail(messages.items[len(messages.items)-1].at, "the last message is the question, so its role must be user")
	}
}

func (l *loader) lintClaims(c placedCase) {
	if len(c.Case.Claims) == 0 && c.Case.Expect == matrix.ExpectAnswer && !c.node.lost("claims", anything) && !c.node.lost("expect") {
		l.fail(c.node.at, "%s checks nothing: add claims that a right answer must meet, or expect: abstain", c.name())
	}
	l.lintEmptyClaims(c)
	taken := map[string]position{}
	for i, claim := range c.Case.Claims {
		n, _ := c.node.find("claims", strconv.Itoa(i))
		at := n.place("id")
		if first, ok := taken[claim.ID]; ok && claim.ID != "" {
			l.fail(at, "claim %s is given twice, first at %s: give each its own id", show(claim.ID), first)
		}
		taken[claim.ID] = at
		if len(claim.Any)+len(claim.Never)+len(claim.Cites) == 0 && !n.lost("any") && !n.lost("never") && !n.lost("cites") {
			l.fail(n.at, "claim %s cannot be checked: add any (what the answer must hold), never (what it must not) or cites (sources)", show(claim.ID))
		}
		for _, key := range []string{"any", "never"} {
			wordings := n.get(key)
			if wordings == nil {
				continue
			}
			for _, wording := range wordings.items {
				l.lintWording(wording)
			}
		}
		l.lintCommonWords(claim.ID, n.get("any"))
	}
	l.lintContradiction(c)
}

func (l *loader) lintEvidence(c placedCase) {
	required := c.node.get("evidence").get("required")
	for i, requirement := range c.Case.Evidence.Required {
		for j, gold := range requirement.AnyOf {
			l.lintGold(c, gold, goldNode(required, i, j))
		}
	}
	if c.Case.Expect == matrix.ExpectAbstain && c.Case.HasGold() {
		l.warn(required.at, "%s expects a refusal and requires evidence: if the store holds the answer, expect: answer", c.name())
	}
	for i, d := range c.Case.Evidence.Distractors {
		for _, requirement := range c.Case.Evidence.Required {
			for _, gold := range requirement.AnyOf {
				if d.Source == gold.Source && d.Revision == gold.Revision && d.Text == "" {
					l.warn(c.node.place("evidence", "distractors", strconv.Itoa(i)), "distractor %s is also required evidence: name another item, or give its revision or text", show(d.Source))
				}
			}
		}
	}
}

// goldNode returns the node of alternative j of required item i.
func goldNode(required *node, i, j int) *node {
	item := required.items[i]
	if alternatives := item.get("any_of"); alternatives != nil {
		return alternatives.items[j]
	}
	return item
}

func (l *loader) lintGold(c placedCase, gold matrix.Gold, n *node) {
	if n.lost("span") {
		return
	}
	if strings.TrimSpace(gold.Span) == "" {
		l.fail(n.place("span"), "span is empty: a required item needs the words that must be found in the store")
		return
	}
	if gold.Text == "" {
		return
	}
	text := letters(gold.Text)
	if !strings.Contains(text, letters(gold.Span)) {
		l.fail(n.place("text"), "text does not hold the span %s: copy both from the document", show(gold.Span))
	}
	for _, claim := range c.Case.Claims {
		for _, wording := range append([]string{claim.Says}, claim.Any...) {
			if wording != "" && letters(wording) == text {
				l.warn(n.place("text"), "text merely repeats the wording of claim %s: copy it from the document, or run B proves nothing", show(claim.ID))
				return
			}
		}
	}
}

// lintNames reports characters that cannot be seen in what is compared as a name.
func (l *loader) lintNames(c placedCase) {
	name := func(n *node, what string) {
		if n == nil || n.form != scalar {
			return
		}
		if found := hidden(n.text); found != "" {
			l.fail(n.at, "%s %s holds %s: take it out, or nothing will match", what, show(n.text), found)
		}
	}
	evidence := c.node.get("evidence")
	if required := evidence.get("required"); required != nil {
		for i, requirement := range c.Case.Evidence.Required {
			for j := range requirement.AnyOf {
				gold := goldNode(required, i, j)
				name(gold.get("source"), "source")
				name(gold.get("revision"), "revision")
			}
		}
	}
	if distractors := evidence.get("distractors"); distractors != nil {
		for _, n := range distractors.items {
			name(n.get("source"), "source")
			name(n.get("revision"), "revision")
		}
	}
	if claims := c.node.get("claims"); claims != nil {
		for _, n := range claims.items {
			name(n.get("id"), "claim id")
			if cites := n.get("cites"); cites != nil {
				for _, source := range cites.items {
					name(source, "source")
				}
			}
		}
	}
	if as := c.node.get("as"); as != nil {
		for _, f := range as.fields {
			name(&node{at: f.at, text: f.key}, "attribute")
			name(f.value, "value")
			for _, value := range f.value.items {
				name(value, "value")
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Case.Tags)) {
		if found := hidden(key); found != "" {
			l.fail(c.node.place("tags"), "tag %s holds %s: take it out", show(key), found)
		}
	}
}
