package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// wrongCopy fires when every fact is in the prompt but the required source cannot be cited, because the copy that stands
// there bears another id: either the right copy was removed as a duplicate, or a body was put under another id.
func (x *facts) wrongCopy(duplicate bool) finding {
	a := x.cells[matrix.CellA]
	if !a.fails() || !x.allInPrompt() || !onlyCitationsFail(x.c, a) {
		return no
	}
	t := x.productionTrial()
	for _, g := range x.gold {
		if g.packed.ByID != 0 && g.packed.ByID == g.packed.Packed {
			continue
		}
		i := slices.IndexFunc(t.Dropped, func(d matrix.Dropped) bool { return d.Reason == matrix.DroppedDuplicate && d.Of == g.packed.PackedID })
		switch {
		case duplicate && i >= 0:
			return yes(fmt.Sprintf("gold %s: %s was left out as a duplicate of %s, which is what can be cited", g.name(), t.Dropped[i].ID, t.Dropped[i].Of))
		case !duplicate && i < 0 && slices.Contains(x.production().Altered, g.packed.PackedID):
			return yes(fmt.Sprintf("gold %s: its text stands in the context under the id %s", g.name(), g.packed.PackedID))
		}
	}
	return no
}

// onlyCitationsFail reports whether most failing answers state every fact and miss only what they must cite. A generator that varies
// may now and then fail otherwise.
func onlyCitationsFail(c *matrix.Case, a *cellFacts) bool {
	cites := map[string]bool{}
	for _, claim := range c.Claims {
		cites[claim.ID] = len(claim.Cites) > 0
	}
	failing, only := a.failing(), 0
	for _, f := range failing {
		other := slices.ContainsFunc(f.Claims, func(r ClaimResult) bool { return r.State != ClaimMet && !cites[r.ID] })
		if !f.Refused && !other {
			only++
		}
	}
	return 2*only > len(failing)
}

func promptRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(p *TrialFeatures) bool) Rule {
		return Rule{
			Stage: StagePrompt, Label: label, grade: Shown, Needs: "the prompt as the model received it", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				if g.lost != lostInPrompt {
					return no
				}
				p, t := x.production(), x.productionTrial()
				if len(t.Prompt) == 0 {
					return unknown("the prompt as the model received it")
				}
				return when(fires(p), fmt.Sprintf("gold %s: packed at position %d, and its span does not reach the prompt", g.name(), g.packed.Packed),
					fmt.Sprintf("of %d packed items the prompt holds %d verbatim, %d in most of their words, %d by id", len(t.Packed), p.Carried, p.Worded, p.Named))
			},
		}
	}
	own := []Rule{
		rule("wrong-variable", "The prompt shows something else of the packed items than their text.",
			"packed ids stand in the prompt, packed texts do not", "bind the item's text in the template: {{text}}",
			"retrieval work: the evidence was packed",
			func(p *TrialFeatures) bool { return p.Worded == 0 && p.Carried == 0 && p.Named > 0 }),
		rule("not-serialised", "The packed context never reaches the prompt.",
			"the gold span in the exact prompt", "look at the template and at what fills its context",
			"retrieval and model work: the model answered without any context",
			func(p *TrialFeatures) bool { return p.Worded == 0 && p.Carried == 0 }),
		rule("escaped-away", "The evidence reaches the prompt changed: the span does not survive the template.",
			"the gold span in the exact prompt against the packed text", "escape nothing and replace nothing in retrieved text; fill the template once",
			"retrieval work: the evidence was packed",
			func(*TrialFeatures) bool { return true }),
	}
	return append(own,
		throughB("wrong-variable", "The gold context does not reach B's prompt either: it shows something else of the items than their text.", "bind the item's text in the template: {{text}}",
			func(p *TrialFeatures) bool { return p.Worded == 0 && p.Carried == 0 && p.Named > 0 }),
		throughB("not-serialised", "The gold context does not reach B's prompt either: no context does.", "look at the template and at what fills its context",
			func(p *TrialFeatures) bool { return p.Worded == 0 && p.Carried == 0 }),
		throughB("escaped-away", "The gold context reaches B's prompt changed: the span does not survive the template.", "escape nothing and replace nothing in retrieved text; fill the template once",
			func(*TrialFeatures) bool { return true }),
		Rule{
			Stage: StagePrompt, Label: "role-dropped", grade: Shown, Needs: "the prompt tokens that the server reports",
			Says:     "The message that carries the evidence never reached the model: the server left out every message of its role.",
			Decides:  "reported prompt tokens against a local count of each role's messages",
			TryFirst: "put the context into the user's message, or a chat template that knows the role",
			Wasted:   "retrieval and model work: the model answered without any context",
			once:     roleDropped,
		},
		Rule{
			Stage: StagePrompt, Label: "truncated-by-server", grade: Shown, Needs: "the prompt tokens that the server reports",
			Says:     "The server silently cut the prompt: it read fewer tokens than were sent.",
			Decides:  "how many tokens more the server reports for A than for the shorter B: none, or for the same local count less than half as many as for the gold in B; less than 3 in 5, where A's items in another order pass. A count or a ratio alone shows nothing, since its tokenizer is another and its template adds tokens",
			TryFirst: "raise the server's context length, or send less context",
			Wasted:   "prompt wording: the model never read all of it",
			once:     truncatedByServer,
		},
	)
}

