package measure

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Reasons why a judged metric has no value. Where Ragas gives 0 or NaN for a fraction of nothing, there is none here.
const (
	NoStatements = "no statements"     // the answer states nothing that could be supported
	NoReference  = "no reference"      // the case has no claim that states what a right answer says
	NoQuestions  = "no questions"      // the answer is one to none
	NoneUseful   = "no item is useful" // nothing can stand in the right place
	NoItems      = "no items"          // the context is empty
	BadNumber    = "not a number"      // a cosine that cannot be read
	Incomplete   = "incomplete"        // a judgement that it needs is void, failed or was not made
)

// Faithfulness is the share of an answer's statements that its context supports: |V| / |S| of Es, James, Espinosa-Anke and
// Schockaert, "RAGAs: Automated Evaluation of Retrieval Augmented Generation" (EACL 2024, arXiv 2309.15217), section 3, and
// https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/faithfulness/.
func Faithfulness(supported []bool) Value {
	if len(supported) == 0 {
		return none(NoStatements)
	}
	return share(supported)
}

// ContextRecall is the share of a reference's statements that the context supports, as in
// https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/context_recall/; the statements are the case's claims.
func ContextRecall(attributable []bool) Value {
	if len(attributable) == 0 {
		return none(NoReference)
	}
	return share(attributable)
}

func share(of []bool) Value {
	var n int64
	for _, yes := range of {
		if yes {
			n++
		}
	}
	return fraction(n, int64(len(of)))
}

// ContextPrecision is the mean of precision@k over the ranks k whose item is useful: the sum over k of precision@k × useful_k,
// divided by the number of useful items, as in
// https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/context_precision/. Ragas gives 0 where no item is useful.
func ContextPrecision(useful []bool) Value {
	if len(useful) == 0 {
		return none(NoItems)
	}
	sum, seen := new(big.Rat), int64(0)
	for k, yes := range useful {
		if yes {
			seen++
			sum.Add(sum, big.NewRat(seen, int64(k+1)))
		}
	}
	if seen == 0 {
		return none(NoneUseful)
	}
	return Value{number: sum.Quo(sum, big.NewRat(seen, 1)), exact: true}
}

// AnswerRelevancy is the mean cosine of the question with questions that were made from its answer: section 3 of the paper that
// [Faithfulness] names, and https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/answer_relevance/. It is 0 for an
// answer that evades the question, as Ragas has it, and may be below 0, as a cosine may. The cosines are decimals.
func AnswerRelevancy(cosines []string, noncommittal bool) Value {
	if noncommittal {
		return fraction(0, 1)
	}
	if len(cosines) == 0 {
		return none(NoQuestions)
	}
	sum := new(big.Rat)
	for _, text := range cosines {
		c, ok := cosineOf(text)
		if !ok {
			return none(BadNumber)
		}
		sum.Add(sum, c)
	}
	return Value{number: sum.Quo(sum, big.NewRat(int64(len(cosines)), 1)), exact: true}
}

// cosineOf reads a decimal number that a bundle holds. One of a huge exponent is refused before it is worked out.
func cosineOf(text string) (*big.Rat, bool) {
	const longest, digits = 32, 4
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsNaN(f) || math.IsInf(f, 0) || len(text) > longest || len(exponent) > digits {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// Lacking is the value of a metric that cannot be worked out, and why.
func Lacking(reason string) Value { return none(reason) }
