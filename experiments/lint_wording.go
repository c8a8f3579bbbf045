package experiments

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// lintEmptyClaims warns of a case that asks no answer to say anything: what must not be stated is also not stated by "Bananas are
// yellow.", and a citation can follow any text.
func (l *loader) lintEmptyClaims(c placedCase) {
	if len(c.Case.Claims) == 0 || c.Case.Expect != matrix.ExpectAnswer || c.node.lost("claims", anything) || c.node.lost("expect") {
		return
	}
	cited := ""
	for i, claim := range c.Case.Claims {
		n, _ := c.node.find("claims", strconv.Itoa(i))
		if len(claim.Any) > 0 || n.lost("any") || len(claim.Never)+len(claim.Cites) == 0 { // the last is a mistake of its own
			return
		}
		if len(claim.Cites) > 0 {
			cited = " with the right citation"
		}
	}
	l.warn(c.node.place("claims"), "%s does not say what a right answer holds: \"Bananas are yellow.\" passes%s, so add a claim with any", c.name(), cited)
}

// lintWording checks a literal or /RE2/.
func (l *loader) lintWording(n *node) {
	text := strings.TrimSpace(n.text)
	if text == "" {
		l.fail(n.at, "a wording is empty: every answer would hold it")
		return
	}
	inner, flags, ok := expression(text)
	if !ok {
		return
	}
	if flags != "" || text != n.text {
		l.lintLiteralSlashes(n, inner, flags)
		return
	}
	compiled, err := regexp.Compile(inner)
	switch {
	case err != nil:
		l.fail(n.at, "%s is not an RE2 expression: %s", show(text), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case compiled.MatchString(""):
		l.fail(n.at, "%s matches empty text, so it holds for every answer", show(text))
	}
}

var slashed = regexp.MustCompile(`^/(.*)/([gimsuxy]{0,5})$`)

// expression parts what stands between slashes from the letters behind them, which other languages take for flags.
func expression(text string) (inner, flags string, ok bool) {
	m := slashed.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// lintLiteralSlashes tells of what looks like an expression and is taken word for word. Without signs of an expression it may
// be a path.
func (l *loader) lintLiteralSlashes(n *node, inner, flags string) {
	report := l.warn
	if strings.ContainsAny(inner, `*+?()[]|\^$`) {
		report = l.fail
	}
	known := strings.Map(func(r rune) rune { // the flags that RE2 has
		if strings.ContainsRune("ims", r) {
			return r
		}
		return -1
	}, flags)
	meant := "/" + inner + "/"
	if known != "" {
		meant = "/(?" + known + ")" + inner + "/"
	}
	if flags == "" {
		report(n.at, "%s is taken word for word, since space stands around it: write %s for an expression", show(n.text), show(meant))
		return
	}
	report(n.at, "%s is taken word for word, since an expression ends with its slash: write %s, with flags inside", show(n.text), show(meant))
}

// lintContradiction reports wordings that a case both asks for and forbids.
func (l *loader) lintContradiction(c placedCase) {
	claims := c.node.get("claims")
	if claims == nil {
		return
	}
	type place struct {
		claim string
		at    position
	}
	forbidden := map[string][]place{}
	for _, claim := range claims.items {
		id := ""
		if n := claim.get("id"); n != nil {
			id = n.text
		}
		for _, n := range claim.get("never").entries() {
			forbidden[plainly(n.text)] = append(forbidden[plainly(n.text)], place{id, n.at})
		}
	}
	for _, claim := range claims.items {
		for _, n := range claim.get("any").entries() {
			for _, other := range forbidden[plainly(n.text)] {
				if own := claim.get("id"); own != nil && own.text == other.claim {
					l.fail(n.at, "%s stands in any and in never of claim %s: an answer that holds it passes and fails, so keep one of the two", show(n.text), show(other.claim))
				} else {
					l.warn(n.at, "claim %s never allows %s (%s), so this wording can never pass", show(other.claim), show(n.text), other.at)
				}
			}
		}
	}
}

// entries returns the values of a list, if it is one.
func (n *node) entries() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// plainly takes away what makes no difference to where a literal is found. Expressions stay as they are.
func plainly(wording string) string {
	if _, _, ok := expression(wording); ok {
		return wording
	}
	return strings.ToLower(strings.Join(strings.Fields(wording), " "))
}

// lintCommonWords warns of a claim that is met by an answer to anything.
func (l *loader) lintCommonWords(claim string, wordings *node) {
	for _, n := range wordings.entries() {
		if slices.Contains(commonWords(), strings.TrimSpace(n.text)) {
			l.warn(n.at, "%s stands in answers of every kind, so a wrong one meets claim %s, too: add the words around it", show(n.text), show(claim))
		}
	}
}

// commonWords are the English words that say nothing alone. Yes and no are answers, and capitals may make a name of a word.
func commonWords() []string {
	return strings.Fields("a about all an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it " +
		"its may me more most must my not of on or other our shall she should so some such than that the their them then there these they this " +
		"those to was we were what when where which who will with would you your")
}
