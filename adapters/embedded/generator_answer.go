package embedded

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// answer is what the generator says, before the output limit.
func (g *generator) answer(p prompt, req adapters.GenerateRequest) string {
	if f := g.set.Flip; f != nil && f.flips(req) {
		if f.To == flipWrong {
			return g.set.Invents
		}
		return g.set.Refusal
	}
	if g.set.Fixed != nil {
		return *g.set.Fixed
	}
	if text, ok := g.fromContext(p); ok {
		return text
	}
	switch {
	case g.set.Memory != "":
		return g.set.Memory
	case g.set.Unable == unableInvent:
		return g.set.Invents
	default:
		return g.set.Refusal
	}
}

// fromContext answers from the blocks that the settings let it look at.
func (g *generator) fromContext(p prompt) (string, bool) {
	if g.set.IgnoresContext {
		return "", false
	}
	blocks := p.blocks
	if len(blocks) > 1 {
		switch g.set.Reads {
		case readsFirst:
			blocks = blocks[:1]
		case readsLast:
			blocks = blocks[len(blocks)-1:]
		case readsEnds:
			blocks = []block{blocks[0], blocks[len(blocks)-1]}
		}
	}
	if g.set.Obeys {
		for _, b := range blocks {
			if m := command.FindStringSubmatch(b.text); m != nil {
				return m[1] + m[2], true
			}
		}
	}
	if len(g.set.Spots) > 0 {
		return g.spotted(blocks)
	}
	wanted := contentSet(p.question)
	b, ok := g.choose(blocks, wanted)
	if !ok {
		return "", false
	}
	if g.set.Quotes == quotesChunk {
		return g.cite(b.text, b.id), true
	}
	return g.cite(bestSentence(b.text, wanted), b.id), true
}

// command is an order in a text: say "X", answer "X".
var command = regexp.MustCompile(`(?i)\b(?:say|answer):?\s+(?:"([^"]+)"|“([^”]+)”)`)

// spotted answers with the sentence that holds the first spot which stands in a block, or with one for each spot.
func (g *generator) spotted(blocks []block) (string, bool) {
	var answer []string
	for _, spot := range g.set.Spots {
		i := slices.IndexFunc(blocks, func(b block) bool { return strings.Contains(b.text, spot) })
		if i < 0 {
			continue
		}
		text := g.cite(sentenceWith(blocks[i].text, spot), blocks[i].id)
		if !slices.Contains(answer, text) {
			answer = append(answer, text)
		}
		if !g.set.SpotsAll {
			break
		}
	}
	return strings.Join(answer, " "), len(answer) > 0
}

// sentenceWith returns the sentence of text that holds spot, or all of text where the spot goes over a sentence's end.
func sentenceWith(text, spot string) string {
	for _, s := range sentences(text) {
		if strings.Contains(s, spot) {
			return s
		}
	}
	return text
}

// cite is what the generator makes of a text that it quotes.
func (g *generator) cite(text, id string) string {
	for _, read := range slices.Sorted(maps.Keys(g.set.Misreads)) {
		text = strings.ReplaceAll(text, read, g.set.Misreads[read])
	}
	if !g.set.Cites {
		return text
	}
	return text + " [" + cmp.Or(g.set.CitesAs, id) + "]"
}

// candidate is a block that shares enough words with the question.
type candidate struct {
	block
	overlap int
}

// choose returns the block to answer from.
func (g *generator) choose(blocks []block, wanted map[string]bool) (block, bool) {
	enough := g.set.MinOverlap
	if g.set.Prefers == prefersBest {
		enough = 0 // count them all
	}
	var list []candidate
	for _, b := range blocks {
		if b.text == "" {
			continue
		}
		if n := shared(b.text, wanted, enough); n >= g.set.MinOverlap {
			list = append(list, candidate{b, n})
			if g.set.Anchored && g.set.Prefers == prefersFirst {
				break
			}
		}
	}
	if !g.set.Anchored {
		exceptions := slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return !strings.HasPrefix(c.text, "Exception") })
		if len(exceptions) > 0 {
			list = exceptions
		}
	}
	if len(list) == 0 {
		return block{}, false
	}
	switch g.set.Prefers {
	case prefersLast:
		return list[len(list)-1].block, true
	case prefersBest:
		return slices.MaxFunc(list, func(a, b candidate) int { return a.overlap - b.overlap }).block, true
	case prefersOld:
		return oldest(list), true
	default:
		return list[0].block, true
	}
}

// bestSentence returns the sentence of text with the most wanted words, the first of several. A heading is not a
// sentence, unless there is nothing else.
func bestSentence(text string, wanted map[string]bool) string {
	best, most := text, -1
	titled := headingEnd(text) >= 0
	for i, s := range sentences(text) {
		n := shared(s, wanted, 0)
		if titled && i == 0 || strings.HasPrefix(s, "#") {
			n = -1
		}
		if n > most {
			best, most = s, n
		}
	}
	return best
}
