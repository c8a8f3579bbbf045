package measure

import (
	"fmt"
	"math/big"
	"slices"
)

// Variety is how much the answers of one configuration differ.
type Variety struct {
	Agreement   Value // probability that two answers are the same, Σc(c-1)/(n(n-1)), unbiased: the one to print
	ModalShare  Value // share of the most frequent answer
	Distinct    int
	Entropy     Value // -Σ(c/n)·log2(c/n), in bits; biased low
	Normalised  Value // entropy over log2 n
	MillerMadow Value // entropy corrected for its bias, + (M-1)/(2n·ln 2)
}

// NoAnswers is the reason where nothing was answered.
const NoAnswers = "no answers"

// log2e is 1/ln 2.
var log2e, _ = new(big.Rat).SetString("1.44269504088896340735992468100189214")

// VarietyOf works with counts of equal answers: normalise them before. Entropies are worked out in fixed point. Of one answer neither
// agreement nor normalised entropy has a value.
func VarietyOf(counts []int) Variety {
	counts = slices.DeleteFunc(slices.Clone(counts), func(c int) bool { return c == 0 })
	n := int64(0)
	for _, c := range counts {
		if n += int64(c); c < 0 {
			n = 0
			break
		}
	}
	if n == 0 {
		v := none(NoAnswers)
		return Variety{Agreement: v, ModalShare: v, Entropy: v, Normalised: v, MillerMadow: v}
	}
	// n·H = n·log2 n - Σ c·log2 c
	bits := new(big.Int)
	add := func(c int64, sign int64) {
		if c > 1 {
			bits.Add(bits, new(big.Int).Mul(big.NewInt(c*sign), log2(c)))
		}
	}
	add(n, 1)
	for _, c := range counts {
		add(int64(c), -1)
	}
	scale := new(big.Int).Lsh(big.NewInt(1), pointBits)
	v := Variety{
		Agreement:  PairsAgree(counts),
		ModalShare: fraction(int64(slices.Max(counts)), n),
		Distinct:   len(counts),
		Entropy:    ratio(bits, new(big.Int).Mul(scale, big.NewInt(n))),
		Normalised: none(OneTrial),
	}
	if n > 1 {
		v.Normalised = ratio(bits, new(big.Int).Mul(log2(n), big.NewInt(n)))
	}
	correction := new(big.Rat).Mul(big.NewRat(int64(v.Distinct-1), 2*n), log2e)
	v.MillerMadow = Value{number: correction.Add(correction, v.Entropy.rat())}
	return v
}

// PairsAgree is the agreement of [VarietyOf] alone, which is worked out in less time: the share of pairs of answers that are equal, for
// counts of equal answers.
func PairsAgree(counts []int) Value {
	var n, equal int64
	for _, c := range counts {
		if c < 0 {
			return none(Impossible)
		}
		n += int64(c)
		equal += int64(c) * int64(c-1)
	}
	if n < 2 {
		return none(OneTrial)
	}
	return fraction(equal, n*(n-1))
}

// PassAtK is the probability that at least one of k trials passes, 1 - C(n-c,k)/C(n,k), estimated from c passes of n; without value for n <
// k.
func PassAtK(passes Count, k int) Value {
	return allOf(Count{passes.N - passes.K, passes.N}, k).rest()
}

// PassHatK is the probability that all of k trials pass, C(c,k)/C(n,k), estimated from c passes of n; without value for n < k.
func PassHatK(passes Count, k int) Value { return allOf(passes, k) }

func allOf(c Count, k int) Value {
	if !c.possible() || k < 1 || c.N < k {
		return none(fmt.Sprintf("%d trials are needed", k))
	}
	ways := func(n int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	return Value{number: new(big.Rat).SetFrac(ways(c.K), ways(c.N)), exact: true}
}

// Steadiness is what trials of one configuration say about whether its outcome changes.
type Steadiness int

// Flaky is certain, only its rate is not; of the others nothing more is known than the bound on the rate of the outcome that was not seen.
const (
	Untried Steadiness = iota
	Flaky
	NoFailureSeen
	NoPassSeen
)

// String is for people.
func (s Steadiness) String() string {
	return [...]string{"untried", "flaky", "no failure seen", "no pass seen"}[s]
}

// SteadinessOf says which outcomes were seen, and the one-sided upper bound at 1-alpha on the rate of the other where only one was:
// 1-alpha^(1/n). No number of trials shows that a configuration is stable.
func SteadinessOf(c Count, alpha float64) (s Steadiness, unseen Value) {
	switch {
	case !c.possible():
		return Untried, none(NoAnswers)
	case c.K == c.N:
		return NoFailureSeen, ClopperPearsonUpper(0, c.N, alpha)
	case c.K == 0:
		return NoPassSeen, ClopperPearsonUpper(0, c.N, alpha)
	}
	return Flaky, none("both outcomes were seen")
}