// throughB is a defect of the prompt that production did not come to, because it lost the evidence before: B brings the
// evidence, and its prompt does not hold it. It is asked only where the first defect does not explain it.
func throughB(label, says, first string, fires func(*TrialFeatures) bool) Rule {
	return Rule{
		Stage: StagePrompt, Label: label, grade: Shown, Needs: "B's prompt as the model received it", Says: says,
		Decides: "the gold span in B's prompt, where the gold is the whole context", TryFirst: first, Wasted: "model work: it never saw the gold",
		once: func(x *facts) finding {
			b := x.cells[matrix.CellB]
			if b == nil || x.standIn || !x.cells[matrix.CellA].fails() || slices.ContainsFunc(x.gold, func(g *goldState) bool { return g.lost == lostInPrompt }) {
				return no
			}
			for i, f := range b.allF {
				lost := slices.ContainsFunc(f.Gold, func(g GoldPlace) bool { return g.Packed > 0 && !g.Prompt })
				if b.all[i].Status != matrix.StatusNotRun && lost && fires(f) {
					return yes(fmt.Sprintf("of %d gold items the prompt of B holds %d verbatim, %d in most of their words, %d by id", len(b.all[i].Packed), f.Carried, f.Worded, f.Named))
				}
			}
			return no
		},
	}
}

// truncatedByServer compares reported with local counts. The server's tokenizer is another than the local one and may read a text as
// half or as twice as many tokens, and its chat template adds some to every prompt: neither a count nor a ratio shows a cut by itself.
// What the cells of a case differ in does. A's prompt holds all that B's does and more; the server must have read the more.
func truncatedByServer(x *facts) finding {
	cell := x.sentWithGold()
	if cell == nil {
		return no
	}
	reported, local, ok := tokens(cell)
	if !ok || x.countsAlike() {
		return no
	}
	for _, shorter := range []matrix.CellID{matrix.CellB, "D/" + matrix.ClosedBook} {
		r, l, ok := tokens(x.cells[shorter])
		if !ok || shorter == cell.result.Cell || local-l < leastGrowth {
			continue
		}
		says := fmt.Sprintf("%s's prompt is %d tokens longer than that of %s by local count (%d, %d), and the server reports %d more (%d, %d)",
			cell.result.Cell, local-l, shorter, local, l, reported-r, reported, r)
		if reported <= r {
			return yes(strings.Replace(says, fmt.Sprintf("%d more", reported-r), "no more", 1))
		}
		// A tokenizer reads another text of the case half as densely at the worst: by how it reads the gold, a cut is what is left. A
		// smaller cut is told from a text that is read so by what it does: it takes the gold away in one place, and leaves it in another.
		bare, bareLocal, ok := tokens(x.cells["D/"+matrix.ClosedBook])
		if shorter != matrix.CellB || !ok || l-bareLocal < leastGrowth || r <= bare {
			continue
		}
		evidence := []string{says, fmt.Sprintf("the gold itself is %d tokens by local count, and the server reports %d for it", l-bareLocal, r-bare)}
		read, whole := int64(reported-r)*int64(l-bareLocal), int64(local-l)*int64(r-bare) // at the rate at which the gold is read
		if 2*read < whole {
			return yes(evidence...)
		}
		if other := x.passesInOrder(); 5*read < 3*whole && other != "" {
			return yes(append(evidence, fmt.Sprintf("the same items in another order pass (%s)", other))...)
		}
	}
	return no
}

