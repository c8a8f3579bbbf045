package verdict

import (
	"fmt"
	"slices"

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

// onlyCitationsFail reports whether the failing answers state every fact and miss only what they must cite.
func onlyCitationsFail(c *matrix.Case, a *cellFacts) bool {
	cites := map[string]bool{}
	for _, claim := range c.Claims {
		cites[claim.ID] = len(claim.Cites) > 0
	}
	failing := a.failing()
	return len(failing) > 0 && !slices.ContainsFunc(failing, func(f *TrialFeatures) bool {
		return f.Refused || slices.ContainsFunc(f.Claims, func(r ClaimResult) bool { return r.State != ClaimMet && !cites[r.ID] })
	})
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
			Decides:  "reported prompt tokens against a local count, in A and in the shorter B",
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
			if b == nil || !x.cells[matrix.CellA].fails() || slices.ContainsFunc(x.gold, func(g *goldState) bool { return g.lost == lostInPrompt }) {
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

// truncatedByServer compares reported with local counts. The server's tokenizer is another than the local one and may read
// some languages quite differently, so the ratio is held against that of B, where its prompt of the same kind of text is
// shorter. Without one nothing is claimed.
func truncatedByServer(x *facts) finding {
	cell := x.sentWithGold()
	if cell == nil {
		return no
	}
	reported, local, ok := tokens(cell)
	if !ok {
		return no
	}
	r, l, ok := tokens(x.cells[matrix.CellB])
	if !ok || l >= local {
		return no
	}
	// Read as the shorter one was, at least 7 of 10 of these tokens would have been reported.
	return when(10*int64(reported)*int64(l) < 7*int64(r)*int64(local),
		fmt.Sprintf("%s's prompt has %d tokens by local count, the server reports %d; of B it reports %d for %d", cell.result.Cell, local, reported, r, l))
}

// sentWithGold returns the failing cell whose prompt was sent with all of the gold: A, else B; nil where there is none.
func (x *facts) sentWithGold() *cellFacts {
	switch a, b := x.cells[matrix.CellA], x.cells[matrix.CellB]; {
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
	if cell == nil || x.cells[matrix.CellB].passes() {
		return no // B brings its evidence in the same role
	}
	bare, bareLocal, ok := tokens(closed)
	if !ok {
		return no
	}
	evidence := ""
	for i, t := range cell.trials {
		role := cell.features[i].Gold[0].Role
		if role == "" || t.Usage.InputTokens == nil {
			return no
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

// tokens returns the reported and local prompt tokens of the first trial that reports them.
func tokens(c *cellFacts) (reported, local int, ok bool) {
	if c == nil || c.other != "" {
		return 0, 0, false
	}
	for _, t := range c.trials {
		if t.Usage.InputTokens != nil && t.PromptTokensLocal > 0 {
			return *t.Usage.InputTokens, t.PromptTokensLocal, true
		}
	}
	return 0, 0, false
}
