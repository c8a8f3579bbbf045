package measure

import (
	"math/big"
	"slices"
)

// Similarity is 1 - Levenshtein distance / length of the longer, in characters; 1 for two empty texts. Ragas's non-LLM metrics rest on it.
func Similarity(a, b string) Value {
	x, y := []rune(a), []rune(b)
	longer := max(len(x), len(y))
	if longer == 0 {
		return fraction(1, 1)
	}
	row := make([]int, len(y)+1) // distances of what was read of x from each beginning of y
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			replaced := diagonal
			if r != s {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return fraction(int64(longer-row[len(y)]), int64(longer))
}

var half = big.NewRat(1, 2)

// nearest is the largest similarity of a text with one of several, 0 for none.
func nearest(text string, to []string) *big.Rat {
	best := new(big.Rat)
	for _, other := range to {
		if s := Similarity(text, other).rat(); s.Cmp(best) > 0 {
			best = s
		}
	}
	return best
}

// TextContextRecall is Ragas's non-LLM context recall: the share of reference texts with a retrieved text of a [Similarity] above ½.
func TextContextRecall(retrieved, reference []string) Value {
	if len(reference) == 0 {
		return none(NoReference)
	}
	found := make([]bool, len(reference))
	for i, text := range reference {
		found[i] = nearest(text, retrieved).Cmp(half) > 0
	}
	return share(found)
}

// TextContextPrecision is Ragas's non-LLM context precision: [ContextPrecision] where an item is useful that has a [Similarity] of ½ or
// more with a reference. Unlike recall, ½ itself counts here.
func TextContextPrecision(retrieved, reference []string) Value {
	if len(reference) == 0 {
		return none(NoReference)
	}
	useful := make([]bool, len(retrieved))
	for i, text := range retrieved {
		useful[i] = nearest(text, reference).Cmp(half) >= 0
	}
	return ContextPrecision(useful)
}

// IDContextPrecision is the share of the distinct retrieved ids that the reference has.
func IDContextPrecision(retrieved, reference []string) Value {
	return shared(retrieved, reference, NoItems)
}

// IDContextRecall is the share of the distinct reference ids that were retrieved.
func IDContextRecall(retrieved, reference []string) Value {
	return shared(reference, retrieved, NoReference)
}

// shared is the share of the distinct ids that the others have too.
func shared(ids, others []string, empty string) Value {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return none(empty)
	}
	common := make([]bool, len(ids))
	for i, id := range ids {
		common[i] = slices.Contains(others, id)
	}
	return share(common)
}

// Claims is what a checker said of the claims of a gold answer and of a response; only "entailed" is true. It is the input of RAGChecker
// (Ru et al. 2024, arXiv 2408.08067; amazon-science/RAGChecker). The chunks are in the order in which they were packed.
type Claims struct {
	Correct    []bool   // by claim of the response: the gold answer entails it
	InResponse []bool   // by claim of the gold answer: the response entails it
	GoldIn     [][]bool // by claim of the gold answer and chunk: the chunk entails it
	ResponseIn [][]bool // by claim of the response and chunk
	Chunks     int
}

// ClaimMetrics are RAGChecker's. Where it gives 0 for a share of nothing, there is no value here.
type ClaimMetrics struct {
	Precision, Recall, F1 Value // correct claims of the response, claims of the gold answer in the response, harmonic mean (0 where either is 0)
	ClaimRecall           Value // claims of the gold answer that some chunk supports
	ContextPrecision      Value // relevant chunks: those that support a claim of the gold answer
	ContextUtilization    Value // supported claims of the gold answer that are in the response
	NoiseRelevant         Value // claims of the response that are wrong and that a relevant chunk supports
	NoiseIrrelevant       Value // … that only irrelevant chunks support
	Hallucination         Value // … that are wrong and that no chunk supports
	SelfKnowledge         Value // claims of the response that are correct and that no chunk supports
	Faithfulness          Value // claims of the response that some chunk supports
}

// Reasons why a claim metric has no value.
const (
	NoSupport = "no claim of the reference is in the context"
	Ragged    = "judgements are missing"
)

// CheckClaims works RAGChecker's metrics out. Faithfulness, hallucination and self-knowledge add up to 1, and both noises and hallucination
// to 1 - precision.
func CheckClaims(c Claims) ClaimMetrics {
	if !c.whole() {
		v := none(Ragged)
		return ClaimMetrics{v, v, v, v, v, v, v, v, v, v, v}
	}
	relevant := make([]bool, c.Chunks)
	supported, used := make([]bool, len(c.GoldIn)), []bool(nil)
	for g, in := range c.GoldIn {
		for x, yes := range in {
			relevant[x] = relevant[x] || yes
			supported[g] = supported[g] || yes
		}
		if supported[g] {
			used = append(used, c.InResponse[g])
		}
	}
	n := len(c.Correct)
	noiseRelevant, noiseIrrelevant := make([]bool, n), make([]bool, n)
	hallucinated, known, faithful := make([]bool, n), make([]bool, n), make([]bool, n)
	for i, in := range c.ResponseIn {
		byRelevant := false
		for x, yes := range in {
			faithful[i] = faithful[i] || yes
			byRelevant = byRelevant || yes && relevant[x]
		}
		noiseRelevant[i] = !c.Correct[i] && byRelevant
		noiseIrrelevant[i] = !c.Correct[i] && faithful[i] && !byRelevant
		hallucinated[i] = !c.Correct[i] && !faithful[i]
		known[i] = c.Correct[i] && !faithful[i]
	}
	of := func(yes []bool, empty string) Value {
		if len(yes) == 0 {
			return none(empty)
		}
		return share(yes)
	}
	m := ClaimMetrics{
		Precision: of(c.Correct, NoStatements), Recall: of(c.InResponse, NoReference),
		ClaimRecall: of(supported, NoReference), ContextPrecision: of(relevant, NoItems), ContextUtilization: of(used, NoSupport),
		NoiseRelevant: of(noiseRelevant, NoStatements), NoiseIrrelevant: of(noiseIrrelevant, NoStatements),
		Hallucination: of(hallucinated, NoStatements), SelfKnowledge: of(known, NoStatements), Faithfulness: of(faithful, NoStatements),
	}
	m.F1 = harmonic(m.Precision, m.Recall)
	return m
}

// whole reports whether every judgement is there.
func (c Claims) whole() bool {
	full := func(rows [][]bool, n int) bool {
		return len(rows) == n && !slices.ContainsFunc(rows, func(row []bool) bool { return len(row) != c.Chunks })
	}
	return c.Chunks >= 0 && full(c.GoldIn, len(c.InResponse)) && full(c.ResponseIn, len(c.Correct))
}

// harmonic is the harmonic mean, 0 where either is 0, and without value where either has none.
func harmonic(a, b Value) Value {
	switch {
	case !a.OK():
		return a
	case !b.OK():
		return b
	case a.rat().Sign() == 0 || b.rat().Sign() == 0:
		return fraction(0, 1)
	}
	product := new(big.Rat).Mul(a.rat(), b.rat())
	product.Add(product, product)
	return Value{number: product.Quo(product, new(big.Rat).Add(a.rat(), b.rat())), exact: true}
}