// countsAlike reports whether the server gives one number for all prompts, the shortest of which is not as long: then it does not count.
// A number that all of them reach may be where it cuts them.
func (x *facts) countsAlike() bool {
	least, same, seen := 0, 0, 0
	for _, c := range x.cells {
		r, local, ok := tokens(c)
		switch {
		case !ok:
			continue
		case seen == 0:
			least, same = local, r
		case r != same:
			return false
		}
		least = min(least, local)
		seen++
	}
	return seen > 1 && same > least
}

// passesInOrder names a cell that passes with A's items in another order, "" where none does.
func (x *facts) passesInOrder() matrix.CellID {
	for _, v := range x.variants(orders...) {
		if v.passes() {
			return v.result.Cell
		}
	}
	return ""
}

// leastGrowth is how many tokens one prompt must be longer than another by local count, so that no server may read both as equally long.
const leastGrowth = 5

// sentWithGold returns the failing cell whose prompt was sent with all of the gold: A, else B; nil where there is none, and where the
// prompts of the cells are not all production's, so that they cannot be compared.
func (x *facts) sentWithGold() *cellFacts {
	switch a, b := x.cells[matrix.CellA], x.cells[matrix.CellB]; {
	case x.standIn:
	case a.fails() && x.allInPrompt():
		return a
	case b.fails() && x.goldTested():
		return b
	}
	return nil
}

// roleDropped fires when the server reports as many tokens without any context as with it, although the messages of the role
// that brings the gold are much longer with it: then it read none of them. No tokenizer explains that.
func roleDropped(x *facts) finding {
	cell, closed := x.sentWithGold(), x.cells["D/"+matrix.ClosedBook]
	if cell == nil || x.cells[matrix.CellB].result.Pass > 0 {
		return no // B brings its evidence in the same role, and it was read at least once
	}
	bare, bareLocal, ok := tokens(closed)
	if !ok {
		return no
	}
	evidence, plain := "", x.cells[matrix.RungPrompt]
	for i, t := range cell.trials {
		role := cell.features[i].Gold[0].Role
		if role == "" || t.Usage.InputTokens == nil {
			return no
		}
		if n, _, ok := tokens(plain); ok && n == bare && inOneRole(plain, role) {
			return no // of a prompt in that role alone it read as much: it is where the server cuts
		}
		read, grown := *t.Usage.InputTokens, t.PromptTokensLocal-bareLocal
		const least = 5 // tokens of context, which no tokenizer reads as none
		others := 0     // what stands in the messages of the other roles, and was read
		for _, m := range t.Prompt {
			if m.Role != role {
				others += m.Tokens
			}
		}
		if grown < least || read > bare || 10*max(others-bare, bare-others) > 3*others+20 {
			return no
		}
		evidence = fmt.Sprintf("the server reports %d tokens for %s and %d for D/closed-book, although the context in the messages of the role %s makes the prompt %d tokens longer by local count", read, cell.result.Cell, bare, role, grown)
	}
	return yes(evidence)
}

// inOneRole reports whether all messages of a cell's prompt are of the role.
func inOneRole(c *cellFacts, role string) bool {
	return len(c.trials) > 0 && !slices.ContainsFunc(c.trials[0].Prompt, func(m matrix.PromptMessage) bool { return m.Role != role })
}

// tokens returns the reported and local prompt tokens of a cell. Its repeats share their prompt; a server that leaves out of its count
// what it has read before tells the whole length in one of them, or the rest as cached.
func tokens(c *cellFacts) (reported, local int, ok bool) {
	if c == nil || c.other != "" {
		return 0, 0, false
	}
	for _, t := range c.trials {
		if t.Usage.InputTokens == nil || t.PromptTokensLocal == 0 {
			continue
		}
		read := *t.Usage.InputTokens
		if cached := t.Usage.CachedInputTokens; cached != nil && *cached > read {
			read += *cached
		}
		reported, local, ok = max(reported, read), t.PromptTokensLocal, true
	}
	return reported, local, ok
}
